"""Convergence of the gradient towards the candidate (18 features).

On 32 rays up to 2 R: cos = -g_along / |g|, the cosine between the gradient and the direction to the centre, with the
radiograph smoothed by the largest of 1.6, 2.5 and 4 mm up to R / 3. Where the gradient vanishes cos is 0: 1e-6 is
added to |g|.
"""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, F64
from overread.features._family import EPSILON, Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._rays import PER_RADIUS, RHO, angle_mean, opposite_min, sector_means

COIN_RADII = {"r70": 0.7, "r100": 1.0, "r150": 1.5}
BAND_WIDTHS = {"w30": 3, "w50": 5, "w80": 8}
# Bands and rings may begin here, in steps of R / 10; the centre itself has no direction.
FIRST = 2
# Rays to either side averaged with each: 5 of 32, 56 degrees. Set by judgement.
SECTOR_HALF = 2

FEATURES = describe_features(
    "convergence",
    "Kobatake and Hashimoto 1999, doi:10.1109/83.777091 (coin, iris); Wei, Hagihara and Kobatake 1999, ICIP (adaptive "
    "ring); Pereira, Mendonca and Campilho 2007, ICIAR (sliding band)",
    [
        *[
            (f"coin.{name}", "1", f"mean of cos over the disc of {r} R",
             f"how much brightness rises towards the centre from all around, within {r:g} radii")
            for name, r in COIN_RADII.items()
        ],
        ("weighted_coin", "1", "sum |g| cos / sum |g| over 0.5..1.5 R, by area",
         "how much strong edges point towards the centre"),
        ("iris_mean", "1", "mean over directions of I_k",
         "how much brightness rises towards the centre, with the best distance in each direction"),
        ("iris_spread", "1", "standard deviation of I_k over directions",
         "how unequally brightness rises towards the centre from different directions"),
        ("iris_opposite_min", "1", "min over directions of the mean of I over two opposite sectors of 56 deg",
         "how much brightness rises towards the centre from opposite sides at once"),
        *[
            (f"ring.{name}", "1",
             f"max over r of the mean of cos over the ring of width {w / PER_RADIUS} R at r",
             "how much brightness rises inwards across the best-fitting ring, "
             f"in rings {w / PER_RADIUS:g} radii wide")
            for name, w in BAND_WIDTHS.items()
        ],
        *[
            (f"band_mean.{name}", "1",
             f"mean over directions of B_k, bands {w / PER_RADIUS} R wide",
             "how much brightness rises inwards across the border, with the best radius in each direction, "
             f"in rings {w / PER_RADIUS:g} radii wide")
            for name, w in BAND_WIDTHS.items()
        ],
        *[
            (f"band_opposite_min.{name}", "1",
             f"min over directions of the mean of B over opposite 56 deg sectors, bands {w / PER_RADIUS} R wide",
             "how much brightness rises inwards across the border on opposite sides at once, "
             f"in rings {w / PER_RADIUS:g} radii wide")
            for name, w in BAND_WIDTHS.items()
        ],
        ("band_radius", "1", "mean over directions of the r of B_k, width 0.5 R, weighted by max(B_k, 0)^2; in R",
         "radius of the border across which brightness rises"),
        ("band_radius_spread", "1",
         "standard deviation over directions of the r of B_k, width 0.5 R, weighted by max(B_k, 0)^2; in R",
         "how unequal the radius of the border is across which brightness rises"),
    ],
    symbols={
        "cos": "cos: cosine between the gradient g and the direction to the centre",
        "I": "I_k = max over r in 0.5..2 R of the mean of cos from 0.2 R to r on ray k",
        "I_k": "I_k = max over r in 0.5..2 R of the mean of cos from 0.2 R to r on ray k",
        "B": "B_k = max over r of the mean of cos over the band at r on ray k",
        "B_k": "B_k = max over r of the mean of cos over the band at r on ray k",
        "g": "g: gradient, smoothed by the largest of 1.6, 2.5, 4 mm up to R / 3, on 32 rays",
    },
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Convergence of each candidate."""
    along, across = context.matched_gradient
    magnitude = np.sqrt(along**2 + across**2)
    cosine = -along / (magnitude + np.float32(EPSILON))
    ring_mean = angle_mean(cosine)
    # Means over discs, by area, from means over rings.
    discs = {name: round(radius * PER_RADIUS) for name, radius in COIN_RADII.items()}
    values = {
        f"coin.{name}": (ring_mean[:, :n] * RHO[:n]).sum(axis=1) / RHO[:n].sum() for name, n in discs.items()
    }
    margin = slice(PER_RADIUS // 2, 3 * PER_RADIUS // 2)
    flow = -angle_mean(along[:, :, margin]) @ RHO[margin]
    size = angle_mean(magnitude[:, :, margin]) @ RHO[margin]
    values["weighted_coin"] = flow / (size + EPSILON)
    sums = np.cumsum(cosine[:, :, FIRST:], axis=2)
    values |= _iris(sums)
    for name, width in BAND_WIDTHS.items():
        values |= _bands(sums, name, width)
    return stack_columns(FEATURES, values, context.n_candidates)


def _iris(sums: F32) -> dict[str, F64]:
    """Mean of cos from 0.2 R outwards, to the best radius of each ray."""
    means = sums / np.arange(1, sums.shape[2] + 1, dtype=np.float32)
    best = means[:, :, PER_RADIUS // 2 - FIRST - 1 :].max(axis=2).astype(np.float64)
    return {
        "iris_mean": best.mean(axis=1),
        "iris_spread": best.std(axis=1),
        "iris_opposite_min": opposite_min(sector_means(best, half=SECTOR_HALF)),
    }


def _bands(sums: F32, name: str, width: int) -> dict[str, F64]:
    """Best ring common to all rays, and best band of each ray."""
    padded = np.concatenate([np.zeros_like(sums[:, :, :1]), sums], axis=2)
    means = (padded[:, :, width:] - padded[:, :, :-width]) / np.float32(width)
    best = means.max(axis=2).astype(np.float64)
    values = {
        f"ring.{name}": angle_mean(means).max(axis=1),
        f"band_mean.{name}": best.mean(axis=1),
        f"band_opposite_min.{name}": opposite_min(sector_means(best, half=SECTOR_HALF)),
    }
    if name == "w50":
        radius = (FIRST + width / 2.0 + means.argmax(axis=2)) / PER_RADIUS
        weights = np.maximum(best, 0.0) ** 2 + EPSILON
        weights /= weights.sum(axis=1, keepdims=True)
        mean = (weights * radius).sum(axis=1)
        values["band_radius"] = mean
        values["band_radius_spread"] = np.sqrt((weights * (radius - mean[:, None]) ** 2).sum(axis=1))
    return values


FAMILY = Family(FEATURES, _compute)
