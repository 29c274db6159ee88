"""Table 1 from matched scores."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.froc import (
    FP_TARGETS,
    Matching,
    PerformanceTable,
    froc_curve,
    performance_at,
    performance_table,
    sensitivity_at,
)
from overread.froc._tables import ModelPerformance, PerformanceRows, Sensitivities


def simulated(seed, n_images=60):
    rng = np.random.default_rng(seed)
    gt_images = np.repeat(np.arange(n_images // 3), 2)
    fp_images = np.repeat(np.arange(n_images), 6)
    return Matching.from_events(
        n_images=n_images,
        fp_scores=rng.normal(size=len(fp_images)),
        fp_images=fp_images,
        gt_scores=rng.normal(1.5, 1, len(gt_images)),
        gt_images=gt_images,
    )


def test_rows_are_the_operating_points():
    training, test = simulated(1), simulated(2)
    table = performance_table({"Soft": (training, test)}, n_features={"Soft": 67}, n_bootstrap=100)
    (model,) = table.models
    own, carried = model.rows
    expected = sensitivity_at(froc_curve(training), FP_TARGETS)
    np.testing.assert_allclose(own.gt_sensitivity.values, expected["gt_sensitivity"])
    np.testing.assert_allclose(own.fp_per_image, expected["fp_per_image"])
    induced = performance_at(test, expected["threshold"])
    np.testing.assert_allclose(carried.fp_per_image, induced["fp_per_image"])
    np.testing.assert_allclose(carried.image_sensitivity.values, induced["image_sensitivity"])
    assert (own.induced, carried.induced, model.n_features) == (False, True, 67)
    assert (carried.n_images, carried.n_gts, carried.n_positive_images) == (60, 40, 20)
    low, high = carried.gt_sensitivity.lower, carried.gt_sensitivity.upper
    assert all(a <= v <= b for a, v, b in zip(low, carried.gt_sensitivity.values, high, strict=True))


def test_out_of_fold_thresholds_are_carried_to_both_sets():
    training, test, out_of_fold = simulated(1), simulated(2), simulated(3)
    table = performance_table(
        {"Soft": (training, test)}, thresholds_from={"Soft": out_of_fold}, fp_targets=[0.5], n_bootstrap=0
    )
    threshold = sensitivity_at(froc_curve(out_of_fold), [0.5])["threshold"]
    for rows, matching in zip(table.models[0].rows, (training, test), strict=True):
        assert rows.induced
        assert rows.fp_per_image[0] == performance_at(matching, threshold)["fp_per_image"][0]
        assert rows.gt_sensitivity.lower is None
    assert table.level is None


def test_a_set_without_targets_has_dashes():
    nothing = Matching.from_events(n_images=3, fp_scores=[1.0], fp_images=[0], gt_scores=[], gt_images=[])
    table = performance_table({"m": (nothing, None)}, n_bootstrap=5)
    assert np.isnan(table.models[0].rows[0].gt_sensitivity.values).all()


def test_hostile_input_is_refused():
    with pytest.raises(InvalidInputError, match="at least one model"):
        performance_table({})
    with pytest.raises(InvalidInputError, match="fp_targets"):
        performance_table({"m": (simulated(1), None)}, fp_targets=[np.nan])
    rows = [
        PerformanceRows(
            "a", induced=False, fp_per_image=(0.5,) * n, gt_sensitivity=part, image_sensitivity=part
        )
        for n, part in ((1, Sensitivities((0.5,))), (2, Sensitivities((0.5, 0.6))))
    ]
    with pytest.raises(InvalidInputError, match="same number"):
        PerformanceTable((ModelPerformance("m", tuple(rows)),))
