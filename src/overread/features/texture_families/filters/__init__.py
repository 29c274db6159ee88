"""Gabor and Laws filters: 46 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family, Feature
from overread.features.texture_families.filters._kernels import filters_of_patches
from overread.features.texture_families.patches import as_float32, points_per_pixel

__all__ = ["FILTERS"]

LAWS_LETTERS = "LESWR"


def gabor_features() -> Iterator[Feature]:
    """Yield mean and standard deviation of 16 Gabor magnitudes."""
    for wave in (4, 8, 16, 32):
        for angle in (0, 45, 90, 135):
            for name, statistic in (("mean", "mean"), ("sd", "standard deviation")):
                yield Feature(
                    name=f"gabor_{name}.w{wave}.a{angle}",
                    kind="texture",
                    family="gabor",
                    unit="grey",
                    formula=f"{statistic} of |x * exp(-r^2 / (2 s^2)) (exp(2 pi i u / {wave}) - c)|, u along "
                    f"{angle} degrees (counter-clockwise), s = {wave // 2}, c: no response to a constant",
                    reference="Manjunath, Ma 1996",
                )


def laws_features() -> Iterator[Feature]:
    """Yield the 14 texture energies of Laws."""
    pairs = [(a, b) for i, a in enumerate(LAWS_LETTERS) for b in LAWS_LETTERS[i:] if a + b != "LL"]
    for a, b in pairs:
        yield Feature(
            name=f"laws_energy.{a.lower()}5{b.lower()}5",
            kind="texture",
            family="laws",
            unit="grey",
            formula=f"mean of (|x * {a}5{b}5| + |x * {b}5{a}5|) / 2, vectors scaled to an absolute sum of 1",
            reference="Laws 1980",
        )


def compute_filters(context: Context) -> NDArray[np.float32]:
    """Compute the 46 features of each candidate."""
    out = np.zeros((len(context.row), len(FILTERS.features)))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    step = points_per_pixel(context.radiograph)
    filters_of_patches(pixels, context.row, context.column, step, out)
    return as_float32(out)


FILTERS = Family((*gabor_features(), *laws_features()), compute_filters)
