"""The examples in docs/reference/bags.md and in the docstrings of the stage run as printed."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "bags.md"
MODULES = ["_bags", "_scoring"]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def test_page():
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/reference/bags.md", None, 0)
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    tested = doctest.testmod(importlib.import_module(f"overread.bags.{name}"), optionflags=OPTIONS)
    assert tested.attempted
    assert not tested.failed
