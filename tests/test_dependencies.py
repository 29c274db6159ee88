"""A plain installation has everything that the package imports; extras are asked for by name.

The imports are read from the sources, those inside functions too: a test run in an environment that has every
package would not miss one.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.version import Version

DISTRIBUTIONS = packages_distributions()
ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "overread").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Declared, but found by other packages and not imported by name: decoders that pylibjpeg loads as plugins.
PLUGINS = {"pyjpegls", "pylibjpeg", "pylibjpeg-libjpeg", "pylibjpeg-openjpeg", "pylibjpeg-rle"}


def normalized(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower().replace("_", "-")


CORE = {normalized(requirement) for requirement in PROJECT["dependencies"]}
EXTRAS = {
    normalized(requirement): extra
    for extra, requirements in PROJECT["optional-dependencies"].items()
    for requirement in requirements
}


class Import(NamedTuple):
    path: Path
    line: int
    package: str
    for_types_only: bool
    in_function: bool


def imports_of(path: Path) -> Iterator[Import]:
    def visit(node: ast.AST, *, types: bool, inside: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            names = []
            if isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom) and child.level == 0:
                names = [child.module or ""]
            for name in names:
                yield Import(path, child.lineno, name.split(".")[0], types, inside)
            guarded = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from visit(child, types=types or guarded, inside=inside or function)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), types=False, inside=False)


def third_party() -> list[Import]:
    own = {*sys.stdlib_module_names, "overread"}
    return [found for path in SOURCES for found in imports_of(path) if found.package not in own]


def distributions_of(package: str) -> set[str]:
    return {normalized(name) for name in DISTRIBUTIONS.get(package, [package])}


def place(found: Import) -> str:
    return f"{found.path.relative_to(ROOT)}:{found.line} imports {found.package}"


def test_what_is_imported_is_declared():
    strangers = [place(i) for i in third_party() if not distributions_of(i.package) & {*CORE, *EXTRAS}]
    assert not strangers


def test_an_extra_is_imported_late_outside_of_the_apps():
    """Only apps and the writers of DICOM documents need their extra at import; `tests/test_extras.py` runs without."""
    wrong = [
        place(found)
        for found in third_party()
        if not (found.for_types_only or found.in_function or "apps" in found.path.parts)
        and not found.path.name.endswith("_writers.py")
        and not distributions_of(found.package) & CORE
    ]
    assert not wrong


def test_what_is_declared_is_imported():
    used = set().union(*(distributions_of(found.package) for found in third_party()))
    assert CORE - used - PLUGINS == set()


def listed(name: str) -> set[str]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return {normalized(line) for line in lines if line and not line.startswith(("#", "-", " "))}


def pins(name: str) -> dict[str, set[str]]:
    """Hashes of each pinned package."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    found = re.findall(r"^(\S+==\S+) \\\n((?:    --hash=.*\n)+)", text, flags=re.MULTILINE)
    return {package: set(re.findall(r"sha256:\w+", hashes)) for package, hashes in found}


def test_the_demo_installs_what_the_package_needs_and_no_tools():
    assert listed("user.in") == CORE | {"hatchling", "editables"}
    pinned = {name.partition("==")[0] for name in pins("user.txt")}
    assert pinned >= listed("user.in")
    assert not pinned & {"pytest", "mypy", "ruff", "hypothesis", "selenium"}


def test_tools_come_on_top_of_it_without_moving_a_version():
    user, dev = pins("user.txt"), pins("dev.txt")
    assert len(user) > 30
    assert user.items() <= dev.items()


def test_tools_of_tests_and_docs_are_pinned():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert {*groups["test"], *groups["docs"]} <= listed("dev.in")
    assert listed("dev.in") <= {name.partition("==")[0] for name in pins("dev.txt")}


def bounds() -> dict[str, Version]:
    """Lowest version of every dependency, by its name."""
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(one for extra in extras for one in extra)]
    found = (re.match(r"[^<>]+>=([\w.]+)", one) for one in wanted)
    return {normalized(one[0]): Version(one[1]) for one in found if one}


def test_every_dependency_has_a_lowest_version_and_that_is_what_is_tested():
    found = {name.partition("==")[0]: Version(name.partition("==")[2]) for name in pins("lowest.txt")}
    assert {name: found.get(name) for name in bounds()} == bounds()
    assert all(pins("lowest.txt").values())


@pytest.mark.parametrize("name", ["label-studio", "datumaro", "peers", "lowest"])
def test_environments_of_their_own_are_pinned_with_hashes(name):
    wanted, found = listed(f"{name}.in"), pins(f"{name}.txt")
    assert {one.partition("==")[0].lower().replace("_", "-") for one in found} >= wanted
    assert len(found) == len(
        re.findall(r"^\S+==", (ROOT / "requirements" / f"{name}.txt").read_text(), flags=re.M)
    )
