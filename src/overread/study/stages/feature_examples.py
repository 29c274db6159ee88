"""Candidates that show what a feature looks at: one with a low value, one with a high value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from overread.report.results import ModelResult
from overread.report.words import N_TOLD
from overread.study.cohort import Split

__all__ = ["find_examples"]

# Not the very ends, which are oddities; chosen by eye.
QUANTILES = {"low": 0.03, "high": 0.97}
COLUMNS = ["feature", "end", "image_id", "x_mm", "y_mm", "radius_mm", "value"]


def find_examples(models: Sequence[ModelResult], test: Split) -> pd.DataFrame:
    """Find a low and a high example of the features that the page tells in words, of many images."""
    names = list(dict.fromkeys(one.name for model in models for one in model.features[:N_TOLD]))
    if not names:
        return pd.DataFrame(columns=COLUMNS)
    values = test.features.read(names)
    used: set[str] = set()
    rows = []
    for name in names:
        for end, quantile in QUANTILES.items():
            chosen = _choose_row(
                values[name].to_numpy(np.float64), test.candidates["image_id"], quantile, used
            )
            candidate = test.candidates.iloc[chosen]
            used.add(str(candidate["image_id"]))
            rows.append((name, end, *candidate[COLUMNS[2:6]], float(values[name].iloc[chosen])))
    return pd.DataFrame(rows, columns=COLUMNS).astype(
        {"x_mm": "float64", "y_mm": "float64", "radius_mm": "float64"}
    )


def _choose_row(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    images: pd.Series[str],
    quantile: float,
    used: set[str],
) -> int:
    """Take the candidate at a quantile of the values, or the nearest one of an image that was not used yet."""
    order = np.argsort(values, kind="stable")
    place = round(quantile * (len(order) - 1))
    # A few ranks to either side look alike; further away the value would be another.
    n_near = max(1, len(order) // 50)
    ranks = np.arange(max(0, place - n_near), min(len(order), place + n_near + 1))
    near = ranks[np.argsort(np.abs(ranks - place), kind="stable")][:n_near]
    fresh = (int(rank) for rank in near if str(images.iloc[order[rank]]) not in used)
    return int(order[next(fresh, place)])
