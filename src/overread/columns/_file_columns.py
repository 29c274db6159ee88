"""Features in a file: columns of the working set are kept as far as memory allows, the others are read when needed.

A column is read whole, brought into the order of the loss and standardized each time, by numbers from its first
reading, which equal those of the matrix in memory bit for bit. The next column is read while one is processed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from overread.bags import StoredInstances
from overread.columns._columns import Columns, MemoryColumns
from overread.columns._kernels import add_columns, dot_columns, rescale_row, standardize_rows, take_rows
from overread.errors import InvalidInputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# Numbers of each column, one row each: the last is the largest absolute value; the norm is that after standardization.
NUMBERS = ("mean", "scale", "norm", "largest")


def find_scaling(numbers: Floats, *, standardize: bool) -> Floats:
    """Return unit, middle and divisor, one row each: a standardized column is (x unit - middle) / divisor, else 0.

    The same bits as from `standardize_rows`.
    """
    means, scales, _, largest = numbers
    unit = np.ldexp(1.0, -np.frexp(largest)[1]) if standardize else np.ones(len(largest))
    return np.stack([unit, means * unit, scales * unit])


def describe_columns(
    source: StoredInstances,
    columns: Sequence[int] | Ints,
    order: Ints | None,
    weight: Floats,
    *,
    center: bool,
    standardize: bool,
) -> Floats:
    """Read columns once, for their `NUMBERS`."""
    numbers, constant = np.empty((len(NUMBERS), len(columns))), constant_share(source.dtype)
    for place, values in enumerate(read_ahead(source.read_columns(columns))):
        column = (values if order is None else values[order])[None]
        standardize_rows(column, weight, center, standardize, constant, *numbers[:, place : place + 1])
    return numbers


def constant_share(dtype: np.dtype[np.floating]) -> float:
    """Deviation, as a share of the mean, up to which a column does not vary."""
    return 10.0 * float(np.finfo(dtype).eps)


def read_ahead(values: Iterable[NDArray[np.floating]]) -> Iterator[NDArray[np.floating]]:
    """Yield values one by one while another thread fetches the next."""
    source = iter(values)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, source, None)
        while (value := coming.result()) is not None:
            coming = reader.submit(next, source, None)
            yield value


# Columns that share each load of the residual in the solver's products.
COLUMNS_AT_ONCE = 4


class FileColumns(Columns):
    """Columns of a file, `capacity` of which can be held in n_bytes; row i is row order[i] of the source."""

    def __init__(
        self,
        source: StoredInstances,
        order: Ints,
        scaling: Floats,
        n_bytes: int,
        sample_bytes: float = np.inf,
    ) -> None:
        self.source = source
        self.n_rows, self.n_features = source.shape
        self._is_sorted = bool((np.diff(order) == 1).all())
        self._order = order
        self._scaling = scaling
        self.capacity = min(self.n_features, max(0, n_bytes // (self.n_rows * source.dtype.itemsize)))
        # Memory is allocated when it is written to, so unused capacity costs nothing.
        self._held = MemoryColumns(np.empty((self.capacity, self.n_rows), dtype=source.dtype))
        self._slot = np.full(self.n_features, -1, dtype=np.int64)
        self._owner = np.full(self.capacity, -1, dtype=np.int64)
        self._wanted_at = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self.sample_bytes = sample_bytes

    def dot(self, columns: Ints, residual: Floats, *, hold: bool = False) -> Floats:
        """Return X[:, columns]' residual; hold reads the columns into memory first, as far as they fit."""
        if hold:
            self.hold(columns)
        out = np.empty(len(columns))
        slots = self._slot[columns]
        out[slots >= 0] = self._held.dot(slots[slots >= 0], residual)
        places = np.flatnonzero(slots < 0)
        for group, block in self.read_groups(columns[places], COLUMNS_AT_ONCE):
            found = np.zeros(len(block))
            dot_columns(block, np.arange(len(block)), 0, self.n_rows, residual, found)
            out[places[group]] = found
        return out

    def add(self, columns: Ints, factors: Floats, scores: Floats) -> None:
        """Add X[:, columns] factors to scores."""
        slots = self._slot[columns]
        self._held.add(slots[slots >= 0], factors[slots >= 0], scores)
        rest = slots < 0
        for group, block in self.read_groups(columns[rest], COLUMNS_AT_ONCE):
            add_columns(block, np.arange(len(block)), factors[rest][group], 0, self.n_rows, scores)

    def take_rows(self, columns: Ints, rows: Ints, factor: Floats, out: Floats) -> None:
        """Write X[rows[i], columns[c]] factor[i] to out[c, i]."""
        self.hold(columns)
        slots = self._slot[columns]
        held = np.flatnonzero(slots >= 0)
        if len(held) == len(columns):
            self._held.take_rows(slots, rows, factor, out)
            return
        block = np.empty((len(held), len(rows)))
        self._held.take_rows(slots[held], rows, factor, block)
        out[held] = block
        places = np.flatnonzero(slots < 0)
        for group, block_read in self.read_groups(columns[places], COLUMNS_AT_ONCE):
            found = np.empty((len(block_read), len(rows)))
            take_rows(block_read, np.arange(len(block_read)), rows, factor, found)
            out[places[group]] = found

    def held(self, columns: Ints) -> tuple[NDArray[np.floating], Ints] | None:
        """Keep columns as far as memory allows; return the matrix and their rows if all fit."""
        self.hold(columns)
        slots = self._slot[columns]
        return (self._held.Xt, slots) if (slots >= 0).all() else None

    def hold(self, columns: Ints) -> None:
        """Read missing columns as far as memory allows; the least recently used are dropped."""
        self._clock += 1
        slots = self._slot[columns]
        self._wanted_at[slots[slots >= 0]] = self._clock
        missing = columns[slots < 0]
        free = np.argsort(self._wanted_at, kind="stable")
        free = free[self._wanted_at[free] < self._clock][: len(missing)]
        missing = missing[: len(free)]
        for slot, column, values in zip(free, missing, self._read(missing), strict=True):
            if self._owner[slot] >= 0:
                self._slot[self._owner[slot]] = -1
            self._held.Xt[slot] = values
            self._owner[slot], self._slot[column], self._wanted_at[slot] = column, slot, self._clock

    def read_groups(self, columns: Ints, size: int) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Yield columns in blocks of a size, in one matrix that is reused; none is kept."""
        block = np.empty((min(size, len(columns)), self.n_rows), dtype=self.source.dtype)
        filled = 0
        for place, values in enumerate(self._read(columns)):
            block[filled] = values
            filled += 1
            if filled == len(block) or place == len(columns) - 1:
                yield slice(place + 1 - filled, place + 1), block[:filled]
                filled = 0

    def load(self, columns: Ints) -> tuple[NDArray[np.floating], Ints]:
        """Keep columns, each read once; return their matrix and their rows."""
        if len(columns) > self.capacity:
            raise InvalidInputError(
                f"{len(columns)} columns of {self.n_rows} rows do not fit in memory; {self.capacity} do"
            )
        self.hold(columns)
        return self._held.Xt, self._slot[columns]

    def _read(self, columns: Ints) -> Iterator[NDArray[np.floating]]:
        """Yield standardized columns one by one."""
        self.n_read += len(columns)
        for column, values in zip(columns, read_ahead(self.source.read_columns(columns)), strict=True):
            chosen = values if self._is_sorted else values[self._order]
            rescale_row(chosen, *self._scaling[:, column])
            yield chosen
