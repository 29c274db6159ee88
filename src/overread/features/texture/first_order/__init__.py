"""First-order statistics of the values in a region (IBSI family "intensity-based statistics")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread.features.texture.first_order._kernels import N_FIRST_ORDER, first_order
from overread.features.texture.levels import checked_region

__all__ = ["FIRST_ORDER", "first_order_features"]

FIRST_ORDER = {
    "mean": "m = sum x / n",
    "variance": "s^2 = sum (x - m)^2 / n",
    "skewness": "sum (x - m)^3 / n / s^3",
    "kurtosis": "sum (x - m)^4 / n / s^4 - 3",
    "median": "P50",
    "minimum": "min x",
    "p10": "P10, linear between order statistics",
    "p90": "P90, linear between order statistics",
    "maximum": "max x",
    "interquartile_range": "P75 - P25",
    "range": "max x - min x",
    "mean_absolute_deviation": "sum |x - m| / n",
    "robust_mean_absolute_deviation": "mean |x - m'| over P10 <= x <= P90, m' their mean",
    "median_absolute_deviation": "sum |x - P50| / n",
    "coefficient_of_variation": "s / m",
    "quartile_coefficient_of_dispersion": "(P75 - P25) / (P75 + P25)",
    "energy": "sum x^2",
    "root_mean_square": "sqrt(sum x^2 / n)",
}


def first_order_features(image: ArrayLike, mask: ArrayLike | None = None) -> dict[str, float]:
    """18 statistics of the pixels x_1 ... x_n of a region; `FIRST_ORDER` has the formulas.

    Percentiles interpolate linearly between order statistics. On a constant region skewness and kurtosis are 0.
    The two coefficients divide by a mean: 0 / 0 is 0, anything else over 0 is infinite.

    Parameters
    ----------
    image
        Two dimensions, numbers; finite inside the region.
    mask
        True in the region; same shape. Everything by default.
    """
    pixels, region = checked_region(image, mask)
    values = pixels[region]
    out = np.zeros(N_FIRST_ORDER)
    first_order(values, np.zeros(values.size, np.uint16), np.zeros(values.size), np.zeros(5), out)
    return dict(zip(FIRST_ORDER, out.tolist(), strict=True))
