"""Hitting pairs, against the paper's test written out for one pair, with shapely's areas."""

from itertools import combinations

import numpy as np
import pytest
import shapely

from overread.marks import Ellipse
from overread.truth import MergeOptions
from overread.truth._mark_arrays import hitting_pairs, overlapping_pairs, thresholds

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
