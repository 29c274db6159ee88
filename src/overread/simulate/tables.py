"""Nodules, distractors and marks as tables, so that a cohort can be built again from files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from overread.errors import TableError
from overread.simulate.cases import Case
from overread.simulate.nodules import Nodule

__all__ = ["distractor_rows", "mark_rows", "nodule_rows", "nodules_by_image"]

HARMONICS = ("orders", "amplitudes", "phases")


def nodule_rows(image_id: str, nodules: Sequence[Nodule]) -> list[dict[str, Any]]:
    """Rows of the nodules of an image; the harmonics become one text, ``order:amplitude:phase`` each."""
    rows = []
    for i, nodule in enumerate(nodules):
        fields = asdict(nodule)
        waves = zip(*(fields.pop(name) for name in HARMONICS), strict=True)
        text = " ".join(f"{order}:{amplitude:g}:{phase:g}" for order, amplitude, phase in waves)
        rows.append({"image_id": image_id, "nodule_id": f"N{i + 1}", **fields, "harmonics": text})
    return rows


def nodules_by_image(table: pd.DataFrame) -> dict[str, list[Nodule]]:
    """Nodules of each image that has any, in the table's order; the inverse of `nodule_rows`."""
    nodules: dict[str, list[Nodule]] = {}
    for row in table.to_dict(orient="records"):
        nodules.setdefault(str(row["image_id"]), []).append(nodule_of({str(k): v for k, v in row.items()}))
    return nodules


def nodule_of(row: Mapping[str, Any]) -> Nodule:
    """Nodule of a row."""
    numbers = {k: v for k, v in row.items() if k not in ("image_id", "nodule_id", "harmonics")}
    text = row["harmonics"] if isinstance(row["harmonics"], str) else ""
    try:
        waves = [part.split(":") for part in text.split()]
        return Nodule(
            **numbers,
            orders=tuple(int(order) for order, _, _ in waves),
            amplitudes=tuple(float(amplitude) for _, amplitude, _ in waves),
            phases=tuple(float(phase) for _, _, phase in waves),
        )
    except (TypeError, ValueError) as error:
        raise TableError(f"nodule {row['nodule_id']} of image {row['image_id']}: {error}") from error


def distractor_rows(image_id: str, case: Case) -> list[dict[str, Any]]:
    """Rows of the distractors of an image."""
    return [{"image_id": image_id, **asdict(distractor)} for distractor in case.distractors]


def mark_rows(image_id: str, case: Case) -> list[dict[str, Any]]:
    """Rows of the marks of an image; ids count within the image. `object_id` says what was meant."""
    return [
        {"image_id": image_id, "mark_id": f"{image_id}-m{i + 1:02d}", **asdict(mark)}
        for i, mark in enumerate(case.marks)
    ]
