"""The reference of Python names: what `overread`, `overread.plugins` and `overread.errors` export."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown_text import first_paragraph, table

import overread

__all__ = ["PUBLIC_MODULES", "api_page", "exported_names", "public_table"]

PUBLIC_MODULES = ("overread", "overread.plugins", "overread.errors")
"""Modules whose names are public; all others may change without notice."""


@cache
def exported_names() -> dict[str, tuple[str, ...]]:
    """Names that each public module exports."""
    return {name: tuple(import_module(name).__all__) for name in PUBLIC_MODULES}


def public_table() -> str:
    """Return every public name of `overread` with what it is, grouped by the part of the package it comes from."""
    parts = []
    for package, names in by_package().items():
        rows = [
            (f"{{py:obj}}`{name} <overread.{name}>`", first_paragraph(words_on(overread, name)))
            for name in names
        ]
        parts += [f"## {package}", table(("name", "what it is"), rows)]
    return "\n\n".join(parts)


def by_package() -> dict[str, list[str]]:
    """Names of `overread` by the package that defines them, in the order in which data flow."""
    stub = ast.parse(Path(str(overread.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes: dict[str, list[str]] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            homes.setdefault(node.module.split(".")[0], []).extend(alias.name for alias in node.names)
    return {name: sorted(homes[name]) for name in ORDER if name in homes}


ORDER = (
    "files",
    "tables",
    "marks",
    "truth",
    "images",
    "domains",
    "features",
    "bags",
    "models",
    "froc",
    "simulate",
    "report",
    "study",
    "apps",
)


def api_page(name: str) -> str:
    """All names of a public module, each with its docstring."""
    module = import_module(name)
    lines = ["```{eval-rst}", f".. automodule:: {name}", "   :no-members:", "```"]
    lines += ["", "```{eval-rst}"]
    lines += [line for one in exported_names()[name] for line in describe_name(module, one)]
    return "\n".join([*lines, "```"])


def describe_name(module: ModuleType, name: str) -> list[str]:
    """Directive for one name."""
    given, full = getattr(module, name), f"{module.__name__}.{name}"
    if inspect.isclass(given) and not is_alias(given, name):
        return ["", f".. autoclass:: {full}", "   :members:"]
    if callable(given) and inspect.isroutine(inspect.unwrap(given)):
        return ["", f".. autofunction:: {full}"]
    options = [f":module: {module.__name__}", *value_lines(given)]
    return ["", f".. py:data:: {name}", *(f"   {line}" for line in options), "", *indented(module, name)]


def is_alias(given: type, name: str) -> bool:
    """Say whether a class is known under another name, as in ``Spacing = float``."""
    return given.__name__ != name


def indented(module: ModuleType, name: str) -> list[str]:
    """Words on a constant, as the body of its directive."""
    return [f"   {line}" for line in words_on(module, name).splitlines()]


def value_lines(value: Any) -> list[str]:
    """Value of a constant, where it is short enough to be read."""
    shown = repr(value)
    return [f":value: {shown}"] if len(shown) <= 100 and " at 0x" not in shown else []


def words_on(module: ModuleType, name: str) -> str:
    """Docstring of a class or function; of a constant, the text below it or the comment above it.

    Raises
    ------
    LookupError
        Where there are none.
    """
    given = getattr(module, name)
    if (inspect.isclass(given) and not is_alias(given, name)) or inspect.isroutine(given):
        return inspect.getdoc(given) or ""
    for home in homes(module, name):
        if words := words_beside(home, name):
            return words
    raise LookupError(f"{module.__name__}.{name} has no text below it and no comment above it")


def homes(module: ModuleType, name: str) -> list[Path]:
    """List the sources that know a constant: the module's own, and that which its stub or import names."""
    own = Path(str(module.__file__))
    sources = [own, own.with_suffix(".pyi")]
    found = [own]
    for source in sources:
        if not source.is_file():
            continue
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                target = resolve_name("." * node.level + str(node.module), module.__package__)
                found += homes(import_module(target), name)
    return found


@cache
def assignments(path: Path) -> dict[str, str]:
    """Words on every constant of a source."""
    text = path.read_text(encoding="utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    told = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        words = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            words = inspect.cleandoc(str(following.value.value))
        else:
            row = node.lineno - 2
            while row >= 0 and lines[row].startswith("# "):
                words, row = f"{lines[row].lstrip('# ')} {words}".strip(), row - 1
        told |= {target.id: words for target in targets if isinstance(target, ast.Name)}
    return told


def words_beside(path: Path, name: str) -> str:
    """Words on a constant of a source; empty where it has none."""
    return assignments(path).get(name, "")
