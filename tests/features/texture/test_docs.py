"""The code blocks of docs/texture.md run."""

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_texture_page():
    failures, tried = doctest.testfile(str(DOCS / "texture.md"), module_relative=False)
    assert tried > 5
    assert failures == 0
