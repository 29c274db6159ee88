import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_results import ramp, small_results

from overread.report import GroupPart, RunHead, cut_pictures, draw_figures, render_study


@pytest.fixture(scope="session")
def results():
    """A small study of 150 images."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return small_results()


@pytest.fixture(scope="session")
def pictures(results):
    return cut_pictures(results, lambda _: ramp())


@pytest.fixture(scope="session")
def figures(results, pictures):
    return draw_figures(results, pictures)


@pytest.fixture(scope="session")
def head():
    return RunHead("Lungs & <more>", "main", "0123456789ab", "2026-01-31")


@pytest.fixture(scope="session")
def page(results, figures, pictures, head):
    """The page's HTML."""
    return render_study(results, figures, pictures, head)


@pytest.fixture(scope="session")
def parts(results, figures, pictures, head):
    """Two groups of labels, each with the results of the study."""
    found = []
    for group, label in (("pale", "Hard <b>"), ("dark", "Dots")):
        own = replace(results, settings=results.settings | {"labels": {"groups": {group: [label]}}})
        found.append(GroupPart(group, own, figures, pictures, replace(head, run=f"main-{group}")))
    return found
