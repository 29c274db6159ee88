"""What a release says of itself is said once, and alike."""

import re
import tomllib
from pathlib import Path

import overread

ROOT = Path(__file__).resolve().parents[1]


def test_the_version_stands_in_one_place_and_the_citation_agrees():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    source = (ROOT / project["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert found == overread.__version__ == cited[1]


def test_the_guide_for_contributors_leads_to_every_how_to():
    pages = [page.name for page in (ROOT / "docs" / "how-to").glob("add_a*.md")]
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [page for page in pages if page not in guide] == []
