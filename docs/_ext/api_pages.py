"""The reference of Python names: one page a room, made of what its packages export and of their docstrings."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown_text import first_paragraph, table

import overread

__all__ = ["EXTENSION_MODULES", "api_page", "exported_names", "room_names", "rooms_table", "shown_as"]

ROOT = Path(__file__).resolve().parents[2]

# Modules inside of rooms that who extends Overread imports from, as the pages under docs/how-to say. All other public
# names are those of packages.
EXTENSION_MODULES = (
    "overread.candidates.finder",
    "overread.candidates.pyramid",
    "overread.candidates.search_region",
    "overread.candidates.table",
    "overread.errors",
    "overread.features.context.rays",
    "overread.features.family",
    "overread.fields.plots",
    "overread.files.column_file",
    "overread.froc.merit.obuchowski_rockette",
    "overread.froc.plots",
    "overread.marks.formats.building",
    "overread.marks.mark_set",
    "overread.models.crowd.votes",
    "overread.models.penalties.penalty",
    "overread.models.penalties.registry",
    "overread.models.plots",
    "overread.plots",
    "overread.progress",
    "overread.study.detector",
    "overread.study.models.plug",
    "overread.study.sections",
    "overread.study.stages.stage",
    "overread.tables.cell_types",
    "overread.tables.csv_cells",
    "overread.truth.hit_rules",
    "overread.truth.plots",
)


@cache
def exported_names() -> dict[str, tuple[str, ...]]:
    """Names that each public module exports, packages before the modules inside of them."""
    packages = [one.name for one in pkgutil.walk_packages(overread.__path__, "overread.") if one.ispkg]
    modules = sorted(["overread", *packages, *EXTENSION_MODULES], key=lambda name: (name.count("."), name))
    exported = {name: tuple(getattr(import_module(name), "__all__", ())) for name in modules}
    return {name: names for name, names in exported.items() if names}


def shown_as(module: str, name: str) -> str:
    """Full name under which a public name is described: that of the outermost module that exports the same object."""
    given = getattr(import_module(module), name)
    same = [
        other
        for other, names in exported_names().items()
        if name in names and getattr(import_module(other), name) is given
    ]
    home = room_of(getattr(given, "__module__", None) or module)
    return f"{min(same, key=lambda other: (room_of(other) != home, other.count('.')))}.{name}"


def room_of(module: str) -> str:
    """Room of a module: the second part of its name."""
    return ".".join(module.split(".")[:2])


def room_names() -> list[str]:
    """Rooms that export anything, in the order in which data flow through them."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = told["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [f"overread.{name}" for layer in reversed(layers) for name in re.findall(r"\w+", layer)]
    return [name for name in order if any(room_of(module) == name for module in exported_names())]


def rooms_table() -> str:
    """Every room with a link to its page and what it is."""
    rows = []
    for room in room_names():
        short = room.rpartition(".")[2]
        page = "../errors.md" if short == "errors" else f"{short}.md"
        rows.append((f"[`{room}`]({page})", first_paragraph(import_module(room).__doc__)))
    return table(("room", "what it holds"), rows)


def api_page(room: str) -> str:
    """All public names of a room: its own, then those of the packages and modules inside of it."""
    modules = [module for module in exported_names() if room_of(module) == room]
    parts = [describe_module(room)] if room not in modules else []
    for module in modules:
        if module != room:
            parts.append(f"## {module}")
        parts.append(describe_module(module))
    return "\n\n".join(parts)


def describe_module(name: str) -> str:
    """Docstring of a module, a table of what it exports, and every name that no module before it has shown."""
    module = import_module(name)
    exported = exported_names().get(name, ())
    rows = [
        (f"{{py:obj}}`{one} <{shown_as(name, one)}>`", first_paragraph(words_on(module, one)))
        for one in exported
    ]
    own = [one for one in exported if shown_as(name, one) == f"{name}.{one}"]
    # A package and a function of the same name, such as simulate.phantom: the index has the function.
    hidden = (
        ["   :no-index:"]
        if name in {shown_as(one, each) for one, all_ in exported_names().items() for each in all_}
        else []
    )
    lines = ["```{eval-rst}", f".. automodule:: {name}", "   :no-members:", *hidden, "```"]
    lines += ["", table(("name", "what it is"), rows)] if rows else []
    lines += ["", "```{eval-rst}", *(line for one in own for line in describe_name(module, one)), "```"]
    return "\n".join(lines)


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
    """List the sources of the modules of a room that know the very same constant, the module's own first."""
    given = getattr(module, name)
    found = [
        Path(str(other.__file__))
        for full, other in sorted(sys.modules.items())
        if room_of(full) == room_of(module.__name__) and vars(other).get(name) is given
    ]
    return [Path(str(module.__file__)), *found]


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
