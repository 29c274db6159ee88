"""One weight per bag: the paper's normalizations and reader weights, reduced to a single vector.

"From the computational view point any of these normalizations is equivalent to a per bag-normalization"
(the paper, section 4.1). With sample weights c (repetitions) and reader weights a = n / n_max:

    none    F = sum c a D
    bags    F = (1/M) sum c a D,                            M = sum c
    class   F = (1/M+) sum_{p>0} c a D + (1/M-) sum_{p=0} c a D
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overread.bags import Bags, SoftLabels, read_labels
from overread.errors import InvalidInputError

__all__ = ["NormalizationName", "WeighedBags", "bag_weights", "check_weights", "weigh_bags"]

NormalizationName = Literal["none", "bags", "class"]
NORMALIZATIONS = ("none", "bags", "class")


def check_weights(weight: object, n_bags: int, name: str) -> NDArray[np.float64]:
    """Return one finite weight >= 0 per bag, not all zero; None means ones."""
    if weight is None:
        return np.ones(n_bags)
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers: {error}") from error
    if values.ndim == 0:
        values = np.full(n_bags, values)
    if values.shape != (n_bags,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}; give one weight for each of the {n_bags} bags"
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        raise InvalidInputError(f"{name}[{wrong[0]}] is {values[wrong[0]]}; weights must be finite and >= 0")
    if not values.any():
        raise InvalidInputError(f"{name} is zero for every bag: at least one weight must be positive")
    return values


def bag_weights(
    labels: NDArray[np.float64],
    sample_weight: NDArray[np.float64],
    reader_weight: NDArray[np.float64],
    normalization: str,
) -> NDArray[np.float64]:
    """Weight of each bag's divergence in the objective; see the module for the three formulas."""
    if normalization not in NORMALIZATIONS:
        raise InvalidInputError(f"normalization={normalization!r} is unknown; choose one of {NORMALIZATIONS}")
    if normalization == "none":
        return sample_weight * reader_weight
    largest = sample_weight.max()
    relative = sample_weight / largest
    if normalization == "bags":
        return relative / relative.sum() * reader_weight
    positive = labels > 0
    weights = np.zeros_like(relative)
    for group in (positive, ~positive):
        total = relative[group].sum()
        if total > 0:
            weights[group] = relative[group] / total * reader_weight[group]
    return weights


@dataclass(frozen=True)
class WeighedBags:
    """Labels, sample weights and the final weight of each bag, all checked."""

    labels: SoftLabels
    sample_weight: NDArray[np.float64]
    weight: NDArray[np.float64]


def weigh_bags(
    bags: Bags, y: Any, *, sample_weight: Any, reader_weight: Any, normalization: str
) -> WeighedBags:
    """Check labels and weights against the bags; reader weights default to what the bags carry."""
    bags.check_labels(y)
    labels = read_labels(y)
    if len(labels.probability) != len(bags):
        raise InvalidInputError(
            f"y has {len(labels.probability)} labels for {len(bags)} bags: inconsistent numbers of samples"
        )
    repetitions = check_weights(sample_weight, len(bags), "sample_weight")
    if reader_weight is None:
        reader_weight = bags.reader_weight
    readers = check_weights(reader_weight, len(bags), "reader_weight")
    weight = bag_weights(labels.probability, repetitions, readers, normalization)
    total = float(weight.sum())
    if not (np.isfinite(total) and total > 0):
        raise InvalidInputError(
            "sample_weight times reader_weight is 0 for every bag, or their sum is too large for a float"
        )
    return WeighedBags(labels, repetitions, weight)
