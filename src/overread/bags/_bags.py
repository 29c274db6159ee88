"""``Bags``: instances in one flat matrix, and where each bag of them begins and ends.

To scikit-learn a ``Bags`` is a sequence of samples: it has a length, a shape ``(n_bags,)`` and fancy
indexing, and a sample is a whole bag. It refuses to turn into a numpy array, because what came out would be
instances, or a third axis, and the number of samples would no longer be the number of bags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import brief, facts_as_html
from overread.bags import _validation as check
from overread.bags._stored_instances import StoredInstances
from overread.bags._validation import (
    FloatMatrix,
    InstanceMatrix,
    Matrix,
    offsets_of_sizes,
    read_instances,
    take_rows,
)
from overread.errors import InputTypeError, InvalidInputError

PER_BAG = ("bag_ids", "labels", "reader_weight", "groups", "bag_table")
PER_INSTANCE = ("instance_ids",)
CARRIED = ("labels", "reader_weight", "groups", "instance_ids", "bag_table")


class Bags:
    """An immutable sequence of bags of instances, with the facts of each bag.

    The arrays are checked, and shared with the caller where no conversion is needed. Make one with
    :meth:`from_ids`, :meth:`from_list` or :meth:`singletons`, or from offsets directly.

    Parameters
    ----------
    instances : array-like, pandas.DataFrame or StoredInstances of shape (n_instances, n_features)
        Finite numbers; the instances of a bag are neighbours. float32 and float64 are kept. `StoredInstances` stay in
        their file: :attr:`matrix` is then that, and :attr:`instances` refuses.
    offsets : array-like of int, shape (n_bags + 1,)
        Bag m is ``instances[offsets[m]:offsets[m + 1]]``; from 0 to n_instances, strictly increasing.
    bag_ids : sequence of hashable, optional
        One different id a bag; 0, 1, ... where absent.
    feature_names : sequence of str, optional
        Names of the columns; a data frame brings its own.
    labels : array-like of float in [0, 1], optional
        Soft labels the bags carry. ``fit`` compares them with its ``y`` (:meth:`check_labels`), since
        scikit-learn sometimes recodes soft labels before ``fit`` sees them.
    reader_weight : array-like of float, optional
        The paper's a = n_readings / n_max of each bag (appendix, "Different number of annotators").
    groups : sequence of hashable, optional
        What must stay on one side of a split: the patient, or the image, of each bag.
    instance_ids : sequence of hashable, optional
        One different id an instance.
    bag_table : pandas.DataFrame, optional
        One row a bag, anything else that is known of it.
    source_rows : array-like of int, optional
        Row of each instance in the matrix the bags were made from; 0, 1, ... where absent.

    Examples
    --------
    >>> bags = Bags.from_ids([[1.0], [2.0], [3.0]], ["a", "b", "a"], labels=[0.25, 0.0])
    >>> bags
    Bags(2 bags, 3 instances, 1 features, float64, largest bag 2, carrying labels)
    >>> bags[0].ravel().tolist()
    [1.0, 3.0]
    """

    matrix: Matrix
    offsets: NDArray[np.int64]
    bag_ids: NDArray[Any]
    feature_names: tuple[str, ...] | None
    labels: NDArray[np.float64] | None
    reader_weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    instance_ids: NDArray[Any] | None
    bag_table: pd.DataFrame | None
    source_rows: NDArray[np.int64]

    # numpy must neither spread a Bags over an array nor broadcast arithmetic into it.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        instances: Any,
        offsets: Any,
        *,
        bag_ids: Any = None,
        feature_names: Sequence[str] | None = None,
        labels: Any = None,
        reader_weight: Any = None,
        groups: Any = None,
        instance_ids: Any = None,
        bag_table: pd.DataFrame | None = None,
        source_rows: Any = None,
    ) -> None:
        matrix = read_instances(instances, feature_names=feature_names)
        checked_offsets = check.read_offsets(offsets, len(matrix.values))
        n_bags = len(checked_offsets) - 1
        ids = check.read_bag_ids(bag_ids, n_bags)
        for position in np.flatnonzero(np.diff(checked_offsets) == 0):
            _refuse_empty(ids[position])
        self.__dict__.update(
            matrix=matrix.values,
            offsets=checked_offsets,
            bag_ids=ids,
            feature_names=matrix.feature_names,
            labels=check.read_bag_numbers(labels, ids, "labels"),
            reader_weight=check.read_bag_numbers(reader_weight, ids, "reader_weight"),
            groups=check.read_groups(groups, n_bags),
            instance_ids=check.read_instance_ids(instance_ids, checked_offsets, ids),
            bag_table=check.read_bag_table(bag_table, n_bags),
            source_rows=check.read_source_rows(source_rows, len(matrix.values)),
        )

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"Bags cannot be changed: use with_labels, with_instances, ... to replace {name}"
        )

    @classmethod
    def from_ids(cls, X: Any, bags: Any, *, instance_ids: Any = None, **per_bag: Any) -> Bags:
        """Group the rows of a matrix by the bag id of each row.

        Parameters
        ----------
        X : array-like or pandas.DataFrame of shape (n_instances, n_features)
            The instances. They are copied only if the rows of some bag are not neighbours.
        bags : sequence of hashable, shape (n_instances,)
            The bag of each row. Bags come in order of first appearance, rows of a bag in their order in
            ``X``; ``source_rows`` leads back.
        instance_ids : sequence of hashable, optional
            One id per row. An id that comes twice is refused: an instance is in one bag only.
        **per_bag
            ``labels``, ``reader_weight``, ``groups``, ``bag_table``, ``feature_names`` of :class:`Bags`; what
            is per bag is in the order of first appearance of the bags.
        """
        matrix = read_instances(X)
        bag_of_row, bag_ids = check.read_ids(bags, n_rows=len(matrix.values), name="bags")
        order = np.argsort(bag_of_row, kind="stable")
        if instance_ids is not None:
            codes, ids = check.read_ids(instance_ids, n_rows=len(order), name="instance_ids")
            instance_ids = ids[codes][order]
        return cls(
            InstanceMatrix(take_rows(matrix.values, order), matrix.feature_names),
            offsets_of_sizes(np.bincount(bag_of_row, minlength=len(bag_ids))),
            bag_ids=bag_ids,
            instance_ids=instance_ids,
            source_rows=order,
            **per_bag,
        )

    @classmethod
    def from_list(cls, matrices: Sequence[Any], *, bag_ids: Any = None, **per_bag: Any) -> Bags:
        """Stack one matrix a bag; all must have the same columns.

        Parameters
        ----------
        matrices : sequence of array-like or pandas.DataFrame, each of shape (size of the bag, n_features)
            The bags.
        bag_ids : sequence of hashable, optional
            Ids of the bags; 0, 1, ... where absent.
        **per_bag
            As in :meth:`from_ids`, and ``instance_ids`` in stacked order.
        """
        ids = list(range(len(matrices)) if bag_ids is None else bag_ids)
        if not len(matrices):
            raise InvalidInputError("there are no bags: the list of matrices is empty")
        if len(ids) != len(matrices):
            raise InvalidInputError(f"bag_ids has {len(ids)} ids for {len(matrices)} bags")
        read = [_read_bag(bag_id, matrix) for bag_id, matrix in zip(ids, matrices, strict=True)]
        for bag_id, matrix in zip(ids, read, strict=True):
            if matrix.columns != read[0].columns:
                raise InvalidInputError(f"bag {bag_id!r} has other columns than bag {ids[0]!r}")
        stacked = np.concatenate([matrix.values for matrix in read])
        return cls(
            InstanceMatrix(stacked, read[0].feature_names),
            offsets_of_sizes([len(matrix.values) for matrix in read]),
            bag_ids=ids,
            **per_bag,
        )

    @classmethod
    def singletons(cls, X: Any, **per_bag: Any) -> Bags:
        """Make one bag per row: multiple-instance learning becomes supervised learning."""
        matrix = read_instances(X)
        return cls(matrix, np.arange(len(matrix.values) + 1), **per_bag)

    @classmethod
    def concatenate(cls, parts: Sequence[Bags]) -> Bags:
        """Join several ``Bags`` of the same features; what not all parts carry is dropped.

        A bag id or an instance id that is in two parts is refused. ``source_rows`` start again.
        """
        if not len(parts):
            raise InvalidInputError("there is nothing to concatenate")
        if len({(part.n_features, part.feature_names) for part in parts}) > 1:
            raise InvalidInputError(
                "the parts have different features: give them the same columns in one order"
            )
        check.refuse_shared([part.bag_ids for part in parts], "bag")
        check.refuse_shared([part.instance_ids for part in parts], "instance")
        return parts[0]._replace(
            matrix=np.concatenate([part.instances for part in parts]),
            offsets=offsets_of_sizes(np.concatenate([part.sizes for part in parts])),
            source_rows=np.arange(sum(part.n_instances for part in parts)),
            **{name: _join([getattr(part, name) for part in parts]) for name in (*PER_BAG, *PER_INSTANCE)},
        )

    @property
    def instances(self) -> FloatMatrix:
        """The flat matrix, one row an instance.

        Raises
        ------
        InputTypeError
            If the bags are of `StoredInstances`, and so what was called needs them in memory.
        """
        if isinstance(self.matrix, StoredInstances):
            raise InputTypeError(
                f"the instances of these bags stay in {self.matrix.path.name}, and this needs them in memory: "
                "bags.with_instances(bags.matrix.read(), feature_names=bags.feature_names), if they fit"
            )
        return self.matrix

    @property
    def shape(self) -> tuple[int]:
        """``(n_bags,)``: to scikit-learn the samples are the bags."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """1: a sequence of bags."""
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.matrix.dtype

    @property
    def n_instances(self) -> int:
        """Number of instances in all bags together."""
        return len(self.matrix)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of instances of each bag, the paper's K."""
        return np.diff(self.offsets)

    @property
    def bag_of_instance(self) -> NDArray[np.int64]:
        """Position of the bag of each instance."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[FloatMatrix]:
        return (self[position] for position in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> FloatMatrix: ...

    @overload
    def __getitem__(self, key: Any) -> Bags: ...

    def __getitem__(self, key: Any) -> FloatMatrix | Bags:
        """Return the instances of one bag for an integer, else the chosen bags as ``Bags``."""
        key = check.key_of_bags(key)
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            position = range(len(self))[key]
            return self.instances[self.offsets[position] : self.offsets[position + 1]]
        return self._take(check.positions_of(key, len(self)))

    def rows_of(self, bags: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the instances of some bags, one bag after the other."""
        sizes = self.sizes[bags]
        ends = np.cumsum(sizes)
        return np.repeat(self.offsets[:-1][bags] - ends + sizes, sizes) + np.arange(sizes.sum())

    def _take(self, bags: NDArray[np.int64]) -> Bags:
        if len(bags) and (np.diff(bags) == 1).all():
            rows: Any = slice(int(self.offsets[bags[0]]), int(self.offsets[bags[-1] + 1]))
        else:
            rows = self.rows_of(bags)
        return self._replace(
            matrix=_take(self.matrix, rows),
            offsets=offsets_of_sizes(self.sizes[bags]),
            source_rows=self.source_rows[rows],
            **{name: _choose(getattr(self, name), bags) for name in PER_BAG},
            **{name: _choose(getattr(self, name), rows) for name in PER_INSTANCE},
        )

    def _replace(self, **changes: Any) -> Bags:
        # The parts of a valid Bags are valid: copying them must not cost a second look at every cell.
        made = object.__new__(Bags)
        made.__dict__.update(self.__dict__, **changes)
        return made

    def to_frame(self) -> pd.DataFrame:
        """Return the instances as a data frame with their feature names; it shares memory with the bags."""
        return pd.DataFrame(self.instances, columns=self.feature_names, copy=False)

    def with_instances(self, X: Any, *, feature_names: Sequence[str] | None = None) -> Bags:
        """Replace the features: the same instances in the same bags, in other coordinates.

        Parameters
        ----------
        X : array-like or pandas.DataFrame of shape (n_instances, any)
            New rows, in the order of :attr:`instances`.
        feature_names : sequence of str, optional
            Names of the new columns; a data frame brings its own.
        """
        matrix = read_instances(X, feature_names=feature_names)
        if len(matrix.values) != self.n_instances:
            raise InvalidInputError(f"{len(matrix.values)} rows for {self.n_instances} instances")
        return self._replace(matrix=matrix.values, feature_names=matrix.feature_names)

    def with_labels(self, labels: Any) -> Bags:
        """Carry other labels, or none with ``None``."""
        return self._replace(labels=check.read_bag_numbers(labels, self.bag_ids, "labels"))

    def with_groups(self, groups: Any) -> Bags:
        """Carry other groups, or none with ``None``."""
        return self._replace(groups=check.read_groups(groups, len(self)))

    def with_reader_weight(self, reader_weight: Any) -> Bags:
        """Carry other reader weights, or none with ``None``."""
        return self._replace(
            reader_weight=check.read_bag_numbers(reader_weight, self.bag_ids, "reader_weight")
        )

    def check_labels(self, y: Any) -> None:
        """Refuse a ``y`` that is not what the bags carry.

        scikit-learn's ``cross_val_predict(method="predict_proba")`` label-encodes {0, 0.25} to {0, 1} before
        ``fit``; the carried labels are how ``fit`` notices.

        Raises
        ------
        InvalidInputError
            If the bags carry labels and ``y`` differs in any of them.
        """
        if self.labels is None or y is self.labels:
            return
        given = np.asarray(y).reshape(-1)
        if given.shape != self.labels.shape:
            raise InvalidInputError(f"y has {len(given)} labels for {len(self)} bags")
        differ = np.flatnonzero(given != self.labels) if given.dtype.kind in "biuf" else np.arange(len(given))
        if len(differ):
            first = int(differ[0])
            raise InvalidInputError(
                f"y differs from the labels the bags carry, first at bag {self.bag_ids[first]!r}: y is "
                f"{given[first]}, the bag carries {self.labels[first]}. scikit-learn's cross_val_predict "
                "recodes soft labels: use overread.bags.out_of_fold. To fit other labels on purpose, "
                "use bags.with_labels(y)."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        parts = ("feature_names", "dtype", "instances", "offsets", *PER_BAG, *PER_INSTANCE)
        return all(_are_equal(getattr(self, name), getattr(other, name)) for name in parts)

    def __repr__(self) -> str:
        carried = [name for name in CARRIED if getattr(self, name) is not None]
        return (
            f"Bags({len(self)} bags, {self.n_instances} instances, {self.n_features} features, {self.dtype}, "
            f"largest bag {self.sizes.max(initial=0)}{', carrying ' * bool(carried)}{', '.join(carried)})"
        )

    def _repr_html_(self) -> str:
        facts = ("n_instances", "n_features", "dtype", *CARRIED)
        return facts_as_html(f"Bags, {len(self)}", {name: brief(getattr(self, name)) for name in facts})

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise InputTypeError(
            "Bags is not an array: numpy or scikit-learn would take instances for samples. Use "
            "bags.instances for the flat matrix, wrap a transformer as PerInstance(transformer), and use "
            "an estimator that knows bags."
        )


def _take(matrix: Matrix, rows: Any) -> Matrix:
    if not isinstance(rows, slice):
        return take_rows(matrix, rows)
    if isinstance(matrix, StoredInstances):
        return matrix.take_rows(np.arange(rows.start, rows.stop))
    return matrix[rows]


def _choose(values: Any, rows: Any) -> Any:
    if isinstance(values, pd.DataFrame):
        return values.iloc[rows].reset_index(drop=True)
    return None if values is None else values[rows]


def _join(values: Sequence[Any]) -> Any:
    if any(value is None for value in values):
        return None
    if isinstance(values[0], pd.DataFrame):
        return pd.concat(values, ignore_index=True)
    return np.concatenate(values)


def _are_equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return bool(np.array_equal(first, second))
    if isinstance(first, pd.DataFrame) and isinstance(second, pd.DataFrame):
        return first.equals(second)
    return type(first) is type(second) and bool(first == second)


def _refuse_empty(bag_id: Any) -> NoReturn:
    raise InvalidInputError(f"bag {bag_id!r} is empty; a bag needs at least one instance: drop it")


def _read_bag(bag_id: Any, matrix: Any) -> InstanceMatrix:
    if len(matrix) == 0:
        _refuse_empty(bag_id)
    try:
        return read_instances(matrix)
    except InvalidInputError as error:
        raise type(error)(f"bag {bag_id!r}: {error}") from error
