"""Marks that are far from the full size are told, with a cure that cures."""

import re

import numpy as np
import pandas as pd
import pytest

from overread.truth import MergeOptions, tell_misfit


def make_marks(diameter: float, n: int = 25) -> pd.DataFrame:
    random = np.random.default_rng(0)
    semi = diameter / 2 * np.exp(random.normal(0, 0.3, n))
    return pd.DataFrame(
        {
            "x": random.uniform(0, 300, n),
            "y": random.uniform(0, 300, n),
            "semi_major": semi * 1.1,
            "semi_minor": semi / 1.1,
            "angle_deg": 0.0,
        }
    )


@pytest.mark.parametrize("diameter", [1.5, 7.6, 14.0, 17.0])
def test_marks_of_the_usual_sizes_fit(diameter):
    assert tell_misfit(make_marks(diameter), MergeOptions(), "mm") is None


@pytest.mark.parametrize(
    ("diameter", "word"), [(0.3, "hardly overlap"), (60.0, "nearly coincide"), (500.0, "nearly coincide")]
)
def test_too_small_and_too_large_are_told_and_the_cure_cures(diameter, word):
    marks = make_marks(diameter)
    message, remedy = tell_misfit(marks, MergeOptions(), "mm")
    assert word in message
    advised = float(re.search(r"full_size = ([0-9.e+]+)", remedy)[1])
    assert advised == pytest.approx(5 * diameter, rel=0.2)
    assert tell_misfit(marks, MergeOptions(full_size=advised), "mm") is None


@pytest.mark.parametrize("options", [{"threshold": "fixed"}, {"method": "dbscan"}, {"method": "fusion"}])
def test_without_an_adaptive_threshold_nothing_is_told(options):
    assert tell_misfit(make_marks(0.1), MergeOptions(**options), "mm") is None


def test_a_handful_of_marks_is_not_judged():
    assert tell_misfit(make_marks(0.1, n=9), MergeOptions(), "mm") is None
