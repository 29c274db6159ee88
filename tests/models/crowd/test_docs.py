"""The blocks of docs/explanation/crowd_models.md run one after the other, and the docstrings' examples as printed."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "crowd_models.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    text = PAGE.read_text(encoding="utf-8")
    found = {"folder": tmp_path_factory.mktemp("docs")}
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == 2
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), str(PAGE), "exec"), found)
    return found


def test_the_page_runs(names):
    assert len(names["probability"]) == len(names["bags"])
    assert names["labelled"]["probability"].between(0, 1).all()
    assert names["soft"].fit_report_.converged
    assert names["crowd"].converged_
    assert names["raykar"].converged_


def test_the_example_of_the_docstring():
    module = importlib.import_module("overread.models.crowd._models")
    tested = doctest.testmod(module)
    assert tested.attempted
    assert not tested.failed
