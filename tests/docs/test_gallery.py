"""The scripts of docs/examples run and draw, and their pages hold what they say."""

import cv2
import pytest
from gallery import list_examples, list_gallery, run_example, write_gallery, write_page

EXAMPLES = {example.name: example for example in list_examples()}
# It runs a study; what it shows is what the first tutorial and tests/study/test_detector.py do.
LONG = {"explain_a_detection"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in EXAMPLES]
)
def test_an_example_runs_and_draws(name, tmp_path):
    example = EXAMPLES[name]
    printed = run_example(example, tmp_path)
    drawn = cv2.imread(str(tmp_path / f"{name}.png"))
    assert drawn is not None
    # Not an empty sheet.
    assert drawn.std() > 5
    assert any(printed)
    page = write_page(example, printed)
    assert page.startswith(f"# {example.title}\n")
    assert all(output in page for output in printed)


def test_a_script_is_a_title_and_cells():
    for example in EXAMPLES.values():
        assert example.title
        assert example.about.endswith(".")
        assert len(example.cells) > 1
        assert all(cell.text and cell.code for cell in example.cells)


def test_every_example_has_a_page_and_is_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("gallery.run_example", lambda example, folder: [""] * len(example.cells))
    assert {page.stem for page in write_gallery(tmp_path)} == set(EXAMPLES)
    monkeypatch.setattr("gallery.introduce", lambda example: example.name)
    assert list_gallery().split() == list(EXAMPLES)
