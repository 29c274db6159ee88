"""Compiled terms of the loss. The maths is in `_bag_loss.py` and `_objective.py`; here it is made stable and fast.

Conventions: z instance scores, float64; residual = dD/dz; all weights are already normalized (see `_bag_loss.py`).
A *plain* row stands alone: D = weight (softplus(z) - label z). A *coupled* bag shares one label among its rows.

Two rules keep the accuracy (tests/models/loss/test_exactness.py). Only sums over rows may be re-associated: a compiler
free to do so turns (1 - label) - tail into 1 - (label + tail), which is 0 once tail < 2^-53; so every term is
formed in an exact kernel. And sums whose exponential is taken later (s, the mean score) are compensated.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from overread._kernel import exact_kernel, kernel

NOISY_OR = 0
LOG_SUM_EXP = 1
MEAN = 2

LOG_2 = math.log(2.0)
# Adding 1.5 * 2^52 to a small number leaves its nearest integer in the low bits of the mantissa.
ROUND = 6755399441055744.0
ROUND_BIASED = ROUND + 1023.0
SMALLEST_EXPONENT = -745.2
# Below: log(1 + exp(z)) = exp(z) to rounding, in bags of up to 1e18 instances.
RARE = -80.0
# Below: exp(z) is close to the numbers that have lost digits, or has lost them.
SUBNORMAL = -700.0


@intrinsic
def _bits_to_float(context, bits):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def _float_to_bits(context, number):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@exact_kernel
def _exp_nonpositive(x: float) -> float:
    """exp(x) for x <= 0 to 2 ulp, free of branches and calls so that loops over it become SIMD."""
    x = SMALLEST_EXPONENT if x < SMALLEST_EXPONENT else x
    k = (x * 1.4426950408889634 + ROUND) - ROUND
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # 2^k in two factors, because 2^k alone is not a normal number for k < -1022.
    half = k * 0.5 + ROUND_BIASED
    rest = (k - (half - ROUND_BIASED)) + ROUND_BIASED
    return p * _bits_to_float(_float_to_bits(half) << 52) * _bits_to_float(_float_to_bits(rest) << 52)


@exact_kernel
def _log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1 to 2 ulp, as 2 artanh(s), s = e / (2 + e), with a minimax polynomial.

    2 s is taken as e - s e, because e is exact and the rest of the sum is smaller.
    """
    s = e / (2.0 + e)
    q = s * s
    p = 0.08890381913056651
    p = p * q + 0.04940394524382393
    p = p * q + 0.06795652742789947
    p = p * q + 0.07681838124445817
    p = p * q + 0.09091429900236955
    p = p * q + 0.11111095430673142
    p = p * q + 0.1428571455582858
    p = p * q + 0.199999999976438
    p = p * q + 0.33333333333341286
    return e - s * (e - 2.0 * (q * p))


@exact_kernel
def _softplus(z: float) -> float:
    """log(1 + exp(z))."""
    return (z if z > 0.0 else 0.0) + _log1p_unit(_exp_nonpositive(-abs(z)))


@exact_kernel
def _logistic_loss(z: float, label: float, e: float) -> float:
    """softplus(z) - label z as a sum of two terms >= 0; e = exp(-|z|)."""
    return ((1.0 - label) * z if z > 0.0 else -label * z) + _log1p_unit(e)


@exact_kernel
def _logistic_slope(z: float, label: float, e: float) -> float:
    """sigma(z) - label, for z > 0 as (1 - label) - sigma(-z); e = exp(-|z|)."""
    tail = e / (1.0 + e)
    return (1.0 - label) - tail if z > 0.0 else tail - label


@exact_kernel
def _cross_entropy(label: float, log_p: float, log_q: float) -> float:
    """-[label log p + (1 - label) log(1 - p)], both terms >= 0."""
    return -(label * log_p) - (1.0 - label) * log_q


@exact_kernel
def _compensated_sum(x: np.ndarray) -> float:
    """Sum to the last digit or two: what each addition rounds off is added up beside it."""
    total = 0.0
    lost = 0.0
    for k in range(x.size):
        new = total + x[k]
        kept = new - total
        lost += (total - (new - kept)) + (x[k] - kept)
        total = new
    return total + lost if lost == lost else total


@kernel
def plain_terms(z: np.ndarray, weight: np.ndarray, label: np.ndarray, residual: np.ndarray) -> float:
    """Sum of the plain rows' losses; writes residual = weight (sigma(z) - label)."""
    total = 0.0
    for i in range(z.size):
        e = _exp_nonpositive(-abs(z[i]))
        total += weight[i] * _logistic_loss(z[i], label[i], e)
        residual[i] = weight[i] * _logistic_slope(z[i], label[i], e)
    return total


@kernel
def plain_curvature(z: np.ndarray, weight: np.ndarray, curvature: np.ndarray) -> None:
    """Curvature weight * sigma(z) sigma(-z) of each plain row."""
    for i in range(z.size):
        e = _exp_nonpositive(-abs(z[i]))
        curvature[i] = weight[i] * (e / ((1.0 + e) * (1.0 + e)))


@exact_kernel
def _shifted_exponentials(z: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """Write exp(z - max z); return (max z, sum of what was written)."""
    largest = z.max()
    for k in range(z.size):
        out[k] = _exp_nonpositive(z[k] - largest)
    return largest, _compensated_sum(out)


@exact_kernel
def _log_one_minus_exp(s: float) -> float:
    """log(1 - exp(-s)), s > 0, by whichever of the two forms does not cancel."""
    return math.log1p(-math.exp(-s)) if s > LOG_2 else math.log(-math.expm1(-s))


@exact_kernel
def _pooled_score(z: np.ndarray, pooling: int, share: np.ndarray) -> float:
    """Score of a bag with p = sigma(score), the mean of z or the log of the mean exponential; share = dscore/dz."""
    if pooling == MEAN:
        share[:] = 1.0 / z.size
        return _compensated_sum(z) / z.size
    largest, total = _shifted_exponentials(z, share)
    for k in range(z.size):
        share[k] /= total
    return largest + math.log(total / z.size)


@exact_kernel
def _noisy_or_log_probability(z: np.ndarray, s: float, exponent: float) -> float:
    """Logarithm of p of a noisy-or bag with -log(1 - p) = s."""
    if z.max() > RARE:
        return _log_one_minus_exp(s)
    largest, total = _shifted_exponentials(z, np.empty(z.size))
    return largest + math.log(exponent * total)


@exact_kernel
def _noisy_or_odds(s: float) -> float:
    """Odds beta = (1 - p) / p against the bag."""
    return math.exp(-s) / -math.expm1(-s)


@exact_kernel
def _noisy_or_share(z: np.ndarray, s: float, exponent: float, risk: np.ndarray, share: np.ndarray) -> None:
    """Write share = beta exponent sigma(z), which lies in [0, 1], also where beta overflows or sigma underflows.

    risk holds sigma(z). Where it has lost digits, share is formed from exp(z - max z) and beta exp(max z).
    """
    largest = z.max()
    if largest > 0.0 or z.min() > SUBNORMAL:
        share[:] = (_noisy_or_odds(s) * exponent) * risk
        return
    _, total = _shifted_exponentials(z, share)
    rare = largest <= RARE
    scale = 1.0 / total if rare else _noisy_or_odds(s) * math.exp(largest) * exponent
    for k in range(z.size):
        share[k] *= scale if rare else scale / (1.0 + _exp_nonpositive(z[k]))


@exact_kernel
def _noisy_or_slopes(
    z: np.ndarray, s: float, exponent: float, weight: float, label: float, risk: np.ndarray
) -> None:
    """Turn risk = sigma(z) into dD/dz = -weight (label beta - (1 - label)) exponent sigma(z)."""
    if z.max() > 0.0 or z.min() > SUBNORMAL:
        factor = -exponent * (label * _noisy_or_odds(s) - (1.0 - label))
        for k in range(z.size):
            risk[k] = weight * (factor * risk[k])
        return
    share = np.empty(z.size)
    _noisy_or_share(z, s, exponent, risk, share)
    for k in range(z.size):
        risk[k] = -weight * (label * share[k] - (1.0 - label) * (exponent * risk[k]))


@kernel
def _noisy_or_terms(
    z: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    label: np.ndarray,
    exponent: np.ndarray,
    residual: np.ndarray,
) -> float:
    """`bag_terms` for the noisy-or: what is per row goes over all rows at once, the bags take the rest."""
    soft = np.empty(z.size)
    for i in range(z.size):
        e = _exp_nonpositive(-abs(z[i]))
        soft[i] = _logistic_loss(z[i], 0.0, e)
        residual[i] = _logistic_slope(z[i], 0.0, e)
    total = 0.0
    for m in range(offsets.size - 1):
        rows = slice(offsets[m] - offsets[0], offsets[m + 1] - offsets[0])
        s = exponent[m] * _compensated_sum(soft[rows])
        log_p = _noisy_or_log_probability(z[rows], s, exponent[m])
        total += weight[m] * _cross_entropy(label[m], log_p, -s)
        _noisy_or_slopes(z[rows], s, exponent[m], weight[m], label[m], residual[rows])
    return total


@kernel
def bag_terms(
    z: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    label: np.ndarray,
    exponent: np.ndarray,
    pooling: int,
    residual: np.ndarray,
) -> float:
    """Sum of the coupled bags' losses; writes residual = dD/dz. Offsets count from the first row of z."""
    if pooling == NOISY_OR:
        return _noisy_or_terms(z, offsets, weight, label, exponent, residual)
    total = 0.0
    for m in range(offsets.size - 1):
        rows = slice(offsets[m] - offsets[0], offsets[m + 1] - offsets[0])
        score = _pooled_score(z[rows], pooling, residual[rows])
        e = _exp_nonpositive(-abs(score))
        total += weight[m] * _logistic_loss(score, label[m], e)
        residual[rows] *= weight[m] * _logistic_slope(score, label[m], e)
    return total


@exact_kernel
def _noisy_or_curvature(
    z: np.ndarray,
    s: float,
    weight: float,
    label: float,
    exponent: float,
    safe: float,
    diag: np.ndarray,
    risk: np.ndarray,
    u: np.ndarray,
) -> float:
    """Write diagonal and direction of one noisy-or bag; return the strength. On entry diag is sigma(-z)."""
    _noisy_or_share(z, s, exponent, risk, u)
    for k in range(z.size):
        risk[k] *= exponent
        exact = -(label * u[k] - (1.0 - label) * risk[k])
        diag[k] *= weight * (exact * (1.0 - safe) + safe * risk[k])
    if s < LOG_2:
        return weight * label * (1.0 - safe) * math.exp(s)
    u[:] = risk
    beta = _noisy_or_odds(s)
    return weight * label * (1.0 - safe) * beta * (beta + 1.0)


@exact_kernel
def _pooled_curvature(
    z: np.ndarray, weight: float, label: float, pooling: int, safe: float, diag: np.ndarray, u: np.ndarray
) -> float:
    """Write diagonal and direction of one bag with p = sigma(score); return the strength.

    D'' = sigma (1 - sigma) is the strength for the mean; for the log of the mean exponential, which bends
    itself, D' goes to the diagonal and D'' - D' = label - sigma^2 is left, formed without cancellation.
    """
    score = _pooled_score(z, pooling, u)
    e = _exp_nonpositive(-abs(score))
    if pooling == MEAN:
        diag[:] = 0.0
        return weight * (e / ((1.0 + e) * (1.0 + e)))
    slope = _logistic_slope(score, label, e)
    tail = e / (1.0 + e)
    strength = tail * (2.0 - tail) - (1.0 - label) if score > 0.0 else label - tail * tail
    dropped = safe * min(slope, 0.0)
    diag[:] = weight * (slope - dropped) * u
    return weight * (strength + dropped)


@kernel
def bag_curvature(
    z: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    label: np.ndarray,
    exponent: np.ndarray,
    pooling: int,
    safe: float,
    diagonal: np.ndarray,
    direction: np.ndarray,
    strength: np.ndarray,
) -> None:
    """Curvature of each coupled bag in its scores: diag(diagonal) + strength direction direction'.

    safe = 0 gives the exact second derivative, safe = 1 a positive semidefinite stand-in, values between blend
    the two. No quantity overflows: direction is share where beta > 1 and risk = exponent sigma(z) elsewhere.
    """
    soft, risk = np.empty(z.size), np.empty(z.size)
    if pooling == NOISY_OR:
        for i in range(z.size):
            e = _exp_nonpositive(-abs(z[i]))
            soft[i] = _logistic_loss(z[i], 0.0, e)
            risk[i] = _logistic_slope(z[i], 0.0, e)
            diagonal[i] = -_logistic_slope(z[i], 1.0, e)
    for m in range(offsets.size - 1):
        rows = slice(offsets[m], offsets[m + 1])
        if pooling == NOISY_OR:
            strength[m] = _noisy_or_curvature(
                z[rows],
                exponent[m] * _compensated_sum(soft[rows]),
                weight[m],
                label[m],
                exponent[m],
                safe,
                diagonal[rows],
                risk[rows],
                direction[rows],
            )
        else:
            strength[m] = _pooled_curvature(
                z[rows], weight[m], label[m], pooling, safe, diagonal[rows], direction[rows]
            )


@kernel
def bag_log_probabilities(
    z: np.ndarray,
    offsets: np.ndarray,
    exponent: np.ndarray,
    pooling: int,
    log_p: np.ndarray,
    log_q: np.ndarray,
) -> None:
    """(log p, log(1 - p)) of every bag."""
    scratch = np.empty(z.size)
    if pooling == NOISY_OR:
        for i in range(z.size):
            scratch[i] = _softplus(z[i])
    for m in range(offsets.size - 1):
        rows = slice(offsets[m], offsets[m + 1])
        if pooling == NOISY_OR:
            s = exponent[m] * _compensated_sum(scratch[rows])
            log_p[m], log_q[m] = _noisy_or_log_probability(z[rows], s, exponent[m]), -s
        else:
            score = _pooled_score(z[rows], pooling, scratch[rows])
            log_p[m], log_q[m] = -_softplus(-score), -_softplus(score)
