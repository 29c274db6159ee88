"""The examples in docs/reference/froc.md run as printed."""

import doctest
import re
from pathlib import Path

import pandas as pd

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "froc.md"


def test_page():
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/reference/froc.md", None, 0)
    runner = doctest.DocTestRunner()
    with pd.option_context("display.width", 120, "display.max_columns", 20):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert len(blocks) == 5
