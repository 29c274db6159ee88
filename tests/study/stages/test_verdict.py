"""The first screen's judgement, recomputed by hand, for good, bad and small studies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread.froc import ChanceLevel, FigureComparison, MeanDifference, StudySize
from overread.report import Counted, ModelComparison, SetResult
from overread.study.stages.performance import _find_better, reach_verdict

READERS = pd.DataFrame(
    {"reader_id": ["R1", "R2", "R3"], "sensitivity": [0.9, 0.6, 0.7], "fp_per_image": [0.5, 0.1, 0.3]}
    | {"detector_sensitivity": [0.65, 0.55, 0.72], "n_gts": 120}
)


def put_beside(readers: pd.DataFrame, half_width: float = 0.04) -> pd.DataFrame:
    difference = readers["detector_sensitivity"] - readers["sensitivity"]
    return readers.assign(difference=difference, lower=difference - half_width, upper=difference + half_width)


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


def judge(one: Counted, comparisons: tuple[ModelComparison, ...] = ()) -> Any:
    size = StudySize(patients=90, images=1600, gts=800)
    # A detector that finds half as much finds half as much beside each reader.
    share = one.test.curve["gt_sensitivity"].max() / 0.8
    readers = READERS.assign(detector_sensitivity=share * READERS["detector_sensitivity"])
    return reach_verdict("soft", one, put_beside(readers), comparisons, 1.0, size)


@pytest.mark.parametrize(
    ("one", "grade"),
    [
        (counted(0.9, 0.05), "among readers"),
        (counted(0.4, 0.05), "below readers"),
        (counted(0.1, 0.06), "chance"),
        (counted(0.8, 0.2), "too small"),
        (counted(0.8, 0.05, n_gts=19), "too small"),
        (counted(0.8, float("nan")), "too small"),
    ],
)
def test_the_grade_fits_the_study(one: Counted, grade: str) -> None:
    assert judge(one).grade == grade


def test_numbers_are_those_of_the_operating_point() -> None:
    verdict = judge(counted(0.8, 0.1))
    assert (verdict.sensitivity, verdict.fp_per_image, verdict.chance) == (0.8, 1.1, 0.05)
    assert (verdict.lower, verdict.upper) == pytest.approx((0.7, 0.9))
    assert (verdict.objects_needed, verdict.images_needed) == (800, 1600)
    # Differences are -0.25, -0.05 and 0.02.
    assert (verdict.median_reader, verdict.n_readers, verdict.n_better, verdict.n_worse) == ("R2", 3, 2, 0)


@pytest.mark.parametrize(("n_readers", "median"), [(1, "R1"), (2, "R1"), (3, "R2"), (4, "R2"), (5, "R3")])
def test_of_two_readers_in_the_middle_the_one_further_ahead_is_the_median(
    n_readers: int, median: str
) -> None:
    ids = [f"R{number}" for number in range(1, n_readers + 1)]
    table = pd.DataFrame({"reader_id": ids, "sensitivity": np.linspace(0.9, 0.5, n_readers), "n_gts": 99})
    shuffled = put_beside(table.assign(fp_per_image=0.1, detector_sensitivity=0.7)).iloc[::-1]
    assert reach_verdict("soft", counted(0.8, 0.05), shuffled, (), 1.0, None).median_reader == median


def test_without_an_interval_nothing_is_told() -> None:
    table = put_beside(READERS, float("nan"))
    verdict = reach_verdict("soft", counted(0.8, 0.05), table, (), 1.0, None)
    assert (verdict.grade, verdict.n_better, verdict.n_worse) == ("undecided", 0, 0)


def test_a_better_model_is_named_only_if_it_is() -> None:
    figure = FigureComparison("wAFROC", 0.6, 0.7, 0.1, 0.02, 0.18, 0.95, 0.01, 0.01)
    pair = ModelComparison(
        "soft", "b1", "ignore", MeanDifference(0.1, 0.02, 0.18, 0.01), pd.DataFrame(), (figure,)
    )
    assert judge(counted(0.8, 0.05), (pair,)).better_on_test == "b1"
    assert _find_better("b1", [pair], "ignore") is None
    assert _find_better("soft", [replace(pair, single_reader="fp")], "ignore") is None
    unsure = replace(pair, figures=(replace(figure, p_permutation=0.2),))
    assert _find_better("soft", [unsure], "ignore") is None
    assert _find_better("soft", [replace(pair, first="b1", second="soft")], "ignore") is None
