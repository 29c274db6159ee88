"""Slow, exact float64 solution of L1 logistic regression: the bound that all solvers are measured against.

Proximal Newton on the columns that matter, with the exact Hessian. Each quadratic step is solved by
coordinate descent and then exactly on the columns left nonzero. ``gap.duality_gap`` certifies the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.gap import Array, backward, duality_gap

SWEEPS, NEWTON_STEPS, ROUNDS = 30, 60, 30


def solve_path(X: NDArray[np.floating], p: Array, omega: Array, lambdas: Array) -> tuple[Array, Array]:
    """Coefficients (d x L) and intercepts (L) at each of the decreasing lambdas."""
    mean = float(omega @ p)
    w, b = np.zeros(X.shape[1]), float(np.log(mean) - np.log1p(-mean))
    W, intercepts = np.zeros((X.shape[1], len(lambdas))), np.zeros(len(lambdas))
    used = np.zeros(X.shape[1], dtype=bool)
    for k, lam in enumerate(lambdas):
        for _ in range(ROUNDS):
            w, b, residual = _solve_on(X, p, omega, lam, w, b, np.flatnonzero(used))
            violators = (np.abs(backward(X, residual[:, None])[:, 0]) > lam * (1 + 1e-10)) & ~used
            if not violators.any():
                break
            used |= violators
        W[:, k], intercepts[k] = w, b
        used = w != 0
    return W, intercepts


def best_bounds(X: NDArray[np.floating], p: Array, omega: Array, lambdas: Array) -> tuple[Array, float]:
    """Certified lower bounds of the objective at each lambda, and the largest relative gap they leave."""
    gap = duality_gap(X, p, omega, lambdas, *solve_path(X, p, omega, lambdas))
    return gap.dual, float(gap.relative.max())


def _solve_on(
    X: NDArray[np.floating], p: Array, omega: Array, lam: float, w: Array, b: float, columns: NDArray[np.intp]
) -> tuple[Array, float, Array]:
    """Minimize over these columns and the intercept; returns w, b and the residual omega (sigma - p)."""
    Z = np.column_stack([np.ones(len(p)), X[:, columns].astype(np.float64)])
    penalty = np.r_[0.0, np.full(len(columns), lam)]
    v = np.r_[b, w[columns]]
    value = _objective(Z @ v, p, omega) + penalty @ np.abs(v)
    for _ in range(NEWTON_STEPS):
        s = expit(Z @ v)
        gradient = Z.T @ (omega * (s - p))
        H = (Z * (omega * s * (1 - s))[:, None]).T @ Z
        target = _quadratic(H, gradient - H @ v, penalty, v)
        v, new = _line_search(Z, p, omega, penalty, v, target - v, value)
        if value - new <= 1e-15 * value:
            break
        value = new
    full = np.zeros(X.shape[1])
    full[columns] = v[1:]
    return full, float(v[0]), omega * (expit(Z @ v) - p)


def _objective(z: Array, p: Array, omega: Array) -> float:
    return float(omega @ (np.logaddexp(0.0, z) - p * z))


def _line_search(
    Z: Array, p: Array, omega: Array, penalty: Array, v: Array, step: Array, value: float
) -> tuple[Array, float]:
    for halvings in range(40):
        trial = v + 0.5**halvings * step
        new = _objective(Z @ trial, p, omega) + float(penalty @ np.abs(trial))
        if new <= value:
            return trial, new
    return v, value


def _quadratic(H: Array, q: Array, penalty: Array, start: Array) -> Array:
    """Minimize v'Hv/2 + q'v + penalty'|v|."""
    v = start.copy()
    for _ in range(50):
        for _ in range(SWEEPS):
            Hv = H @ v
            for j in range(len(v)):
                old = v[j]
                c = q[j] + Hv[j] - H[j, j] * old
                v[j] = -np.sign(c) * max(abs(c) - penalty[j], 0.0) / H[j, j]
                if v[j] != old:
                    Hv += H[:, j] * (v[j] - old)
        support = np.flatnonzero((v != 0) | (penalty == 0))
        sign = np.sign(v[support]) * penalty[support]
        exact = np.linalg.solve(H[np.ix_(support, support)], -q[support] - sign)
        if np.all((np.sign(exact) == np.sign(v[support])) | (penalty[support] == 0)):
            v[:] = 0.0
            v[support] = exact
            if np.all(np.abs(H @ v + q)[v == 0] <= penalty[v == 0] * (1 + 1e-12)):
                break
    return v
