"""Inexact curvature: the Hessian on the active columns from a few well-chosen rows, corrected by what was seen.

The solver's gradient and optimality conditions are exact; the Hessian only shapes its steps. Products run in float64
all the same: of strongly correlated columns a Gram matrix in float32 is indefinite, and its small eigenvalues, on which
the last digits of a solution depend, are rounding. But the Hessian may be

- *sampled*: keep the rows (or coupled bags) of large curvature exactly and draw the others with probability
  h / tau at weight tau, which leaves the expected Gram matrix unchanged;
- *reused* while steps go well, and extended by columns instead of built again;
- *corrected* by secant pairs (BFGS): a step s and the change y it made in the exact gradient satisfy y = H s.

The smooth part of the penalty has a curvature too, known exactly: the *ridge*. It is kept apart, because it changes
with alpha, and is added wherever the sum has to be positive definite: negative curvature of the loss does no harm where
the penalty bends it back.

Which rows stand for all in the curvature, and with what weight.

Of the rows (or coupled bags) of size h, those with h >= tau are kept as they are; the others are drawn with
probability h / tau and count as tau. The expected Gram matrix is then the exact one. Small problems keep all.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from overread.columns import Columns
from overread.models.loss._bag_loss import BagCurvature, BagLoss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Below this many rows the exact Gram matrix is cheap. The three numbers are the prototype's, measured at
# 60,000 rows with 30 alphas: sampling made the path 1.3 times as fast, 2.2 times with bags. A step that is slow all
# the same doubles the sample, so that they bear on time alone.
ROWS_WORTH_SAMPLING = 10_000
MIN_SAMPLED_ROWS = 4_000
SAMPLED_ROWS_PER_COLUMN = 15


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


def sample_size(n_columns: int) -> int:
    """Rows that a Gram matrix of this many columns needs at least."""
    return max(MIN_SAMPLED_ROWS, SAMPLED_ROWS_PER_COLUMN * n_columns)


def worth_sampling(n_rows: int, size: int) -> bool:
    """Whether a sample of this size is worth it in a part of the loss with this many rows."""
    return n_rows > ROWS_WORTH_SAMPLING and size < n_rows / 2


def count_sampled(n_rows: int, size: int) -> int:
    """Rows of a part of the loss that a sample of this size has."""
    return size if worth_sampling(n_rows, size) else n_rows


@dataclass(frozen=True)
class RowSample:
    """Rows of the Hessian's factor: plain rows, coupled rows, and one sum per coupled bag.

    The Hessian is block diag(factors) block', where block has one row per column of X (and one of ones for the
    intercept, last) and, from left to right: plain rows times the root of their curvature, with factor 1;
    coupled rows, with factor diagonal; sums over coupled bags along `direction`, with factor strength.
    """

    plain_rows: Ints
    root: Floats
    coupled_rows: Ints
    starts: Ints
    direction: Floats
    exact: Floats
    safe: Floats

    @classmethod
    def draw(cls, loss: BagLoss, z: Floats, size: int, random: np.random.Generator) -> RowSample:
        """Choose about `size` plain rows, and as many coupled ones, at scores z."""
        h = loss.plain_curvature(z)
        rows = np.arange(len(h))
        if worth_sampling(len(h), size):
            rows, h = sample_by_size(h, size, random)
        root = np.sqrt(h)
        if not len(loss.weight):
            none = np.empty(0)
            return cls(rows, root, rows[:0], rows[:0], none, none, none)
        exact, safe = loss.bag_curvature(z), loss.bag_curvature(z, safe=1.0)
        bags, repetition = _choose_bags(loss, exact, size, random)
        sizes = np.diff(loss.offsets)[bags]
        starts = (np.cumsum(sizes) - sizes).astype(np.int64)
        local = np.repeat(loss.offsets[:-1][bags] - starts, sizes) + np.arange(sizes.sum())
        # Diagonal of the chosen rows, then strength of the chosen bags, each as often as it counts.
        weighed = [
            np.concatenate(
                [bend.diagonal[local] * np.repeat(repetition, sizes), bend.strength[bags] * repetition]
            )
            for bend in (exact, safe)
        ]
        return cls(rows, root, loss.n_plain + local, starts, exact.direction[local], *weighed)

    def block(self, features: Columns, columns: Ints) -> Floats:
        """Rows of the factor for these columns, and for the intercept last."""
        n_plain, n_coupled = len(self.plain_rows), len(self.coupled_rows)
        block = np.empty((len(columns) + 1, n_plain + n_coupled + len(self.starts)))
        features.take_rows(columns, self.plain_rows, self.root, block[:-1, :n_plain])
        block[-1, :n_plain] = self.root
        if n_coupled:
            coupled = block[:, n_plain : n_plain + n_coupled]
            features.take_rows(columns, self.coupled_rows, np.ones(n_coupled), coupled[:-1])
            coupled[-1] = 1.0
            weighted = coupled * self.direction
            block[:, n_plain + n_coupled :] = np.add.reduceat(weighted, self.starts, axis=1)
        return block

    def factors(self, safe: float) -> Floats | None:
        """Factor of each column of the block, between exact (0) and positive semidefinite (1); None if all 1."""
        if not len(self.coupled_rows):
            return None
        tail = self.exact + safe * (self.safe - self.exact)
        return np.concatenate([np.ones(len(self.plain_rows)), tail])

    def stand_in_change(self, block: Floats) -> Floats:
        """Return what the Gram matrix gains from the exact second derivative to the stand-in; few rows are coupled."""
        coupled = block[:, len(self.plain_rows) :]
        return np.asarray((coupled * (self.safe - self.exact)) @ coupled.T)


def _choose_bags(
    loss: BagLoss, exact: BagCurvature, size: int, random: np.random.Generator
) -> tuple[Ints, Floats]:
    """Coupled bags to use, and how often each counts."""
    n_bags, n_rows = len(loss.weight), int(loss.offsets[-1])
    if not worth_sampling(n_rows, size):
        return np.arange(n_bags), np.ones(n_bags)
    first = loss.offsets[:-1]
    bulk = np.add.reduceat(np.abs(exact.diagonal), first)
    bulk += np.abs(exact.strength) * np.add.reduceat(exact.direction**2, first)
    bags, weights = sample_by_size(bulk, max(1, size * n_bags // n_rows), random)
    return bags, weights / np.maximum(bulk[bags], np.finfo(float).tiny)


# Older secant pairs are forgotten when columns join. Set by judgement.
MAX_PAIRS = 5
# Exact second derivative of the coupled bags first; where it makes the sum indefinite, ever safer stand-ins. The two
# ends are given (exact, EM majorizer), those between tried on the study of benchmarks/study_memory.py: where the exact
# one is barely indefinite, half a majorizer is far too stiff, and one penalty took minutes; with 0.05 it takes 0.5 s.
BLENDS = (0.0, 0.05, 0.5, 1.0)
# Cosine between step and change of gradient below which the bend they show is rounding; set by judgement.
SMALLEST_BEND = 1e-12
# Blocks of sampled rows that are there at once, in the worst case: one with half as much room again, and the one that
# it takes over from, or its product with the factors. Matrices of the columns beside them: Gram, Hessian, their sums
# and factors. Counted below, and rounded up.
BLOCKS, MATRICES = 3, 6
# Of the diagonal: what a semidefinite Gram matrix may lack to be definite. Set by judgement.
ROUNDING_RIDGE = 1e-10


def count_bytes(n_columns: int, n_rows: int) -> int:
    """Return the memory of a curvature with this many columns and sampled rows."""
    return 8 * n_columns * (BLOCKS * n_rows + MATRICES * n_columns)


# Columns, a step on them (intercept last), and the change it made in the exact gradient.
_SecantPair = tuple[Ints, Floats, Floats]


class Curvature:
    """Approximate Hessian of the loss, and of the penalty, on a growing set of columns, the intercept last."""

    def __init__(self, features: Columns, loss: BagLoss, random: np.random.Generator) -> None:
        self.features = features
        self.loss = loss
        self.random = random
        self.columns: Ints = np.empty(0, dtype=np.int64)
        self.is_built = False
        self.is_fresh = False
        self.generosity = 1
        self._position = np.full(features.n_features, -1, dtype=np.int64)
        self._ridge: Floats | None = None

    @property
    def can_learn(self) -> bool:
        """Whether an approximation is in use and can take another secant pair."""
        return self._safe > 0 and len(self._pairs) < MAX_PAIRS

    @property
    def sample_size(self) -> int:
        """Rows that the next refresh draws; fewer than it should where memory does not allow more."""
        size, n_columns = self.generosity * sample_size(len(self.columns)), len(self.columns)
        parts = (self.loss.n_plain, self.loss.n_rows - self.loss.n_plain)
        while size > max(1, n_columns):
            if self._fits(n_columns, sum(count_sampled(n_rows, size) for n_rows in parts)):
                break
            size //= 2
        return size

    def has_room(self, columns: Ints) -> bool:
        """Whether those of the columns that are not known yet can be added to the sampled rows."""
        n_new = int(np.count_nonzero(self._position[columns] < 0))
        return not n_new or self._fits(len(self.columns) + n_new, self._block.shape[1])

    def _fits(self, n_columns: int, n_rows: int) -> bool:
        return count_bytes(n_columns, n_rows) <= self.features.sample_bytes

    def matrix(self, columns: Ints) -> Floats:
        """Hessian with the ridge on the given columns (all of them known here) and the intercept."""
        index = self._index(columns)
        H = np.ascontiguousarray(self._hessian[np.ix_(index, index)])
        if self._ridge is not None:
            H[np.diag_indices(len(columns))] += self._ridge[columns]
        return H

    def set_ridge(self, ridge: Floats) -> None:
        """Take the penalty's curvature, one number a column; where it fell, see to it that the sum stays positive."""
        before, self._ridge = self._ridge, ridge
        if self.is_built and before is not None and (ridge < before)[self.columns].any():
            self._settle()
            self._apply_pairs()

    def refresh(self, z: Floats, columns: Ints) -> None:
        """Build the matrix again at scores z."""
        self._set_columns(columns)
        self._pairs: deque[_SecantPair] = deque(maxlen=MAX_PAIRS)
        self._room = self._block = np.empty((0, 0))  # makes room for the next
        self._sample = RowSample.draw(self.loss, z, self.sample_size, self.random)
        self._room = self._block = self._sample.block(self.features, columns)
        self._safe = 0.0
        self._gram = self._product(self._block, self._block)
        self._settle()
        self.is_built = self.is_fresh = True

    def extend(self, columns: Ints) -> None:
        """Add those of the columns that are not known yet, on the rows of the last refresh."""
        new = columns[self._position[columns] < 0]
        if not len(new):
            return
        known = len(self.columns)
        block = self._block = self._grow_block(known, self._sample.block(self.features, new))
        gram = np.empty((len(block), len(block)))
        gram[:known, :known] = self._gram[:known, :known]
        gram[known:] = self._product(block[known:], block)
        gram[:known, known:] = gram[known:, :known].T
        self._gram = gram
        self._set_columns(np.concatenate([self.columns, new]))
        self._settle()
        self._apply_pairs()

    def _grow_block(self, known: int, added: Floats) -> Floats:
        """Put rows behind the first `known` ones, where there is room; else move to half as much room again."""
        n_rows = known + len(added)
        if n_rows > len(self._room):
            room = np.empty((n_rows + n_rows // 2, added.shape[1]))
            room[:known] = self._block[:known]
            self._room = room
        self._room[known:n_rows] = added
        return self._room[:n_rows]

    def correct(self, columns: Ints, step: Floats, change: Floats) -> None:
        """Learn from a step (intercept last) and the change it made in the exact gradient."""
        pair = columns, step, change
        if self._apply(pair):
            self._pairs.append(pair)

    def _apply_pairs(self) -> None:
        for pair in self._pairs:
            self._apply(pair)

    def _apply(self, pair: _SecantPair) -> bool:
        """BFGS update of loss and ridge together; skipped where the pair shows no positive curvature."""
        columns, moved, seen = pair
        index = self._index(columns)
        step = np.zeros(len(self._hessian))
        step[index] = moved
        images = self._hessian @ step
        if self._ridge is not None:
            ridge = self._known_ridge()
            images, seen = images + ridge * step, seen + ridge[index] * moved
        inner, bend = float(moved @ seen), float(step @ images)
        if inner <= SMALLEST_BEND * np.linalg.norm(moved) * np.linalg.norm(seen) or bend <= 0:
            return False
        change = images.copy()
        change[index] = seen
        self._hessian += np.stack([change / inner, images / -bend], axis=1) @ np.stack([change, images])
        return True

    def _known_ridge(self) -> Floats:
        """Ridge on the known columns, and 0 for the intercept."""
        ridge = np.zeros(len(self.columns) + 1)
        if self._ridge is not None:
            ridge[:-1] = self._ridge[self.columns]
        return ridge

    def _index(self, columns: Ints) -> Ints:
        return np.append(self._position[columns], len(self.columns))

    def _set_columns(self, columns: Ints) -> None:
        self._position[self.columns] = -1
        self.columns = columns
        self._position[columns] = np.arange(len(columns))

    def _product(self, left: Floats, right: Floats) -> Floats:
        factors = self._sample.factors(self._safe)
        return np.asarray((left if factors is None else left * factors) @ right.T)

    def _settle(self) -> None:
        """Take the Gram matrix for the Hessian, made safer until it is positive definite."""
        if self._sample.factors(self._safe) is not None:
            for safe in BLENDS[BLENDS.index(self._safe) + 1 :]:
                if _is_positive_definite(self._gram, self._known_ridge()):
                    break
                self._gram = self._gram + (safe - self._safe) * self._sample.stand_in_change(self._block)
                self._safe = safe
        self._hessian = self._gram.copy()


def _is_positive_definite(H: Floats, ridge: Floats) -> bool:
    """Whether H with this ridge, and one of rounding size, has a Cholesky factor."""
    rounding = ROUNDING_RIDGE * np.abs(np.diag(H)) + np.finfo(float).tiny
    try:
        cholesky(H + np.diag(rounding + ridge), check_finite=False)
    except LinAlgError:
        return False
    return True
