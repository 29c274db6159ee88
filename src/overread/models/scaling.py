"""From the user's matrix to the solver's: one standardized feature per row, in the order of the loss.

The copy is the only one made of X, and column-major features that need no scaling are not copied at all. Each
column is first divided by a power of two near its largest value, so that squares neither overflow nor underflow,
then centred and divided by its standard deviation, in float64. A matrix in a file is read once, for these numbers, and
stays there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.bags import StoredInstances
from overread.bags.instances import Matrix
from overread.errors import InvalidInputError
from overread.models._kernels import describe_rows, standardize_rows
from overread.models.columns.columns import Columns
from overread.models.columns.held import HeldColumns
from overread.models.columns.room import room_for_columns
from overread.models.columns.scaling import constant_share, describe_columns
from overread.models.columns.spread import SpreadColumns
from overread.models.columns.stored import StoredColumns

__all__ = ["Design", "make_design"]

Floats = NDArray[np.float64]

# Rows copied at once: a block of a thousand float64 columns is 8 MB. Chosen by eye.
ROWS_PER_BLOCK = 1024
# Far below where squares, summed over rows, overflow; from when these sums were in float32, of 3.4e38 at most.
LARGEST_UNSCALED = 1e15
# In deviations: features whose mean is smaller are used as they are, for speed; the intercept takes up the rest. Chosen
# by eye.
SMALL_MEAN = 0.1


@dataclass(frozen=True)
class Design:
    """Standardized features and the way back: coefficient on the user's scale = w / scale.

    Attributes
    ----------
    columns
        (x - center) / scale, in the precision of the input.
    center, scale
        Per feature; scale is 0 for a feature that was left out because it does not vary.
    norms
        Euclidean norm of each standardized feature.
    vanishing
        Features left out because all their values are below the smallest normal number.
    """

    columns: Columns
    center: Floats
    scale: Floats
    norms: Floats
    vanishing: NDArray[np.int64]

    def to_user(self, w: Floats, b: float) -> tuple[Floats, float]:
        """Coefficients and intercept on the scale of the user's features."""
        used = self.scale > 0
        coefficients = np.zeros_like(w)
        coefficients[used] = w[used] / self.scale[used]
        return coefficients, float(b - coefficients @ self.center)

    def from_user(self, coefficients: Floats, intercept: float) -> tuple[Floats, float]:
        """Undo `to_user`."""
        return coefficients * self.scale, float(intercept + coefficients @ self.center)


def make_design(
    X: Matrix,
    order: NDArray[np.int64],
    row_weight: Floats,
    *,
    center: bool,
    standardize: bool,
    memory_mb: float | None = None,
) -> Design:
    """Copy X (n x d) into a `Design`, rows in the given order.

    Parameters
    ----------
    X
        Finite values, float32 or float64; in memory, or in a file.
    order
        Row i of the design is row order[i] of X.
    row_weight
        How often each row of X counts in means and deviations.
    center
        Whether to subtract the mean (when there is an intercept to absorb it).
    standardize
        Whether to divide by the standard deviation (without centring: by the root mean square).
    memory_mb
        Memory that the process may take with a matrix in a file; None: half of what the machine has.
    """
    n, d = X.shape
    weight = row_weight[order] / row_weight.sum()
    if isinstance(X, StoredInstances):
        return _make_stored_design(
            X, order, weight, center=center, standardize=standardize, memory_mb=memory_mb
        )
    if not standardize:
        shared = _share_design(X, order, weight, center=center)
        if shared is not None:
            return shared
    Xt = np.empty((d, n), dtype=X.dtype)
    if X.flags.f_contiguous:
        np.take(X.T, order, axis=1, out=Xt, mode="clip")
    else:
        for first in range(0, n, ROWS_PER_BLOCK):
            block = slice(first, first + ROWS_PER_BLOCK)
            Xt[:, block] = X[order[block]].T
    means, scales, norms, largest = (np.empty(d) for _ in range(4))
    standardize_rows(Xt, weight, center, standardize, constant_share(X.dtype), means, scales, norms, largest)
    if not standardize:
        _refuse_overflow(np.where(scales > 0, largest, 0.0))
    return Design(HeldColumns(Xt), means, scales, norms, _find_vanishing(largest, X.dtype))


def _make_stored_design(
    X: StoredInstances,
    order: NDArray[np.int64],
    weight: Floats,
    *,
    center: bool,
    standardize: bool,
    memory_mb: float | None,
) -> Design:
    """Read the file once, a column at a time, for the numbers by which columns are standardized later."""
    room = room_for_columns(memory_mb, *X.shape, X.dtype.itemsize)
    columns: StoredColumns | SpreadColumns
    if X.client is None:
        everything = range(X.shape[1])
        numbers = describe_columns(X, everything, order, weight, center=center, standardize=standardize)
        columns = StoredColumns(X, order, numbers.scaling(standardize=standardize), room.columns, room.sample)
        columns.n_read = X.shape[1]
    else:
        columns = SpreadColumns(X, order, weight, room.columns, room.columns + room.sample)
        numbers = columns.describe(center=center, standardize=standardize)
        columns.standardize(numbers.scaling(standardize=standardize))
    if not standardize:
        _refuse_overflow(np.where(numbers.scales > 0, numbers.largest, 0.0))
    vanishing = _find_vanishing(numbers.largest, X.dtype)
    return Design(columns, numbers.means, numbers.scales, numbers.norms, vanishing)


def _find_vanishing(largest: Floats, dtype: np.dtype[np.floating]) -> NDArray[np.int64]:
    return np.flatnonzero((largest > 0) & (largest < float(np.finfo(dtype).tiny)))


def _share_design(
    X: NDArray[np.floating], order: NDArray[np.int64], weight: Floats, *, center: bool
) -> Design | None:
    """Design that is X itself, where its layout and means allow; None where a copy is needed.

    Columns with a mean that is small beside their deviation need no centring: the intercept takes it up.
    """
    n, d = X.shape
    if not (X.flags.f_contiguous and X.flags.writeable and np.array_equal(order, np.arange(n))):
        return None
    means, spreads, norms = (np.empty(d) for _ in range(3))
    describe_rows(X.T, weight, means, spreads, norms)
    if not norms.max() <= LARGEST_UNSCALED:
        return None
    if center and not (np.abs(means) <= SMALL_MEAN * spreads).all():
        return None
    return Design(HeldColumns(X.T), np.zeros(d), np.ones(d), norms, np.empty(0, dtype=np.int64))


def _refuse_overflow(largest: Floats) -> None:
    """Refuse columns whose products would overflow without scaling."""
    if largest.max() > LARGEST_UNSCALED:
        raise InvalidInputError(
            f"column {largest.argmax()} of X reaches {largest.max():.3g}; products would overflow. "
            "Use standardize=True"
        )
