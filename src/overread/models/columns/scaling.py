"""What columns of a file are standardized by: found in one read of each, applied whenever they are read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from overread.bags import StoredInstances
from overread.models._kernels import standardize_rows

__all__ = ["ColumnNumbers", "Scaling", "constant_share", "describe_columns", "read_ahead"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Scaling:
    """How a column becomes a standardized one: (x unit - middle) / divisor; a divisor of 0 makes it 0."""

    unit: Floats
    middle: Floats
    divisor: Floats


@dataclass(frozen=True)
class ColumnNumbers:
    """What was found of each column: mean, scale, norm once standardized, and largest absolute value."""

    means: Floats
    scales: Floats
    norms: Floats
    largest: Floats

    @classmethod
    def join(cls, parts: Sequence[ColumnNumbers]) -> ColumnNumbers:
        """Put the numbers of groups of columns one after the other."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))

    def scaling(self, *, standardize: bool) -> Scaling:
        """Return how columns become standardized ones, to the bit as `standardize_rows` does it."""
        unit = np.ldexp(1.0, -np.frexp(self.largest)[1]) if standardize else np.ones(len(self.largest))
        return Scaling(unit, self.means * unit, self.scales * unit)


def describe_columns(
    source: StoredInstances,
    columns: Sequence[int] | Ints,
    order: Ints | None,
    weight: Floats,
    *,
    center: bool,
    standardize: bool,
) -> ColumnNumbers:
    """Read columns once.

    Parameters
    ----------
    source, columns
        Where they are, and which.
    order
        Row i is row order[i] of the source; None: as they are.
    weight
        How much each row, in that order, counts in means and deviations; sums to 1.
    center, standardize
        As in `overread.models.scaling.make_design`.
    """
    numbers = ColumnNumbers(*(np.empty(len(columns)) for _ in range(4)))
    for place, values in enumerate(read_ahead(source.read_columns(columns))):
        one = slice(place, place + 1)
        standardize_rows(
            (values if order is None else values[order])[None],
            weight,
            center,
            standardize,
            constant_share(source.dtype),
            numbers.means[one],
            numbers.scales[one],
            numbers.norms[one],
            numbers.largest[one],
        )
    return numbers


def constant_share(dtype: np.dtype[np.floating]) -> float:
    """Deviation, as a share of the mean, up to which a column does not vary."""
    return 10.0 * float(np.finfo(dtype).eps)


def read_ahead(values: Iterable[NDArray[np.floating]]) -> Iterator[NDArray[np.floating]]:
    """Give values one by one, the next one fetched in another thread meanwhile."""
    source = iter(values)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, source, None)
        while (value := coming.result()) is not None:
            coming = reader.submit(next, source, None)
            yield value
