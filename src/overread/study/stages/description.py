"""What the images are, and how the detector does in groups of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from overread.froc import Matching, performance_by
from overread.images.radiograph import SpacingSource
from overread.report.description import Description, Spread, Subgroup
from overread.study.image_columns import measure_spread

__all__ = ["describe_images", "evaluate_subgroups"]


def describe_images(facts: pd.DataFrame, told: Description, unit: str = "mm") -> Description:
    """Add what the files say to what the images table says; a study that opens no image knows no files.

    Parameters
    ----------
    facts
        Of each image that was read: source_mm_per_px, width_mm, height_mm, spacing_source, where known.
    told
        By the columns of the images table.
    unit
        Of the lengths.
    """
    numbers: dict[str, Spread] = {}
    if "source_mm_per_px" in facts:
        sides = np.array([list(sides) for sides in facts["source_mm_per_px"]], dtype=np.float64)
        numbers[f"pixel size, {unit}"] = Spread(*(float(end(sides)) for end in (np.min, np.median, np.max)))
    for name, title in (("width_mm", f"width, {unit}"), ("height_mm", f"height, {unit}")):
        if name in facts and (spread := measure_spread(facts[name])):
            numbers[title] = spread
    counts: dict[str, dict[str, int]] = {}
    if "spacing_source" in facts:
        told_by = facts["spacing_source"].astype("str").replace(str(SpacingSource.GIVEN), "the images table")
        counts["pixel size from"] = dict(Counter(told_by).most_common())
    return replace(told, numbers=numbers | told.numbers, counts=counts | told.counts)


def evaluate_subgroups(
    test: Matching,
    values: Mapping[str, Mapping[str, str]],
    threshold: float,
    options: Any,
    seed: int,
) -> list[Subgroup]:
    """Judge the detector in each group of test images; nothing where no score reaches the threshold.

    Parameters
    ----------
    test
        The supported model on the test set.
    values
        Value of each image, by column.
    threshold
        Of the operating point that the page speaks of.
    options
        The settings' section ``[evaluation]``.
    seed
        Of the bootstrap.
    """
    if np.isnan(threshold):
        return []
    found = []
    for column, of_image in values.items():
        groups = [of_image[str(image_id)] for image_id in test.image_ids]
        table = performance_by(
            test, groups, threshold=threshold, n_bootstrap=options.n_bootstrap, level=options.level, seed=seed
        )
        found.append(Subgroup(column, table))
    return found
