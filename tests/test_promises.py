"""Every promise of docs/reference/promises.md names a test that exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (.+) \| `(tests/[\w/]+\.py): (test_\w+)` \|$")


def find_tests(path: Path) -> set[str]:
    """Names of the test functions of a module, also in its classes."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_its_test():
    lines = (ROOT / "docs" / "reference" / "promises.md").read_text(encoding="utf-8").splitlines()
    lines = lines[: lines.index("## Attacked from outside")]
    rows = [line for line in lines if line.startswith("| ") and line != "| promise | test |"]
    found = [ROW.match(line) for line in rows]
    assert [line for line, match in zip(rows, found, strict=True) if match is None] == []
    assert len(rows) > 40
    named = [(ROOT / match[2], match[3]) for match in found if match]
    assert [f"{path}: {test}" for path, test in named if test not in find_tests(path)] == []
