"""First-order statistics of the values in a region (IBSI family "intensity-based statistics").

The kernels take moments in vectorized passes and percentiles from buckets.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread._kernel import kernel
from overread.features._arrays import F64, U16, Mask
from overread.features.ibsi._levels import check_region
from overread.features.ibsi._runs_zones import name_columns, ratio, store

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

# Measured on the patches of 50 candidates: 512 and 2048 take longer.
N_BUCKETS = 1024
# Largest number of buckets a unit; float32 ends at 3.4e38.
STEEPEST = 1e38
# Vectors of 64 bytes, four of them in flight, are 64 values of float32.
CHAINS = 64
RANKED_SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@kernel
def _select(pool: F64, left: int, right: int, place: int) -> float:
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
def _fill_buckets(x: NDArray[np.floating], low: float, high: float, bucket: U16) -> None:
    """Give each value one of `N_BUCKETS` equal buckets between the extremes, computed in the type of the values."""
    limits = np.empty(2, x.dtype)
    limits[0] = low
    # Bounded, because the scale of the narrowest ranges would be infinite in float32.
    limits[1] = min((N_BUCKETS - 1) / (high - low), STEEPEST)
    start, scale = limits[0], limits[1]
    for i in range(x.size):
        bucket[i] = np.uint16((x[i] - start) * scale)


@kernel
def _find_ranks(
    counts: NDArray[np.int32], ranks: NDArray[np.int64], wanted: Mask, spans: NDArray[np.int64]
) -> None:
    """Mark the buckets that hold the ranks, and say where these are once only such buckets are kept.

    Ranks must rise, up to a last one that no bucket reaches. spans[k] is: the bucket, the first and last place of its
    values, and the place of the rank among them.
    """
    k = kept = below = 0
    for b in range(N_BUCKETS):
        above = below + counts[b]
        if ranks[k] < above:
            wanted[b] = True
            while ranks[k] < above:
                spans[k, 0] = b
                spans[k, 1] = kept
                spans[k, 2] = kept + counts[b] - 1
                spans[k, 3] = kept + ranks[k] - below
                k += 1
            kept += counts[b]
        below = above


@kernel
def _keep_wanted(
    x: NDArray[np.floating], bucket: U16, wanted: Mask, spans: NDArray[np.int64], pool: F64
) -> None:
    """Copy the values of the wanted buckets to the places that their spans say."""
    places = np.empty(x.size, np.uint32)
    kept = np.uintp(0)
    # Every place is written, and the next one over it unless it is wanted: a branch would be mispredicted too often.
    for i in range(np.uintp(x.size)):
        places[kept] = i
        kept += np.uintp(wanted[np.uintp(bucket[i])])
    end = np.empty(N_BUCKETS, np.int64)
    for k in range(len(spans)):
        end[spans[k, 0]] = spans[k, 1]
    for k in range(kept):
        point = np.uintp(places[k])
        here = np.uintp(bucket[point])
        pool[end[here]] = x[point]
        end[here] += 1


@kernel
def _percentiles(x: NDArray[np.floating], low: float, high: float, found: F64) -> None:
    """Percentiles of `RANKED_SHARES` by linear interpolation between order statistics.

    Values fall into equal buckets between their extremes; only buckets that hold a wanted rank are searched.
    """
    n = x.size
    if high == low:
        found[:] = low
        return
    bucket = np.empty(n, np.uint16)
    _fill_buckets(x, low, high, bucket)
    counts = np.zeros(N_BUCKETS, np.int32)
    for i in range(n):
        counts[np.uintp(bucket[i])] += 1
    ranks = np.full(2 * RANKED_SHARES.size + 1, n)
    for k in range(2 * RANKED_SHARES.size):
        ranks[k] = min(int(RANKED_SHARES[k // 2] * (n - 1)) + k % 2, n - 1)
    wanted = np.zeros(N_BUCKETS, np.bool_)
    spans = np.empty((2 * RANKED_SHARES.size, 4), np.int64)
    _find_ranks(counts, ranks, wanted, spans)
    pool = np.empty(spans[-1, 2] + 1)
    _keep_wanted(x, bucket, wanted, spans, pool)
    for s in range(RANKED_SHARES.size):
        position = RANKED_SHARES[s] * (n - 1)
        lower, upper = spans[2 * s], spans[2 * s + 1]
        first = _select(pool, lower[1], lower[2], lower[3])
        # Selection leaves nothing smaller behind its place, and another bucket has the next rank as its least.
        second = pool[upper[3]]
        for i in range(upper[3], upper[2] + 1):
            second = min(second, pool[i])
        found[s] = first + (position - ranks[2 * s]) * (second - first)


@kernel
def _extremes(x: NDArray[np.floating]) -> tuple[float, float]:
    """Least and greatest value, in `CHAINS` interleaved chains: one alone would wait for itself."""
    low, high = np.full(CHAINS, x[0]), np.full(CHAINS, x[0])
    whole = x.size // CHAINS * CHAINS
    for start in range(np.uintp(0), np.uintp(whole), np.uintp(CHAINS)):
        for k in range(np.uintp(CHAINS)):
            v = x[start + k]
            low[k] = v if v < low[k] else low[k]
            high[k] = v if v > high[k] else high[k]
    least, most = x[0], x[0]
    for i in range(whole, x.size):
        least, most = min(least, x[i]), max(most, x[i])
    for k in range(CHAINS):
        least, most = min(least, low[k]), max(most, high[k])
    return float(least), float(most)


@kernel
def first_order(x: NDArray[np.floating], found: F64, out: F64) -> None:
    """Statistics of the values, in the order of `FIRST_ORDER`; ``found`` keeps the percentiles of `RANKED_SHARES`."""
    n = x.size
    low, high = _extremes(x)
    total = 0.0
    square = 0.0
    for i in range(n):
        v = float(x[i])
        total += v
        square += v * v
    mean = min(max(total / n, low), high)
    _percentiles(x, low, high, found)
    p10, p25, median, p75, p90 = found[0], found[1], found[2], found[3], found[4]
    m2 = m3 = m4 = mean_deviation = median_deviation = 0.0
    robust_total = robust_n = robust_deviation = 0.0
    for i in range(n):
        v = float(x[i])
        d = v - mean
        dd = d * d
        m2 += dd
        m3 += dd * d
        m4 += dd * dd
        mean_deviation += abs(d)
        median_deviation += abs(v - median)
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
    """
    pixels, region = check_region(image, mask)
    values = pixels[region]
    out = np.zeros(len(FIRST_ORDER))
    first_order(values, np.zeros(RANKED_SHARES.size), out)
    return dict(zip(FIRST_ORDER, out.tolist(), strict=True))
