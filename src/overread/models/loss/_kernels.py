"""Compiled terms of the loss. The maths is in `pooling.py` and `objective.py`; here it is made stable and fast.

Conventions: z instance scores, float64; residual = dD/dz; all weights are already normalized (see `weights.py`).
A *plain* row stands alone: D = weight (softplus(z) - label z). A *coupled* bag shares one label among its rows.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from overread.kernel import exact_kernel, kernel

NOISY_OR = 0
LOG_SUM_EXP = 1
MEAN = 2

LOG_2 = math.log(2.0)
# Adding 1.5 * 2^52 to a small number leaves its nearest integer in the low bits of the mantissa.
ROUND = 6755399441055744.0
ROUND_BIASED = ROUND + 1023.0
SMALLEST_EXPONENT = -745.2
UNDERFLOW = -700.0


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
def exp_nonpositive(x: float) -> float:
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
def log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1 to 2 ulp, as 2 artanh(e / (2 + e)) with a minimax polynomial."""
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
    p = p * q + 1.0
    return 2.0 * s * p


@kernel
def plain_terms(z: np.ndarray, weight: np.ndarray, label: np.ndarray, residual: np.ndarray) -> float:
    """Sum of the plain rows' losses; writes residual = weight (sigma(z) - label).

    With sigma~ = sigma(-|z|), both sigma - label and softplus - label z are formed without cancellation
    whichever side z is on: for z > 0 they are (1 - label) - sigma~ and (1 - label) z + log1p(e^-z).
    """
    total = 0.0
    for i in range(z.size):
        score = z[i]
        e = exp_nonpositive(-abs(score))
        tail = e / (1.0 + e)
        linear = (1.0 - label[i]) * score if score > 0.0 else -label[i] * score
        difference = (1.0 - label[i]) - tail if score > 0.0 else tail - label[i]
        total += weight[i] * (linear + log1p_unit(e))
        residual[i] = weight[i] * difference
    return total


@kernel
def plain_curvature(z: np.ndarray, weight: np.ndarray, curvature: np.ndarray) -> None:
    """Curvature weight * sigma(z) sigma(-z) of each plain row."""
    for i in range(z.size):
        e = exp_nonpositive(-abs(z[i]))
        curvature[i] = weight[i] * e / ((1.0 + e) * (1.0 + e))


@kernel
def log_sum_exp(z: np.ndarray) -> float:
    """Logarithm of the sum of exponentials, shifted by the maximum."""
    largest = z.max()
    total = 0.0
    for k in range(z.size):
        total += exp_nonpositive(z[k] - largest)
    return largest + math.log(total)


@kernel
def sum_softplus(z: np.ndarray) -> float:
    """Sum of log(1 + exp(z))."""
    total = 0.0
    for k in range(z.size):
        score = z[k]
        total += (score if score > 0.0 else 0.0) + log1p_unit(exp_nonpositive(-abs(score)))
    return total


@kernel
def log_one_minus_exp(s: float) -> float:
    """log(1 - exp(-s)), s > 0, by whichever of the two forms does not cancel."""
    return math.log1p(-math.exp(-s)) if s > LOG_2 else math.log(-math.expm1(-s))


@kernel
def pooled_score(z: np.ndarray, pooling: int) -> float:
    """Score of a bag whose probability is sigma(score): mean, or log of the mean exponential."""
    return z.mean() if pooling == MEAN else log_sum_exp(z) - math.log(z.size)


@kernel
def bag_log_probability(z: np.ndarray, exponent: float, pooling: int) -> tuple[float, float]:
    """(log p, log(1 - p)) of one bag."""
    if pooling != NOISY_OR:
        score = pooled_score(z, pooling)
        tail = log1p_unit(exp_nonpositive(-abs(score)))
        return min(score, 0.0) - tail, min(-score, 0.0) - tail
    s = exponent * sum_softplus(z)
    if z.max() < UNDERFLOW:
        return math.log(exponent) + log_sum_exp(z), -s
    return log_one_minus_exp(s), -s


@kernel
def noisy_or_shares(
    z: np.ndarray, exponent: float, risk: np.ndarray, share: np.ndarray
) -> tuple[float, float]:
    """Write risk = exponent sigma(z) and share = beta risk; return (s, beta), beta = (1 - p) / p.

    share stays within [0, 1] even where beta overflows, because it is then formed as a softmax.
    """
    s = exponent * sum_softplus(z)
    underflow = z.max() < UNDERFLOW
    shift = log_sum_exp(z) if underflow else 0.0
    beta = np.inf if underflow else 1.0 / math.expm1(s)
    for k in range(z.size):
        e = exp_nonpositive(-abs(z[k]))
        risk[k] = exponent * (1.0 if z[k] > 0.0 else e) / (1.0 + e)
        share[k] = exp_nonpositive(z[k] - shift) if underflow else beta * risk[k]
    return s, beta


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
    total = 0.0
    first = offsets[0]
    for m in range(offsets.size - 1):
        rows = slice(offsets[m] - first, offsets[m + 1] - first)
        zb = z[rows]
        out = residual[rows]
        log_p, log_q = bag_log_probability(zb, exponent[m], pooling)
        total -= weight[m] * (label[m] * log_p + (1.0 - label[m]) * log_q)
        if pooling == NOISY_OR:
            risk = np.empty(zb.size)
            noisy_or_shares(zb, exponent[m], risk, out)
            for k in range(zb.size):
                out[k] = -weight[m] * (label[m] * out[k] - (1.0 - label[m]) * risk[k])
        else:
            score = pooled_score(zb, pooling)
            outer = weight[m] * (math.exp(log_p) - label[m])
            if score > 0.0:
                outer = weight[m] * ((1.0 - label[m]) - math.exp(log_q))
            shift = log_sum_exp(zb)
            for k in range(zb.size):
                out[k] = outer / zb.size if pooling == MEAN else outer * exp_nonpositive(zb[k] - shift)
    return total


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
    the two. No quantity overflows: direction is share where beta > 1 and risk elsewhere.
    """
    for m in range(offsets.size - 1):
        rows = slice(offsets[m], offsets[m + 1])
        zb = z[rows]
        diag = diagonal[rows]
        u = direction[rows]
        if pooling == NOISY_OR:
            risk = np.empty(zb.size)
            s, beta = noisy_or_shares(zb, exponent[m], risk, u)
            for k in range(zb.size):
                e = exp_nonpositive(-abs(zb[k]))
                other = (e if zb[k] > 0.0 else 1.0) / (1.0 + e)
                exact = -(label[m] * u[k] - (1.0 - label[m]) * risk[k]) * other
                diag[k] = weight[m] * (exact + safe * (risk[k] * other - exact))
            if beta > 1.0:
                strength[m] = weight[m] * label[m] * (1.0 - safe) * math.exp(s)
            else:
                strength[m] = weight[m] * label[m] * (1.0 - safe) * beta * (beta + 1.0)
                u[:] = risk
        else:
            score = pooled_score(zb, pooling)
            e = exp_nonpositive(-abs(score))
            slope = (1.0 if score > 0.0 else e) / (1.0 + e) - label[m]
            bend = 0.0 if pooling == MEAN else slope
            if bend < 0.0:
                bend *= 1.0 - safe
            shift = log_sum_exp(zb)
            for k in range(zb.size):
                u[k] = 1.0 / zb.size if pooling == MEAN else exp_nonpositive(zb[k] - shift)
                diag[k] = weight[m] * bend * u[k]
            strength[m] = weight[m] * (e / ((1.0 + e) * (1.0 + e)) - bend)


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
    for m in range(offsets.size - 1):
        log_p[m], log_q[m] = bag_log_probability(z[offsets[m] : offsets[m + 1]], exponent[m], pooling)
