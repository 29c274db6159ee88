"""Over all training sets at once: what doubling images or readings adds, and what soft labels add to hard ones.

A single training set has few seeds, and a test of each among many has little power. Taken together they answer the
question itself: sensitivity is fitted, seed by seed, by

    s = a + b log2(images) + c log2(readings)

so that b and c are the points that a doubling adds, and b - c what images add more than readings of the same cost.
The training sets are those of one pool of readers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from overread.scenario.contenders import HARD_RULES
from overread.scenario.groups import Groups, estimate_mean_difference, stack_conditions
from overread.scenario.statistics import Estimate, adjust_by_holm, estimate_mean

__all__ = ["compare_overall", "measure_doubling"]

DOUBLING_COLUMNS = ["model", "step", "estimate", "lower", "upper", "p_value", "n_seeds", "n_sets"]
OVERALL_COLUMNS = ["rule", "estimate", "lower", "upper", "p_value", "p_holm", "n_seeds", "n_sets"]
STEPS = {
    "images doubled": (1.0, 0.0),
    "readings doubled": (0.0, 1.0),
    "images rather than readings": (1.0, -1.0),
}


def measure_doubling(groups: Groups, judge: str) -> pd.DataFrame:
    """Tabulate what doubling images, or readings, adds to the mean sensitivity of each model."""
    rows = []
    for model in dict.fromkeys(name for name, _ in groups):
        own = {at: points for (name, at), points in groups.items() if name == model}
        columns = np.array([[1.0, np.log2(at.images), np.log2(at.readings)] for at in own])
        # One number of images, or of readings, tells nothing of a second one.
        if not own or np.linalg.matrix_rank(columns) < columns.shape[1]:
            continue
        values, draws, n_patients = stack_conditions(list(own.values()), judge)
        solve = np.linalg.pinv(columns).T[:, 1:]
        for step, weights in STEPS.items():
            combine = solve @ np.array(weights)
            estimate = estimate_mean(values @ combine, draws @ combine, n_patients)
            rows.append({"model": model, "step": step, **_tell(estimate), "n_sets": len(own)})
    return pd.DataFrame(rows, columns=DOUBLING_COLUMNS)


def compare_overall(groups: Groups, judge: str) -> pd.DataFrame:
    """Compare soft labels with each hard rule in the mean of all training sets with two readings or more."""
    rows = []
    for rule in HARD_RULES:
        at = [
            condition
            for name, condition in groups
            if name == rule and condition.readings > 1 and ("soft", condition) in groups
        ]
        if not at:
            continue
        soft, hard = ([groups[name, condition] for condition in at] for name in ("soft", rule))
        estimate = estimate_mean_difference(soft, hard, judge)
        rows.append({"rule": rule, **_tell(estimate), "n_sets": len(at)})
    table = pd.DataFrame(rows, columns=[name for name in OVERALL_COLUMNS if name != "p_holm"])
    return table.assign(p_holm=adjust_by_holm(table["p_value"].tolist()))[OVERALL_COLUMNS]


def _tell(estimate: Estimate) -> dict[str, Any]:
    return {
        "estimate": estimate.value,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "p_value": estimate.p_value,
        "n_seeds": estimate.n_seeds,
    }
