"""One mark per place: what is shown stands apart, and what is hidden lies on something stronger that is shown."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import InvalidInputError, TableError
from overread.froc import Counting, Matching, froc_curve, match_detections, non_max_suppression
from overread.truth import STRICT_HIT, DistanceHit

IMAGES = pd.DataFrame({"image_id": ["a", "b", "empty"], "patient_id": ["p", "p", "q"]})


def table_of_candidates(*rows):
    return pd.DataFrame(rows, columns=["image_id", "candidate_id", "x_mm", "y_mm", "score"])


def table_of_truth(*rows):
    frame = pd.DataFrame(rows, columns=["image_id", "truth_id", "x_mm", "y_mm", "n_readers"])
    return frame.assign(semi_major_mm=6.0, semi_minor_mm=6.0, angle_deg=0.0, golden=frame["n_readers"] >= 2)


# Image a: GT "g" of two readers at (20, 20) with candidates of score 0.9 and 0.4 on it, and a single-reader
# GT "s" at (60, 20) with a candidate of score 0.7. Image b: a candidate of score 0.5 on nothing, and GT "m"
# that nothing hits. The third image has neither.
CANDIDATES = table_of_candidates(
    ("a", "1", 20, 20, 0.9), ("a", "2", 22, 20, 0.4), ("a", "3", 60, 20, 0.7), ("b", "4", 90, 90, 0.5)
)
TRUTH = table_of_truth(("a", "g", 20, 20, 2), ("a", "s", 60, 20, 1), ("b", "m", 20, 20, 3))


def test_by_hand_default():
    m = match_detections(CANDIDATES, TRUTH, IMAGES)
    assert m.fp_scores.tolist() == [0.5]
    assert m.gt_scores.tolist() == [0.9, -np.inf]
    assert m.gt_reached.tolist() == [True, False]
    assert m.strata["truth_id"].tolist() == ["g", "m"]
    assert (m.n_images, m.n_patients, m.n_gts) == (3, 2, 2)


@pytest.mark.parametrize(
    ("options", "fps", "gts"),
    [
        ({"single_reader": "fp"}, [0.5, 0.7], [0.9, -np.inf]),
        ({"single_reader": "hit"}, [0.5], [0.9, 0.7, -np.inf]),
        ({"extra_hits": "fp"}, [0.4, 0.5], [0.9, -np.inf]),
        ({"extra_hits": "fp", "single_reader": "fp"}, [0.4, 0.5, 0.7], [0.9, -np.inf]),
        ({"rule": STRICT_HIT, "single_reader": "fp"}, [0.5, 0.7], [0.9, -np.inf]),
        ({"rule": DistanceHit(100)}, [], [0.9, 0.5]),
        ({"rule": DistanceHit(100), "shared_candidates": "nearest"}, [], [0.9, 0.5]),
    ],
)
def test_by_hand_options(options, fps, gts):
    m = match_detections(CANDIDATES, TRUTH, IMAGES, counting=Counting(**options))
    assert sorted(m.fp_scores) == fps
    assert m.gt_scores.tolist() == gts


def test_scores_table_joins_by_id():
    scores = pd.DataFrame(
        {"image_id": ["b", "a", "a", "a"], "candidate_id": list("4321"), "soft": [5, 7, 4, 9]}
    )
    m = match_detections(CANDIDATES, TRUTH, IMAGES, scores=scores)
    assert sorted(m.fp_scores) == [5]
    assert m.gt_scores.tolist() == [9, -np.inf]
    with pytest.raises(TableError, match="no row for candidates row 0"):
        match_detections(CANDIDATES, TRUTH, IMAGES, scores=scores.iloc[:3])
    with pytest.raises(TableError, match="2 model columns"):
        match_detections(CANDIDATES, TRUTH, IMAGES, scores=scores.assign(b1=0.0))
    with pytest.raises(TableError, match="twice"):
        match_detections(CANDIDATES, TRUTH, IMAGES, scores=pd.concat([scores, scores]))


def test_order_of_rows_does_not_matter(make_tables):
    candidates, truth, images = make_tables(3, 5, 60, 12, 5)
    m = match_detections(candidates, truth, images, counting=Counting(extra_hits="fp"))
    shuffled = match_detections(
        candidates.sample(frac=1, random_state=1),
        truth.sample(frac=1, random_state=2),
        images,
        counting=Counting(extra_hits="fp"),
    )
    assert froc_curve(m).to_frame().equals(froc_curve(shuffled).to_frame())


def test_golden_without_column():
    assert match_detections(CANDIDATES, TRUTH.drop(columns="golden"), IMAGES).n_gts == 2
    assert match_detections(CANDIDATES, TRUTH.drop(columns=["golden", "n_readers"]), IMAGES).n_gts == 3
    with pytest.raises(TableError, match="golden"):
        match_detections(CANDIDATES, TRUTH.assign(golden=0.5), IMAGES)


@pytest.mark.parametrize("bad", [np.nan, "two", None, np.inf])
def test_readers_that_are_no_number_are_refused(bad):
    truth = TRUTH.drop(columns="golden").astype({"n_readers": object})
    truth.loc[truth.index[1], "n_readers"] = bad
    with pytest.raises(TableError, match="row 1, column n_readers"):
        match_detections(CANDIDATES, truth, IMAGES)
    assert (
        match_detections(CANDIDATES, truth.assign(n_readers=["1", "2", "3"][: len(truth)]), IMAGES).n_gts == 2
    )


def test_patients_default_to_images():
    assert match_detections(CANDIDATES, TRUTH, IMAGES.drop(columns="patient_id")).n_patients == 3
    with pytest.raises(TableError, match="row 1, column patient_id"):
        match_detections(CANDIDATES, TRUTH, IMAGES.assign(patient_id=["p", None, "q"]))


def test_refusals():
    with pytest.raises(TableError, match="no rows"):
        match_detections(CANDIDATES, TRUTH, IMAGES.iloc[:0])
    with pytest.raises(TableError, match="not in the images"):
        match_detections(CANDIDATES, TRUTH, IMAGES.iloc[:1])
    with pytest.raises(TableError, match="not unique"):
        match_detections(CANDIDATES, TRUTH, pd.concat([IMAGES, IMAGES]))
    with pytest.raises(TableError, match="no column 'score'"):
        match_detections(CANDIDATES.drop(columns="score"), TRUTH, IMAGES)
    with pytest.raises(TableError, match="not numbers"):
        match_detections(CANDIDATES.assign(score="high"), TRUTH, IMAGES)
    with pytest.raises(TableError, match="shape"):
        match_detections(CANDIDATES, TRUTH, IMAGES, scores=[1.0])
    with pytest.raises(InvalidInputError, match="single_reader='no'"):
        match_detections(CANDIDATES, TRUTH, IMAGES, counting=Counting(single_reader="no"))
    with pytest.raises(InvalidInputError, match="extra_hits"):
        Counting(extra_hits="tp")


def test_from_events_refusals():
    events = {"n_images": 2, "fp_scores": [1.0], "fp_images": [0], "gt_scores": [-np.inf], "gt_images": [1]}
    m = Matching.from_events(**events)
    assert not m.gt_reached[0]
    with pytest.raises(InvalidInputError, match="made from events"):
        m.with_scores([1.0])
    for wrong in (
        {"n_images": 0},
        {"gt_scores": [np.nan]},
        {"gt_scores": [np.inf]},
        {"fp_scores": [np.nan]},
        {"fp_images": [2]},
        {"gt_images": [-1]},
        {"patients": [1]},
    ):
        with pytest.raises(InvalidInputError):
            Matching.from_events(**(events | wrong))


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
