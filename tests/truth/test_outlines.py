"""Outlines of objects: mean ellipses against boxes and points, and how marks spread around them."""

import numpy as np
import pandas as pd
import pytest
import shapely

from overread.marks import Ellipse
from overread.truth import MergeOptions, merge_marks
from overread.truth._mark_arrays import mean_ellipses, outline_spread

COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


def random_ellipses(seed, n):
    rng = np.random.default_rng(seed)
    major = np.exp(rng.normal(2, 0.3, n))
    return np.column_stack(
        [rng.uniform(0, 9, (n, 2)), major, major * rng.uniform(0.2, 1, n), rng.uniform(0, 180, n)]
    )


def root_matrix(ellipse):
    """Square root of the second moments of the ellipse's points, by NumPy's eigenvectors."""
    values, vectors = np.linalg.eigh(np.cov(Ellipse(*ellipse).outline(999).T, bias=True))
    return vectors @ np.diag(np.sqrt(values)) @ vectors.T


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_has_the_mean_centre_and_root_of_the_moments(seed):
    ellipses, weights = random_ellipses(seed, 4), np.array([1.0, 0.5, 2.0, 1.0])
    (mean,) = mean_ellipses(ellipses, np.zeros(4, np.int64), weights)
    assert mean[:2] == pytest.approx(np.average(ellipses[:, :2], axis=0, weights=weights))
    roots = np.average([root_matrix(one) for one in ellipses], axis=0, weights=weights)
    assert root_matrix(mean) == pytest.approx(roots, rel=1e-9, abs=1e-9)


def test_the_mean_of_boxes_is_the_mean_box():
    """What weighted boxes fusion averages: the four edges."""
    boxes = np.array([[0, 0, 4, 6], [1, 1, 7, 5], [0, 2, 3, 4.0]])
    marks = [Ellipse.from_box(*box) for box in boxes]
    ellipses = np.array([[m.x, m.y, m.semi_major, m.semi_minor, m.angle_deg] for m in marks])
    (mean,) = mean_ellipses(ellipses, np.zeros(3, np.int64), np.ones(3))
    assert Ellipse(*mean).box() == pytest.approx(boxes.mean(axis=0), abs=1e-12)


def test_one_mark_is_its_own_mean_to_the_last_bit():
    ellipses = random_ellipses(0, 6)
    means = mean_ellipses(ellipses, np.arange(6), np.full(6, 0.3))
    np.testing.assert_array_equal(means, ellipses)


def test_the_spread_is_that_of_shapely():
    ellipses, groups = random_ellipses(2, 6), np.array([0, 0, 1, 1, 1, 2])
    means = mean_ellipses(ellipses, groups, np.ones(6))
    iou, distance = outline_spread(ellipses, groups, means)
    for group in range(3):
        own, mean = ellipses[groups == group], means[group]
        outline = shapely.Polygon(Ellipse(*mean).outline(2048))
        drawn = [shapely.Polygon(Ellipse(*one).outline(2048)) for one in own]
        expected = [one.intersection(outline).area / one.union(outline).area for one in drawn]
        assert iou[group] == pytest.approx(np.mean(expected), abs=1e-4)
        away = np.hypot(*(own[:, :2] - mean[:2]).T)
        size = 2.0 * np.sqrt(mean[2] * mean[3])
        assert distance[group] == pytest.approx(np.sqrt(np.mean(away**2)) / size, abs=1e-12)


def study():
    rows = [("A", 10, 10, 6, 5, 0), ("B", 11, 10, 6, 5, 0), ("C", 10, 11, 8, 5, 0), ("A", 60, 60, 5, 4, 0)]
    marks = pd.DataFrame(rows, columns=["reader_id", *COLUMNS]).assign(image_id="i", mark_id=list("abcd"))
    return marks, pd.DataFrame({"image_id": "i", "reader_id": list("ABC")})


@pytest.mark.parametrize("method", ["star", "components", "dbscan", "fusion", "linkage"])
def test_every_rule_has_either_outline(method):
    whole, one = merge_marks(*study(), options=MergeOptions(method=method, outline="mean")).to_dict("records")
    assert whole["x_mm"] == pytest.approx(31 / 3)
    assert whole["semi_major_mm"] == pytest.approx(20 / 3)
    assert 0.7 < whole["mark_iou"] < 1
    assert (one["mark_iou"], one["mark_distance"]) == (1.0, 0.0)
    marked = merge_marks(*study(), options=MergeOptions(method=method, outline="representative"))
    assert marked["x_mm"].isin([10.0, 11.0, 60.0]).all()
    assert "mark_iou" not in marked
