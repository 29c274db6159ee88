"""The unit of a study's lengths: tables are converted to it, and every reference size follows from it.

In mm the references are the paper's and those of the chest. In pixels or per cent of the width nothing of that kind is
known beforehand; the references are then shares of the width of an image, as measured on fundus photographs, and sizes
that are looked for come from the marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.domains import PERCENT, BlobFinder, Unit, radii_from_marks
from overread.errors import InvalidInputError, TableError
from overread.images import AGREEMENT
from overread.study._settings import Settings
from overread.truth import HIT, HIT_RULES

Floats = NDArray[np.float64]

SPACING = ("mm_per_px_x", "mm_per_px_y")
LENGTHS = ("x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "radius_mm", "diameter_mm")
"""Columns of a study's tables that are lengths."""
# On the fundus photographs of DIARETDB1, 1,500 pixels wide: 200 pixels for the size from which the merging threshold is
# whole, below which golden counts no longer change, and 15 for the least semi-axis of a hit, three times the tool's
# point marks.
FULL_SIZE_SHARE = 200 / 1500
LEAST_SEMI_AXIS_SHARE = 15 / 1500
# Candidates of a picture: reach 98 % and 94 % of the golden objects of the same images (docs/explanation/fields.md).
FIELD_LIMIT = 250
# The last edge of sizes stands for no end.
NO_END = 1e6


@dataclass(frozen=True)
class ReferenceSizes:
    """Lengths that a study's numbers refer to, in its unit.

    Attributes
    ----------
    full_size
        Size from which the adaptive threshold of merging is t0.
    least_semi_axis
        Of an object, when it is asked whether a candidate hits it.
    smallest, largest
        Radii that the finder looks for.
    size_bins
        Edges of the sizes by which sensitivity is reported.
    """

    full_size: float
    least_semi_axis: float
    smallest: float
    largest: float
    size_bins: list[float]


def find_unit_spacing(images: pd.DataFrame, unit: Unit, file: Path) -> Floats:
    """Return the side of a pixel in the unit (px or fraction), image by image.

    Raises
    ------
    TableError
        If the images table lacks the widths that the unit is made of, or pixels are not square.
    """
    widths = _find_widths(images, file)
    known = [images[name].to_numpy(np.float64) for name in SPACING if name in images]
    if len(known) == 2:
        uneven = np.flatnonzero(np.abs(known[0] - known[1]) > AGREEMENT * known[0])
        if len(uneven):
            raise TableError(
                f"{file}, row {uneven[0] + 2}, column {SPACING[1]}: pixels are not square, so that lengths cannot be"
                ' counted in them (use [units] unit = "mm")'
            )
    return np.ones(len(images)) if unit == "px" else PERCENT / widths


def _find_widths(images: pd.DataFrame, file: Path) -> Floats:
    """Return the widths of the images in pixels, which lengths and references are made of."""
    widths = images["width_px"].to_numpy(np.float64) if "width_px" in images else np.full(len(images), np.nan)
    empty = np.flatnonzero(np.isnan(widths))
    if len(empty):
        raise TableError(
            f"{file}, row {empty[0] + 2}, column width_px: is empty, and [units] needs the size of every image"
            f" (overread init {file.parent} writes it)"
        )
    return widths


def find_spacing(images: pd.DataFrame) -> Floats:
    """Return the side of a pixel of each image in the unit of an images table; 1 where it tells none."""
    if SPACING[0] not in images:
        return np.ones(len(images))
    return images[SPACING[0]].fillna(1.0).to_numpy(np.float64)


def convert_lengths(table: pd.DataFrame, images: pd.DataFrame, spacing: Floats) -> pd.DataFrame:
    """Convert the lengths of a table to the unit.

    Parameters
    ----------
    table
        Rows with image_id and lengths, which are in the unit that the images' mm_per_px speaks of; pixels without.
    images
        The images table as it was read.
    spacing
        Side of a pixel of each image in the new unit.
    """
    factors = dict(zip(images["image_id"], spacing / find_spacing(images), strict=True))
    factor = table["image_id"].map(factors).astype(np.float64)  # a table without rows has no numbers to tell
    return table.assign(**{name: table[name] * factor for name in LENGTHS if name in table})


def find_reference_sizes(settings: Settings, widths: Floats, radii: Floats) -> ReferenceSizes:
    """Make every reference size of a study of pictures: the one place where they come from.

    Parameters
    ----------
    settings
        What they say counts; the rest is found.
    widths
        Of the images, in the unit.
    radii
        Of the marks, in the unit: sqrt(a b).
    """
    # Nobody has marked yet in a room that has just been opened: merging needs no sizes of marks.
    smallest, largest = radii_from_marks(radii) if len(radii) else (float("nan"), float("nan"))
    in_mm = settings.units.unit == "mm"
    width = float(np.median(widths)) if len(widths) else float("nan")
    middle = np.quantile(radii, [1 / 3, 2 / 3]) if len(radii) else radii
    edges = sorted({float(f"{2 * edge:.2g}") for edge in middle})
    return ReferenceSizes(
        full_size=settings.merging.full_size_mm if in_mm else FULL_SIZE_SHARE * width,
        least_semi_axis=HIT.min_semi_axis_mm if in_mm else LEAST_SEMI_AXIS_SHARE * width,
        smallest=settings.candidates.smallest_mm or min(smallest, settings.candidates.largest_mm or smallest),
        largest=settings.candidates.largest_mm or max(largest, settings.candidates.smallest_mm or largest),
        size_bins=[0.0, *edges, NO_END],
    )


def resolve_settings(
    settings: Settings, images: pd.DataFrame, marks: pd.DataFrame, *, colour: bool | None
) -> Settings:
    """Fill in what depends on the region and on the unit; settings of a chest are as they were.

    Parameters
    ----------
    settings
        Of one group, as read.
    images, marks
        In the study's unit.
    colour
        Whether the first image has colours; None where no image is opened.

    Raises
    ------
    InvalidInputError
        If a chest is given what only other pictures have, or there are no marks to take sizes from.
    """
    if settings.region.is_chest:
        _refuse_settings_of_fields(settings)
        return settings
    has_widths = {"width_px", "mm_per_px_x"} <= set(images)
    widths = (images["width_px"] * images["mm_per_px_x"]).to_numpy(np.float64) if has_widths else np.empty(0)
    seen = marks if "split" not in images else marks[~marks["image_id"].isin(_find_tested(images))]
    radii = find_radii(seen)
    if not len(radii):
        raise InvalidInputError(
            "marks: there are none outside the test part, so nothing is known of their sizes"
        )
    sizes = find_reference_sizes(settings, widths, radii)
    candidates = {
        "finder": BlobFinder.name,
        "limit": FIELD_LIMIT,
        **{name: getattr(settings.candidates, name) for name in settings.candidates.model_fields_set},
        "polarity": _choose_polarity(settings),
        "smallest_mm": sizes.smallest,
        "largest_mm": sizes.largest,
    }
    plain = settings.to_plain()
    plain["candidates"] = candidates
    plain["images"]["colour"] = settings.images.colour if settings.images.colour is not None else colour
    plain["merging"]["full_size_mm"] = _chosen(settings.merging, "full_size_mm", sizes.full_size)
    least = _find_least_semi_axis(settings.hits.rule, sizes)
    plain["hits"]["min_semi_axis_mm"] = _chosen(settings.hits, "min_semi_axis_mm", least)
    plain["evaluation"]["size_bins_mm"] = _chosen(settings.evaluation, "size_bins_mm", sizes.size_bins)
    return Settings.model_validate(plain)


def find_radii(marks: pd.DataFrame) -> Floats:
    """Return the radii of discs of the marks' areas."""
    axes = marks[["semi_major_mm", "semi_minor_mm"]].to_numpy(np.float64)
    return np.asarray(np.sqrt(axes.prod(axis=1)))


def _choose_polarity(settings: Settings) -> str:
    """Return the polarity of the one group that the settings are of."""
    polarity = settings.candidates.polarity
    return polarity if isinstance(polarity, str) else next(polarity[name] for name in settings.labels.groups)


def _find_least_semi_axis(rule: str, sizes: ReferenceSizes) -> float | None:
    """Return the least semi-axis of a rule: in proportion to that of the usual rule; None where it has none."""
    own = getattr(HIT_RULES[rule], "min_semi_axis_mm", None)
    return None if own is None else float(sizes.least_semi_axis * own / HIT.min_semi_axis_mm)


def _find_tested(images: pd.DataFrame) -> Sequence[str]:
    """Return the images that are to be seen by nothing but the last figures."""
    return list(images.loc[images["split"] == "test", "image_id"])


def _refuse_settings_of_fields(settings: Settings) -> None:
    """Refuse what a run of chests would silently not use."""
    given = [f"[images] {name}" for name in settings.images.model_fields_set]
    given += [
        f"[candidates] {name}"
        for name in ("polarity", "smallest_mm", "largest_mm")
        if name in settings.candidates.model_fields_set
    ]
    used = {
        f"[candidates] {name}": getattr(settings.candidates, name) for name in ("smallest_mm", "largest_mm")
    }
    wanted = [name for name in given if used.get(name, 0) is not None]
    if wanted:
        raise InvalidInputError(
            f'{wanted[0]}: is of other pictures than chests; set kind in [region] ("field_of_view", "masks" or "all")'
        )


def _chosen(section: Any, name: str, found: Any) -> Any:
    """Return what the settings say, or what was found where they say nothing."""
    given = getattr(section, name)
    return given if name in section.model_fields_set and given is not None else found
