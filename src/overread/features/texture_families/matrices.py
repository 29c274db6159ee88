"""Co-occurrence, first order, runs, zones and neighbours on a patch and its wavelet channels: 876 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family, Feature
from overread.features.texture.first_order import FIRST_ORDER
from overread.features.texture.glcm import GLCM
from overread.features.texture.regions import FAMILIES
from overread.features.texture_families._kernels import (
    APPROXIMATION_STEPS,
    DISTANCES,
    HARALICK,
    N_BINS,
    matrices_of_patches,
)
from overread.features.texture_families.patches import as_float32, points_per_pixel

__all__ = ["CHANNELS", "MATRICES"]

APPROXIMATIONS = tuple(f"approximation{level}" for level in (1, 2, 3))
DETAILS = tuple(f"wavelet{level}_{band}" for level in (1, 2, 3) for band in ("hl", "lh", "hh"))
CHANNELS = ("original", *APPROXIMATIONS, *DETAILS, "band4", "gradient")

REFERENCES = {
    "glcm": "Haralick, Shanmugam, Dinstein 1973; Wei et al. 1997",
    "first_order": "Image Biomarker Standardisation Initiative 2020, section 3.3",
    "glrlm": "Galloway 1975; Image Biomarker Standardisation Initiative 2020, section 3.7",
    "glszm": "Thibault et al. 2009; Image Biomarker Standardisation Initiative 2020, section 3.8",
    "ngldm": "Sun, Wee 1983; Image Biomarker Standardisation Initiative 2020, section 3.11",
    "ngtdm": "Amadasun, King 1989; Image Biomarker Standardisation Initiative 2020, section 3.10",
}
# Ratios with a mean below are not bounded on a wavelet channel, whose mean is near 0; these are.
BOUNDED = {
    "coefficient_of_variation": "s / (|m| + s), 0 where s is",
    "quartile_coefficient_of_dispersion": "(P75 - P25) / (|P75| + |P25|), 0 where P75 = P25",
}
GREY_POWER = {
    "variance": "grey^2",
    "energy": "grey^2",
    "skewness": "1",
    "kurtosis": "1",
    "coefficient_of_variation": "1",
    "quartile_coefficient_of_dispersion": "1",
}


def first_order_formula(name: str) -> str:
    """Give the formula of a first-order statistic as it is used on channels."""
    return BOUNDED.get(name, FIRST_ORDER[name])


def first_order_unit(name: str) -> str:
    """Give the unit of a first-order statistic of grey values."""
    return GREY_POWER.get(name, "grey")


def haralick_features(channel: str, distance: int, *statistics: str) -> Iterator[Feature]:
    """Yield Haralick's 13 features on a channel at a distance, for each statistic over the 4 directions."""
    names = list(GLCM)
    for statistic in statistics:
        for index in HARALICK:
            name = names[index]
            yield Feature(
                name=f"glcm_{name}.{channel}.d{distance}.{statistic}",
                kind="texture",
                family="glcm",
                unit="1",
                formula=f"{statistic} over 4 directions of {GLCM[name]}; {channel}, {N_BINS} levels, "
                f"pairs {distance} points apart",
                reference=REFERENCES["glcm"],
            )


def first_order_features(channel: str) -> Iterator[Feature]:
    """Yield the 18 first-order statistics of a channel."""
    for name in FIRST_ORDER:
        yield Feature(
            name=f"first_order_{name}.{channel}",
            kind="texture",
            family="first_order",
            unit=first_order_unit(name),
            formula=f"{first_order_formula(name)}; x: {channel}",
            reference=REFERENCES["first_order"],
        )


def region_features(channel: str) -> Iterator[Feature]:
    """Yield 54 features of runs, zones and neighbours of a channel."""
    for family in ("glrlm", "glszm", "ngldm", "ngtdm"):
        for name, formula in FAMILIES[family].items():
            yield Feature(
                name=f"{family}_{name}.{channel}",
                kind="texture",
                family=family,
                unit="1",
                formula=f"{formula}; {channel}, {N_BINS} levels",
                reference=REFERENCES[family],
            )


def matrices_catalogue() -> Iterator[Feature]:
    """Yield all features in the order of the kernel's columns."""
    for distance in DISTANCES:
        yield from haralick_features("original", distance, "mean", "range")
    for level, channel in enumerate(APPROXIMATIONS, start=1):
        for step in APPROXIMATION_STEPS:
            yield from haralick_features(channel, step << level, "mean")
    for index, channel in enumerate(DETAILS):
        yield from haralick_features(channel, 1 << (index // 3), "mean")
    for channel in CHANNELS:
        yield from first_order_features(channel)
    for channel in ("original", *APPROXIMATIONS):
        yield from region_features(channel)


def compute_matrices(context: Context) -> NDArray[np.float32]:
    """Compute the 876 features of each candidate."""
    out = np.zeros((len(context.row), len(MATRICES.features)))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    matrices_of_patches(pixels, context.row, context.column, points_per_pixel(context.radiograph), out)
    return as_float32(out)


MATRICES = Family(tuple(matrices_catalogue()), compute_matrices)
