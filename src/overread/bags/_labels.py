"""Reading labels: two classes, or soft labels, and nothing that could be mistaken for either.

Any two discrete values are classes, the larger (or later in sorted order) being the positive one. Numbers in
[0, 1] that are not all 0 or 1 are soft labels: probabilities of the positive class. Anything else is refused
in the words scikit-learn uses, because its tools look for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from overread._text import short_repr
from overread.errors import InputTypeError, InvalidInputError


@short_repr()
@dataclass(frozen=True)
class SoftLabels:
    """Labels as probabilities of the positive class, the paper's p-tilde, and the negative and positive class."""

    probability: NDArray[np.float64]
    classes: NDArray[Any]

    @property
    def is_hard(self) -> bool:
        """Whether every label is 0 or 1."""
        return bool(np.isin(self.probability, (0.0, 1.0)).all())

    @property
    def is_constant(self) -> bool:
        """Whether all labels say 0, or all say 1: nothing to separate."""
        return bool((self.probability == 0).all() or (self.probability == 1).all())


def read_labels(y: Any, *, classes: NDArray[Any] | None = None) -> SoftLabels:
    """Read the labels of bags: two discrete values (numbers, booleans or text), or numbers in [0, 1].

    With the classes of a fitted model they are read as these, also where only one of them occurs. Labels that are
    all 0 or all 1 get the classes [0, 1]. What is refused is named with its row.
    """
    values = _as_vector(y)
    if values.dtype.kind == "f":
        _refuse_nonfinite(values)
    with np.errstate(invalid="ignore"):
        kind = type_of_target(values, input_name="y")
    if classes is not None and not _are_zero_and_one(classes):
        return SoftLabels(_positions_in(values, classes), np.asarray(classes))
    if kind == "continuous":
        return SoftLabels(
            _probabilities(values), np.array([0, 1]) if classes is None else np.asarray(classes)
        )
    if kind != "binary":
        raise InvalidInputError(
            f"Only binary classification is supported. The type of the target is {kind}: y must hold two "
            "classes, or soft labels in [0, 1]."
        )
    known = _two_classes(np.unique(values)) if classes is None else np.asarray(classes)
    return SoftLabels(_positions_in(values, known), known)


def _as_vector(y: Any) -> NDArray[Any]:
    if y is None:
        raise InvalidInputError("This estimator requires y to be passed, but the target y is None")
    if isinstance(y, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        y = y.to_numpy()
    try:
        values = column_or_1d(y, warn=True)
    except ValueError as error:
        raise InvalidInputError(f"labels must be one value per bag: {error}") from error
    if len(values) == 0:
        raise InvalidInputError("y has 0 sample(s); there are no labels to learn from")
    return _unbox(values) if values.dtype == object else values


def _unbox(values: NDArray[Any]) -> NDArray[Any]:
    missing = np.flatnonzero(pd.isna(values))
    if len(missing):
        raise InvalidInputError(f"Input y contains NaN at row {missing[0]}: {values[missing[0]]!r}")
    if all(isinstance(value, bool | np.bool_) for value in values):
        return values.astype(bool)
    if all(isinstance(value, Real) for value in values):
        return np.array(values.tolist())
    if all(isinstance(value, str) for value in values):
        return values
    raise InputTypeError(
        "Unknown label type: unknown. y mixes kinds of labels; use two classes or soft labels"
    )


def _refuse_nonfinite(values: NDArray[Any]) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(bad[0])
        found = (
            "NaN" if np.isnan(values[row]) else f"infinity or a value too large for dtype('{values.dtype}')"
        )
        raise InvalidInputError(f"Input y contains {found}. It is at row {row}.")


def _probabilities(values: NDArray[Any]) -> NDArray[np.float64]:
    numbers = values.astype(np.float64)
    outside = np.flatnonzero((numbers < 0) | (numbers > 1))
    if len(outside):
        row = int(outside[0])
        raise InvalidInputError(
            "Unknown label type: continuous. Soft labels must lie in [0, 1]; "
            f"y row {row} is {float(numbers[row])!r}."
        )
    return numbers


def _are_zero_and_one(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "biuf" and bool(classes[0] == 0 and classes[1] == 1)


def _two_classes(found: NDArray[Any]) -> NDArray[Any]:
    if len(found) == 2:
        return found
    if found.dtype.kind in "biuf" and found[0] in (0, 1):
        return np.array([0, 1], dtype=found.dtype)
    raise InvalidInputError(f"y holds one class only, {found[0]!r}; two classes, or soft labels, are needed")


def _positions_in(values: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    unknown = np.flatnonzero((values != classes[0]) & (values != classes[1]))
    if len(unknown):
        row = int(unknown[0])
        raise InvalidInputError(
            f"y row {row} is {values[row]!r}, which is none of the classes {list(classes)}"
        )
    return (values == classes[1]).astype(np.float64)
