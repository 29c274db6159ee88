"""Reference sizes of a study, in its unit: what merging, hits, the finder and the tables of sizes refer to.

In mm the references are the paper's and those of the chest. In pixels or per cent of the width nothing of that kind is
known beforehand; the references are then shares of the width of an image, as measured on fundus photographs, and sizes
that are looked for come from the marks.

Settings that ``overread init`` proposes for a folder of other images, from a sample of them.

What is looked at: whether the picture has a dark frame, and, where there are marks, whether they are brighter or darker
than what surrounds them, label by label, and in which colour they stand out most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from overread.domains._domain import StudyFacts
from overread.domains.picture._features import measure_contrasts
from overread.domains.picture._finder import BlobFinder, radii_from_marks
from overread.domains.picture._image import PictureImage, read_picture
from overread.errors import InvalidInputError, OverreadError
from overread.tables import convert_lengths, find_radii
from overread.truth import HIT, HIT_RULES, MergeOptions, merge_marks

# On the fundus photographs of DIARETDB1, 1,500 pixels wide: 200 pixels for the size from which the merging threshold is
# whole, below which golden counts no longer change, and 15 for the least semi-axis of a hit, three times the tool's
# point marks.
FULL_SIZE_SHARE = 200 / 1500
LEAST_SEMI_AXIS_SHARE = 15 / 1500
LEAST_MM: float = HIT.in_unit("mm").min_semi_axis or 0.0
# Candidates of a picture: reach 98 % and 94 % of the consensus objects of the same images (docs/explanation/fields.md).
FIELD_LIMIT = 250
# The last edge of sizes means no limit.
NO_END = 1e6


@dataclass(frozen=True)
class ReferenceSizes:
    """Reference lengths of a study, in its unit."""

    full_size: float  # from which the adaptive threshold of merging is t0
    least_semi_axis: float  # of an object, when it is asked whether a candidate hits it
    smallest: float  # radius that the finder looks for
    largest: float
    size_bins: list[float]  # by which sensitivity is reported


def find_reference_sizes(settings: Mapping[str, Any], facts: StudyFacts) -> ReferenceSizes:
    """Find every reference size of a study; its plain settings take precedence."""
    widths, radii, own = facts.widths, facts.radii, settings["candidates"]
    # A new reading room has no marks yet: merging needs no sizes of marks.
    smallest, largest = radii_from_marks(radii) if len(radii) else (float("nan"), float("nan"))
    in_mm, given = settings["units"]["unit"] == "mm", settings["merging"]["full_size"]
    width = float(np.median(widths)) if len(widths) else float("nan")
    middle = np.quantile(radii, [1 / 3, 2 / 3]) if len(radii) else radii
    edges = sorted({float(f"{2 * edge:.2g}") for edge in middle})
    return ReferenceSizes(
        full_size=given or FULL_SIZE_SHARE * width,
        least_semi_axis=LEAST_MM if in_mm else LEAST_SEMI_AXIS_SHARE * width,
        smallest=own["smallest"] or min(smallest, own["largest"] or smallest),
        largest=own["largest"] or max(largest, own["smallest"] or largest),
        size_bins=[0.0, *edges, NO_END],
    )


def complete_settings(settings: Mapping[str, Any], given: Set[str], facts: StudyFacts) -> dict[str, Any]:
    """Fill in the settings of pictures that depend on their unit, widths, colours and marks."""
    if not len(facts.radii):
        raise InvalidInputError(
            "marks: there are none outside the test part, so nothing is known of their sizes"
        )
    sizes = find_reference_sizes(settings, facts)
    own, images, polarity = settings["candidates"], settings["images"], settings["candidates"]["polarity"]
    if not isinstance(polarity, str):
        polarity = next(polarity[name] for name in settings["labels"]["groups"])
    usual = {"finder": BlobFinder.name, "limit": FIELD_LIMIT}
    # The least semi-axis of a rule is in proportion to that of the usual rule; some rules have none.
    rule = HIT_RULES[settings["hits"]["rule"]]
    least = next((one.metadata["default_mm"] for one in fields(rule) if one.name == "min_semi_axis"), None)
    found: tuple[tuple[str, str, Any], ...] = (
        ("merging", "full_size", sizes.full_size),
        ("hits", "min_semi_axis", least and float(sizes.least_semi_axis * least / LEAST_MM)),
        ("evaluation", "size_bins", sizes.size_bins),
    )
    return {
        "candidates": usual
        | {name: value for name, value in own.items() if f"candidates.{name}" in given}
        | {"polarity": polarity, "smallest": sizes.smallest, "largest": sizes.largest},
        "images": {
            **images,
            "colour": facts.has_colour() if images["colour"] is None else images["colour"],
        },
    } | {
        section: {
            **settings[section],
            name: settings[section][name]
            if f"{section}.{name}" in given and settings[section][name] is not None
            else value,
        }
        for section, name, value in found
    }


Proposal = dict[str, dict[str, Any]]

# Pictures that are opened, spread over the table. Set by judgement: a few seconds each.
N_LOOKED_AT = 8
# A field of view that fills more than this has no dark frame. Set by judgement.
WHOLE_PICTURE = 0.97
# Fewest marks of a label that gets a group. Set by judgement: fewer are too few to learn from.
FEWEST_MARKS = 20
# Labels are one kind if at least this share of the objects of the rarer one that two readers marked have both.
# Any value from 0.05 to 0.3 makes one group of CytoCrowd's ten labels; simulated fields keep their two down to 0.005.
MIXED_SHARE = 0.2
# Share of the marks that are brighter than their ring from which a label is bright, and below one minus it dark;
# another colour than luminance has to stand out by this factor. Both set by judgement.
SURE_SHARE, SURE_FACTOR = 0.7, 1.1
CHANNELS = ("red", "green", "blue")


def propose_settings(
    folder: Path, images: pd.DataFrame, marks: pd.DataFrame | None, *, region: str | None = None
) -> Proposal:
    """Return what study.toml should say, by section and key; images of a test part are not looked at."""
    seen = images if "split" not in images else images[images["split"] != "test"]
    fields = _open_some(folder, seen)
    # Whether pictures have a dark frame around a field of view.
    framed = [field.region.mean() < WHOLE_PICTURE for field in fields.values()]
    proposed: Proposal = {
        "region": {"kind": region or ("field_of_view" if len(framed) and np.mean(framed) > 0.5 else "all")},
        "units": {"unit": "px" if images["width_px"].nunique() == 1 else "percent"},
        # The paper's rule needs sizes in mm; linkage was better on cells (docs/explanation/merging.md).
        "merging": {"method": "linkage"},
    }
    if marks is None or not len(marks):
        return proposed
    labels = _count_labels(marks)
    groups = _name_groups(_join_mixed(marks, labels)) if len(labels) > 1 else {}
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


def _count_labels(marks: pd.DataFrame) -> list[str]:
    """Return the labels that enough marks have, the most frequent first."""
    if "label" not in marks:
        return []
    counts = marks.loc[marks["label"] != "", "label"].value_counts()
    return [str(label) for label in counts[counts >= FEWEST_MARKS].index]


def _join_mixed(marks: pd.DataFrame, labels: Sequence[str]) -> list[list[str]]:
    """Put labels together that readers give to the same objects; the more frequent label of a set comes first."""
    readings = marks[["image_id", "reader_id"]].drop_duplicates()
    options = MergeOptions(method="linkage", labels="ignore")
    truth = merge_marks(marks, readings, options=options)
    shared = truth[truth["n_readers"] > 1].explode("mark_ids")[["image_id", "truth_id", "mark_ids"]]
    named = shared.merge(marks, left_on=["image_id", "mark_ids"], right_on=["image_id", "mark_id"])
    named = named[named["label"].isin(labels)]
    seen = pd.crosstab([named["image_id"], named["truth_id"]], named["label"]).reindex(
        columns=list(labels), fill_value=0
    )
    present = (seen > 0).to_numpy(np.float64)
    together = present.T @ present
    fewest = np.minimum.outer(np.diag(together), np.diag(together))
    _, component = connected_components(together >= np.maximum(MIXED_SHARE * fewest, 1.0))
    return [
        [label for label, own in zip(labels, component, strict=True) if own == one]
        for one in dict.fromkeys(component)
    ]


def _name_groups(sets: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Name sets of labels by the letters and digits of their first; sets that would share a name become one."""
    groups: dict[str, list[str]] = {}
    for labels in sets:
        name = re.sub(r"[^A-Za-z0-9_]+", "_", labels[0]).strip("_").lower()[:40] or "other"
        groups.setdefault(name, []).extend(labels)
    return groups


def measure_marks(
    fields: Mapping[str, PictureImage], images: pd.DataFrame, marks: pd.DataFrame
) -> pd.DataFrame:
    """Measure the contrast of marks as if they were candidates: generic features, and the label."""
    looked_at = marks[marks["image_id"].isin(list(fields))]
    in_px, measured = convert_lengths(looked_at, images, "px", "marks"), []
    for image_id, field in fields.items():
        own = in_px[in_px["image_id"] == image_id].reset_index(drop=True)
        table = own[["x", "y"]].assign(radius=np.maximum(find_radii(own), 1.0), response=0.0)
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
