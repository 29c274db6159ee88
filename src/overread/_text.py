"""Format numbers and tables for commands, reports and pages: per cent, intervals, Markdown.

It also makes records with arrays and tables print as one line, and as a small table in notebooks.

The default ``repr`` of a dataclass prints every number of every array: 200 lines for a matching of a small
study.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from math import isnan
from pathlib import Path, PurePath
from shlex import quote
from typing import Any, TypeVar

# The beginning of a numeric cell: a number, its sign, a bold number, or a dash.
FIGURES = re.compile(r"[*~<(]*[-+−–.]?\s?(\d|$)")
# Active characters of Markdown, including those in a table's cell.
ACTIVE = frozenset(r"\`*_{}[]<>|#")


def percent(value: float, digits: int = 1, *, unit: str = "", undefined: str = "-") -> str:
    """Fraction as per cent, followed by ``unit`` (say ``" %"``); ``undefined`` where it is NaN."""
    return undefined if isnan(value) else f"{100 * value:.{digits}f}{unit}"


def percent_with_limits(estimate: float, lower: float, upper: float, digits: int = 1) -> str:
    """Fraction as per cent with its interval, ``44.2 (35.1-53.8)``; a dash if there is nothing to find."""
    if isnan(estimate):
        return "-"
    limits = "no interval" if isnan(lower) else f"{percent(lower, digits)}-{percent(upper, digits)}"
    return f"{percent(estimate, digits)} ({limits})"


def difference_with_limits(
    difference: float, lower: float, upper: float, *, scale: float = 1.0, digits: int = 3
) -> str:
    """Difference with its sign and interval, ``+0.120 (-0.010 to +0.250)``; ``scale`` 100 gives per cent."""
    if isnan(difference):
        return "-"
    first, low, high = (f"{scale * value:+.{digits}f}" for value in (difference, lower, upper))
    return f"{first} (no interval)" if isnan(lower) else f"{first} ({low} to {high})"


def duration(seconds: float) -> str:
    """Duration in words, to about two digits: ``8 s``, ``1 min 20 s``, ``2 h 5 min``."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3570:  # longer times round to an hour
        # Seconds do not matter after ten minutes.
        minutes, rest = divmod(whole, 60) if whole < 600 else (round(whole / 60), 0)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, markup: bool = False) -> str:
    """Markdown table without a line break at its end; numeric columns except the first are aligned to the right.

    Cells are escaped, unless ``markup`` is set because they already are Markdown.
    """
    header, *others = ([cell if markup else escape_markdown(cell) for cell in row] for row in (header, *rows))
    columns = list(zip(*others, strict=True))[1:] if others else [()] * (len(header) - 1)
    rule = "|---|" + "".join("---:|" if all(map(FIGURES.match, column)) else "---|" for column in columns)
    first, *lines = (f"| {' | '.join(row)} |" for row in (header, *others))
    return "\n".join([first, rule, *lines])


def escape_markdown(text: str) -> str:
    """Escape Markdown's active characters, and join the lines."""
    return "".join("\\" + character if character in ACTIVE else character for character in join_lines(text))


def count(number: int, thing: str) -> str:
    """Write a number of things: ``1 image``, ``1,200 images``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Escape control and direction characters for a terminal; line ends stay."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def shell_word(word: str | Path) -> str:
    """Quote a word for a shell if needed."""
    text = str(word)
    if text.isprintable():
        return quote(text)
    # Bash, zsh and ksh read escapes in $'...'; a byte that is not text is half a surrogate pair in a name.
    shown = text.translate({ord("\\"): "\\\\", ord("'"): "\\'"})
    return f"$'{''.join(map(_escape_for_shell, shown))}'"


def _escape_for_shell(character: str) -> str:
    """Return the shell escape of a character that is not printable."""
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"


def join_lines(text: str) -> str:
    """Text without line breaks and control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


# The line length of the package's sources; a terminal shows it in at most two lines.
LONGEST_LINE = 120
LONGEST_TEXT = 40

Record = TypeVar("Record")


def short_repr(*facts: str) -> Callable[[type[Record]], type[Record]]:
    """Return a decorator that gives a dataclass a short ``repr`` and ``_repr_html_``.

    Parameters
    ----------
    *facts
        Names of the attributes to show, most informative first; all fields by default.
    """

    def decorate(cls: type[Record]) -> type[Record]:
        def tell(self: Record) -> str:
            return _facts_as_line(type(self).__name__, dict(_read_facts(self, facts)))

        def tell_html(self: Record) -> str:
            return facts_as_html(type(self).__name__, dict(_read_facts(self, facts)))

        cls.__repr__ = tell  # type: ignore[method-assign, assignment]
        cls._repr_html_ = tell_html  # type: ignore[attr-defined]
        return cls

    return decorate


def _read_facts(record: Any, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the names and short values of a record's attributes."""
    for name in names or [field.name for field in fields(record)]:
        yield name, brief(getattr(record, name))


def _facts_as_line(title: str, facts: Mapping[str, str]) -> str:
    """Return ``Title(name=value, ...)`` with as many facts as fit into a line."""
    told: list[str] = []
    for name, value in facts.items():
        line = f"{title}({', '.join([*told, f'{name}={value}'])}"
        # Leave room for the dots.
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
    """Return a short form of a value: the shape of an array, the rows of a table, the length of a list."""
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
        return _brief_group(value)
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(brief(getattr(value, field.name)) for field in fields(value))
        name = type(value).__name__
        return f"{name}({inside})" if len(inside) <= LONGEST_TEXT else f"{name}(...)"
    text = join_lines(repr(value))
    return text if len(text) <= LONGEST_TEXT else type(value).__name__


def _brief_group(values: Any) -> str:
    """Return a short group in full, a long one by its length."""
    if not isinstance(values, Mapping) and len(values) <= LONGEST_TEXT:
        opened, closed = "()" if isinstance(values, tuple) else "[]"
        text = f"{opened}{', '.join(brief(value) for value in values)}{closed}"
        if len(text) <= LONGEST_TEXT:
            return text
    return f"<{len(values)} of them>"
