"""Local binary patterns, Gabor, Laws, the power law of the spectrum and fractal measures: 106 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family, Feature
from overread.features.texture_families.filters._kernels import filters_of_patches
from overread.features.texture_families.patches import as_float32, points_per_pixel
from overread.images.radiograph import GRID_MM

__all__ = ["FILTERS"]

LAWS_LETTERS = "LESWR"
SPECTRUM = {
    "power_law_exponent": ("1", "b of P(f) = c f^-b, least squares in log-log over 30 radial bins"),
    "power_law_level": ("1", "log10 of c f^-b at f = 0.1 cycles/mm"),
    "power_law_residual": ("1", "root mean square of log10 P(f) - log10 c f^-b"),
    "fractal_dimension_variogram": ("1", "3 - H, mean |x(p + h) - x(p)| ~ h^H for h = 1, 2, 4, 8, 16 points"),
    "fractal_dimension_boxes": (
        "1",
        "D of n(r) ~ r^-D, n(r) = sum over boxes of r points of 1 + (max - min) 63 / (r range), r = 3, 7, 9, 21",
    ),
    "lacunarity": ("1", "mean m^2 / (mean m)^2, m = sum of x - min x in boxes of 9 x 9 points"),
}
SPECTRUM_REFERENCES = {
    "power_law": "Burgess, Jacobson, Judy 2001; Båth et al. 2005",
    "fractal": "Sarkar, Chaudhuri 1994; Mandelbrot 1983",
    "lacunarity": "Allain, Cloitre 1991",
}


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


def spectrum_features() -> Iterator[Feature]:
    """Yield the power law's three features and three fractal ones."""
    for name, (unit, formula) in SPECTRUM.items():
        reference = next(text for key, text in SPECTRUM_REFERENCES.items() if name.startswith(key))
        family = "power_law" if name.startswith("power_law") else "fractal"
        yield Feature(name, "texture", family, unit, formula, reference)


def compute_filters(context: Context) -> NDArray[np.float32]:
    """Compute the 106 features of each candidate."""
    out = np.zeros((len(context.row), len(FILTERS.features)))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    step = points_per_pixel(context.radiograph)
    filters_of_patches(pixels, context.row, context.column, step, 1.0 / GRID_MM, out)
    return as_float32(out)


FILTERS = Family(
    (*pattern_features(), *gabor_features(), *laws_features(), *spectrum_features()), compute_filters
)
