"""How-to pages whose changes are made to a copy of the package, or to a package beside it; then their code runs.

A block with a caption is a file: a new one, or, as a diff, lines that are added after a line that is there. Blocks of
Python without a caption run one after the other.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import overread
from field_study import LIGHT, write_field_study
from overread.tables import plain

ROOT = Path(__file__).parents[1]
HOW_TO = ROOT / "docs" / "how-to"
BLOCK = re.compile(
    r"^(`{3,})(?:\{code-block\} )?(\S+)\n(?::caption: (\S+)\n)?(.*?)^\1$", re.MULTILINE | re.DOTALL
)
SLIDES = LIGHT.replace('kind = "field_of_view"', 'kind = "slide"').replace("folds = 2", "folds = 3")


class Block(NamedTuple):
    language: str
    file: str
    text: str


def blocks_of(page: str) -> list[Block]:
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return [Block(*match.groups()[1:]) for match in BLOCK.finditer(text)]


def code_of(page: str) -> str:
    return "\n".join(block.text for block in blocks_of(page) if block.language == "python" and not block.file)


def make_changes(page: str, root: Path) -> set[str]:
    """Make the changes of a page to a tree, and return the files that they touch."""
    changes = [block for block in blocks_of(page) if block.file]
    for block in changes:
        path = root / block.file
        lines = block.text.splitlines()
        if block.language == "diff" and lines[0][0] == " ":
            assert {line[0] for line in lines[1:]} == {"+"}
            old, new = lines[0][1:] + "\n", "".join(f"{line[1:]}\n" for line in lines)
            text = path.read_text(encoding="utf-8")
            assert text.count(f"\n{old}") == 1, f"{page}: {old.strip()!r} is not one line of {block.file}"
            path.write_text(text.replace(f"\n{old}", f"\n{new}"), encoding="utf-8")
        else:
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            text = (
                re.sub(r"^\+", "", block.text, flags=re.MULTILINE) if block.language == "diff" else block.text
            )
            path.write_text(text, encoding="utf-8")
    return {block.file for block in changes}


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """The package of add_a_domain.md as pip installs it, and its files."""
    root = tmp_path_factory.mktemp("slides")
    touched = make_changes("add_a_domain.md", root)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = root / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Name: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in named.items())
        for group, named in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        yield root, touched
    sys.modules.pop("slides", None)


@pytest.fixture(scope="module")
def finished(slides, tmp_path_factory):
    """The names that the code of add_a_domain.md leaves, a finished run among them."""
    study = write_field_study(tmp_path_factory.mktemp("study") / "slides", settings=SLIDES)
    names = {"study": study}
    exec(compile(code_of("add_a_domain.md"), "add_a_domain.md", "exec", dont_inherit=True), names)
    return names


def test_a_domain_of_another_package_runs_to_its_detector(slides, finished):
    assert slides[1] == {"slides.py", "pyproject.toml"}
    domain = finished["detector"].domain
    assert (domain.name, type(domain).__module__) == ("slide", "slides")
    candidates, _ = plain(finished["run"].table("candidates"))
    image = finished["image"]
    figure = domain.draw(image, image.valid, candidates[candidates["image_id"] == "eye00"], "eye00")
    assert len(figure.axes[0].lines[0].get_xdata()) == 12
    assert "cell" in (finished["run"].root / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with the changes of all pages, and the files that each page touches."""
    root = tmp_path_factory.mktemp("changed")
    shutil.copytree(Path(overread.__file__).parent, root / "src" / "overread")
    pages = ("add_a_command.md", "add_a_label_rule.md", "add_a_report_section.md")
    return root, {page: make_changes(page, root) for page in pages}


def run_on_copy(root: Path, code: str, folder: Path, *others: Path) -> str:
    """Run code on the changed package, in a process of its own; return what it prints."""
    place = root / "src"
    check = f"import overread\nassert overread.__file__.startswith({str(place)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", check + code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (place, *others)))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_command_is_added(changed, tmp_path):
    root, touched = changed
    assert len(touched["add_a_command.md"]) == 3
    printed = run_on_copy(root, code_of("add_a_command.md"), tmp_path)
    (shown,) = (block.text for block in blocks_of("add_a_command.md") if block.language == "json")
    assert printed == shown
    helped = run_on_copy(root, "from overread.cli import main\nmain(['--help'])", tmp_path)
    assert "Count the marks of each reader." in helped
    page = (root / "docs" / "reference" / "commands" / "tally.md").read_text(encoding="utf-8")
    beside = (ROOT / "docs" / "reference" / "commands" / "readers.md").read_text(encoding="utf-8")
    assert page == beside.replace("readers", "tally")


def test_a_label_rule_is_added(changed, tmp_path):
    root, touched = changed
    assert len(touched["add_a_label_rule.md"]) == 2
    run_on_copy(root, code_of("add_a_label_rule.md"), tmp_path)


def test_a_section_of_the_report_is_added(changed, slides, finished, tmp_path):
    root, touched = changed
    assert len(touched["add_a_report_section.md"]) == 3
    code = f"from pathlib import Path\nrun = Path({str(finished['run'].root)!r})\n"
    run_on_copy(root, code + code_of("add_a_report_section.md"), tmp_path, slides[0])
