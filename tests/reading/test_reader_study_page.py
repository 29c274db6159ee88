from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.apps.reader_study._analysis import (
    ArmRow,
    Comparison,
    DecisionRow,
    Reference,
    render_reader_study,
    tell_result,
    turn_round,
)
from overread.froc import CaseRatings, reader_study
from overread.marks import ELLIPSE_COLUMNS


def ratings(gain, seed):
    rng = np.random.default_rng(seed)
    lesions = np.where(rng.random(20) < 0.4 + gain, rng.uniform(50, 100, 20), -np.inf)
    false = np.where(rng.random(40) < 0.2, rng.uniform(0, 60, 40), -np.inf)
    return CaseRatings(false, np.arange(20), lesions)


def comparison(gain=0.4, name="Anna"):
    readers = [name, "Ben", "Cleo", "Dan"]
    study = reader_study(
        {
            "unaided": {reader: ratings(0.0, 7 * n) for n, reader in enumerate(readers)},
            "aided": {reader: ratings(gain, 7 * n) for n, reader in enumerate(readers)},
        }
    )
    study = replace(study, differences=tuple(map(turn_round, study.differences)))
    rows = [
        ArmRow(reader, arm, 20, 9, 0.45, 0.25, 0.66, 8, 0.2, 0.7, 12.0)
        for reader in readers
        for arm in ("unaided", "aided")
    ]
    reference = Reference(
        pd.DataFrame(columns=["image_id", *ELLIPSE_COLUMNS]), "the truth", is_independent=True
    )
    decisions = [DecisionRow(reader, 5, 1, 2, 9) for reader in readers]
    return Comparison("sequential", reference, ["a"] * 40, "wAFROC", rows, decisions, study, "", 3, 0)


def test_the_sentence_says_better_where_the_test_does():
    assert "read better with the detector" in tell_result(comparison(0.4))
    assert "nothing to test" in tell_result(comparison(0.0))
    assert "not proof" in tell_result(comparison(0.05))


def test_the_sentence_tells_the_gain_with_its_sign():
    found = comparison(0.4)
    difference = found.study.differences[0]
    assert (
        f"Aided minus unaided, wAFROC differs by {difference.estimate:+.3f} "
        f"({difference.lower:+.3f} to {difference.upper:+.3f})" in tell_result(found)
    )


def test_without_a_test_the_reason_is_told():
    told = tell_result(replace(comparison(), study=None, why_no_study="wAFROC needs lesions"))
    assert "cannot be compared by a test: wAFROC needs lesions" in told


@pytest.fixture(scope="module")
def page():
    return render_reader_study("Study & Sons", comparison(name="<b>Anna</b>"))


def test_the_page_escapes_names_and_fetches_nothing(page):
    assert "<b>Anna" not in page
    assert "&lt;b&gt;Anna" in page
    assert "Study &amp; Sons" in page
    assert not re.search(r"""(src|href)=["']?https?://""", page)
    assert "default-src 'none'" in page


def test_the_page_has_every_reader_arm_and_decision(page):
    assert page.count("9 of 20") == 8
    for word in (
        "45.0 (25.0-66.0)",
        "wrong ones dismissed",
        "<svg",
        "read again at once",
        "3 marks without a confidence count as 100",
    ):
        assert word in page


def test_a_reference_made_of_the_readings_is_warned_about():
    found = comparison()
    weak = replace(found, reference=replace(found.reference, is_independent=False))
    assert "flatters" in render_reader_study("S", weak)
    assert "flatters" not in render_reader_study("S", found)


def test_a_detector_that_knows_the_images_is_warned_about():
    found = comparison()
    assert "trained on 7 of these images" in render_reader_study("S", replace(found, n_trained_on=7))
    assert "trained on" not in render_reader_study("S", found)
