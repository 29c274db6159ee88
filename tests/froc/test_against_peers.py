"""Values of picai_eval and MONAI (``benchmarks/golden_froc.py``), and the two defects of MONAI we do not have."""

import json
from pathlib import Path

import numpy as np
import pytest

from overread.froc import Matching, froc_curve, performance_at, sensitivity_at

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "froc.json").read_text())
CASES = range(len(GOLDEN["problems"]))


def matching(events, missed=0.0):
    scores = np.array(events["gt_scores"])
    return Matching.from_events(
        n_images=events["n_images"],
        fp_scores=events["fp_scores"],
        fp_images=events["fp_images"],
        gt_scores=np.where(scores == missed, -np.inf, scores),
        gt_images=events["gt_images"],
    )


@pytest.mark.parametrize("case", CASES)
def test_picai_eval(case):
    events, expected = GOLDEN["problems"][case], GOLDEN["picai_eval"]["results"][case]
    points = performance_at(matching(events), expected["thresholds"])
    np.testing.assert_allclose(points["fp_per_image"] * events["n_images"], expected["fps"])
    np.testing.assert_allclose(points["gt_sensitivity"] * len(events["gt_scores"]), expected["found"])


@pytest.mark.parametrize("case", CASES)
def test_monai_curve_and_its_missing_last_point(case):
    events, expected = GOLDEN["problems"][case], GOLDEN["monai"]["results"][case]
    curve = froc_curve(matching(events))
    # MONAI leaves its lowest score out. That score is a missed GT's 0 where there is one, else a real candidate's.
    missed = 0.0 in events["gt_scores"]
    ours = slice(None) if missed else slice(None, -1)
    np.testing.assert_allclose(curve.fp_per_image[ours], expected["fp_per_image"][::-1])
    np.testing.assert_allclose(curve.gt_sensitivity[ours], expected["sensitivity"][::-1])


@pytest.mark.parametrize("case", CASES)
def test_monai_score_is_the_mean_of_linear_sensitivities(case):
    events, expected = GOLDEN["problems"][case], GOLDEN["monai"]["results"][case]
    points = sensitivity_at(
        froc_curve(matching(events)), GOLDEN["monai"]["fp_targets"], interpolation="linear"
    )
    assert points["gt_sensitivity"].mean() == pytest.approx(expected["mean_sensitivity"])


def test_monai_finds_missed_lesions_with_logits():
    """One of two lesions is missed, so no threshold finds more than half; MONAI's curve says all."""
    events = GOLDEN["monai"]["logits"]
    assert max(events["sensitivity"]) == 1.0
    assert froc_curve(matching(events)).gt_sensitivity.max() == 0.5
