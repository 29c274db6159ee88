"""The examples of every page, and of every module that is not public by name, run as printed."""

import doctest
import re
from importlib import import_module

import pandas as pd
import pytest

from page_code import DOCS

PAGES = [
    page.relative_to(DOCS).as_posix()
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts and re.search("^>>> ", page.read_text(encoding="utf-8"), re.MULTILINE)
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_as_printed(page):
    text = (DOCS / page).read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    with pd.option_context("display.width", 120, "display.max_columns", 20):
        assert doctest.DocTestRunner(optionflags=OPTIONS).run(examples).failed == 0


def test_the_pages_with_examples_are_found():
    assert len(PAGES) >= 6


# tests/test_house.py runs the examples of public names.
@pytest.mark.parametrize("name", ["bags._bags", "bags._scoring", "models.crowd._models"])
def test_the_examples_of_a_module_run_as_printed(name):
    tested = doctest.testmod(import_module(f"overread.{name}"), optionflags=OPTIONS)
    assert tested.attempted
    assert not tested.failed
