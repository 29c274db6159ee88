"""Hits, misses and false positives of the test set, sorted for the page's gallery."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.report.results import Gallery
from overread.study.cohort import KEYS, Cohort

__all__ = ["sort_gallery"]

PLACE = ("x_mm", "y_mm", "radius_mm")
OBJECT = (
    "image_id",
    "truth_id",
    "x_mm",
    "y_mm",
    "semi_major_mm",
    "semi_minor_mm",
    "angle_deg",
    "n_readers",
    "n_readings",
)


def sort_gallery(
    model: str,
    cohort: Cohort,
    scores: pd.DataFrame,
    objects: pd.DataFrame,
    *,
    point: tuple[float, float],
    known_nodules: pd.DataFrame | None = None,
) -> Gallery:
    """Sort unseen candidates and golden GTs at one operating point.

    Parameters
    ----------
    model
        Name of the model whose scores are looked at.
    cohort
        The study.
    scores, objects
        Tables of scores and objects, in a nested run those of unseen patients.
    point
        FP target and threshold; NaN: nothing is shown.
    known_nodules
        Of a simulated study, all nodules: image_id, x_mm, y_mm, diameter_mm.
    """
    (fp_target, threshold), test = point, cohort.unseen
    candidates = test.candidates.merge(scores[[*KEYS, model]], on=KEYS).rename(columns={model: "score"})
    on_any = candidates.index.isin(test.hits["candidate_row"])
    shown = test.matching.require_geometry().find_shown(test.counting, candidates["score"].to_numpy())
    wrong = candidates[(candidates["score"] >= threshold) & shown & ~on_any]
    golden = objects[objects["golden"] & objects["image_id"].isin(test.images["image_id"])]
    golden = golden.rename(columns={f"{model}_score": "score", f"{model}_candidate": "candidate_id"})
    found = (golden["score"] >= threshold).to_numpy()
    place = test.candidates[[*KEYS, *PLACE]].rename(columns={name: f"candidate_{name}" for name in PLACE})
    hits = golden[found].merge(place, on=KEYS, how="left")
    return Gallery(
        model=model,
        fp_target=fp_target,
        threshold=threshold,
        hits=_best_first(hits)[[*OBJECT, "score", *(f"candidate_{name}" for name in PLACE)]],
        misses=golden[~found].sort_values("semi_major_mm", ascending=False, kind="stable", ignore_index=True)[
            [*OBJECT, "reached", "score"]
        ],
        false_positives=_best_first(wrong.assign(is_nodule=_lie_on_nodules(wrong, known_nodules)))[
            [*KEYS, *PLACE, "score", "is_nodule"]
        ],
    )


def _lie_on_nodules(candidates: pd.DataFrame, nodules: pd.DataFrame | None) -> NDArray[np.bool_]:
    """Tell candidates whose centre lies in a nodule."""
    if nodules is None:
        return np.zeros(len(candidates), dtype=np.bool_)
    numbered = candidates[["image_id", "x_mm", "y_mm"]].assign(row=np.arange(len(candidates)))
    pairs = numbered.merge(nodules, on="image_id", suffixes=("", "_nodule"))
    away = np.hypot(pairs["x_mm"] - pairs["x_mm_nodule"], pairs["y_mm"] - pairs["y_mm_nodule"])
    return np.isin(np.arange(len(candidates)), pairs.loc[away <= pairs["diameter_mm"] / 2, "row"])


def _best_first(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values("score", ascending=False, kind="stable", ignore_index=True)
