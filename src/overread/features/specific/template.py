"""Average fraction under the minimum, and correlation with templates of a nodule (6 features)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family
from overread.features.specific import _kernels
from overread.features.specific.describing import EPSILON, columns, described
from overread.features.specific.measurements import N_ANGLES, PER_RADIUS, RHO, measured

__all__ = ["TEMPLATE"]

# Discs of 4/16 .. 20/16 R, rings R / 2 wide.
INNER = np.arange(4, 21, 2)
AT_RADIUS = int(np.flatnonzero(INNER == 12)[0])
WIDTH = PER_RADIUS // 2
SIZES = (0.7, 0.85, 1.0, 1.2, 1.4)

FEATURES = described(
    "template",
    "Heath and Bowyer 2000, IWDM, Mass detection by relative image intensity (AFUM); Lo et al. 1995, "
    "doi:10.1109/42.476112 (profile matching)",
    [
        ("afum_mean", "1", "mean of F(r) over r = 4/16, 6/16, ..., 20/16 R; F(r) = share of the ring r..r + R/2 that is "
         "darker than the darkest point of the disc of r"),
        ("afum_max", "1", "largest F(r)"),
        ("afum_at_75", "1", "F(0.75 R)"),
        ("parabola", "1", "correlation of the grey levels within 2 R with max(0, 1 - rho^2), by area"),
        ("disc", "1", "correlation of the grey levels within 2 R with 1 / (1 + exp(12 (rho - 1))), by area"),
        ("best_size", "1", "largest correlation, off trend, with max(0, 1 - (rho/q)^2), q = 0.7, 0.85, 1, 1.2, 1.4"),
    ],
)


def compute(context: Context) -> NDArray[np.float32]:
    """AFUM and correlations of each candidate."""
    measurements = measured(context)
    afum = _kernels.fraction_under_minimum(measurements.grey, RHO, INNER, WIDTH)
    detrended = measurements.trend.detrended
    sizes = [correlation(detrended, np.maximum(0.0, 1.0 - (RHO / size) ** 2)) for size in SIZES]
    values = {
        "afum_mean": afum.mean(axis=1),
        "afum_max": afum.max(axis=1),
        "afum_at_75": afum[:, AT_RADIUS],
        "parabola": correlation(measurements.grey, np.maximum(0.0, 1.0 - RHO**2)),
        "disc": correlation(measurements.grey, 1.0 / (1.0 + np.exp(12.0 * (RHO - 1.0)))),
        "best_size": np.max(sizes, axis=0),
    }
    return columns(FEATURES, values, measurements.n_candidates)


def correlation(values: NDArray[np.float32], template: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation over the disc of 2 R with a template that depends on rho alone; 0 on a constant patch."""
    disc = values[:, :, : 2 * PER_RADIUS]
    weights = RHO[: 2 * PER_RADIUS] / (N_ANGLES * RHO[: 2 * PER_RADIUS].sum())
    first = disc.sum(axis=1, dtype=np.float64)
    second = np.einsum("nkj,nkj->nj", disc, disc, dtype=np.float64)
    mean = (first * weights).sum(axis=1)
    variance = np.maximum((second * weights).sum(axis=1) - mean**2, 0.0)
    ring_weights = weights * N_ANGLES
    centred = template[: 2 * PER_RADIUS] - (template[: 2 * PER_RADIUS] * ring_weights).sum()
    covariance = (first * weights * centred).sum(axis=1)
    spread = np.sqrt((centred**2 * ring_weights).sum())
    return covariance / (np.sqrt(variance) * spread + EPSILON)


TEMPLATE = Family(FEATURES, compute)
