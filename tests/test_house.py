"""The rules of the house, read from the sources: names, edges between modules, mirrored tests.

Each test lists every violation that is not in its list of exceptions, and every exception that is no longer needed,
so that the lists can only shrink.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "overread"
TESTS = ROOT / "tests"

# Participles and leftovers that were names of modules once, and say nothing to who looks for a thing.
BANNED_NAMES = {
    "assembly",
    "common",
    "coded",
    "describing",
    "executed",
    "finished",
    "frames",
    "generating",
    "helpers",
    "making",
    "merged",
    "misc",
    "outcome",
    "parts",
    "telling",
    "utils",
}

MIRRORED_ROOMS = (
    "anatomy",
    "bags",
    "candidates",
    "detection",
    "features",
    "files",
    "froc",
    "marks",
    "models",
    "node",
    "reading",
    "scenario",
    "simulate",
    "study",
    "tables",
    "truth",
)

# Rooms whose modules still have such a name. They shrink to nothing as the rooms are rebuilt.
ROOMS_WITH_BANNED_NAMES: set[str] = set()

# Rooms that still import names which their owner leaves out of __all__.
ROOMS_WITH_LOOSE_EDGES: set[str] = set()

# Modules that are tested through others, because they hold no behaviour of their own to test apart.
WITHOUT_A_TEST: set[str] = {
    "anatomy/structures.py",  # records
    "files/study_layout.py",  # one name of a file
    "marks/formats/dicom_sr_writer.py",  # what it writes is read back in test_dicom_sr
    "models/loss/objective.py",  # tests/equations, one test for each equation of the paper
    "models/rvm/report.py",  # a record
}

# Rooms that still have modules without a test of their own.
ROOMS_WITHOUT_MIRROR: set[str] = set()

# Where the number of features may stand: what the paper says.
FACTS_OF_THE_PAPER = {"reproduce/paper.py"}

# The one module that prints; and two that ask standard output what it is, and write no text to it.
SCREEN_WITHOUT_TEXT = {
    *(f"overread.screen: {name}" for name in ("Console", "print", "stderr", "stdout")),
    "overread.cli: stdout",
    "overread.cli.sheet_dialog: stdout",
}

# Rooms that still spell the number.
ROOMS_WITH_COUNTS: set[str] = set()


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax trees by dotted name; that of a package is its ``__init__``."""
    trees = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def public_names(module: str) -> set[str]:
    for node in modules()[module].body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return set(ast.literal_eval(node.value))
    return set()


def imported_names(module: str) -> Iterator[tuple[int, str, str]]:
    """Line, owner and name of each import of a name from another module of the package."""
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.ImportFrom) and node.module in modules():
            for alias in node.names:
                yield node.lineno, str(node.module), alias.name


def is_private(module: str) -> bool:
    """Say whether a module such as ``_kernels`` belongs to its package as a whole, and needs no ``__all__``."""
    return module.rpartition(".")[2].startswith("_")


def refuse(violations: dict[str, list[str]], rooms: set[str], rule: str) -> None:
    """Fail with all violations outside of the excepted rooms, and with rooms that need no exception any more."""
    told = [line for room, lines in sorted(violations.items()) if room not in rooms for line in lines]
    told += [f"room {room!r} obeys: take it from the list" for room in sorted(rooms - set(violations))]
    assert not told, f"{rule}\n" + "\n".join(told)


def by_room(found: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    rooms: dict[str, list[str]] = {}
    for module, said in found:
        rooms.setdefault(room_of(module), []).append(said)
    return rooms


def badly_named() -> Iterator[tuple[str, str]]:
    for module in modules():
        if module.rpartition(".")[2] in BANNED_NAMES:
            yield module, module


def loose_edges() -> Iterator[tuple[str, str]]:
    for module in modules():
        for line, owner, name in imported_names(module):
            place = f"{module}:{line} imports {name} of {owner}"
            if f"{owner}.{name}" in modules() or name.startswith("__"):
                continue
            if name.startswith("_") and room_of(owner) != room_of(module):
                yield module, f"{place}, which is private"
            elif not is_private(owner) and name not in public_names(owner):
                yield module, f"{place}, which is not in its __all__"


def without_mirror() -> Iterator[tuple[str, str]]:
    for module in modules():
        name = module.rpartition(".")[2]
        path = SOURCE.parent.joinpath(*module.split(".")).with_suffix(".py")
        if room_of(module) not in MIRRORED_ROOMS or is_private(module) or not path.is_file():
            continue
        folders = module.split(".")[1:-1]
        mirrored = TESTS.joinpath(*folders, f"test_{name}.py")
        if not mirrored.is_file() and "/".join([*folders, f"{name}.py"]) not in WITHOUT_A_TEST:
            yield module, f"{module} has no {mirrored.relative_to(ROOT)}"


def counts_of_features() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if place not in FACTS_OF_THE_PAPER and re.search(r"(?<![\d.])1[, _]?150(?![\d.])", line):
                module = "overread." + place.removesuffix(".py").replace("/", ".")
                yield module, f"{place}:{number}: {line.strip()}"


def ways_to_the_screen() -> Iterator[tuple[str, str]]:
    """Calls of print and of sys.stdout.write, and rich's own console, which show text as it is."""
    for module, tree in modules().items():
        nodes = list(ast.walk(tree))
        typed = {id(part) for node in nodes if is_for_types(node) for part in ast.walk(node)}
        for node in nodes:
            names: set[str] = set()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = {node.func.id} & {"print", "Console"}
            elif isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr"):
                names = {node.attr} if isinstance(node.value, ast.Name) and node.value.id == "sys" else set()
            elif isinstance(node, ast.ImportFrom) and node.module in ("rich", "rich.console", "rich.live"):
                names = {alias.name for alias in node.names}
            if names and id(node) not in typed and f"{module}: {min(names)}" not in SCREEN_WITHOUT_TEXT:
                yield module, f"{module}:{node.lineno}: {', '.join(sorted(names))}"


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def test_only_one_module_prints():
    refuse(
        by_room(ways_to_the_screen()), set(), "overread.screen prints, so that control characters are shown:"
    )


def test_no_module_is_named_after_a_participle():
    refuse(by_room(badly_named()), ROOMS_WITH_BANNED_NAMES, "a module is named after what it holds:")


def test_a_name_that_others_import_is_public():
    refuse(by_room(loose_edges()), ROOMS_WITH_LOOSE_EDGES, "put it into __all__, or do not import it:")


def test_every_module_has_its_test():
    refuse(by_room(without_mirror()), ROOMS_WITHOUT_MIRROR, "tests mirror the tree:")


def test_modules_without_a_test_exist():
    gone = [place for place in sorted(WITHOUT_A_TEST) if not (SOURCE / place).is_file()]
    assert not gone


def test_the_number_of_features_is_counted_and_not_written():
    refuse(by_room(counts_of_features()), ROOMS_WITH_COUNTS, "len(CATALOGUE) knows the number:")
