"""Readers who disagree: who reads which image, who sees which object, and what ellipse each draws.

Reader r marks object o with probability Phi(2.08 ln(c_o / 1.5) + 0.5 ln(D_o / 14) + skill_r + e), e normal with
deviation 0.4, c_o its conspicuity (contrast to noise) and D_o its diameter in mm; and marks a place where there
is nothing 0.08 times a reading.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

__all__ = ["draw_marks", "draw_readings"]

# Number of readings of an image, and how often: most images of the paper were read by 4 or 5.
READINGS = {4: 0.47, 5: 0.47, 6: 0.06}
SKILLS = (-0.4, 0.4)
FALSE_MARKS_PER_READING = 0.08


def draw_readings(image_ids: list[str], n_readers: int, random: np.random.Generator) -> pd.DataFrame:
    """Table of readings: for each image, which of the readers read it."""
    counts = np.minimum(random.choice(list(READINGS), len(image_ids), p=list(READINGS.values())), n_readers)
    rows = [
        (image_id, f"R{reader + 1}")
        for image_id, count in zip(image_ids, counts, strict=True)
        for reader in np.sort(random.choice(n_readers, count, replace=False))
    ]
    return pd.DataFrame(rows, columns=["image_id", "reader_id"])


def draw_marks(
    objects: pd.DataFrame, readings: pd.DataFrame, size_mm: float, n_readers: int, random: np.random.Generator
) -> pd.DataFrame:
    """Table of marks of square images with this side, in mm.

    Parameters
    ----------
    objects
        image_id, x_mm, y_mm, diameter_mm, conspicuity of everything a reader may take for a lesion.
    readings
        Who reads which image.
    size_mm, n_readers, random
        Side of the images, number of readers, source of randomness.
    """
    skills = {f"R{i + 1}": skill for i, skill in enumerate(np.linspace(*SKILLS, n_readers))}
    seen = objects.merge(readings, on="image_id")
    level = (
        2.08 * np.log(seen["conspicuity"] / 1.5)
        + 0.5 * np.log(seen["diameter_mm"] / 14)
        + seen["reader_id"].map(skills)
        + random.normal(0, 0.4, len(seen))
    )
    seen = seen[random.random(len(seen)) < norm.cdf(level)]
    false = readings[random.random(len(readings)) < FALSE_MARKS_PER_READING].assign(
        x_mm=lambda table: random.uniform(0.1, 0.9, len(table)) * size_mm,
        y_mm=lambda table: random.uniform(0.1, 0.9, len(table)) * size_mm,
        diameter_mm=lambda table: random.uniform(8, 25, len(table)),
    )
    marks = pd.concat([seen, false], ignore_index=True)[
        ["image_id", "reader_id", "x_mm", "y_mm", "diameter_mm"]
    ]
    marks = marks.sort_values(["image_id", "reader_id"], kind="stable", ignore_index=True)
    return _drawn(marks, random)


def _drawn(marks: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """Ellipses around the objects, each with its reader's error in place, size, shape and angle."""
    n, radius = len(marks), marks["diameter_mm"].to_numpy() / 2
    scale, shape = np.exp(random.normal(0.1, 0.15, n)), np.exp(np.abs(random.normal(0, 0.12, n)))
    return pd.DataFrame(
        {
            "image_id": marks["image_id"],
            "reader_id": marks["reader_id"],
            "mark_id": [f"m{i:05d}" for i in range(n)],
            "x_mm": marks["x_mm"] + random.normal(0, 0.12, n) * radius,
            "y_mm": marks["y_mm"] + random.normal(0, 0.12, n) * radius,
            "semi_major_mm": radius * scale * shape,
            "semi_minor_mm": radius * scale / shape,
            "angle_deg": random.uniform(0, 180, n),
        }
    )
