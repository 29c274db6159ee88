"""Ways to group marks, against plain loops, scikit-learn's DBSCAN and moments of points."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from overread.marks import Ellipse
from overread.truth import MergeOptions
from overread.truth._grouping import Pairs, components, density_clusters, fusion, overlapping_pairs, stars


def crowded_marks(seed, n):
    """Marks around a few places, so that groups of all sizes arise."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 60, (max(2, n // 6), 2))
    centres = places[rng.integers(0, len(places), n)] + rng.normal(0, 2.5, (n, 2))
    major = np.exp(rng.normal(1.8, 0.3, n))
    return np.column_stack([centres, major, major * rng.uniform(0.6, 1, n), rng.uniform(0, 180, n)])


def pairs_of(marks, least_share):
    pairs = overlapping_pairs(np.zeros(len(marks), dtype=np.int64), marks)
    return pairs.where(pairs.share > least_share)


def partition(groups):
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in np.unique(groups)}


def test_components_join_chains_that_stars_split():
    chain = Pairs(
        np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.5, 0.9, 0.5]), np.array([0.4, 0.8, 0.4])
    )
    assert partition(components(chain, 5)) == {frozenset({0, 1, 2, 3}), frozenset({4})}
    assert partition(stars(chain, np.array([1.0, 3.0, 2.0, 1.0, 1.0]))) == {
        frozenset({0, 1, 2}),
        frozenset({3}),
        frozenset({4}),
    }


@pytest.mark.parametrize("min_marks", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_density_clusters_agree_with_scikit_learn(seed, min_marks):
    """Same cores in the same clusters; a border mark is with its nearest core, noise is alone."""
    marks = crowded_marks(seed, 60)
    options = MergeOptions(method="dbscan", dbscan_eps=0.6, dbscan_min_marks=min_marks)
    pairs = overlapping_pairs(np.zeros(60, dtype=np.int64), marks)
    distance = np.ones((60, 60))
    np.fill_diagonal(distance, 0.0)
    distance[pairs.first, pairs.second] = distance[pairs.second, pairs.first] = 1 - pairs.iou
    theirs = DBSCAN(eps=0.6, min_samples=min_marks, metric="precomputed").fit(distance)
    ours = density_clusters(pairs, 60, options)
    cores = theirs.core_sample_indices_
    same = {
        frozenset(cores[theirs.labels_[cores] == label].tolist())
        for label in np.unique(theirs.labels_[cores])
    }
    assert {frozenset(cores[ours[cores] == group].tolist()) for group in np.unique(ours[cores])} == same
    for mark in np.setdiff1d(np.arange(60), cores):
        near = [core for core in cores if distance[mark, core] <= 0.6]
        alone = np.sum(ours == ours[mark]) == 1
        assert alone == (theirs.labels_[mark] == -1)
        assert alone or ours[mark] == ours[min(near, key=lambda core: distance[mark, core])]


def test_fusion_averages_centres_and_moments():
    marks = np.array([[10, 10, 6, 3, 20.0], [11, 10, 6, 4, 40.0], [10, 11, 5, 4, 0.0], [60, 60, 5, 5, 0.0]])
    weights = np.array([1.0, 0.5, 2.0, 1.0])
    options = MergeOptions(method="fusion", fusion_iou=0.3)
    groups, averages = fusion(np.zeros(4, dtype=np.int64), marks, np.arange(4), weights, options)
    assert partition(groups) == {frozenset({0, 1, 2}), frozenset({3})}
    average = averages[groups[0]]
    assert average[:2] == pytest.approx(np.average(marks[:3, :2], axis=0, weights=weights[:3]))
    moments = np.average(
        [np.cov(Ellipse(*mark).outline(999).T, bias=True) for mark in marks[:3]], axis=0, weights=weights[:3]
    )
    assert np.cov(Ellipse(*average).outline(999).T, bias=True) == pytest.approx(moments, rel=1e-9)


def test_fusion_takes_a_reader_once():
    marks = np.array([[10, 10, 6, 3, 20.0], [10, 10, 6, 3, 20.0]])
    readers, images = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    groups, _ = fusion(images, marks, readers, np.ones(2), MergeOptions(method="fusion"))
    assert len(set(groups)) == 2
    groups, _ = fusion(
        images, marks, readers, np.ones(2), MergeOptions(method="fusion", same_reader_hits=True)
    )
    assert len(set(groups)) == 1
