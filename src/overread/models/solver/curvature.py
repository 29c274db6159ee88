"""Inexact curvature: the Hessian on the active columns from a few well-chosen rows, corrected by what was seen.

The solver's gradient and optimality conditions are exact; the Hessian only shapes its steps. So it may be

- *sampled*: keep the rows (or coupled bags) of large curvature exactly and draw the others with probability
  h / tau at weight tau, which leaves the expected Gram matrix unchanged;
- *reused* while steps go well, and extended by columns instead of built anew;
- *corrected* by secant pairs (BFGS): a step s and the change y it made in the exact gradient satisfy y = H s.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from overread.models.loss.bag_loss import BagCurvature, BagLoss
from overread.models.solver._kernels import gather

__all__ = ["Curvature", "sample_by_size"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Below this many rows the exact Gram matrix is cheap.
ROWS_WORTH_SAMPLING = 10_000
MIN_SAMPLED_ROWS = 4_000
SAMPLED_ROWS_PER_COLUMN = 15
# Older secant pairs are forgotten when columns join.
MAX_PAIRS = 10
# Exact second derivative of the coupled bags first; where it makes the sum indefinite, ever safer stand-ins.
BLENDS = (0.0, 0.5, 1.0)


def sample_by_size(h: Floats, size: int, random: np.random.Generator) -> tuple[Ints, Floats]:
    """Choose about `size` entries of h >= 0 and weights for them whose expectation is h.

    Entries with h >= tau are kept with weight h; the others come in by systematic sampling with probability
    h / tau and weight tau. tau solves sum_i min(1, h_i / tau) = size.
    """
    tau = float(h.sum()) / size
    heavy = h >= tau
    while heavy.any():
        n_heavy, rest = np.count_nonzero(heavy), float(h[~heavy].sum())
        if n_heavy >= size or rest <= 0 or rest / (size - n_heavy) >= 0.999 * tau:
            break
        tau = rest / (size - n_heavy)
        heavy = h >= tau
    if tau <= 0:
        return np.arange(len(h)), h
    ticks = np.floor(np.cumsum(np.where(heavy, 0.0, h / tau)) + random.random())
    chosen = np.flatnonzero(heavy | (np.diff(ticks, prepend=0.0) > 0))
    return chosen, np.maximum(h[chosen], tau)


@dataclass(frozen=True)
class CoupledRows:
    """Coupled bags whose curvature is used: their rows, where each bag of them begins, and how often it counts."""

    bags: Ints
    rows: Ints
    starts: Ints
    factor: Floats


@dataclass(frozen=True)
class SecantPair:
    """A step on some columns (intercept last) and the change it made in the exact gradient."""

    columns: Ints
    step: Floats
    change: Floats


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
        self.is_built = False
        self.is_fresh = False
        self._position = np.full(len(Xt), -1, dtype=np.int64)

    def samples(self, n_rows: int) -> bool:
        """Whether a part of the loss with this many rows is sampled."""
        return n_rows > ROWS_WORTH_SAMPLING and self._sample_size < n_rows / 2

    @property
    def _sample_size(self) -> int:
        return max(MIN_SAMPLED_ROWS, SAMPLED_ROWS_PER_COLUMN * len(self.columns))

    def matrix(self, columns: Ints) -> Floats:
        """Hessian on the given columns (all of them known here) and the intercept."""
        index = self._index(columns)
        return np.ascontiguousarray(self._hessian[np.ix_(index, index)])

    def refresh(self, z: Floats, columns: Ints) -> None:
        """Build the matrix anew at scores z."""
        self._set_columns(columns)
        self._pairs: deque[SecantPair] = deque(maxlen=MAX_PAIRS)
        self._sample_plain(z)
        self._z = z.copy()
        self._coupled = self._sample_coupled(z) if len(self.loss.weight) else None
        self._block = self._gather(columns)
        stack = np.concatenate([self._block, self._root[None, :]])
        self._gram = (stack @ stack.T).astype(np.float64)
        self._combine()
        self.is_built = self.is_fresh = True

    def extend(self, columns: Ints) -> None:
        """Add those of the columns that are not known yet, on the rows of the last refresh."""
        new = columns[self._position[columns] < 0]
        if not len(new):
            return
        added = self._gather(new)
        block = np.concatenate([self._block, added])
        ends = self._root[None, :]
        cross = (np.concatenate([added, ends]) @ np.concatenate([block, ends]).T).astype(np.float64)
        known = len(self.columns)
        gram = np.empty((len(block) + 1, len(block) + 1))
        gram[:known, :known] = self._gram[:known, :known]
        gram[known:] = cross
        gram[:known, known:] = cross[:, :known].T
        self._gram, self._block = gram, block
        self._set_columns(np.concatenate([self.columns, new]))
        self._combine()
        for pair in self._pairs:
            self._apply(pair)

    def correct(self, columns: Ints, step: Floats, change: Floats) -> None:
        """Learn from a step (intercept last) and the change it made in the exact gradient."""
        pair = SecantPair(columns, step, change)
        if self._apply(pair):
            self._pairs.append(pair)

    def _apply(self, pair: SecantPair) -> bool:
        """BFGS update; skipped where the pair shows no positive curvature."""
        index = self._index(pair.columns)
        inner = float(pair.step @ pair.change)
        images = self._hessian[:, index] @ pair.step
        bend = float(pair.step @ images[index])
        if inner <= 1e-12 * np.linalg.norm(pair.step) * np.linalg.norm(pair.change) or bend <= 0:
            return False
        change = images.copy()
        change[index] = pair.change
        self._hessian += np.outer(change, change / inner) - np.outer(images, images / bend)
        return True

    def _index(self, columns: Ints) -> Ints:
        return np.append(self._position[columns], len(self.columns))

    def _set_columns(self, columns: Ints) -> None:
        self._position[self.columns] = -1
        self.columns = columns
        self._position[columns] = np.arange(len(columns))

    def _sample_plain(self, z: Floats) -> None:
        h = self.loss.plain_curvature(z)
        if self.samples(len(h)):
            self._rows, weights = sample_by_size(h, self._sample_size, self.random)
            self._root = np.sqrt(weights).astype(np.float32)
        else:
            self._rows = np.arange(len(h))
            self._root = np.sqrt(h).astype(self.Xt.dtype)

    def _sample_coupled(self, z: Floats) -> CoupledRows:
        offsets, n_rows = self.loss.offsets, int(self.loss.offsets[-1])
        bags, factor = np.arange(len(self.loss.weight)), np.ones(len(self.loss.weight))
        if self.samples(n_rows):
            exact = self.loss.bag_curvature(z)
            bulk = np.add.reduceat(np.abs(exact.diagonal), offsets[:-1])
            bulk += np.abs(exact.strength) * np.add.reduceat(exact.direction**2, offsets[:-1])
            size = max(1, self._sample_size * len(bags) // n_rows)
            bags, weights = sample_by_size(bulk, size, self.random)
            factor = weights / np.maximum(bulk[bags], np.finfo(float).tiny)
        sizes = np.diff(offsets)[bags]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        rows = np.repeat(offsets[:-1][bags] - starts, sizes) + np.arange(sizes.sum())
        return CoupledRows(bags, rows, starts, factor)

    def _gather(self, columns: Ints) -> NDArray[np.floating]:
        block = np.empty((len(columns), len(self._rows)), dtype=self._root.dtype)
        gather(self.Xt, columns, self._rows, self._root, block)
        return block

    def _combine(self) -> None:
        """Add the coupled bags' part to the plain rows', exact where the sum stays positive definite."""
        if self._coupled is None:
            self._hessian = self._gram.copy()
            return
        coupled = self._coupled
        rows = np.ones((len(self.columns) + 1, len(coupled.rows)))
        gather(self.Xt, self.columns, self.loss.n_plain + coupled.rows, np.ones(len(coupled.rows)), rows[:-1])
        for safe in BLENDS:
            self._hessian = self._gram + bag_gram(rows, coupled, self.loss.bag_curvature(self._z, safe=safe))
            if is_positive_definite(self._hessian):
                break


def bag_gram(rows: Floats, coupled: CoupledRows, curvature: BagCurvature) -> Floats:
    """Second derivative in the features (one per row of rows) from that in the scores of the coupled bags."""
    sizes = np.diff(np.append(coupled.starts, len(coupled.rows)))
    diagonal = curvature.diagonal[coupled.rows] * np.repeat(coupled.factor, sizes)
    sums = np.add.reduceat(rows * curvature.direction[coupled.rows], coupled.starts, axis=1)
    strength = curvature.strength[coupled.bags] * coupled.factor
    gram: Floats = (rows * diagonal) @ rows.T + (sums * strength) @ sums.T
    return gram


def is_positive_definite(H: Floats) -> bool:
    """Whether H, with a ridge of rounding size, has a Cholesky factor."""
    ridge = 1e-10 * np.abs(np.diag(H)) + np.finfo(float).tiny
    try:
        cholesky(H + np.diag(ridge), check_finite=False)
    except LinAlgError:
        return False
    return True
