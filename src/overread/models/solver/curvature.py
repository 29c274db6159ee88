"""Inexact curvature: the Hessian on the active columns from a few well-chosen rows, corrected by what was seen.

The solver's gradient and optimality conditions are exact; the Hessian only shapes its steps. So it may be

- *sampled*: of n plain rows keep those of large curvature h exactly and draw the others with probability h / tau
  at weight tau, which leaves the expected Gram matrix unchanged;
- *reused* while steps go well, and extended by columns instead of built anew;
- *corrected* by secant pairs (BFGS): a step s and the change y it made in the exact gradient satisfy y = H s.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from overread.models.loss.bag_loss import BagCurvature, BagLoss
from overread.models.solver._kernels import gather

__all__ = ["Curvature", "sample_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Below this many rows the exact Gram matrix is cheap.
ROWS_WORTH_SAMPLING = 10_000
MIN_SAMPLED_ROWS = 4_000
SAMPLED_ROWS_PER_COLUMN = 15
BLENDS = (0.0, 0.5, 1.0)


def sample_rows(h: Floats, size: int, random: np.random.Generator) -> tuple[Ints, Floats]:
    """Choose about `size` rows and weights for them such that the expected sum of weights over a row is h.

    Rows with h >= tau are kept with weight h; the others come in by systematic sampling with probability h / tau
    and weight tau. tau solves sum_i min(1, h_i / tau) = size.
    """
    tau = h.sum() / size
    for _ in range(20):
        heavy = h >= tau
        n_heavy = np.count_nonzero(heavy)
        remaining = h.sum() - h[heavy].sum()
        if n_heavy >= size or remaining <= 0:
            break
        new = remaining / (size - n_heavy)
        if new >= tau * (1 - 1e-3):
            break
        tau = new
    heavy = h >= tau
    ticks = np.floor(np.cumsum(np.where(heavy, 0.0, h / tau)) + random.random())
    drawn = np.diff(ticks, prepend=0.0) > 0
    rows = np.flatnonzero(heavy | (drawn & ~heavy))
    return rows, np.maximum(h[rows], tau)


class Curvature:
    """Approximate Hessian of the loss on a growing set of columns, the intercept last.

    Parameters
    ----------
    Xt
        One feature per row, d x n.
    loss
        The loss whose second derivative is approximated.
    random
        Source of the sampled rows.
    """

    def __init__(self, Xt: NDArray[np.floating], loss: BagLoss, random: np.random.Generator) -> None:
        self.Xt = Xt
        self.loss = loss
        self.random = random
        self.columns: Ints = np.empty(0, dtype=np.int64)
        self.is_fresh = False
        self._position = np.full(len(Xt), -1, dtype=np.int64)
        self._H: Floats = np.empty((0, 0))

    @property
    def is_exact(self) -> bool:
        """Whether a refresh uses every row."""
        return not self._worth_sampling(len(self.columns))

    def _worth_sampling(self, n_columns: int) -> bool:
        return (
            self.loss.n_plain > ROWS_WORTH_SAMPLING and self._sample_size(n_columns) < self.loss.n_plain / 2
        )

    @staticmethod
    def _sample_size(n_columns: int) -> int:
        return max(MIN_SAMPLED_ROWS, SAMPLED_ROWS_PER_COLUMN * n_columns)

    def matrix(self, columns: Ints) -> Floats:
        """Hessian on the given columns (all of them known here) and the intercept."""
        index = np.append(self._position[columns], len(self.columns))
        return np.ascontiguousarray(self._H[np.ix_(index, index)])

    def covers(self, columns: Ints) -> bool:
        """Whether all columns are known."""
        return bool((self._position[columns] >= 0).all()) and len(self._H) > 0

    def refresh(self, z: Floats, columns: Ints) -> None:
        """Build the matrix anew at scores z."""
        h = self.loss.plain_curvature(z)
        if self._worth_sampling(len(columns)):
            self._rows, weights = sample_rows(h, self._sample_size(len(columns)), self.random)
        else:
            self._rows, weights = np.arange(len(h)), h
        dtype = np.float32 if self._worth_sampling(len(columns)) else self.Xt.dtype
        self._root = np.sqrt(weights).astype(dtype)
        self._z = z.copy()
        self._corrections: list[tuple[Floats, Floats]] = []
        self._set_columns(columns)
        self._sampled = self._gather(columns)
        ends = self._root[None, :]
        stack = np.concatenate([self._sampled, ends]).astype(dtype, copy=False)
        self._plain = (stack @ stack.T).astype(np.float64)
        self._finish()
        self.is_fresh = True

    def extend(self, columns: Ints) -> None:
        """Add columns that are not known yet, on the rows of the last refresh."""
        new = columns[self._position[columns] < 0]
        block = self._gather(new)
        old = np.concatenate([self._sampled, block])
        cross = (
            np.concatenate([block, self._root[None, :]]) @ np.concatenate([old, self._root[None, :]]).T
        ).astype(np.float64)
        m, k = len(self.columns), len(new)
        plain = np.empty((m + k + 1, m + k + 1))
        plain[:m, :m] = self._plain[:m, :m]
        plain[m:, :] = cross
        plain[:m, m:] = cross[:, :m].T
        self._plain = plain
        self._sampled = old
        self._set_columns(np.concatenate([self.columns, new]))
        self._finish()

    def correct(self, columns: Ints, step: Floats, change: Floats) -> None:
        """Use a step (intercept last) and the change it made in the exact gradient as a secant pair."""
        index = np.append(self._position[columns], len(self.columns))
        inner = step @ change
        Hs = self._H[np.ix_(index, index)] @ step
        bend = step @ Hs
        if inner <= 1e-12 * np.linalg.norm(step) * np.linalg.norm(change) or bend <= 0:
            return
        self._H[np.ix_(index, index)] += np.outer(change, change / inner) - np.outer(Hs, Hs / bend)

    def _set_columns(self, columns: Ints) -> None:
        self._position[self.columns] = -1
        self.columns = columns
        self._position[columns] = np.arange(len(columns))

    def _gather(self, columns: Ints) -> NDArray[np.floating]:
        block = np.empty((len(columns), len(self._rows)), dtype=self._root.dtype)
        gather(self.Xt, columns, self._rows, self._root, block)
        return block

    def _finish(self) -> None:
        """Add the coupled bags' part, exact where the sum stays positive definite."""
        if not len(self.loss.weight):
            self._H = self._plain
            return
        coupled = np.concatenate(
            [
                self.Xt[self.columns][:, self.loss.n_plain :].astype(np.float64),
                np.ones((1, self.loss.n_rows - self.loss.n_plain)),
            ]
        )
        for safe in BLENDS:
            self._H = self._plain + bag_gram(
                coupled, self.loss.offsets, self.loss.bag_curvature(self._z, safe=safe)
            )
            if is_positive_definite(self._H):
                return


def bag_gram(rows: Floats, offsets: Ints, curvature: BagCurvature) -> Floats:
    """Second derivative in the features of rows (one feature per row) from that in the scores."""
    sums = np.add.reduceat(rows * curvature.direction, offsets[:-1], axis=1)
    gram: Floats = (rows * curvature.diagonal) @ rows.T + (sums * curvature.strength) @ sums.T
    return gram


def is_positive_definite(H: Floats) -> bool:
    """Whether H, with a ridge of rounding size, has a Cholesky factor."""
    ridge = 1e-10 * np.abs(np.diag(H)) + np.finfo(float).tiny
    try:
        cholesky(H + np.diag(ridge), check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True
