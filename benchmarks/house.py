"""How large the package is and how it hangs together, read from its sources.

``python -m benchmarks.house [ROOT ...]`` measures the trees in ROOT (a checkout each; this one if none is given) and
prints one column a tree. Nothing is imported from them, so that an older checkout can be measured beside this one.
``python -m benchmarks.house --installed`` adds what a plain install brings: distributions and megabytes.

- *lines of code* are lines that are neither blank, nor comment, nor docstring.
- *complexity* counts decisions as radon does; D begins at 21.
- *questions about the kind of image* are comparisons with, or attributes named after, a domain or a kind of region,
  and ``isinstance`` with an image class, outside ``domains`` (and ``simulate``, which makes images).
- *questions about a unit* are comparisons with the name of a unit of length, in the same places.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement

COMPLEX = 21
KINDS = {"chest", "picture", "field", "field_of_view", "masks"}
UNITS = {"mm", "px", "percent", "fraction"}
KIND_ATTRIBUTES = {"is_chest", "is_of_chests", "is_field", "is_picture"}
IMAGE_CLASSES = {"Radiograph", "PictureImage", "FieldImage", "ChestDomain", "PictureDomain"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("roots", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--installed", action="store_true", help="measure the installed packages too")
    parser.add_argument("--list", action="store_true", help="name the places, not only their number")
    given = parser.parse_args()
    columns = [measure(root, named=given.list) for root in given.roots]
    for row in columns[0]:
        print(f"| {row} | " + " | ".join(str(column[row]) for column in columns) + " |")
    if given.installed:
        names = installed_packages("overread")
        megabytes = sum(map(installed_bytes, names)) / 1e6
        print(f"| distributions of a plain install | {len(names)}, {megabytes:.0f} MB |")


def measure(root: Path, *, named: bool = False) -> dict[str, object]:
    """Return each measure of a checkout by its name."""
    source = root / "src" / "overread"
    trees = {
        path.relative_to(source).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in source.rglob("*.py")
    }
    places: dict[str, list[str]] = {
        "functions of complexity D or worse": list(complex_functions(trees)),
        "questions about the kind of image": list(questions(trees, asks_for_kind)),
        "questions about a unit": list(questions(trees, asks_for_unit)),
        "modules with a single importer": list(single_importers(source, trees)),
        "class names used twice": list(doubled_classes(trees)),
        "`Any` in study": [place for place in uses_of_any(trees) if place.startswith("study/")],
    }
    lines = sum(map(count_lines, source.rglob("*.py")))
    tests = sum(map(count_lines, (root / "tests").rglob("*.py")))
    code = sum(count_code(source / name, tree) for name, tree in trees.items())
    measured: dict[str, object] = {
        "source files": len(trees),
        "lines": lines,
        "lines of code": code,
        "lines of tests": tests,
        **{name: len(found) for name, found in places.items()},
    }
    if named:
        for name, found in places.items():
            print(f"{name}:", *sorted(found), sep="\n  ")
    return measured


def count_lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def count_code(path: Path, tree: ast.Module) -> int:
    """Count lines that are neither blank, nor comment, nor docstring."""
    strings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            strings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = path.read_text("utf-8").splitlines()
    return sum(
        number not in strings and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate(lines, start=1)
    )


def complex_functions(trees: dict[str, ast.Module]) -> Iterator[str]:
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS) and complexity(node) >= COMPLEX:
                yield f"{name}:{node.lineno} {node.name} {complexity(node)}"


def complexity(function: ast.AST) -> int:
    """Count one, and one for each decision; functions within it count for themselves."""
    decisions, waiting = 1, list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, ast.BoolOp):
            decisions += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            decisions += 1 + len(node.ifs)
        elif isinstance(node, ast.For | ast.While | ast.AsyncFor):
            decisions += 1 + bool(node.orelse)
        elif isinstance(
            node, ast.If | ast.IfExp | ast.ExceptHandler | ast.Assert | ast.match_case | ast.Lambda
        ):
            decisions += 1
        waiting.extend(ast.iter_child_nodes(node))
    return decisions


def questions(trees: dict[str, ast.Module], asks: Callable[[ast.AST], bool]) -> Iterator[str]:
    for name, tree in trees.items():
        if name.split("/")[0] in {"domains", "simulate", "anatomy", "candidates", "fields"}:
            continue
        for node in ast.walk(tree):
            if asks(node):
                yield f"{name}:{getattr(node, 'lineno', 0)} {ast.unparse(node)[:80]}"


def asks_for_kind(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return bool(compared_words(node) & KINDS)
    if isinstance(node, ast.Attribute):
        return node.attr in KIND_ATTRIBUTES
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        return bool(
            IMAGE_CLASSES & {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
        )
    return False


def asks_for_unit(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and bool(compared_words(node) & UNITS)


def compared_words(node: ast.Compare) -> set[str]:
    """Return the words that a comparison compares with; a key such as ``record["picture"]`` is none of them."""
    sides = [node.left, *node.comparators]
    keys = {id(part.slice) for side in sides for part in ast.walk(side) if isinstance(part, ast.Subscript)}
    constants = [part for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)]
    return {part.value for part in constants if isinstance(part.value, str) and id(part) not in keys}


def single_importers(source: Path, trees: dict[str, ast.Module]) -> Iterator[str]:
    """Modules that exactly one other imports; a name taken from a package counts for the module that defines it."""
    importers: dict[str, set[str]] = defaultdict(set)
    homes = stub_homes(source)
    modules = {module_name(name): name for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("overread")):
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                owner = homes.get(whole) or (whole if whole in modules else str(node.module))
                if modules.get(owner, name) != name:
                    importers[modules[owner]].add(name)
    inside = {name for name, users in importers.items() if len(users) == 1}
    yield from (name for name in inside if not name.endswith("__init__.py"))


def module_name(path: str) -> str:
    parts = ("overread/" + path.removesuffix(".py")).split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def stub_homes(source: Path) -> dict[str, str]:
    """Return the module behind each name that a lazy package offers."""
    homes = {}
    for stub in source.rglob("__init__.pyi"):
        package = module_name(stub.relative_to(source).with_suffix(".py").as_posix())
        for module, name in re.findall(
            r"^from \.([\w.]+) import (\w+)", stub.read_text("utf-8"), re.MULTILINE
        ):
            homes[f"{package}.{name}"] = f"{package}.{module}"
    return homes


def doubled_classes(trees: dict[str, ast.Module]) -> Iterator[str]:
    names = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    yield from (name for name, number in names.items() if number > 1)


def uses_of_any(trees: dict[str, ast.Module]) -> Iterator[str]:
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "Any":
                yield f"{name}:{node.lineno}"


def installed_packages(name: str) -> set[str]:
    """Return what pip installs with a package, itself left out."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requires(name) or []]
    while waiting:
        wanted = waiting.pop()
        extras = wanted.extras or {""}
        if not any(wanted.marker is None or wanted.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        known = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if known not in found:
            try:
                more = requires(wanted.name) or []
            except PackageNotFoundError:
                continue
            found.add(known)
            waiting += [Requirement(text) for text in more if "extra ==" not in text]
    return found


def installed_bytes(name: str) -> int:
    files = distribution(name).files or []
    return sum(path.stat().st_size for path in (Path(str(file.locate())) for file in files) if path.is_file())


if __name__ == "__main__":
    main()
