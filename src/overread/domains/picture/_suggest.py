"""Settings that ``overread init`` proposes for a folder of pictures that are no chests, by looking at some of them.

What is looked at: whether the picture has a dark frame, and, where there are marks, whether they are brighter or darker
than what surrounds them, label by label, and in which colour they stand out most.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.domains.picture._features import measure_contrasts
from overread.domains.picture._image import PictureImage, read_picture
from overread.errors import OverreadError
from overread.tables import find_radii

Proposal = dict[str, dict[str, Any]]

# Pictures that are opened, spread over the table. Chosen by eye: a few seconds each.
N_LOOKED_AT = 8
# A field of view that fills more than this has no dark frame. Chosen by eye.
WHOLE_PICTURE = 0.97
# From so many of its marks on, a label gets a group. Chosen by eye: with fewer nothing is learned.
FEWEST_MARKS = 20
# Share of the marks that are brighter than their ring from which a label is bright, and below one minus it dark;
# another colour than luminance has to stand out by this factor. Both chosen by eye.
SURE_SHARE, SURE_FACTOR = 0.7, 1.1
CHANNELS = ("red", "green", "blue")


def propose_settings(
    folder: Path, images: pd.DataFrame, marks: pd.DataFrame | None, *, region: str | None = None
) -> Proposal:
    """Return what study.toml should say, by section and key.

    Parameters
    ----------
    folder
        Of the study.
    images
        Its images table, with path, width_px and mm_per_px_x.
    marks
        Its marks, or None where there are none yet. Images of a test part are not looked at.
    region
        What was said of it; None: as the pictures show.
    """
    seen = images if "split" not in images else images[images["split"] != "test"]
    fields = _open_some(folder, seen)
    proposed: Proposal = {
        "region": {"kind": region or _choose_region(list(fields.values()))},
        "units": {"unit": "px" if images["width_px"].nunique() == 1 else "fraction"},
    }
    if marks is None or not len(marks):
        return proposed
    labels = _count_labels(marks)
    groups = _name_groups(labels) if len(labels) > 1 else {}
    measured = measure_marks(fields, seen, marks)
    if measured.empty:
        return proposed | ({"labels": {"groups": groups}} if groups else {})
    plane = _choose_plane(measured)
    if plane != "luminance":
        proposed["images"] = {"plane": plane}
    column = "main.contrast" if plane == "luminance" else f"{plane}.contrast"
    if groups:
        proposed["labels"] = {"groups": groups}
        polarity = {
            name: _choose_polarity(measured.loc[measured["label"].isin(own), column])
            for name, own in groups.items()
        }
        same = len(set(polarity.values())) == 1
        proposed["candidates"] = {"polarity": next(iter(polarity.values())) if same else polarity}
    else:
        proposed["candidates"] = {"polarity": _choose_polarity(measured[column])}
    return proposed


def _open_some(folder: Path, images: pd.DataFrame) -> dict[str, PictureImage]:
    """Open some pictures by image id, in pixels, with the region that is found or the whole picture."""
    opened = {}
    step = max(len(images) // N_LOOKED_AT, 1)
    for image_id, path in list(zip(images["image_id"], images["path"], strict=True))[::step][:N_LOOKED_AT]:
        for region in ("field_of_view", "all"):
            try:
                opened[image_id] = read_picture(folder / path, mm_per_px=1.0, region=region)
                break
            except OverreadError:
                continue
    return opened


def _choose_region(fields: Sequence[PictureImage]) -> str:
    """Say whether pictures have a dark frame around a field of view."""
    framed = [field.region.mean() < WHOLE_PICTURE for field in fields]
    return "field_of_view" if framed and np.mean(framed) > 0.5 else "all"


def _count_labels(marks: pd.DataFrame) -> list[str]:
    """Return the labels that enough marks have, the most frequent first."""
    if "label" not in marks:
        return []
    counts = marks.loc[marks["label"] != "", "label"].value_counts()
    return [str(label) for label in counts[counts >= FEWEST_MARKS].index]


def _name_groups(labels: Sequence[str]) -> dict[str, list[str]]:
    """Make a group of each label, named by its letters and digits; labels that would share a name share a group."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        name = re.sub(r"[^A-Za-z0-9_]+", "_", label).strip("_").lower()[:40] or "other"
        groups.setdefault(name, []).append(label)
    return groups


def measure_marks(
    fields: Mapping[str, PictureImage], images: pd.DataFrame, marks: pd.DataFrame
) -> pd.DataFrame:
    """Measure the contrast of marks as if they were candidates: generic features, and the label."""
    sides = images.set_index("image_id").get("mm_per_px_x", pd.Series(dtype="float64"))
    measured = []
    for image_id, field in fields.items():
        own = marks[marks["image_id"] == image_id].reset_index(drop=True)
        side = float(sides.get(image_id, np.nan))
        in_px = own[["x", "y"]] / (1.0 if np.isnan(side) else side)
        radius = find_radii(own) / (1.0 if np.isnan(side) else side)
        table = in_px.assign(radius=np.maximum(radius, 1.0), response=0.0)
        if len(own):
            label = own.get("label", "")
            measured.append(measure_contrasts(field, table).assign(label=label))
    return pd.concat(measured, ignore_index=True) if measured else pd.DataFrame()


def _choose_plane(measured: pd.DataFrame) -> str:
    """Choose the colour in which marks stand out most from their surroundings."""
    strength = {
        name: float(measured[f"{column}.contrast_to_noise"].abs().median())
        for name, column in (("luminance", "main"), *((name, name) for name in CHANNELS))
        if f"{column}.contrast_to_noise" in measured
    }
    best = max(strength, key=lambda name: strength[name])
    return best if strength[best] > SURE_FACTOR * strength["luminance"] else "luminance"


def _choose_polarity(contrast: pd.Series[float]) -> str:
    """Say whether most marks are brighter or darker than what surrounds them."""
    share = float((contrast > 0).mean()) if len(contrast) else 0.5
    return "bright" if share >= SURE_SHARE else "dark" if share <= 1 - SURE_SHARE else "both"
