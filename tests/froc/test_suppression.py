"""One mark per place: what is shown stands apart, and what is hidden lies on something stronger that is shown."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.froc import Counting, froc_curve, match_detections, non_max_suppression

PAPER = Counting(repeats="count")

# Whole millimetres, so that places coincide and touch; few scores, so that they tie.
detections = st.lists(
    st.tuples(
        st.integers(-2, 2),
        st.integers(0, 15),
        st.integers(0, 15),
        st.integers(0, 6),
        st.integers(-3, 3),
    ),
    max_size=30,
)
distinct = detections.map(lambda rows: [(*row[:4], k / 7) for k, row in enumerate(rows)])


def columns(rows):
    """Image, x, y, radius and score of each row."""
    return np.array(rows, dtype=float).reshape(-1, 5).T


def lie_on_each_other(one, other):
    """Same image, and closer than the larger radius."""
    return one[0] == other[0] and math.dist(one[1:3], other[1:3]) < max(one[3], other[3])


@given(detections)
def test_no_two_shown_marks_lie_on_each_other(rows):
    shown = [row for row, kept in zip(rows, non_max_suppression(*columns(rows)), strict=True) if kept]
    assert not [
        (one, other)
        for k, one in enumerate(shown)
        for other in shown[k + 1 :]
        if lie_on_each_other(one, other)
    ]


@given(detections)
def test_every_hidden_mark_lies_on_a_shown_one_that_is_stronger(rows):
    shown = non_max_suppression(*columns(rows))
    assert len(shown) == len(rows)
    for k in np.flatnonzero(~shown):
        # Of equal ones the first row is the stronger.
        stronger = [i for i in np.flatnonzero(shown) if (-rows[i][4], i) < (-rows[k][4], k)]
        assert any(lie_on_each_other(rows[k], rows[i]) for i in stronger)


@given(distinct, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    mixed = non_max_suppression(*columns([rows[k] for k in order]))
    assert mixed.tolist() == non_max_suppression(*columns(rows))[order].tolist()


@given(detections)
def test_other_images_do_not_matter(rows):
    shown = non_max_suppression(*columns(rows))
    for image in {row[0] for row in rows}:
        inside = [k for k, row in enumerate(rows) if row[0] == image]
        assert non_max_suppression(*columns([rows[k] for k in inside])).tolist() == shown[inside].tolist()


@given(detections, st.integers(-3, 3))
def test_a_threshold_may_come_before_or_after(rows, threshold):
    """What is weaker than a mark has no say in it, so that one threshold serves all operating points."""
    shown = non_max_suppression(*columns(rows))
    strong = [k for k, row in enumerate(rows) if row[4] >= threshold]
    assert non_max_suppression(*columns([rows[k] for k in strong])).tolist() == shown[strong].tolist()


def test_a_mark_that_touches_is_not_on_it():
    apart = non_max_suppression([0, 0, 0], [0.0, 5.0, 9.9], [0.0, 0.0, 0.0], [5.0, 3.0, 1.0], [3.0, 2.0, 1.0])
    assert apart.tolist() == [True, True, True]
    # A hidden mark hides nothing.
    chain = non_max_suppression([0, 0, 0], [0.0, 4.0, 8.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0], [3.0, 2.0, 1.0])
    assert chain.tolist() == [True, False, True]


def test_nothing_is_nothing():
    assert non_max_suppression([], [], [], [], []).tolist() == []


def with_radii(make_tables, seed):
    candidates, truth, images = make_tables(seed, 6, 60, 10, 10**6)
    radius = np.random.default_rng(seed).uniform(2, 8, len(candidates))
    return candidates.assign(radius_mm=radius), truth, images


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("single_reader", ["ignore", "fp", "hit"])
def test_suppressed_is_counted_without_the_hidden_rows(make_tables, definition, seed, single_reader):
    """Counted by the definition at every threshold, after the hidden rows were taken out of the table."""
    candidates, truth, images = with_radii(make_tables, seed)
    codes = pd.factorize(candidates["image_id"])[0]
    kept = non_max_suppression(codes, *candidates[["x_mm", "y_mm", "radius_mm", "score"]].to_numpy().T)
    assert 0 < kept.sum() < len(kept)
    matching = match_detections(candidates, truth, images, counting=Counting(single_reader=single_reader))
    curve = froc_curve(matching).to_frame()
    for row in curve[np.isfinite(curve["threshold"])].iloc[::7].to_dict("records"):
        counted = definition.at_threshold(
            candidates[kept], truth, images, row["threshold"], single_reader=single_reader
        )
        assert row["fp_per_image"] == pytest.approx(counted["fps"] / counted["n_images"])
        assert row["gt_sensitivity"] == pytest.approx(counted["gts"] / counted["n_gts"])


@pytest.mark.parametrize("seed", range(8))
def test_false_positives_are_no_more_than_without(make_tables, seed):
    candidates, truth, images = with_radii(make_tables, seed)
    ours, paper = (
        match_detections(candidates, truth, images, counting=Counting(repeats=how))
        for how in ("suppress", "count")
    )
    assert len(ours.fp_scores) < len(paper.fp_scores)
    for threshold in np.quantile(candidates["score"], np.linspace(0, 1, 9)):
        assert (ours.fp_scores >= threshold).sum() <= (paper.fp_scores >= threshold).sum()
    assert (ours.gt_scores <= paper.gt_scores).all()
    # Whether a GT can be reached at all is a matter of the candidates, not of what is shown.
    assert np.array_equal(ours.gt_reached, paper.gt_reached)


@pytest.mark.parametrize("seed", range(4))
def test_counted_repeats_give_the_numbers_and_the_fingerprint_of_before(make_tables, seed):
    """Without radii nothing could be suppressed: that is how all tables were counted once."""
    candidates, truth, images = with_radii(make_tables, seed)
    counted = match_detections(candidates, truth, images, counting=PAPER)
    before = match_detections(candidates.drop(columns="radius_mm"), truth, images, counting=PAPER)
    assert counted.fingerprint() == before.fingerprint()
    for name in ("fp_scores", "fp_images", "gt_scores", "gt_images"):
        assert np.array_equal(getattr(counted, name), getattr(before, name))
    assert match_detections(candidates, truth, images).fingerprint() != before.fingerprint()


def test_a_fingerprint_of_before_repeats_were_suppressed(make_tables):
    # Computed by Overread before there was an option; the counting was spelt out in full.
    candidates, truth, images = with_radii(make_tables, 0)
    matching = match_detections(candidates, truth, images, counting=PAPER)
    assert matching.counting.option_record() == {
        "single_reader": "ignore",
        "extra_hits": "ignore",
        "shared_candidates": "all",
    }
    assert matching.fingerprint() == FINGERPRINT


FINGERPRINT = "bdd6f9a052835965c7ebd746d04fdc2301ade61c03545ab01d7bb43438236271"


def test_other_scores_show_other_marks(make_tables):
    candidates, truth, images = with_radii(make_tables, 3)
    matching = match_detections(candidates, truth, images)
    turned = matching.with_scores(-candidates["score"].to_numpy())
    alone = match_detections(candidates.assign(score=-candidates["score"]), truth, images)
    assert turned.fingerprint() == alone.fingerprint()
    assert np.array_equal(turned.fp_scores, alone.fp_scores)
    counted = matching.with_counting(repeats="count")
    assert counted.counting == replace(matching.counting, repeats="count")
    assert counted.fingerprint() == match_detections(candidates, truth, images, counting=PAPER).fingerprint()


@pytest.mark.parametrize("radius", [None, np.nan])
def test_without_sizes_none_is_suppressed(make_tables, radius):
    candidates, truth, images = with_radii(make_tables, 1)
    if radius is None:
        candidates = candidates.drop(columns="radius_mm")
    else:
        candidates.loc[4, "radius_mm"] = radius
    ours, paper = (
        match_detections(candidates, truth, images, counting=Counting(repeats=how))
        for how in ("suppress", "count")
    )
    assert np.array_equal(ours.fp_scores, paper.fp_scores)
