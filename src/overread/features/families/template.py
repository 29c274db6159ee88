"""Average fraction under the minimum, and correlation with templates of a nodule (6 features)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import EPSILON, Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._rays import N_ANGLES, PER_RADIUS, RHO, angle_mean

# Discs of 0.3, 0.4, ... 1.3 R, rings R / 2 wide.
INNER = np.arange(3, 14)
AT_RADIUS = int(np.flatnonzero(INNER == 8)[0])
WIDTH = PER_RADIUS // 2
SIZES = (0.7, 0.85, 1.0, 1.2, 1.4)

FEATURES = describe_features(
    "template",
    "Heath and Bowyer 2000, IWDM, Mass detection by relative image intensity (AFUM); Lo et al. 1995, "
    "doi:10.1109/42.476112 (profile matching)",
    [
        ("afum_mean", "1", "mean of F(r) over r = 0.3, 0.4, ..., 1.3 R",
         "share of the surroundings darker than every pixel inside, mean over several sizes"),
        ("afum_max", "1", "largest F(r)", "share of the surroundings darker than every pixel inside, at the best size"),
        ("afum_at_80", "1", "F(0.8 R)", "share of the surroundings darker than every pixel inside, at 0.8 radii"),
        ("parabola", "1", "correlation of the grey levels within 2 R with max(0, 1 - rho^2), by area",
         "similarity to a smooth round spot"),
        ("disc", "1", "correlation of the grey levels within 2 R with 1 / (1 + exp(12 (rho - 1))), by area",
         "similarity to an even bright disc"),
        ("best_size", "1", "largest correlation, off trend, with max(0, 1 - (rho/q)^2), q = 0.7, 0.85, 1, 1.2, 1.4",
         "similarity to a smooth round spot of the best-fitting size"),
    ],
    symbols={
        "F": "F(r) = share of the ring r..r + R / 2 that is darker than the darkest point of the disc of r",
        "trend": "trend: quadratic surface fitted to the ring around the outline, as in family profile",
    },
)  # fmt: skip


@kernel
def _fraction_under_minimum(grey: F32, rho: F64, inner: NDArray[np.int64], width: int) -> F64:
    """Share of a ring's area darker than the darkest point of the disc inside it: (candidate, inner radius)."""
    out = np.empty((grey.shape[0], inner.size))
    n_angles = grey.shape[1]
    for c in range(grey.shape[0]):
        for a in range(inner.size):
            darkest = np.float32(np.inf)
            for k in range(n_angles):
                for j in range(inner[a]):
                    darkest = min(darkest, grey[c, k, j])
            under = 0.0
            total = 0.0
            for j in range(inner[a], inner[a] + width):
                count = 0
                for k in range(n_angles):
                    if grey[c, k, j] < darkest:
                        count += 1
                under += count * rho[j]
                total += n_angles * rho[j]
            out[c, a] = under / total
    return out


def _compute(context: Context) -> F32:
    """AFUM and correlations of each candidate."""
    afum = _fraction_under_minimum(context.grey, RHO, INNER, WIDTH)
    plain = _correlations(context.grey, [parabola(1.0), 1.0 / (1.0 + np.exp(12.0 * (RHO - 1.0)))])
    sizes = _correlations(context.trend.detrended, [parabola(size) for size in SIZES])
    values = {
        "afum_mean": afum.mean(axis=1),
        "afum_max": afum.max(axis=1),
        "afum_at_80": afum[:, AT_RADIUS],
        "parabola": plain[:, 0],
        "disc": plain[:, 1],
        "best_size": sizes.max(axis=1),
    }
    return stack_columns(FEATURES, values, context.n_candidates)


def parabola(size: float) -> F64:
    """Profile of a sphere's projection, squared: max(0, 1 - (rho / size)^2)."""
    return np.maximum(0.0, 1.0 - (RHO / size) ** 2)


def _correlations(values: F32, templates: Sequence[F64]) -> F64:
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


FAMILY = Family(FEATURES, _compute)
