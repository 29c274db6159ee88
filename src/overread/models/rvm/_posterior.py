"""The mode of the posterior for fixed alpha, by Newton's method, and the Gaussian fitted there.

    J(w, b) = D(w, b) + 1/2 sum_i alpha_i w_i^2,    S = (A + H)^-1,    H = second derivative of D,

A = diag(alpha), and 0 for the intercept, whose prior is flat. D is minus the log-likelihood.

H = sum over plain rows of h x x' + sum over coupled bags of (X' diag(a) X + rho (X'u)(X'u)'), the intercept
last, is formed in blocks of rows on the kept features. The products of a block run in the precision of X, float32 or
float64; the sum over blocks is float64.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cho_solve, cholesky, solve_triangular

from overread.columns import Columns, add_columns, dot_columns
from overread.models._kernels import weigh_rows
from overread.models.loss._bag_loss import BagLoss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows of one product; set by judgement.
ROWS_PER_BLOCK = 8192
# A float64 block and its square: 16 MB.
CELLS_PER_BLOCK = 2**20


def information_matrix(
    Xt: NDArray[np.floating], kept: Ints, loss: BagLoss, z: Floats, *, safe: float = 0.0
) -> Floats:
    """H on the kept features and the intercept (last) at scores z; safe as in `BagLoss.bag_curvature`."""
    k = len(kept)
    H = np.zeros((k + 1, k + 1))
    _add_plain(H, Xt, kept, loss.plain_curvature(z))
    H = np.triu(H) + np.triu(H, 1).T
    if len(loss.weight):
        curvature = loss.bag_curvature(z, safe=safe)
        block = np.ones((k + 1, loss.n_rows - loss.n_plain))
        block[:-1] = Xt[kept, loss.n_plain :]
        sums = np.add.reduceat(block * curvature.direction, loss.offsets[:-1], axis=1)
        H += (block * curvature.diagonal) @ block.T + (sums * curvature.strength) @ sums.T
    return H


def _add_plain(H: Floats, Xt: NDArray[np.floating], kept: Ints, h: Floats) -> None:
    """Add the plain rows to the upper triangle of H; a symmetric product costs half a general one."""
    syrk = blas.ssyrk if Xt.dtype == np.float32 else blas.dsyrk
    root = np.sqrt(h).astype(Xt.dtype)
    for first in range(0, len(h), ROWS_PER_BLOCK):
        rows = slice(first, min(first + ROWS_PER_BLOCK, len(h)))
        block = np.empty((len(kept) + 1, rows.stop - first), dtype=Xt.dtype)
        weigh_rows(Xt, kept, first, root[rows], block)
        H += syrk(1.0, block.T, trans=1)


def features_per_block(n_rows: int) -> int:
    """How many features to widen to float64 at a time, so that a block stays small beside X."""
    return max(1, CELLS_PER_BLOCK // max(1, n_rows))


def information_diagonal(columns: Columns, loss: BagLoss, z: Floats) -> Floats:
    """Information on each feature alone, the intercept fitted beside it: H_jj - H_jb^2 / H_bb, at least 0.

    The coupled bags enter by their positive semidefinite stand-in, so that no information is negative.
    """
    h = loss.plain_curvature(z)
    curvature = loss.bag_curvature(z, safe=1.0)
    rows = np.concatenate([h, curvature.diagonal])
    own, mixed = np.empty(columns.n_features), np.empty(columns.n_features)
    every = np.arange(columns.n_features)
    for group, features in columns.read_groups(every, features_per_block(loss.n_rows)):
        block = features.astype(np.float64)
        own[group] = np.square(block) @ rows
        mixed[group] = block @ rows
    total = float(rows.sum())
    return np.maximum(own - mixed**2 / total, 0.0) if total > 0 else own


# Share of the promised decrease that a step must keep: Nocedal and Wright, Numerical Optimization, section 3.1.
ARMIJO = 1e-4
# Objectives closer than this are equal up to rounding: some 50 units in the last place.
ROUNDING = 1e-14
# The ridges, relative to the diagonal, grow from almost none to one that leaves nothing but the gradient. All four are
# bounds against endless loops, set by judgement.
MAX_HALVINGS = 30
FIRST_RIDGE = 1e-6
LARGEST_RIDGE = 1e12
MAX_STEPS = 100
# A flat direction of the intercept (labels all alike, bags saturated) must not stop the factorization.
TINY_PRECISION = 1e-12


@dataclass(frozen=True)
class Posterior:
    """The Gaussian at the mode w, b: the diagonal of S, and the lower Cholesky factor of A + H, the intercept last.

    `gradient_norm` is the largest entry of the gradient of J, `decrement` half the squared Newton decrement: how far J
    is from its minimum by its own quadratic model, in nats. Where H is not `exact`, it was indefinite, and a stand-in
    was taken.
    """

    w: Floats
    b: float
    loss: float
    variance: Floats
    factor: Floats
    gradient_norm: float
    decrement: float
    n_steps: int
    converged: bool
    exact: bool

    def log_evidence(self, alpha: Floats, *, fit_intercept: bool) -> float:
        """Laplace's approximation of log p(y | alpha).

        -D - 1/2 w'Aw + 1/2 log|A| - 1/2 log|A + H|, plus 1/2 log 2 pi for the flat intercept.
        """
        log_determinant = 2.0 * float(np.log(np.diag(self.factor)).sum())
        prior = 0.5 * float(np.log(alpha).sum() - alpha @ self.w**2)
        flat = 0.5 * float(np.log(2 * np.pi)) if fit_intercept else 0.0
        return -self.loss + prior - 0.5 * log_determinant + flat


class PosteriorSearch:
    """Newton's method on J over a shrinking set of features, from w = 0 and warm from one call to the next."""

    def __init__(
        self, Xt: NDArray[np.floating], loss: BagLoss, kept: Ints, intercept: float, *, fit_intercept: bool
    ) -> None:
        self.Xt = Xt
        self.loss = loss
        self.kept = kept
        self.fit_intercept = fit_intercept
        self.w = np.zeros(len(kept))
        self.b = intercept
        self.n_hessians = 0
        self._H: Floats | None = None
        self.z: Floats
        self.residual: Floats
        self.value: float
        self._move_to(self.w, self.b)

    def branch(self) -> PosteriorSearch:
        """Return an independent copy of this search."""
        # Arrays are replaced, never written into, so that both may hold the same.
        return copy(self)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop the features not chosen."""
        if chosen.all():
            return
        self.kept, self.w = self.kept[chosen], self.w[chosen]
        known = np.flatnonzero(np.append(chosen, True))
        # What left had a weight of nearly 0, so the scores, and with them H, barely change.
        self._H = None if self._H is None else self._H[np.ix_(known, known)]
        self._move_to(self.w, self.b)

    def minimize(self, alpha: Floats, *, tol: float, fresh: bool = False) -> Posterior:
        """Find the mode to within tol nats, then the Gaussian there.

        Unless it has to be `fresh`, H may be from the last round, as long as it leads to the mode.
        """
        if fresh or self._H is None:
            self._refresh()
        steps, decrement, ridge = 0, np.inf, 0.0
        for steps in range(MAX_STEPS + 1):
            gradient = self._gradient(alpha)
            step, used = self._newton_step(alpha, gradient, ridge)
            decrement = -0.5 * float(gradient @ step)
            if decrement <= tol and used == 0.0:
                # One last step without a look back: near the mode it squares the error.
                self._move_to(self.w + step[:-1], self.b + step[-1])
                break
            if steps == MAX_STEPS:
                break
            if self._line_search(alpha, step, 2.0 * decrement):
                ridge = 0.0 if used <= FIRST_RIDGE else used / 100.0
                self._refresh()
            elif used >= LARGEST_RIDGE:
                break
            else:
                ridge = max(10.0 * used, FIRST_RIDGE)
        return self._posterior(alpha, decrement, steps, converged=decrement <= tol)

    def _posterior(self, alpha: Floats, decrement: float, steps: int, *, converged: bool) -> Posterior:
        exact, factor = True, _factor(self._precision(alpha, self._H))
        if factor is None:
            exact = False
            safe = information_matrix(self.Xt, self.kept, self.loss, self.z, safe=1.0)
            factor = _factor(self._precision(alpha, safe))
            if factor is None:
                factor = np.diag(np.sqrt(np.diag(self._precision(alpha, safe))))
        inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        return Posterior(
            w=self.w.copy(),
            b=self.b,
            loss=self.value,
            variance=np.square(inverse).sum(axis=0)[:-1],
            factor=factor,
            gradient_norm=float(np.abs(self._gradient(alpha)).max(initial=0.0)),
            decrement=decrement,
            n_steps=steps,
            converged=converged,
            exact=exact,
        )

    def _refresh(self) -> None:
        self._H = information_matrix(self.Xt, self.kept, self.loss, self.z)
        self.n_hessians += 1

    def _gradient(self, alpha: Floats) -> Floats:
        gradient = np.zeros(len(self.kept) + 1)
        dot_columns(self.Xt, self.kept, 0, self.loss.n_rows, self.residual, gradient[:-1])
        gradient[:-1] += alpha * self.w
        gradient[-1] = self.residual.sum() if self.fit_intercept else 0.0
        return gradient

    def _precision(self, alpha: Floats, H: Floats | None, ridge: float = 0.0) -> Floats:
        assert H is not None
        precision = H.copy()
        diagonal = np.einsum("ii->i", precision)
        diagonal[:-1] += alpha
        if not self.fit_intercept:
            precision[-1, :] = precision[:, -1] = 0.0
            precision[-1, -1] = 1.0
        diagonal += ridge * np.maximum(np.abs(diagonal), np.abs(diagonal).mean())
        precision[-1, -1] += TINY_PRECISION
        return precision

    def _newton_step(self, alpha: Floats, gradient: Floats, ridge: float) -> tuple[Floats, float]:
        """Step -(A + H + ridge)^-1 gradient, with the smallest ridge from here on that is positive definite."""
        while True:
            factor = _factor(self._precision(alpha, self._H, ridge))
            if factor is not None:
                return -cho_solve((factor, True), gradient, check_finite=False), ridge
            if ridge > LARGEST_RIDGE:
                return -gradient, ridge
            ridge = max(10.0 * ridge, FIRST_RIDGE)

    def _line_search(self, alpha: Floats, step: Floats, slope: float) -> bool:
        """Move by the first size of 1, 1/2, 1/4, ... that lowers J enough; False if none does."""
        before = self.value + 0.5 * float(alpha @ self.w**2)
        direction = np.full(self.loss.n_rows, step[-1])
        add_columns(self.Xt, self.kept, step[:-1], 0, self.loss.n_rows, direction)
        residual = np.empty_like(self.residual)
        size = 1.0
        for _ in range(MAX_HALVINGS):
            z, w = self.z + size * direction, self.w + size * step[:-1]
            value = self.loss.value(z, residual)
            after = value + 0.5 * float(alpha @ w**2)
            if after <= before - ARMIJO * size * slope + ROUNDING * abs(before):
                self.w, self.b, self.z, self.residual, self.value = (
                    w,
                    self.b + size * step[-1],
                    z,
                    residual,
                    value,
                )
                return True
            size *= 0.5
        return False

    def _move_to(self, w: Floats, b: float) -> None:
        self.w, self.b = w, float(b)
        self.z = np.full(self.loss.n_rows, self.b)
        add_columns(self.Xt, self.kept, w, 0, self.loss.n_rows, self.z)
        self.residual = np.empty(self.loss.n_rows)
        self.value = self.loss.value(self.z, self.residual)


def _factor(precision: Floats) -> Floats | None:
    try:
        return np.asarray(cholesky(precision, lower=True, check_finite=False))
    except LinAlgError:
        return None
