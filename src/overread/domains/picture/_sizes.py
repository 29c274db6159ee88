"""Reference sizes of a study, in its unit: what merging, hits, the finder and the tables of sizes refer to.

In mm the references are the paper's and those of the chest. In pixels or per cent of the width nothing of that kind is
known beforehand; the references are then shares of the width of an image, as measured on fundus photographs, and sizes
that are looked for come from the marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from overread.domains._domain import StudyFacts
from overread.domains.picture._finder import BlobFinder, radii_from_marks
from overread.errors import InvalidInputError
from overread.truth import HIT, HIT_RULES

# On the fundus photographs of DIARETDB1, 1,500 pixels wide: 200 pixels for the size from which the merging threshold is
# whole, below which golden counts no longer change, and 15 for the least semi-axis of a hit, three times the tool's
# point marks.
FULL_SIZE_SHARE = 200 / 1500
LEAST_SEMI_AXIS_SHARE = 15 / 1500
LEAST_MM: float = HIT.in_unit("mm").min_semi_axis or 0.0
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


def find_reference_sizes(settings: Mapping[str, Any], facts: StudyFacts) -> ReferenceSizes:
    """Make every reference size of a study; what its plain settings say counts."""
    widths, radii, own = facts.widths, facts.radii, settings["candidates"]
    # Nobody has marked yet in a room that has just been opened: merging needs no sizes of marks.
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
    """Fill in the settings of pictures that depend on their unit, widths, colours and marks.

    Raises
    ------
    InvalidInputError
        If there are no marks to take sizes from.
    """
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
