"""Working-set proximal Newton for D(Xw + b) + sum_j penalty_j |w_j|, warm from lambda to lambda.

For each lambda: choose a working set A; on A take Newton steps, each the solution by coordinate descent of the
quadratic model with the L1 term kept exact, followed by one fused pass over the columns of A that gives the new
loss and the exact gradient on A; then check the optimality conditions on all other columns, and add those that
violate them. Gradients are exact, the curvature is not (see `curvature`), so the answer does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from overread.models.loss.bag_loss import BagLoss
from overread.models.solver._kernels import coordinate_descent, dot_columns, fused_pass
from overread.models.solver.curvature import Curvature

__all__ = ["Counters", "NewtonSolver", "Solution"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ARMIJO = 1e-4
MAX_HALVINGS = 40
SLOW = 0.2
EXPECTED = 0.95


@dataclass
class Counters:
    """What the work cost so far."""

    newton_steps: int = 0
    refreshes: int = 0
    sweeps: int = 0
    columns_checked: int = 0
    columns_skipped: int = 0
    active_columns_read: int = 0


@dataclass(frozen=True)
class Solution:
    """A point and its certificate."""

    w: Floats
    b: float
    loss: float
    objective: float
    violation: float
    relative_violation: float
    converged: bool
    n_iter: int


@dataclass
class Point:
    """Where the solver stands: parameters, scores, residuals and what is known of the gradient."""

    w: Floats
    b: float
    z: Floats
    residual: Floats
    loss: float
    gradient: Floats
    seen_at: Floats = field(default_factory=lambda: np.empty(0))
    drift: float = 0.0
    residual_seen: Floats = field(default_factory=lambda: np.empty(0))


class NewtonSolver:
    """Solver that keeps its point, gradient and curvature from one lambda to the next.

    Parameters
    ----------
    Xt
        One standardized feature per row (d x n, C order), rows in the order of the loss.
    loss
        The loss in the scores.
    fit_intercept
        Whether b is free (it is never penalized) or fixed at 0.
    norms
        Euclidean norm of each feature, for skipping columns that cannot violate.
    seed
        Seed of the row sampling.
    """

    def __init__(
        self, Xt: NDArray[np.floating], loss: BagLoss, *, fit_intercept: bool, norms: Floats, seed: int
    ) -> None:
        self.Xt = Xt
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.norms = norms
        self.counters = Counters()
        self.curvature = Curvature(Xt, loss, np.random.default_rng(seed))
        self._all = np.arange(len(Xt), dtype=np.int64)

    def start(self, w: Floats, b: float) -> None:
        """Place the solver at (w, b) and compute the whole gradient there."""
        n = self.loss.n_rows
        support = np.flatnonzero(w)
        z = np.full(n, b) + (w[support] @ self.Xt[support] if len(support) else 0.0)
        residual = np.empty(n)
        value = self.loss.value(z, residual)
        self.point = Point(w.copy(), b, z, residual, value, np.zeros(len(w)))
        self.previous: Floats | None = None
        self._read_gradient(self._all)
        self.point.seen_at = np.zeros(len(w))
        self.point.residual_seen = residual.copy()

    @property
    def lambda_max(self) -> float:
        """Smallest lambda for which w = 0 stays optimal, if the solver stands at w = 0."""
        return float(np.abs(self.point.gradient).max(initial=0.0))

    def solve(self, lam: float, *, tol: float, max_iter: int) -> Solution:
        """Move to a stationary point for this lambda; tol bounds the violation relative to lam (or lambda_max)."""
        point = self.point
        scale = lam if lam > 0 else max(self.lambda_max, np.finfo(float).tiny)
        before = point.gradient.copy()
        working = self._working_set(lam)
        spent = 0
        while True:
            spent += self._newton(working, lam, tol * scale, max_iter - spent)
            outside = self._violators(working, lam, lam + tol * scale)
            if not len(outside) or spent >= max_iter:
                break
            working = np.union1d(working, outside)
        self.previous = before
        violation = self._violation(self._all, lam)
        objective = point.loss + lam * np.abs(point.w).sum()
        return Solution(
            point.w.copy(),
            point.b,
            point.loss,
            float(objective),
            violation,
            float(violation / scale),
            bool(violation <= tol * scale),
            spent,
        )

    def _working_set(self, lam: float) -> Ints:
        """Columns that are active, violate now, or are expected to by extrapolating their gradient in lambda."""
        point = self.point
        chosen = (point.w != 0) | (np.abs(point.gradient) >= lam)
        if self.previous is not None:
            known = point.seen_at == point.drift
            trend = 2.0 * point.gradient - self.previous
            chosen |= known & (np.abs(trend) >= EXPECTED * lam)
        return np.flatnonzero(chosen)

    def _newton(self, working: Ints, lam: float, tolerance: float, max_iter: int) -> int:
        """Newton steps on the working set until its violation is within tolerance; return how many."""
        violation = self._violation(working, lam)
        for step in range(max_iter):
            if violation <= tolerance:
                return step
            if not self._step(working, lam, violation, tolerance):
                if self.curvature.is_fresh:
                    return step
                self._refresh(working, lam)
                continue
            after = self._violation(working, lam)
            if after > SLOW * violation and not self.curvature.is_fresh:
                self._refresh(working, lam)
            else:
                self.curvature.is_fresh = False
            violation = after
        return max_iter

    def _free(self, working: Ints, lam: float) -> Ints:
        point = self.point
        return working[(point.w[working] != 0) | (np.abs(point.gradient[working]) >= lam)]

    def _refresh(self, working: Ints, lam: float) -> None:
        self.curvature.refresh(self.point.z, self._free(working, lam))
        self.counters.refreshes += 1

    def _step(self, working: Ints, lam: float, violation: float, tolerance: float) -> bool:
        """One proximal Newton step with Armijo backtracking; False if it made no progress."""
        point = self.point
        free = self._free(working, lam)
        if not len(self.curvature._H):
            self._refresh(working, lam)
        elif not self.curvature.covers(free):
            self.curvature.extend(free)
        gradient = np.append(point.gradient[free], point.residual.sum() if self.fit_intercept else 0.0)
        coefficients = np.append(point.w[free], point.b)
        penalties = np.append(np.full(len(free), lam), 0.0)
        H = self.curvature.matrix(free)
        if not self.fit_intercept:
            H[-1, -1] = 0.0
        step, slope = np.empty(len(gradient)), np.empty(len(gradient))
        self.counters.sweeps += coordinate_descent(
            H, gradient, coefficients, penalties, step, slope, max(0.02 * violation, 0.2 * tolerance), 1000
        )
        decrease = gradient @ step + lam * (np.abs(coefficients + step) - np.abs(coefficients))[:-1].sum()
        if not decrease < 0:
            return False
        return self._move(working, free, step, decrease, lam, gradient)

    def _move(
        self, working: Ints, free: Ints, step: Floats, decrease: float, lam: float, gradient: Floats
    ) -> bool:
        point = self.point
        objective = point.loss + lam * np.abs(point.w[free]).sum()
        slack = 1e-14 * abs(objective)
        moved = np.flatnonzero(step[:-1])
        old = (point.loss, point.residual.copy(), point.z.copy())
        change = np.empty_like(point.z)
        new_gradient = np.empty(len(working))
        size = 1.0
        for _ in range(MAX_HALVINGS):
            point.z[:] = old[2]
            loss = self._pass(working, free[moved], size * step[moved], size * step[-1], change, new_gradient)
            value = loss + lam * np.abs(point.w[free] + size * step[:-1]).sum()
            if value <= objective + ARMIJO * size * decrease + slack:
                break
            size *= 0.5
        else:
            point.loss, point.residual[:], point.z[:] = old[0], old[1], old[2]
            return False
        point.loss = loss
        point.w[free] += size * step[:-1]
        if size == 1.0:
            point.w[free[step[:-1] == -(point.w[free] - step[:-1])]] = 0.0
        point.b += size * step[-1]
        point.gradient[working] = new_gradient
        self.counters.newton_steps += 1
        after = np.append(point.gradient[free], point.residual.sum() if self.fit_intercept else 0.0)
        self.curvature.correct(free, size * step, after - gradient)
        return True

    def _pass(
        self, working: Ints, moved: Ints, steps: Floats, intercept_step: float, change: Floats, out: Floats
    ) -> float:
        loss, point = self.loss, self.point
        self.counters.active_columns_read += len(working)
        return fused_pass(
            self.Xt,
            working,
            moved,
            steps,
            intercept_step,
            loss.plain_weight,
            loss.plain_label,
            loss.offsets,
            loss.weight,
            loss.label,
            loss.exponent,
            loss.pooling,
            point.z,
            change,
            point.residual,
            out,
        )

    def _read_gradient(self, columns: Ints) -> None:
        out = np.zeros(len(columns))
        dot_columns(self.Xt, columns, 0, self.loss.n_rows, self.point.residual, out)
        self.point.gradient[columns] = out
        self.counters.columns_checked += len(columns)

    def _violators(self, working: Ints, lam: float, bound: float) -> Ints:
        """Columns outside the working set whose exact gradient exceeds the bound.

        |g_j| can have grown by at most ||x_j|| ||r - r'|| since it was last computed at residuals r', so most
        columns far below the bound need not be read.
        """
        point = self.point
        point.drift += float(np.linalg.norm(point.residual - point.residual_seen))
        point.residual_seen[:] = point.residual
        point.seen_at[working] = point.drift
        possible = np.abs(point.gradient) + self.norms * (point.drift - point.seen_at) >= lam
        possible[working] = False
        columns = np.flatnonzero(possible)
        self._read_gradient(columns)
        point.seen_at[columns] = point.drift
        self.counters.columns_skipped += len(point.w) - len(working) - len(columns)
        return columns[np.abs(point.gradient[columns]) > bound]

    def _violation(self, columns: Ints, lam: float) -> float:
        """Largest violation of the optimality conditions over columns and intercept."""
        point = self.point
        w, g = point.w[columns], point.gradient[columns]
        active = np.abs(g + lam * np.sign(w))[w != 0].max(initial=0.0)
        inactive = (np.abs(g)[w == 0] - lam).max(initial=0.0)
        intercept = abs(point.residual.sum()) if self.fit_intercept else 0.0
        return float(max(active, inactive, intercept))
