"""The power law of the spectrum and fractal measures: 6 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family, Feature
from overread.features.texture_families.patches import as_float32, points_per_pixel
from overread.features.texture_families.spectrum._kernels import spectra_of_patches
from overread.images.radiograph import GRID_MM

__all__ = ["SPECTRUM"]

FORMULAS = {
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
REFERENCES = {
    "power_law": "Burgess, Jacobson, Judy 2001; Båth et al. 2005",
    "fractal": "Sarkar, Chaudhuri 1994; Mandelbrot 1983",
    "lacunarity": "Allain, Cloitre 1991",
}


def spectrum_features() -> Iterator[Feature]:
    """Yield the power law's three features and three fractal ones."""
    for name, (unit, formula) in FORMULAS.items():
        reference = next(text for key, text in REFERENCES.items() if name.startswith(key))
        family = "power_law" if name.startswith("power_law") else "fractal"
        yield Feature(name, "texture", family, unit, formula, reference)


def compute_spectrum(context: Context) -> NDArray[np.float32]:
    """Compute the 6 features of each candidate."""
    out = np.zeros((len(context.row), len(SPECTRUM.features)))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    step = points_per_pixel(context.radiograph)
    spectra_of_patches(pixels, context.row, context.column, step, 1.0 / GRID_MM, out)
    return as_float32(out)


SPECTRUM = Family(tuple(spectrum_features()), compute_spectrum)
