"""The one measure of accuracy for all solvers: the relative gap of sparse logistic regression, in float64.

Primal: F(w, b) = sum_i omega_i [softplus(z_i) - p_i z_i] + lam |w|_1 with z = X w + b.
Dual: maximize -sum_i omega_i [a_i log a_i + (1 - a_i) log(1 - a_i)] over a = p + u in [0, 1]
subject to |X'(omega u)|_inf <= lam and sum_i omega_i u_i = 0 (the intercept bears no penalty).
The dual point is u = s (sigma(X w + c) - p): c makes the sum zero, s <= 1 scales it into the box, and a stays
between p and sigma. Any feasible point bounds F from below.
For the elastic net, lam (r |w|_1 + (1 - r) / 2 |w|_2^2) with r < 1, the box gives way to a further term of the dual,
-sum_j max(|X_j'(omega u)| - lam r, 0)^2 / (2 lam (1 - r)), so that s = 1.

``Gap.relative`` is the gap to the point's own dual value. It is of first order in the error of w, and so
judges the certificate more than the answer: adelie in float64 at tol 1e-12 leaves 3e-5. The benchmarks
therefore ask for (F - D) / F <= 1e-6, D the bound of the exact solution (``reference.py``), one for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

Array = NDArray[np.float64]

COLUMNS_AT_ONCE = 64


@dataclass(frozen=True)
class Gap:
    """Objective and certified relative distance to the optimum, one value a lambda."""

    primal: Array
    dual: Array
    relative: Array


def duality_gap(
    X: NDArray[np.floating],
    p: Array,
    omega: Array,
    lambdas: Array,
    W: Array,
    b: Array,
    *,
    l1_ratio: float = 1.0,
) -> Gap:
    """Return F, the dual value and (F - dual) / F at each column of W (d x L) and entry of b (L)."""
    W, b = np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64)
    margins = forward(X, W)
    ridge = 1.0 - l1_ratio
    penalty = l1_ratio * np.abs(W).sum(axis=0) + 0.5 * ridge * (W**2).sum(axis=0)
    primal = _primal(margins + b, p, omega) + lambdas * penalty
    centred = margins + np.array(
        [_balance(m, p, omega, start) for m, start in zip(margins.T, b, strict=True)]
    )
    u = expit(centred) - p[:, None]
    correlation = np.abs(backward(X, omega[:, None] * u))
    shrink = np.minimum(1.0, lambdas / correlation.max(axis=0)) if ridge == 0.0 else 1.0
    a = p[:, None] + shrink * u
    dual = -(omega @ (xlogy(a, a) + xlog1py(1.0 - a, -a)))
    if ridge > 0.0:
        excess = np.maximum(correlation - lambdas * l1_ratio, 0.0)
        dual -= (excess**2).sum(axis=0) / (2.0 * lambdas * ridge)
    return Gap(primal, dual, (primal - dual) / primal)


def objective(X: NDArray[np.floating], p: Array, omega: Array, lambdas: Array, W: Array, b: Array) -> Array:
    """F at each column of W (d x L) and entry of b (L)."""
    return _primal(forward(X, W.astype(np.float64)) + b, p, omega) + lambdas * np.abs(W).sum(axis=0)


def relative_gap(primal: Array, bound: Array) -> Array:
    """(F - bound) / F, where bound is a certified lower bound of the objective at this lambda."""
    return (primal - bound) / primal


def _primal(z: Array, p: Array, omega: Array) -> Array:
    return omega @ (np.logaddexp(0.0, z) - p[:, None] * z)


def forward(X: NDArray[np.floating], W: Array) -> Array:
    z = np.zeros((X.shape[0], W.shape[1]))
    used = np.flatnonzero(W.any(axis=1))
    for start in range(0, len(used), COLUMNS_AT_ONCE):
        columns = used[start : start + COLUMNS_AT_ONCE]
        z += X[:, columns].astype(np.float64) @ W[columns]
    return z


def backward(X: NDArray[np.floating], R: Array) -> Array:
    blocks = range(0, X.shape[1], COLUMNS_AT_ONCE)
    return np.vstack([X[:, s : s + COLUMNS_AT_ONCE].astype(np.float64).T @ R for s in blocks])


def _balance(margin: Array, p: Array, omega: Array, start: float) -> float:
    """Intercept c with sum omega (sigma(margin + c) - p) = 0: Newton, kept inside a shrinking bracket."""
    low, high, c = start - 50.0, start + 50.0, start
    for _ in range(100):
        s = expit(margin + c)
        slope, value = omega @ (s * (1.0 - s)), omega @ (s - p)
        low, high = (low, c) if value > 0 else (c, high)
        step = c - value / slope if slope > 0 else np.inf
        new = step if low < step < high else 0.5 * (low + high)
        if abs(new - c) <= 1e-15 * (1.0 + abs(c)):
            break
        c = new
    return float(c)
