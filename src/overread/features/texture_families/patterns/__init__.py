"""Local binary patterns, rotation-invariant and uniform: 54 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family, Feature
from overread.features.texture_families.patches import as_float32, points_per_pixel
from overread.features.texture_families.patterns._kernels import patterns_of_patches

__all__ = ["PATTERNS"]


def pattern_features() -> Iterator[Feature]:
    """Yield the shares of uniform patterns at 3 radii."""
    for radius in (1, 2, 3):
        points = 8 * radius
        for pattern in range(points + 2):
            meaning = f"uniform with {pattern} of {points} bits set" if pattern <= points else "not uniform"
            yield Feature(
                name=f"lbp.r{radius}_p{points}.pattern{pattern}",
                kind="texture",
                family="lbp",
                unit="1",
                formula=f"share of points whose pattern is {meaning}; bit: neighbour at {radius} points >= centre",
                reference="Ojala, Pietikäinen, Mäenpää 2002 (riu2)",
            )


def compute_patterns(context: Context) -> NDArray[np.float32]:
    """Compute the 54 features of each candidate."""
    out = np.zeros((len(context.row), len(PATTERNS.features)))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    step = points_per_pixel(context.radiograph)
    patterns_of_patches(pixels, context.row, context.column, step, out)
    return as_float32(out)


PATTERNS = Family(tuple(pattern_features()), compute_patterns)
