"""Votes across scales, against a plain search over all pairs, and on the paper's own situation."""

import math

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.truth import MergeOptions, merge_marks, reader_statistics

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
VOTES = MergeOptions(nested="votes")


def make_marks(*rows):
    marks = pd.DataFrame(rows, columns=COLUMNS[1:]).assign(image_id="a")[COLUMNS]
    return marks, pd.DataFrame({"image_id": "a", "reader_id": list("ABCD")})


RING_AND_LESIONS = make_marks(
    ("A", "ring", 50, 50, 20, 20, 0),
    ("B", "one", 40, 50, 3, 2, 0),
    ("B", "two", 62, 55, 3, 3, 0),
    ("C", "two'", 62, 55.5, 3, 3, 0),
    ("D", "far", 120, 50, 4, 4, 0),
)


def test_a_ring_votes_for_what_it_holds():
    """One reader's ring, two lesions inside it: the paper's Figure 1, top row."""
    truth = merge_marks(*RING_AND_LESIONS, options=VOTES).set_index("mark_ids")
    readers = {ids: int(n) for ids, n in truth["n_readers"].items()}
    # The ring holds all centres, so B and C vote for it too; nobody votes for what lies far off.
    assert readers == {("ring",): 3, ("one",): 2, ("two", "two'"): 3, ("far",): 1}
    assert truth.loc[[("one",)], "nested_mark_ids"].iloc[0] == ("ring",)
    assert truth.loc[[("ring",)], "nested_mark_ids"].iloc[0] == ("one", "two", "two'")
    assert truth.loc[[("one",)], "probability"].iloc[0] == 0.5
    assert truth["golden"].sum() == 3


def test_without_votes_nothing_changes_but_readers():
    plain, nested = (
        merge_marks(*RING_AND_LESIONS, options=options).sort_values("truth_id").reset_index(drop=True)
        for options in (MergeOptions(), VOTES)
    )
    same = ["image_id", "truth_id", *COLUMNS[3:], "n_marks", "n_readings", "mark_ids"]
    pd.testing.assert_frame_equal(plain[same], nested[same])
    assert "nested_mark_ids" not in plain


def test_another_label_does_not_vote():
    marks, readings = RING_AND_LESIONS
    labelled = marks.assign(label=["x" if mark == "ring" else "y" for mark in marks["mark_id"]])
    truth = merge_marks(labelled, readings, options=VOTES)
    assert truth.set_index("mark_ids")["n_readers"].to_dict()[("one",)] == 1


def test_a_reader_who_rings_has_found():
    """A's ring alone stands for no golden object without votes, and finds all three with them."""
    plain, nested = (
        reader_statistics(*RING_AND_LESIONS, options=options).readers.set_index("reader_id").loc["A"]
        for options in (MergeOptions(), VOTES)
    )
    assert (plain["n_found"], plain["n_false"]) == (0, 1)
    assert (nested["n_found"], nested["n_false"]) == (3, 0)
    # The golden object of the others is the one that B and C drew; the ring holds its centre.
    assert (plain["loo_n_found"], nested["loo_n_found"]) == (0, 1)


def holds(ellipse, point):
    x, y, a, b, angle = ellipse
    turn = math.radians(angle)
    dx, dy = point[0] - x, point[1] - y
    along, across = dx * math.cos(turn) + dy * math.sin(turn), dy * math.cos(turn) - dx * math.sin(turn)
    return (along / a) ** 2 + (across / b) ** 2 <= 1


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_votes_are_those_of_a_plain_search(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for image in "ab":
        for number in range(rng.integers(1, 14)):
            major = np.exp(rng.normal(1.5, 0.9))
            rows.append((image, rng.choice(list("ABCD")), f"{number}", *rng.uniform(0, 60, 2), major))
    marks = pd.DataFrame(rows, columns=COLUMNS[:6])
    marks["semi_minor_mm"] = marks["semi_major_mm"] * rng.uniform(0.3, 1, len(marks))
    marks["angle_deg"] = rng.uniform(0, 180, len(marks))
    readings = pd.DataFrame([(i, r) for i in "ab" for r in "ABCD"], columns=["image_id", "reader_id"])
    truth = merge_marks(marks, readings, options=VOTES)
    for row in truth.itertuples():
        own = marks[(marks["image_id"] == row.image_id)]
        ellipse = (row.x_mm, row.y_mm, row.semi_major_mm, row.semi_minor_mm, row.angle_deg)
        members = own[own["mark_id"].isin(row.mark_ids)]
        voting = [
            mark.mark_id
            for mark in own.itertuples()
            if mark.reader_id not in set(members["reader_id"])
            and (holds(mark[4:9], ellipse[:2]) or holds(ellipse, mark[4:6]))
        ]
        assert row.nested_mark_ids == tuple(sorted(voting))
        readers = set(members["reader_id"]) | set(own.loc[own["mark_id"].isin(voting), "reader_id"])
        assert row.n_readers == len(readers)
