"""What lengths and things are called on the page of a run: its unit, and whether its images are chests."""

from __future__ import annotations

from overread.report.results import StudyResults

__all__ = [
    "CHEST_CROP_MM",
    "UNIT_WORDS",
    "find_crop_side",
    "is_chest",
    "name_in_unit",
    "name_object",
    "name_unit",
]

UNIT_WORDS = {"mm": "mm", "px": "px", "fraction": "% of the width"}

# Chosen by eye: a nodule with its surroundings. It is twelve of the least semi-axes of a hit, and so in other pictures.
CHEST_CROP_MM = 60.0
SEMI_AXES_IN_CROP = 12.0
# Of the upper third of the objects by size. Chosen by eye: most outlines stay in the crop with their surroundings.
OBJECTS_IN_CROP = 2.5


def is_chest(results: StudyResults) -> bool:
    """Whether the images are chest radiographs."""
    return results.settings.get("region", {}).get("kind", "chest") == "chest"


def name_unit(results: StudyResults) -> str:
    """Name the unit of all lengths."""
    return UNIT_WORDS[results.settings.get("units", {}).get("unit", "mm")]


def name_in_unit(text: str, unit: str) -> str:
    """Put the word of a unit in the place of mm in a text about lengths."""
    return text.replace(" mm", f" {unit}")


def name_object(results: StudyResults) -> str:
    """Name what is looked for, where more than "object" is known of it."""
    return "nodule" if is_chest(results) else "object"


def find_crop_side(results: StudyResults) -> float:
    """Return the side of a crop around a place, in the unit."""
    if is_chest(results):
        return CHEST_CROP_MM
    least = results.settings["hits"]["min_semi_axis_mm"]
    if not least:
        return 3.0 * float(results.settings["merging"]["full_size_mm"])
    # The last edge stands for no end.
    edges = results.settings.get("evaluation", {}).get("size_bins_mm", [0.0])[:-1]
    return max(SEMI_AXES_IN_CROP * least, OBJECTS_IN_CROP * max(edges, default=0.0))
