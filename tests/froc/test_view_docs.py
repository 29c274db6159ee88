"""The examples of the pages on reader studies, calibration and planning."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["how-to/reader_study.md", "explanation/calibration.md", "how-to/plan.md"])
def test_examples_run_as_printed(page):
    text = (DOCS / page).read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
