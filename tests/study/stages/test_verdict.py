"""The first screen's judgement, recomputed by hand, for good, bad and small studies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from overread.froc import ChanceLevel, FigureComparison, StudySize
from overread.report.results import Comparison, Counted, SetResult
from overread.study.stages.verdict import find_better, reach_verdict

READERS = pd.DataFrame(
    {"reader_id": ["R1", "R2", "R3"], "sensitivity": [0.9, 0.6, 0.7], "fp_per_image": [0.5, 0.1, 0.3]}
    | {"detector_sensitivity": [0.65, 0.5, 0.72]}
)


def counted(sensitivity: float, half_width: float, *, n_gts: int = 200, chance: float = 0.05) -> Counted:
    curve = pd.DataFrame(
        {"fp_per_image": [0.0, 0.2, 1.0], "gt_sensitivity": [0.0, sensitivity - 0.1, sensitivity]}
    )
    rows = [
        ("gt_sensitivity", sensitivity, sensitivity - half_width, sensitivity + half_width),
        ("fp_per_image", 1.1, 0.9, 1.3),
    ]
    locked = pd.DataFrame(rows, columns=["measure", "estimate", "lower", "upper"])
    locked = pd.concat(
        [locked.assign(source=source, fp_target=1.0) for source in ("in_sample", "out_of_fold")]
    )
    points = pd.DataFrame({"fp_target": [1.0], "chance_gt_sensitivity": [chance]})
    empty = pd.DataFrame()
    part = SetResult(400, n_gts, n_gts, 150, 150, curve, empty, ())
    level = ChanceLevel(points=points, reached=1.0, chance_reached=0.2, n_shifts=5, exact=False)
    return Counted("ignore", part, part, part, locked.reset_index(drop=True), empty, level)


def judge(one: Counted, comparisons: tuple[Comparison, ...] = ()) -> Any:
    size = StudySize(patients=90, images=1600, gts=800)
    # A detector that finds half as much finds half as much beside each reader.
    share = one.test.curve["gt_sensitivity"].max() / 0.8
    readers = READERS.assign(detector_sensitivity=share * READERS["detector_sensitivity"])
    return reach_verdict("soft", one, readers, comparisons, 1.0, size)


@pytest.mark.parametrize(
    ("one", "grade"),
    [
        (counted(0.8, 0.05), "among readers"),
        (counted(0.4, 0.05), "below readers"),
        (counted(0.1, 0.06), "chance"),
        (counted(0.8, 0.2), "too small"),
        (counted(0.8, 0.05, n_gts=19), "too small"),
        (counted(0.8, float("nan")), "too small"),
    ],
)
def test_the_grade_fits_the_study(one: Counted, grade: str) -> None:
    assert judge(one).grade == grade


def test_without_a_reader_to_compare_with_it_is_neither_among_nor_below_them() -> None:
    """Two readers: each has but one other, so no object is golden without him."""
    nobody = READERS.iloc[:0]
    verdict = reach_verdict("soft", counted(0.8, 0.05), nobody, (), 1.0, None)
    assert verdict.grade == "no readers"
    assert verdict.reader_sensitivities == []


def test_numbers_are_those_of_the_operating_point() -> None:
    verdict = judge(counted(0.8, 0.1))
    assert (verdict.sensitivity, verdict.fp_per_image, verdict.chance) == (0.8, 1.1, 0.05)
    assert (verdict.lower, verdict.upper) == pytest.approx((0.7, 0.9))
    assert (verdict.objects_needed, verdict.images_needed) == (800, 1600)
    assert verdict.reader_sensitivities == [0.6, 0.7, 0.9]
    assert verdict.reader_fp_per_image == [0.1, 0.3, 0.5]
    assert verdict.beside_readers == pytest.approx([0.5, 0.72, 0.65])


@pytest.mark.parametrize(("half_width", "grade"), [(0.04, "below readers"), (0.06, "among readers")])
def test_half_of_the_interval_is_granted_beside_each_reader(half_width: float, grade: str) -> None:
    """The detector is 0.05 short of the second reader, and further from the others."""
    short = READERS.assign(detector_sensitivity=[0.5, 0.3, 0.65])
    assert reach_verdict("soft", counted(0.8, half_width), short, (), 1.0, None).grade == grade


def test_a_better_model_is_named_only_if_it_is() -> None:
    figure = FigureComparison("wAFROC", 0.6, 0.7, 0.1, 0.02, 0.18, 0.95, 0.01, 0.01)
    pair = Comparison("soft", "b1", "ignore", pd.DataFrame(), (figure,))
    assert judge(counted(0.8, 0.05), (pair,)).better_on_test == "b1"
    assert find_better("b1", [pair], "ignore") is None
    assert find_better("soft", [replace(pair, single_reader="fp")], "ignore") is None
    unsure = replace(pair, figures=(replace(figure, p_permutation=0.2),))
    assert find_better("soft", [unsure], "ignore") is None
    assert find_better("soft", [replace(pair, first="b1", second="soft")], "ignore") is None
