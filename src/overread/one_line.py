"""Records that hold arrays and tables print as one line, and as a small table in notebooks.

What a dataclass prints by itself is every number of every array: 200 lines for a matching of a small study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from html import escape
from pathlib import PurePath
from typing import Any, TypeVar

from overread.words import join_lines

__all__ = ["brief", "facts_as_html", "print_as_one_line"]

# A line of the package's own sources; a terminal shows it in at most two.
LONGEST_LINE = 120
LONGEST_TEXT = 40

Record = TypeVar("Record")


def print_as_one_line(*facts: str) -> Callable[[type[Record]], type[Record]]:
    """Return a decorator that gives a dataclass a short ``repr`` and ``_repr_html_``.

    Parameters
    ----------
    *facts
        Names of the attributes that matter, most telling first; all fields if not given.
    """

    def decorate(cls: type[Record]) -> type[Record]:
        def tell(self: Record) -> str:
            return facts_as_line(type(self).__name__, dict(read_facts(self, facts)))

        def tell_html(self: Record) -> str:
            return facts_as_html(type(self).__name__, dict(read_facts(self, facts)))

        cls.__repr__ = tell  # type: ignore[method-assign, assignment]
        cls._repr_html_ = tell_html  # type: ignore[attr-defined]
        return cls

    return decorate


def read_facts(record: Any, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Give names and short values of a record's attributes."""
    for name in names or [field.name for field in fields(record)]:
        yield name, brief(getattr(record, name))


def facts_as_line(title: str, facts: Mapping[str, str]) -> str:
    """Return ``Title(name=value, ...)``, with as many facts as a line holds."""
    told: list[str] = []
    for name, value in facts.items():
        line = f"{title}({', '.join([*told, f'{name}={value}'])}"
        # Room for what says that there is more.
        if len(line) > LONGEST_LINE - len(", ...)"):
            return f"{title}({', '.join([*told, '...'])})"
        told.append(f"{name}={value}")
    return f"{title}({', '.join(told)})"


def facts_as_html(title: str, facts: Mapping[str, str]) -> str:
    """Return the facts as a small table."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption style='text-align:left'>{escape(title)}</caption>{rows}</table>"


def brief(value: Any) -> str:
    """Return a value in a few characters: the shape of an array, the rows of a table, the length of a list."""
    if hasattr(value, "columns") and hasattr(value, "shape"):
        return f"<{value.shape[0]} rows>"
    if getattr(value, "shape", ()):
        return f"<{' x '.join(str(length) for length in value.shape)}>"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str | PurePath):
        text = join_lines(str(value))
        return repr(text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}...")
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return brief_group(value)
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(brief(getattr(value, field.name)) for field in fields(value))
        name = type(value).__name__
        return f"{name}({inside})" if len(inside) <= LONGEST_TEXT else f"{name}(...)"
    text = join_lines(repr(value))
    return text if len(text) <= LONGEST_TEXT else type(value).__name__


def brief_group(values: Any) -> str:
    """Return a short group as it is, a long one by its length."""
    if not isinstance(values, Mapping) and len(values) <= LONGEST_TEXT:
        opened, closed = "()" if isinstance(values, tuple) else "[]"
        text = f"{opened}{', '.join(brief(value) for value in values)}{closed}"
        if len(text) <= LONGEST_TEXT:
            return text
    return f"<{len(values)} of them>"
