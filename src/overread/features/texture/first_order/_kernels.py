"""Compiled first-order statistics: moments in vectorized passes, percentiles from buckets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture.emphasis._kernels import ratio
from overread.kernel import kernel

N_FIRST_ORDER = 18
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
    """18 first-order statistics of the values; ``found`` keeps the percentiles 10, 25, 50, 75, 90."""
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
    out[0] = mean
    out[1] = m2
    out[2] = ratio(m3 / n, m2 * math.sqrt(m2))
    out[3] = m4 / n / (m2 * m2) - 3.0 if m2 * m2 > 0.0 else 0.0
    out[4] = median
    out[5] = low
    out[6] = p10
    out[7] = p90
    out[8] = high
    out[9] = p75 - p25
    out[10] = high - low
    out[11] = mean_deviation / n
    out[12] = ratio(robust_deviation, robust_n)
    out[13] = median_deviation / n
    out[14] = ratio(math.sqrt(m2), mean)
    out[15] = ratio(p75 - p25, p75 + p25)
    out[16] = square
    out[17] = math.sqrt(square / n)
