"""Grouping rules, against plain loops, scikit-learn's DBSCAN and SciPy's average linkage."""

from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import DBSCAN

from overread.errors import InvalidInputError
from overread.marks import ELLIPSE_COLUMNS
from overread.truth import MergeOptions, _grouping, merge_marks
from overread.truth._grouping import GroupingRule, find_rule, list_rules
from overread.truth._mark_arrays import MarkArrays, overlapping_pairs
from overread.truth._merging import find_pairs
from overread.truth._rules import density_clusters, stars


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


@pytest.mark.parametrize("seed", range(20))
def test_stars_follow_the_papers_steps(seed):
    """Steps 2 to 5 as a loop over a shrinking list."""
    marks = crowded_marks(seed, 40)
    pairs = pairs_of(marks, 0.4)
    sizes = marks[:, 2]
    hits = {i: set() for i in range(40)}
    total = dict.fromkeys(range(40), 0.0)
    for i, j, share in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.share, strict=True):
        hits[i].add(j), hits[j].add(i)
        total[i] += share
        total[j] += share
    score = {i: len(hits[i]) for i in hits}
    remaining, expected = set(hits), set()
    while remaining:
        seed_mark = max(remaining, key=lambda i: (score[i], round(total[i], 12), sizes[i], -i))
        star = frozenset({seed_mark} | (hits[seed_mark] & remaining))
        expected.add(star)
        remaining -= star
    assert partition(stars(pairs, sizes)) == expected


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


def arrays_of(ellipses, readers):
    table = pd.DataFrame(ellipses, columns=list(ELLIPSE_COLUMNS)).assign(
        image_id="i",
        reader_id=[f"R{reader:02}" for reader in readers],
        mark_id=np.arange(len(ellipses)).astype(str),
    )
    return MarkArrays.from_table(table, MergeOptions())


def grouped(marks, options):
    """Sets of mark numbers by a rule."""
    groups = find_rule(options.method).group(marks, find_pairs(marks, options), options)
    numbers = marks.mark_ids.astype(int)
    return {frozenset(numbers[groups == group].tolist()) for group in np.unique(groups)}


@pytest.mark.parametrize("method", ["fusion", "linkage"])
def test_a_reader_is_once_in_an_object(method):
    marks = arrays_of(np.array([[10, 10, 6, 3, 20.0], [10, 10, 6, 3, 20.0]]), [0, 0])
    assert len(grouped(marks, MergeOptions(method=method))) == 2
    assert len(grouped(marks, MergeOptions(method=method, same_reader_hits=True))) == 1


def fusion_by_loops(marks, least):
    """Weighted boxes fusion of circles in a row: the mean of circles is their mean centre and radius."""
    order = sorted(range(len(marks)), key=lambda i: (-marks.ellipses[i, 2], i))
    groups = []
    for i in order:
        ious = []
        for group in groups:
            mean = marks.ellipses[group].mean(axis=0)
            if marks.reader[i] in marks.reader[group]:
                ious.append(-1.0)
                continue
            zero, one = np.zeros(1, np.int64), marks.ellipses[[i]]
            pairs = overlapping_pairs(zero, one, zero, mean[None])
            ious.append(pairs.iou[0] if len(pairs) else 0.0)
        if ious and max(ious) > least:
            groups[int(np.argmax(ious))].append(i)
        else:
            groups.append([i])
    return {frozenset(marks.mark_ids[group].astype(int).tolist()) for group in groups}


@pytest.mark.parametrize("seed", range(10))
def test_fusion_follows_its_running_mean(seed):
    rng = np.random.default_rng(seed)
    ellipses = crowded_marks(seed, 40)
    ellipses[:, 3] = ellipses[:, 2]
    ellipses[:, 4] = 0.0
    marks = arrays_of(ellipses, rng.integers(0, 6, 40))
    assert grouped(marks, MergeOptions(method="fusion", fusion_iou=0.3)) == fusion_by_loops(marks, 0.3)


def iou_matrix(marks):
    pairs = overlapping_pairs(marks.group, marks.ellipses)
    iou = np.zeros((len(marks), len(marks)))
    iou[pairs.first, pairs.second] = iou[pairs.second, pairs.first] = pairs.iou
    return iou


@pytest.mark.parametrize("seed", range(10))
def test_linkage_is_scipys_where_readers_do_not_matter(seed):
    marks = arrays_of(crowded_marks(seed, 60), range(60))
    theirs = fcluster(linkage(squareform(1.0 - iou_matrix(marks), checks=False), "average"), 0.7, "distance")
    numbers = marks.mark_ids.astype(int)
    expected = {frozenset(numbers[theirs == group].tolist()) for group in np.unique(theirs)}
    assert grouped(marks, MergeOptions(method="linkage", linkage_iou=0.3)) == expected


def linkage_by_loops(marks, least):
    """Join the two groups of different readers with the largest mean IoU, again and again."""
    iou, groups = iou_matrix(marks), [[i] for i in range(len(marks))]
    while True:
        best = max(
            (
                (iou[np.ix_(one, other)].mean(), a, b)
                for a, one in enumerate(groups)
                for b, other in enumerate(groups[:a])
                if not set(marks.reader[one]) & set(marks.reader[other])
            ),
            default=(0.0, 0, 0),
        )
        if best[0] <= least:
            return {frozenset(marks.mark_ids[group].astype(int).tolist()) for group in groups}
        groups[best[2]] += groups.pop(best[1])


@pytest.mark.parametrize("seed", range(10))
def test_linkage_joins_the_most_similar_groups_first(seed):
    readers = np.random.default_rng(seed).integers(0, 5, 40)
    marks = arrays_of(crowded_marks(seed, 40), readers)
    assert grouped(marks, MergeOptions(method="linkage", linkage_iou=0.2)) == linkage_by_loops(marks, 0.2)


def add_entry_point(monkeypatch, value):
    monkeypatch.setattr(
        _grouping,
        "entry_points",
        lambda group: EntryPoints([EntryPoint("alone", value, group)]).select(group=group),
    )
    find_rule.cache_clear()


ALONE = GroupingRule("alone", lambda marks, pairs, options: np.arange(len(marks)))
MISNAMED = GroupingRule("other", ALONE.group)


def test_another_package_adds_a_rule(monkeypatch):
    add_entry_point(monkeypatch, f"{__name__}:ALONE")
    assert list_rules()[-1] == "alone"
    table = pd.DataFrame(crowded_marks(0, 12), columns=list(ELLIPSE_COLUMNS)).assign(
        image_id="i", reader_id=["A", "B"] * 6, mark_id=np.arange(12).astype(str)
    )
    readings = pd.DataFrame({"image_id": "i", "reader_id": ["A", "B"]})
    assert len(merge_marks(table, readings, options=MergeOptions(method="alone"), unit="mm")) == 12


def test_a_rule_has_the_name_of_its_entry_point(monkeypatch):
    add_entry_point(monkeypatch, f"{__name__}:MISNAMED")
    with pytest.raises(InvalidInputError, match="entry point 'alone' has a grouping rule named 'other'"):
        find_rule("alone")
