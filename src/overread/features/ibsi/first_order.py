"""First-order statistics of the values in a region (IBSI family "intensity-based statistics").

The kernels take moments in vectorized passes and percentiles from buckets.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.features.ibsi.counts import name_columns, ratio, store
from overread.features.ibsi.levels import check_region
from overread.kernel import kernel

__all__ = ["FIRST_ORDER", "RANKED_SHARES", "first_order", "first_order_features"]

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
FirstOrder = name_columns("FirstOrder", FIRST_ORDER, module=__name__)

# Chosen by eye: about 8 of the values of a 63 x 63 patch fall into each.
N_BUCKETS = 512
RANKED_SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@kernel
def select(pool: NDArray[np.float64], left: int, right: int, place: int) -> float:
    """Value that sorting pool[left : right + 1] would put at a place (Hoare's selection, in place)."""
    while left < right:
        pivot = pool[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while pool[i] < pivot:
                i += 1
            while pool[j] > pivot:
                j -= 1
            if i <= j:
                pool[i], pool[j] = pool[j], pool[i]
                i += 1
                j -= 1
        if place <= j:
            right = j
        elif place >= i:
            left = i
        else:
            break
    return float(pool[place])


@kernel
def percentiles(
    x: NDArray[np.floating],
    low: float,
    high: float,
    bucket: NDArray[np.uint16],
    pool: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Percentiles of `RANKED_SHARES` by linear interpolation between order statistics.

    Values fall into equal buckets between their extremes; only buckets that hold a wanted rank are searched.
    ``pool`` and ``bucket`` are at least as long as x.
    """
    n = x.size
    if high == low:
        found[:] = low
        return
    counts = np.zeros(N_BUCKETS + 1, np.int32)
    scale = (N_BUCKETS - 1) / (high - low)
    for i in range(n):
        bucket[i] = np.uint16((x[i] - low) * scale)
    for i in range(n):
        counts[np.uintp(bucket[i]) + np.uintp(1)] += 1
    for b in range(N_BUCKETS):
        counts[b + 1] += counts[b]
    wanted = np.zeros(N_BUCKETS, np.bool_)
    bucket_of = np.zeros(2 * RANKED_SHARES.size, np.int64)
    for k in range(2 * RANKED_SHARES.size):
        rank = min(int(RANKED_SHARES[k // 2] * (n - 1)) + k % 2, n - 1)
        bucket_of[k] = np.searchsorted(counts, rank, side="right") - 1
        wanted[bucket_of[k]] = True
    start = np.zeros(N_BUCKETS, np.int64)
    end = np.zeros(N_BUCKETS, np.uintp)
    filled = 0
    for b in range(N_BUCKETS):
        if wanted[b]:
            start[b] = filled
            end[b] = filled
            filled += counts[b + 1] - counts[b]
    for i in range(n):
        here = np.uintp(bucket[i])
        if wanted[here]:
            pool[end[here]] = x[i]
            end[here] += np.uintp(1)
    for s in range(RANKED_SHARES.size):
        position = RANKED_SHARES[s] * (n - 1)
        lower = min(int(position), n - 1)
        upper = min(lower + 1, n - 1)
        b, c = bucket_of[2 * s], bucket_of[2 * s + 1]
        first = select(pool, start[b], start[b] + counts[b + 1] - counts[b] - 1, start[b] + lower - counts[b])
        second = select(
            pool, start[c], start[c] + counts[c + 1] - counts[c] - 1, start[c] + upper - counts[c]
        )
        found[s] = first + (position - lower) * (second - first)


@kernel
def extremes(x: NDArray[np.floating]) -> tuple[float, float]:
    """Least and greatest value, in 4 interleaved chains: one alone would wait for itself."""
    a = b = c = d = x[0]
    e = f = g = h = x[0]
    n = x.size
    for i in range(0, n - 3, 4):
        p, q, r, s = x[i], x[i + 1], x[i + 2], x[i + 3]
        a = p if p < a else a
        b = q if q < b else b
        c = r if r < c else c
        d = s if s < d else d
        e = p if p > e else e
        f = q if q > f else f
        g = r if r > g else g
        h = s if s > h else h
    for i in range(n - n % 4, n):
        a = min(a, x[i])
        e = max(e, x[i])
    return float(min(min(a, b), min(c, d))), float(max(max(e, f), max(g, h)))


@kernel
def first_order(
    x: NDArray[np.floating],
    bucket: NDArray[np.uint16],
    pool: NDArray[np.float64],
    found: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Statistics of the values, in the order of `FIRST_ORDER`; ``found`` keeps the percentiles of `RANKED_SHARES`."""
    n = x.size
    low, high = extremes(x)
    total = 0.0
    square = 0.0
    for i in range(n):
        v = float(x[i])
        total += v
        square += v * v
    mean = min(max(total / n, low), high)
    percentiles(x, low, high, bucket, pool, found)
    p10, p25, median, p75, p90 = found[0], found[1], found[2], found[3], found[4]
    m2 = m3 = m4 = mean_deviation = median_deviation = 0.0
    for i in range(n):
        v = float(x[i])
        d = v - mean
        dd = d * d
        m2 += dd
        m3 += dd * d
        m4 += dd * dd
        mean_deviation += abs(d)
        median_deviation += abs(v - median)
    robust_total = robust_n = robust_deviation = 0.0
    for i in range(n):
        v = float(x[i])
        inside = 1.0 if v >= p10 else 0.0
        inside = inside if v <= p90 else 0.0
        robust_total += v * inside
        robust_n += inside
    robust_mean = ratio(robust_total, robust_n)
    for i in range(n):
        v = float(x[i])
        inside = 1.0 if v >= p10 else 0.0
        inside = inside if v <= p90 else 0.0
        robust_deviation += abs(v - robust_mean) * inside
    m2 /= n
    kurtosis = m4 / n / (m2 * m2) - 3.0 if m2 * m2 > 0.0 else 0.0
    # The extremes have the type of x; the values of a tuple must have one type to be stored in a loop.
    statistics = FirstOrder(
        mean=mean,
        variance=m2,
        skewness=ratio(m3 / n, m2 * math.sqrt(m2)),
        kurtosis=kurtosis,
        median=median,
        minimum=np.float64(low),
        p10=p10,
        p90=p90,
        maximum=np.float64(high),
        interquartile_range=p75 - p25,
        range=np.float64(high - low),
        mean_absolute_deviation=mean_deviation / n,
        robust_mean_absolute_deviation=ratio(robust_deviation, robust_n),
        median_absolute_deviation=median_deviation / n,
        coefficient_of_variation=ratio(math.sqrt(m2), mean),
        quartile_coefficient_of_dispersion=ratio(p75 - p25, p75 + p25),
        energy=square,
        root_mean_square=math.sqrt(square / n),
    )
    store(statistics, out)


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
    pixels, region = check_region(image, mask)
    values = pixels[region]
    out = np.zeros(len(FIRST_ORDER))
    first_order(
        values, np.zeros(values.size, np.uint16), np.zeros(values.size), np.zeros(RANKED_SHARES.size), out
    )
    return dict(zip(FIRST_ORDER, out.tolist(), strict=True))
