"""Marks as arrays do not depend on the order in which they were given.

Hitting pairs, against the paper's test written out for one pair, with shapely's areas.

Outlines of objects: mean ellipses against boxes and points, and how marks spread around them.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import shapely

from overread.marks import Ellipse
from overread.truth import MergeOptions, merge_marks
from overread.truth._mark_arrays import (
    MarkArrays,
    hitting_pairs,
    mean_ellipses,
    outline_spread,
    overlapping_pairs,
    thresholds,
)


def marks(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "image_id": rng.integers(0, 4, n).astype(str),
            "reader_id": rng.integers(0, 3, n).astype(str),
            "mark_id": [f"m{k}" for k in range(n)],
            "x": rng.integers(0, 3, n).astype(float),
            "y": rng.uniform(0, 80, n),
            "semi_major": rng.uniform(1, 9, n),
            "semi_minor": rng.uniform(1, 9, n),
            "angle_deg": rng.uniform(0, 180, n),
            "label": rng.choice(["mass", "nodule"], n),
        }
    )


def test_marks_without_confidence_have_1():
    table = marks()
    assert (MarkArrays.from_table(table, MergeOptions()).confidence == 1.0).all()
    given = table.assign(confidence=np.r_[np.nan, np.full(39, 0.5)])
    arrays = MarkArrays.from_table(given, MergeOptions())
    assert arrays.confidence[arrays.mark_ids == "m0"] == 1.0
    assert arrays.confidence.sum() == 1.0 + 39 * 0.5


def test_parts_are_whole_images():
    arrays = MarkArrays.from_table(marks(), MergeOptions())
    for most in (1, 7, 12, 39, 40, 100):
        parts = list(arrays.parts(most))
        np.testing.assert_array_equal(np.concatenate(parts), np.arange(40))
        images = [set(arrays.image[rows]) for rows in parts]
        assert sum(map(len, images)) == 4
        assert all(len(rows) <= most or len(one) == 1 for rows, one in zip(parts, images, strict=True))
    assert list(arrays.take(np.arange(0)).parts()) == []


OPTIONS = [
    MergeOptions(),
    MergeOptions(size="major_axis"),
    MergeOptions(size="mean", distance_by="min"),
    MergeOptions(size_fraction="area", distance_by="mean", similar_distance=0.3),
    MergeOptions(threshold="fixed", t0=0.3),
    MergeOptions(t0=0.2, full_size=10.0),
]
OPTIONS = [options.in_unit("mm") for options in OPTIONS]


def random_marks(rng, n):
    axes = np.sort(np.exp(rng.uniform(0, 2.7, (n, 2))))[:, ::-1]
    return np.column_stack([rng.uniform(0, 12, (n, 2)), axes, rng.uniform(0, 180, n)])


def paper_threshold(first, second, options):
    """T of one pair, as section 2.1 says it."""
    if options.threshold == "fixed":
        return options.t0
    size = {
        "equal_area": lambda e: 2 * np.sqrt(e[2] * e[3]),
        "major_axis": lambda e: 2 * e[2],
        "mean": lambda e: e[2] + e[3],
    }[options.size]
    di, dj = size(first), size(second)
    fraction = min(di, dj) / max(di, dj)
    if options.size_fraction == "area":
        si, sj = first[2] * first[3], second[2] * second[3]
        fraction = min(si, sj) / max(si, sj)
    by = {"max": max(di, dj), "min": min(di, dj), "mean": (di + dj) / 2}[options.distance_by]
    distance = np.hypot(*(first[:2] - second[:2])) / by
    similar = fraction > options.similar_size and distance < options.similar_distance
    return min(options.t0, options.t0 / options.full_size * (max(di, dj) if similar else min(di, dj)))


@pytest.mark.parametrize("options", OPTIONS)
def test_thresholds_follow_the_paper(options):
    rng = np.random.default_rng(0)
    first = random_marks(rng, 400)
    second = first * (1 + rng.normal(0, 0.08, first.shape)) + 0.01
    expected = [paper_threshold(a, b, options) for a, b in zip(first, second, strict=True)]
    assert thresholds(first, second, options) == pytest.approx(np.array(expected), rel=1e-12)


@pytest.mark.parametrize("options", OPTIONS)
def test_pairs_follow_the_paper(options):
    rng = np.random.default_rng(1)
    marks = random_marks(rng, 60)
    images = rng.integers(0, 3, 60)
    shapes = [shapely.Polygon(Ellipse(*mark).outline(1024)) for mark in marks]
    pairs = hitting_pairs(overlapping_pairs(images, marks), marks, marks, options)
    found = {frozenset(pair) for pair in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)}
    assert len(found) == len(pairs) > 5
    for i, j in combinations(range(60), 2):
        share = shapes[i].intersection(shapes[j]).area / max(shapes[i].area, shapes[j].area)
        threshold = paper_threshold(marks[i], marks[j], options)
        if abs(share - threshold) > 1e-4:
            assert ({i, j} in found) == (images[i] == images[j] and share > threshold)


def test_shares_are_those_of_shapely():
    rng = np.random.default_rng(2)
    marks = random_marks(rng, 50)
    shapes = [shapely.Polygon(Ellipse(*mark).outline(2048)) for mark in marks]
    pairs = overlapping_pairs(np.zeros(50, dtype=np.int64), marks)
    for i, j, share, iou in zip(pairs.first, pairs.second, pairs.share, pairs.iou, strict=True):
        common = shapes[i].intersection(shapes[j]).area
        assert share == pytest.approx(common / max(shapes[i].area, shapes[j].area), abs=1e-4)
        assert iou == pytest.approx(common / shapes[i].union(shapes[j]).area, abs=1e-4)


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
