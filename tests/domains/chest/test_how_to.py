"""The page on adding a finder runs, block after block, and what it adds is found by name."""

import sys
from types import ModuleType

import pandas as pd
import pytest

from overread.domains import FINDERS, find_candidates, list_finders, load_finder
from page_code import DOCS, run_page
from radiograph_pictures import all_lung, disc, radiograph, ramp


@pytest.fixture(scope="module")
def page():
    """The names that the page's blocks define."""
    module = ModuleType("overread.domains.chest.tophat_finder")
    run_page("how-to/add_a_candidate_finder.md", vars(module))
    return module


def test_the_page_finds_candidates(page):
    assert len(page.candidates) == 20
    assert page.candidates["response"].is_monotonic_decreasing


def test_the_finder_of_the_page_is_found_by_its_name(page, monkeypatch):
    monkeypatch.setitem(sys.modules, page.__name__, page)
    monkeypatch.setitem(FINDERS, page.entry.name, page.entry)
    assert load_finder("tophat").version == "1"
    found = find_candidates(page.radiograph, finder="tophat", limit=20)
    pd.testing.assert_frame_equal(found, page.candidates)


def test_the_finder_of_the_page_finds_a_disc(page):
    image = radiograph(ramp() + disc(90, 120, 6))
    first = find_candidates(image, anatomy=all_lung(), finder=page.TopHatFinder()).iloc[0]
    assert (first["x_mm"], first["y_mm"]) == pytest.approx((90, 120), abs=1)


def test_the_page_names_all_finders(page):
    text = (DOCS / "reference" / "candidates.md").read_text(encoding="utf-8")
    for name in list_finders("chest"):
        assert f"| `{name}` | {FINDERS[name].description} |" in text
