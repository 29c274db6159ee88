"""Hits, misses and false positives of the test set, sorted for the page's gallery."""

from __future__ import annotations

import pandas as pd

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
    model: str, cohort: Cohort, scores: pd.DataFrame, objects: pd.DataFrame, *, point: tuple[float, float]
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
        false_positives=_best_first(wrong)[[*KEYS, *PLACE, "score"]],
    )


def _best_first(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values("score", ascending=False, kind="stable", ignore_index=True)
