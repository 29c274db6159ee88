"""How hard a cohort is, against the filter's formula."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.difficulty import curvature_spots, measure_difficulty


def test_the_reference_filter_finds_a_spot_and_leaves_a_line():
    y, x = np.mgrid[:200, :200] * 0.7
    image = 50 * np.exp(-((x - 60) ** 2 + (y - 60) ** 2) / (2 * 4**2)) + 50 * np.exp(
        -((x - 110) ** 2) / (2 * 3**2)
    )
    spots = curvature_spots(image, np.ones(image.shape, dtype=bool), 0.7)
    assert (spots["x_mm"][0], spots["y_mm"][0]) == pytest.approx((60, 60), abs=1.0)
    assert (spots["response"][1:] < 0.05 * spots["response"][0]).all()
    # s^2 times the smaller curvature of a Gaussian spot of height h and width w is s^2 h w^2 / (w^2 + s^2)^2
    scales = np.array([2, 3, 4.5, 6.5, 9.0])
    expected = (50 * scales**2 * 4**2 / (4**2 + scales**2) ** 2).max()
    assert spots["response"][0] == pytest.approx(expected, rel=0.05)


def test_difficulty_counts_what_it_says():
    truth = pd.DataFrame(
        {
            "image_id": ["a", "b"], "truth_id": ["1", "2"], "x_mm": [50.0, 50.0], "y_mm": [50.0, 50.0],
            "semi_major_mm": 6.0, "semi_minor_mm": 6.0, "angle_deg": 0.0, "n_readers": 2, "golden": True,
        }
    )  # fmt: skip
    on = pd.DataFrame({"x_mm": [50.0, 90.0], "y_mm": [50.0, 90.0], "response": [2.0, 1.0]})
    off = on.assign(x_mm=[90.0, 120.0])
    difficulty = measure_difficulty([("a", on, off), ("b", off, off)], truth)
    assert (difficulty.n_golden, difficulty.recall, difficulty.chance) == (2, 0.5, 0.0)
    assert difficulty.response == 0.5
