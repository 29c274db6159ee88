"""Working-set proximal Newton for D(Xw + b) + alpha R(w), warm from alpha to alpha.

For each alpha: choose a working set A; on A take Newton steps, each the solution by coordinate descent of the
quadratic model with the kinks of R kept exact, followed by one fused pass over the columns of A that gives the new
loss and the exact gradient on A; then check the optimality conditions on all other columns, and add those that
violate them. R is a `Penalty`. Gradients are exact, the curvature is not (see `curvature`), so the answer does not
depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.columns import Columns
from overread.models._penalties import Penalty
from overread.models.loss._bag_loss import BagLoss
from overread.models.solver._curvature import Curvature
from overread.models.solver._kernels import fused_pass
from overread.models.solver._quadratic import balance, lower_bound, minimize_model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Share of the promised decrease that a step must keep: Nocedal and Wright, Numerical Optimization, section 3.1.
ARMIJO = 1e-4
# Bounds against endless loops, set by judgement.
MAX_HALVINGS = 40
# The next four change the way, and not the answer within tol; no record of trials is kept: taken as set by judgement.
# A step that leaves more than this part of the violation asks for fresh curvature.
SLOW = 0.6
# A column joins the working set when its extrapolated gradient reaches this part of its kink.
EXPECTED = 0.95
# The model is solved until its violation is this part of the current one, or this part of what is tolerated.
INNER = 0.02
INNER_OF_TOLERANCE = 0.2
# Steps after which the gap is looked at: three times what a alpha takes on the table in docs/explanation/model.md.
PATIENCE = 25
# The conditions are tightened by at most this factor to bring the gap down. It takes twice the share of the penalty in
# the objective, at most 2; where more is needed the bound is loose, not the point. Set by judgement.
WORTH_TIGHTENING = 100.0
# Objectives closer than this are equal up to rounding: some 50 units in the last place.
ROUNDING = 1e-14
# Gradients (of features of size 1, by weights that sum to 1) count as 0 below tol times this: at the default
# tol 1e-16, the rounding of a double.
SMALLEST_SCALE = 1e-10


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
    relative_violation: float
    gap: float
    criterion: str
    n_iter: int

    @property
    def converged(self) -> bool:
        """Whether one of the criteria was met."""
        return self.criterion != "none"


@dataclass
class Point:
    """State of the solver, with the gradient.

    gradient[j] was computed when `drift`, the path length of the residual, was seen_at[j].
    """

    w: Floats
    b: float
    z: Floats
    residual: Floats
    loss: float
    gradient: Floats
    seen_at: Floats
    residual_seen: Floats
    drift: float = 0.0


class NewtonSolver:
    """Solver that keeps its point, gradient and curvature from one alpha to the next."""

    point: Point

    def __init__(
        self,
        columns: Columns,
        loss: BagLoss,
        penalty: Penalty,
        *,
        fit_intercept: bool,
        norms: Floats,
        seed: int,
    ) -> None:
        self.columns = columns
        self.loss = loss
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.norms = norms
        self.counters = Counters()
        self.curvature = Curvature(columns, loss, np.random.default_rng(seed))
        self._all = np.arange(columns.n_features, dtype=np.int64)
        self._least_kink = float(np.min(penalty.kink))
        self._gradient_before: Floats | None = None
        self._smallest_scale = SMALLEST_SCALE * max(1.0, norms.max(initial=0.0) / np.sqrt(loss.n_rows))

    def start(self, w: Floats, b: float, *, gradient: Floats | None = None) -> None:
        """Place the solver at (w, b), and compute the whole gradient there unless it is known."""
        n, d = self.loss.n_rows, len(w)
        support = np.flatnonzero(w)
        z = np.full(n, b)
        self.columns.add(support, w[support], z)
        residual = np.empty(n)
        loss = self.loss.value(z, residual)
        self.point = Point(w.copy(), b, z, residual, loss, np.zeros(d), np.zeros(d), residual.copy())
        self._gradient_before = None
        if gradient is None:
            self._read_gradient(self._all)
        else:
            # It was read for this problem once, and counts here too.
            self.point.gradient[:] = gradient
            self.counters.columns_checked += len(w)

    @property
    def alpha_max(self) -> float:
        """Smallest alpha for which w = 0 stays optimal, if the solver is at w = 0."""
        return self.penalty.alpha_max(self.point.gradient)

    def solve(self, alpha: float, *, tol: float, max_iter: int) -> Solution:
        """Move to a stationary point for this alpha.

        tol bounds the largest violation of the optimality conditions relative to the smallest kink of alpha R, which
        is alpha for L1 (for alpha = 0, relative to the largest gradient at the start), or to a number that keeps the
        bound above rounding where the kink is smaller still; max_iter bounds the Newton steps. Where the loss is convex
        tol bounds the certified relative gap too: if the conditions hold and it is larger, they are tightened; if it is
        met and the conditions cannot be, as at the limit of rounding, it is enough.
        """
        point = self.point
        scale = self._scale(alpha)
        before = point.gradient.copy()
        working = self._working_set(alpha * self.penalty.kink)
        tolerance, spent = tol * scale, 0
        while True:
            allowed = min(PATIENCE, max_iter - spent)
            steps = self._descend(working, alpha, tolerance, allowed)
            spent += steps
            outside = self._violators(working, alpha, tolerance)
            if len(outside) and spent < max_iter:
                working = np.union1d(working, outside)
                continue
            violation, gap = self._violation(self._all, alpha), self._gap(alpha)
            is_stuck = steps < allowed and violation > tolerance
            if gap <= tol or spent >= max_iter or is_stuck:
                break
            if violation <= tolerance:
                tolerance *= 0.5 * tol / gap
                if tolerance * WORTH_TIGHTENING < tol * scale:
                    break
        self._gradient_before = before
        return Solution(
            w=point.w.copy(),
            b=point.b,
            loss=point.loss,
            objective=self._objective(alpha),
            relative_violation=float(violation / scale),
            gap=gap,
            criterion="conditions" if violation <= tol * scale else "gap" if gap <= tol else "none",
            n_iter=spent,
        )

    def _objective(self, alpha: float) -> float:
        return float(self.point.loss + alpha * self.penalty.value(self.point.w))

    def _gap(self, alpha: float) -> float:
        """Certified bound of (F - minimum) / F; 1 where none is known but that F is not below 0."""
        point, objective = self.point, self._objective(alpha)
        if not self.loss.is_convex or not objective > 0:
            return 1.0
        residual = balance(self.loss, point.z, point.residual) if self.fit_intercept else point.residual
        if residual is None:
            return 1.0
        kinks = alpha * self.penalty.kink
        unknown = point.drift - point.seen_at + float(np.linalg.norm(residual - point.residual))
        columns = np.flatnonzero(np.abs(point.gradient) + self.norms * unknown > kinks)
        gradient = np.zeros(len(point.w))
        gradient[columns] = self.columns.dot(columns, residual)
        self.counters.active_columns_read += len(columns)
        bound = lower_bound(self.loss, residual, self.penalty, gradient, alpha)
        return min(max((objective - bound) / objective, 0.0), 1.0)

    def _scale(self, alpha: float) -> float:
        """Size of a gradient that violations are relative to."""
        if alpha > 0:
            return max(alpha * self._least_kink, self._smallest_scale)
        return max(float(np.abs(self.point.gradient).max(initial=0.0)), self._smallest_scale)

    def _working_set(self, kinks: float | Floats) -> Ints:
        """Columns that are active, violate now, or are expected to: gradients extrapolated one alpha ahead."""
        point = self.point
        chosen = (point.w != 0) | (np.abs(point.gradient) >= kinks)
        if self._gradient_before is not None:
            up_to_date = point.seen_at == point.drift
            chosen |= up_to_date & (np.abs(2.0 * point.gradient - self._gradient_before) >= EXPECTED * kinks)
        return np.flatnonzero(chosen)

    def _descend(self, working: Ints, alpha: float, tolerance: float, max_iter: int) -> int:
        """Newton steps on the working set until its violation is within tolerance; return how many."""
        violation = self._violation(working, alpha)
        for step in range(max_iter):
            if violation <= tolerance:
                return step
            free = self._free(working, alpha)
            bend = self.penalty.curvature(self.point.w)
            if bend is not None:
                self.curvature.set_ridge(alpha * bend)
            if not self.curvature.is_built or not self.curvature.has_room(free):
                self._refresh(free)
            self.curvature.extend(free)
            if self._step(working, free, alpha, max(INNER * violation, INNER_OF_TOLERANCE * tolerance)):
                after = self._violation(working, alpha)
                if after > SLOW * violation:
                    self._refresh_after_slow_step(self._free(working, alpha))
                else:
                    self.curvature.is_fresh = False
                violation = after
            elif self.curvature.is_fresh:
                return step
            else:
                self._refresh(free)
        return max_iter

    def _free(self, working: Ints, alpha: float) -> Ints:
        """Columns of the working set that a step may move."""
        point, kinks = self.point, alpha * self.penalty.on(working).kink
        return working[(point.w[working] != 0) | (np.abs(point.gradient[working]) >= kinks)]

    def _refresh_after_slow_step(self, free: Ints) -> None:
        """Build the curvature again; if it was fresh and the step slow all the same, from more rows from now on.

        Where a stand-in makes steps slow, more rows do not help, but secant pairs do, which a refresh would forget.
        """
        if self.curvature.is_fresh and self.curvature.can_learn:
            return
        if self.curvature.is_fresh:
            self.curvature.generosity *= 2
        self._refresh(free)

    def _refresh(self, free: Ints) -> None:
        self.curvature.refresh(self.point.z, free)
        self.counters.refreshes += 1

    def _step(self, working: Ints, free: Ints, alpha: float, inner_tolerance: float) -> bool:
        """One proximal Newton step with Armijo backtracking; False if it made no progress."""
        point = self.point
        penalty, w = self.penalty.on(free), point.w[free]
        gradient = self._gradient(free)
        kinks = np.append(np.full(len(free), alpha * penalty.kink), 0.0)
        smooth = penalty.slope(w)
        slopes = gradient if smooth is None else gradient + np.append(alpha * smooth, 0.0)
        H = self.curvature.matrix(free)
        if not self.fit_intercept:
            H[-1, -1] = 0.0
        step, sweeps = minimize_model(H, slopes, np.append(w, point.b), kinks, inner_tolerance)
        self.counters.sweeps += sweeps
        growth = alpha * (penalty.kink * (np.abs(w + step[:-1]) - np.abs(w))).sum()
        decrease = float(slopes @ step + growth)
        size = self._line_search(working, free, step, decrease, alpha) if decrease < 0 else 0.0
        if size == 0.0:
            return False
        self.counters.newton_steps += 1
        self.curvature.correct(free, size * step, self._gradient(free) - gradient)
        return True

    def _gradient(self, free: Ints) -> Floats:
        """Gradient on the columns, and on the intercept last."""
        return np.append(self.point.gradient[free], self.point.residual.sum() if self.fit_intercept else 0.0)

    def _line_search(self, working: Ints, free: Ints, step: Floats, decrease: float, alpha: float) -> float:
        """Move by the largest size 1, 1/2, 1/4, ... of the step that lowers the objective enough; 0 if none."""
        point, penalty = self.point, self.penalty.on(free)
        objective = point.loss + alpha * penalty.value(point.w[free])
        z, residual, loss = point.z.copy(), point.residual.copy(), point.loss
        gradient = np.empty(len(working))
        moved = np.flatnonzero(step[:-1])
        size = 1.0
        for _ in range(MAX_HALVINGS):
            point.loss = self._pass(working, free[moved], size * step[moved], size * step[-1], gradient)
            # Where the step takes a coefficient to 0, w + step is exactly 0 in floating point too.
            w = point.w[free] + size * step[:-1]
            value = point.loss + alpha * penalty.value(w)
            if value <= objective + ARMIJO * size * decrease + ROUNDING * abs(objective):
                point.w[free] = w
                point.b += size * step[-1]
                point.gradient[working] = gradient
                return size
            point.z[:] = z
            size *= 0.5
        point.residual[:], point.loss = residual, loss
        return 0.0

    def _pass(self, working: Ints, moved: Ints, steps: Floats, intercept_step: float, out: Floats) -> float:
        """Move the scores, and compute loss, residual and the gradient on the working set, in one pass if it is held.

        Moved columns are columns of the working set, which is sorted.
        """
        point = self.point
        self.counters.active_columns_read += len(working)
        held = self.columns.held(working)
        if held is None:
            point.z += intercept_step
            self.columns.add(moved, steps, point.z)
            value = self.loss.value(point.z, point.residual)
            out[:] = self.columns.dot(working, point.residual, hold=True)
            return value
        # Each block of the working set is read from memory once and used twice.
        Xt, rows = held
        places = rows[np.searchsorted(working, moved)]
        bags = self.loss.plain_weight, self.loss.plain_label, *self.loss.coupled
        return fused_pass(Xt, rows, places, steps, intercept_step, *bags, point.z, point.residual, out)

    def _read_gradient(self, columns: Ints) -> None:
        self.point.gradient[columns] = self.columns.dot(columns, self.point.residual)
        self.counters.columns_checked += len(columns)

    def _violators(self, working: Ints, alpha: float, tolerance: float) -> Ints:
        """Columns outside the working set whose exact gradient exceeds the kink by more than tolerance.

        |g_j| can have grown by at most ||x_j|| ||r - r'|| since it was last computed at residuals r', so columns
        far enough below their kink need not be read.
        """
        point = self.point
        point.drift += float(np.linalg.norm(point.residual - point.residual_seen))
        point.residual_seen[:] = point.residual
        point.seen_at[working] = point.drift
        possible = (
            np.abs(point.gradient) + self.norms * (point.drift - point.seen_at) >= alpha * self.penalty.kink
        )
        possible[working] = False
        columns = np.flatnonzero(possible)
        self._read_gradient(columns)
        point.seen_at[columns] = point.drift
        self.counters.columns_skipped += len(point.w) - len(working) - len(columns)
        return columns[np.abs(point.gradient[columns]) > alpha * self.penalty.on(columns).kink + tolerance]

    def _violation(self, columns: Ints, alpha: float) -> float:
        """Largest violation of the optimality conditions over columns and intercept."""
        point = self.point
        subgradient = self.penalty.on(columns).subgradient(point.w[columns], point.gradient[columns], alpha)
        intercept = abs(point.residual.sum()) if self.fit_intercept else 0.0
        return float(max(np.abs(subgradient).max(initial=0.0), intercept))
