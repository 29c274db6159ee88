"""Pictures for a run's page: crops of hits, misses and false positives, and whole images."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from overread.errors import OverreadError
from overread.images import Radiograph, read_image
from overread.marks import Ellipse
from overread.marks.ellipse import ELLIPSE_COLUMNS
from overread.report import Crop, crop_around
from overread.study.finished import FinishedRun
from overread.truth.plots import Picture

__all__ = ["SortedCrops", "Viewer", "crops"]

N_CROPS = 8
SHOWN_FP = 1.0


@dataclass(frozen=True)
class Viewer:
    """Opens images of a run for pictures; an image that cannot be opened gives none."""

    run: FinishedRun

    def radiograph(self, image_id: str) -> Radiograph | None:
        """Read an image of the study."""
        try:
            return read_image(self.run.image_path(image_id), mm_per_px=self.run.mm_per_px(image_id))
        except (OverreadError, OSError):
            return None

    def picture(self, image_id: str) -> Picture | None:
        """Pixels for the figure of marks."""
        radiograph = self.radiograph(image_id)
        if radiograph is None:
            return None
        return Picture(radiograph.pixels, radiograph.mm_per_px, radiograph.mm_per_px)


@dataclass(frozen=True, eq=False)
class SortedCrops:
    """Crops of the test set at one threshold, which ``told`` names."""

    told: str
    hits: tuple[Crop, ...]
    misses: tuple[Crop, ...]
    false_positives: tuple[Crop, ...]


def crops(run: FinishedRun, viewer: Viewer, model: str) -> SortedCrops:
    """Sort the test set's objects and candidates at 1 FP per image, or at the nearest target."""
    target = min(run.results.fp_targets, key=lambda fp: abs(fp - SHOWN_FP))
    threshold = run.threshold(model, target)
    gallery = run.gallery(model, float("inf") if threshold is None else threshold)
    hits = [
        (row, f"score {row[f'{model}_score']:.2f}, {row['n_readers']} of {row['n_readings']} readers")
        for row in records(gallery.hits.head(N_CROPS))
    ]
    misses = [(row, miss_caption(row, model)) for row in records(gallery.misses.head(N_CROPS))]
    wrong = [(row, f"score {row[model]:.2f}") for row in records(gallery.false_positives.head(N_CROPS))]
    told = f"At the out-of-fold threshold for {target:g} false positives per image" + (
        ", which no score reaches." if threshold is None else f": a score of {threshold:.2f}."
    )
    return SortedCrops(told, cut(viewer, hits), cut(viewer, misses), cut(viewer, wrong))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def miss_caption(row: dict[str, Any], model: str) -> str:
    """Why an object was missed."""
    readers = f"{row['n_readers']} of {row['n_readings']} readers"
    score = row[f"{model}_score"]
    return f"no candidate, {readers}" if pd.isna(score) else f"score {score:.2f}, {readers}"


def cut(viewer: Viewer, rows: Iterable[tuple[dict[str, Any], str]]) -> tuple[Crop, ...]:
    """Cut the crops; a row is a golden object, or a candidate alone."""
    made = []
    for row, caption in rows:
        radiograph = viewer.radiograph(row["image_id"])
        if radiograph is None:
            continue
        is_object = "semi_major_mm" in row
        ellipse = Ellipse(*(row[name] for name in ELLIPSE_COLUMNS)) if is_object else None
        circle = circle_of(row, "candidate_" if is_object else "")
        made.append(
            crop_around(radiograph, row["x_mm"], row["y_mm"], caption=caption, ellipse=ellipse, circle=circle)
        )
    return tuple(made)


def circle_of(row: dict[str, Any], prefix: str) -> tuple[float, float, float] | None:
    """Candidate of a row, where it has one."""
    names = [f"{prefix}{name}" for name in ("x_mm", "y_mm", "radius_mm")]
    if any(name not in row or pd.isna(row[name]) for name in names):
        return None
    x, y, radius = (float(row[name]) for name in names)
    return x, y, radius
