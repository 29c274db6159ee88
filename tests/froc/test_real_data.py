"""FROC on real readers: the fourth LIDC reader, rated by malignancy or subtlety, against the other three."""

import pandas as pd
import pytest

from overread.froc import (
    Counting,
    bootstrap,
    chance_level,
    compare_models,
    froc_curve,
    match_detections,
    sensitivity_by,
)
from overread.truth import merge_marks


@pytest.fixture(scope="module")
def lidc(lidc_marks):
    """(candidates, truth, images): the fourth reader against what the other three make."""
    marks = lidc_marks
    images = marks[["image_id", "patient_id"]].drop_duplicates("image_id")
    others = marks[marks["reader_id"] != "4"]
    readings = [(scan, session) for scan in images["image_id"] for session in "123"]
    truth = merge_marks(others, pd.DataFrame(readings, columns=["image_id", "reader_id"]))
    candidates = marks[marks["reader_id"] == "4"].rename(columns={"mark_id": "candidate_id"})
    return candidates.reset_index(drop=True), truth, images


@pytest.fixture(scope="module")
def malignancy(lidc):
    return match_detections(*lidc, scores="malignancy", counting=Counting(single_reader="fp"))


def test_counts_are_those_of_the_definition(lidc, definition):
    candidates, truth, images = lidc
    some = images.iloc[:40]
    candidates = candidates[candidates["image_id"].isin(some["image_id"])].assign(
        score=lambda table: table["malignancy"]
    )
    truth = truth[truth["image_id"].isin(some["image_id"])]
    for single_reader in ("fp", "ignore", "hit"):
        curve = froc_curve(
            match_detections(candidates, truth, some, counting=Counting(single_reader=single_reader))
        )
        for k, threshold in enumerate(curve.thresholds):
            fps, gts, found = definition.at_threshold(
                candidates, truth, threshold, single_reader=single_reader
            )
            assert curve.fp_per_image[k] * len(some) == pytest.approx(fps)
            assert curve.gt_sensitivity[k] * curve.n_gts == pytest.approx(gts)
            assert curve.image_sensitivity[k] * curve.n_positive_images == pytest.approx(found)


def test_a_reader_finds_what_two_others_marked(malignancy):
    curve = froc_curve(malignancy)
    assert curve.gt_sensitivity[-1] > 0.7
    assert (curve.gt_sensitivity_reached[-1], curve.image_sensitivity_reached[-1]) == (1, 1)
    ignoring = froc_curve(malignancy.with_counting(single_reader="ignore"))
    assert ignoring.fp_per_image[-1] < curve.fp_per_image[-1]


def test_not_by_chance(lidc):
    level = chance_level(*lidc, scores="malignancy", n_shifts=10)
    assert level.chance_reached < 0.01
    assert level.reached > 0.7


def test_malignancy_against_subtlety(lidc, malignancy):
    candidates, _, _ = lidc
    subtlety = malignancy.with_scores(candidates["subtlety"])
    table = compare_models(
        malignancy, subtlety, fp_targets=[0.05, 0.2], n_bootstrap=200, n_permutations=200
    ).table()
    assert ((table["lower"] <= table["difference"]) & (table["difference"] <= table["upper"])).all()
    assert table["p_bootstrap"].between(0, 1).all()


def test_patients_and_strata(malignancy):
    assert malignancy.n_patients <= malignancy.n_images
    ends = bootstrap(malignancy, fp_targets=[1.0], n_bootstrap=200).intervals().set_index("measure")
    assert ends.loc["gt_sensitivity", "upper"] - ends.loc["gt_sensitivity", "lower"] < 0.1
    table = sensitivity_by(malignancy, "n_readers", fp_target=1.0, n_bootstrap=100)
    assert table["stratum"].tolist() == [2, 3]
    assert table["gt_sensitivity"].is_monotonic_increasing
