"""Average fraction under the minimum, and correlation with templates of a nodule (6 features)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family
from overread.features.specific import _kernels
from overread.features.specific.describing import EPSILON, columns, described
from overread.features.specific.measurements import N_ANGLES, PER_RADIUS, RHO, measured
from overread.features.specific.on_rays import angle_mean

__all__ = ["TEMPLATE"]

# Discs of 0.3, 0.4, ... 1.3 R, rings R / 2 wide.
INNER = np.arange(3, 14)
AT_RADIUS = int(np.flatnonzero(INNER == 8)[0])
WIDTH = PER_RADIUS // 2
SIZES = (0.7, 0.85, 1.0, 1.2, 1.4)

FEATURES = described(
    "template",
    "Heath and Bowyer 2000, IWDM, Mass detection by relative image intensity (AFUM); Lo et al. 1995, "
    "doi:10.1109/42.476112 (profile matching)",
    [
        (
            "afum_mean",
            "1",
            "mean of F(r) over r = 0.3, 0.4, ..., 1.3 R",
        ),
        ("afum_max", "1", "largest F(r)"),
        ("afum_at_80", "1", "F(0.8 R)"),
        ("parabola", "1", "correlation of the grey levels within 2 R with max(0, 1 - rho^2), by area"),
        ("disc", "1", "correlation of the grey levels within 2 R with 1 / (1 + exp(12 (rho - 1))), by area"),
        (
            "best_size",
            "1",
            "largest correlation, off trend, with max(0, 1 - (rho/q)^2), q = 0.7, 0.85, 1, 1.2, 1.4",
        ),
    ],
    symbols={
        "F": "F(r) = share of the ring r..r + R / 2 that is darker than the darkest point of the disc of r",
        "trend": "trend: quadratic surface fitted to the ring around the outline, as in family profile",
    },
)


def compute(context: Context) -> NDArray[np.float32]:
    """AFUM and correlations of each candidate."""
    measurements = measured(context)
    afum = _kernels.fraction_under_minimum(measurements.grey, RHO, INNER, WIDTH)
    plain = correlations(measurements.grey, [parabola(1.0), 1.0 / (1.0 + np.exp(12.0 * (RHO - 1.0)))])
    sizes = correlations(measurements.trend.detrended, [parabola(size) for size in SIZES])
    values = {
        "afum_mean": afum.mean(axis=1),
        "afum_max": afum.max(axis=1),
        "afum_at_80": afum[:, AT_RADIUS],
        "parabola": plain[:, 0],
        "disc": plain[:, 1],
        "best_size": sizes.max(axis=1),
    }
    return columns(FEATURES, values, measurements.n_candidates)


def parabola(size: float) -> NDArray[np.float64]:
    """Profile of a sphere's projection, squared: max(0, 1 - (rho / size)^2)."""
    return np.maximum(0.0, 1.0 - (RHO / size) ** 2)


def correlations(
    values: NDArray[np.float32], templates: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Correlate the disc of 2 R with templates that depend on rho alone; 0 on a constant patch."""
    disc = values[:, :, : 2 * PER_RADIUS]
    disc = disc - disc.mean(axis=(1, 2), keepdims=True)
    weights = RHO[: 2 * PER_RADIUS] / RHO[: 2 * PER_RADIUS].sum()
    first = angle_mean(disc)
    second = np.einsum("nkj,nkj->nj", disc, disc) / N_ANGLES
    mean = (first * weights).sum(axis=1)
    spread = np.sqrt(np.maximum((second * weights).sum(axis=1) - mean**2, 0.0))
    found = []
    for template in templates:
        centred = template[: 2 * PER_RADIUS] - (template[: 2 * PER_RADIUS] * weights).sum()
        covariance = (first * weights * centred).sum(axis=1)
        found.append(covariance / (spread * np.sqrt((centred**2 * weights).sum()) + EPSILON))
    return np.stack(found, axis=1)


TEMPLATE = Family(FEATURES, compute)
