"""Readers and the detector on the same objects, on a study small enough to count by hand."""

import numpy as np
import pandas as pd
import pytest

from overread.froc import Counting
from overread.study import Split
from overread.study.stages.performance import judge_readers
from overread.truth import HIT, MergeOptions

# Places 50 mm apart in one image: which of readers A, B, C, D marks each.
PLACES = {10: "ABC", 60: "BC", 110: "AD", 160: "A", 210: "CD", 260: "ABCD"}
SIZE = {"semi_major": 6.0, "semi_minor": 6.0, "angle_deg": 0.0, "y": 20.0}


def split_of(scores: dict[int, float]) -> tuple[Split, np.ndarray]:
    marks = pd.DataFrame(
        {"image_id": "i", "reader_id": reader, "mark_id": f"{reader}{x}", "x": float(x), **SIZE}
        for x, readers in PLACES.items()
        for reader in readers
    )
    candidates = pd.DataFrame(
        {"image_id": "i", "candidate_id": f"c{x}", "x": float(x), "y": 20.0, "radius": 5.0} for x in scores
    )
    split = Split(
        images=pd.DataFrame({"image_id": ["i"], "patient_id": ["p"]}),
        readings=pd.DataFrame({"image_id": "i", "reader_id": list("ABCD")}),
        marks=marks,
        truth=pd.DataFrame(),
        candidates=candidates,
        features=None,  # type: ignore[arg-type]
        hits=pd.DataFrame(),
        counting=Counting(rule=HIT.in_unit("mm"), single_reader="ignore"),
        n_max=4,
    )
    return split, np.array(list(scores.values()))


def test_each_is_judged_by_what_two_others_marked() -> None:
    """Reader A: others agree on 10 (BC), 60 (BC), 210 (CD), 260; 110 is D's alone, 160 nobody's."""
    scores = {260: 9.0, 160: 8.0, 210: 7.0, 400: 6.0, 60: 5.0}
    split, values = split_of(scores)
    table = judge_readers("ABCD", split, values, MergeOptions().in_unit("mm")).set_index("reader_id")
    # A marks 10 and 260 of four; 110 is on D's object and counts neither way; 160 is false.
    assert table.loc["A", ["n_gts", "sensitivity", "fp_per_image"]].tolist() == [4, 0.5, 1.0]
    # With one false mark (160 at 8.0) the detector shows 260 and 210, with the second (400) it is over.
    assert table.loc["A", "detector_sensitivity"] == 0.5
    # B: others agree on 10 (AC), 110 (AD), 210 (CD), 260; B marks 10, 260, and 60, which is C's: nothing false.
    assert table.loc["B", ["n_gts", "sensitivity", "fp_per_image"]].tolist() == [4, 0.5, 0.0]
    # 160 is A's alone here, so that the first false mark is 400: 260 and 210 again.
    assert table.loc["B", "detector_sensitivity"] == 0.5
    # One patient says nothing of others.
    assert table.loc["B", "difference"] == 0
    assert table[["lower", "upper"]].isna().all(axis=None)


def test_two_readers_make_nothing_to_be_judged_by() -> None:
    split, values = split_of({260: 1.0})
    two = Split(
        **{
            name: getattr(split, name)
            for name in ("images", "truth", "candidates", "features", "hits", "counting", "n_max")
        },
        readings=split.readings.iloc[:2],
        marks=split.marks[split.marks["reader_id"].isin(["A", "B"])].reset_index(drop=True),
    )
    assert judge_readers("AB", two, values, MergeOptions().in_unit("mm")).empty


@pytest.mark.parametrize("reader", list("ABCD"))
def test_a_detector_that_shows_a_reader_s_marks_is_that_reader(reader: str) -> None:
    split, values = split_of({x: 1.0 for x, readers in PLACES.items() if reader in readers})
    row = judge_readers([reader], split, values, MergeOptions().in_unit("mm")).iloc[0]
    assert row["detector_sensitivity"] == row["sensitivity"]
