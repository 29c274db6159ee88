"""What the pages point to is there."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from overread.cli import app
from page_code import run_page

ROOT = Path(__file__).parents[1]
SOURCES, TESTS = ROOT / "src" / "overread", ROOT / "tests"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^(?:    )?overread ([a-z].*)$", re.MULTILINE)
FILE = re.compile(r"[\w/]*\w\.py\b")
PLACE = re.compile(r"`([\w/]+\.py)(?:: ([\w.]+))?`")


@cache
def names_in(path: Path) -> frozenset[str]:
    """Functions, classes, their methods and fields, and constants of a module."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found |= names_of(node)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for part in node.body for name in names_of(part)}
    return frozenset(found)


def names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return {target.id for target in targets if isinstance(target, ast.Name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(page):
    links = [link.split("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))]
    local = [link for link in links if link and not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_are_as_the_command_line_takes_them(page):
    for command in COMMAND.findall(page.read_text(encoding="utf-8")):
        app.parse_args(shlex.split(command, comments=True), exit_on_error=False, print_error=False)


def test_the_way_from_paper_to_code_leads_to_code():
    text = (ROOT / "docs" / "reference" / "paper_to_code.md").read_text(encoding="utf-8")
    found = PLACE.findall(text)
    assert len(found) > 50
    missing = [
        f"{path}: {name}"
        for path, name in found
        if not any(not name or name in names_in(file) for file in places(path))
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_modules_that_a_page_names_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = set(FILE.findall(text)) if page.name != "CHANGELOG.md" else set()
    # What a how-to adds.
    named -= {
        name
        for name in named
        if re.search(r"/(tophat_finder|(test_)?circles|tally|NAME)\.py|^slides\.py", name)
    }
    assert [name for name in sorted(named) if not places(name)] == []


def places(path: str) -> list[Path]:
    """Files that a path means; its first folders may be left out."""
    if (ROOT / path).is_file():
        return [ROOT / path]
    return [found for folder in (SOURCES, TESTS) for found in folder.rglob(path)]


def test_the_example_of_one_part_in_python_runs(tmp_path, monkeypatch):
    from overread.models import load_model

    monkeypatch.chdir(tmp_path)
    given = run_page("how-to/use_one_part.md")
    assert len(given["scores"]) == len(given["candidates"])
    assert load_model(tmp_path / "model.json").coef_.any()
