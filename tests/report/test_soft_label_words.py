"""A soft label that a discount has changed is not called how often a reader would mark the place."""

import pandas as pd
import pytest

from overread.report import write_model_card
from overread.truth import soft_labels

FALSE = "how often a reader would mark"


def test_a_label_of_one_reader_is_not_a_share_of_readers():
    """The review's figure: of five readers one marked, and the label is 0.05 or less, not 0.2."""
    truth = pd.DataFrame({"image_id": ["a"], "n_marks": [1], "n_readers": [1], "n_readings": [5]})
    readings = pd.DataFrame({"image_id": ["a"] * 5 + ["b"] * 3, "reader_id": [*"12345123"]})
    (label,) = soft_labels(truth, readings)["probability"]
    assert label == pytest.approx(1 / 8 * 2 / 5 * 3 / 5)


def test_page_and_card_say_what_a_soft_label_is(results, page, head):
    for text in (page, write_model_card(results, head).replace("\\", "")):
        assert FALSE not in " ".join(text.split())
        assert "for a place that a single reader marked what [labels] sets instead" in " ".join(text.split())
