"""The divergence D as a function of the instance scores z alone; it knows no features and no penalty.

How the instances of a bag make the probability of the bag.

With P_k = sigma(z_k), K instances and s_k = softplus(z_k) = -log(1 - P_k):

==================  ======================================  =========================================
name                probability p of the bag                 meaning
==================  ======================================  =========================================
noisy_or            1 - prod_k (1 - P_k)                     the paper, section 4: one positive is enough
noisy_or_mean       1 - prod_k (1 - P_k)^(1/K)               the same, free of the bag's size
log_sum_exp         sigma(log mean_k exp z_k)                a smooth maximum of the scores
mean                sigma(mean_k z_k)                        logistic regression on the mean instance; convex
==================  ======================================  =========================================

All four agree with logistic regression when every bag has one instance. The first two are one formula,
log(1 - p) = -c sum_k s_k, with c = 1 or 1/K: the *exponent* of the bag.

In the scores z of one bag every pooling has a loss of the same shape, which is all that the solver uses:
a value, a residual dD/dz, and a second derivative diag(a) + rho u u'.

One weight per bag: the paper's normalizations and reader weights, reduced to a single vector.

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

from overread.bags import Bags, SoftLabels, read_labels, read_weights
from overread.errors import InvalidInputError
from overread.models.loss import _kernels

PoolingName = Literal["noisy_or", "noisy_or_mean", "log_sum_exp", "mean"]


@dataclass(frozen=True)
class Pooling:
    """A row of the table above, as the kernels need it."""

    code: int
    divides_by_size: bool = False

    @property
    def splits_negatives(self) -> bool:
        """Whether a bag with label 0 falls apart into its rows (the paper's hard-negative short path)."""
        return self.code == _kernels.NOISY_OR

    def exponents(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Exponent c of bags with these numbers of instances."""
        return 1.0 / sizes if self.divides_by_size else np.ones(len(sizes))


POOLINGS: dict[str, Pooling] = {
    "noisy_or": Pooling(_kernels.NOISY_OR),
    "noisy_or_mean": Pooling(_kernels.NOISY_OR, divides_by_size=True),
    "log_sum_exp": Pooling(_kernels.LOG_SUM_EXP),
    "mean": Pooling(_kernels.MEAN),
}


def find_pooling(name: str) -> Pooling:
    """Look a pooling up by name."""
    if name not in POOLINGS:
        raise InvalidInputError(f"pooling={name!r} is unknown; choose one of {', '.join(POOLINGS)}")
    return POOLINGS[name]


def pool(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], pooling: str = "noisy_or"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (log p, log(1 - p)) of each bag, which holds the instances offsets[m] to offsets[m + 1]."""
    kind = find_pooling(pooling)
    exponents = kind.exponents(np.diff(offsets))
    log_p, log_q = np.empty(len(exponents)), np.empty(len(exponents))
    _kernels.bag_log_probabilities(
        np.ascontiguousarray(scores, dtype=np.float64), offsets, exponents, kind.code, log_p, log_q
    )
    return log_p, log_q


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BagCurvature:
    """Second derivative of the coupled bags: per bag diag(diagonal) + strength direction direction'."""

    diagonal: Floats
    direction: Floats
    strength: Floats

    def times(self, vectors: Floats, offsets: Ints) -> Floats:
        """Apply it to vectors of one row per instance, bags divided at offsets."""
        sums = np.add.reduceat(self.direction[:, None] * vectors, offsets[:-1], axis=0)
        spread = np.repeat(self.strength[:, None] * sums, np.diff(offsets), axis=0)
        return self.diagonal[:, None] * vectors + self.direction[:, None] * spread


@dataclass(frozen=True)
class BagLoss:
    """sum_mu weight_mu D_mu(z), rows reordered so that the cheap ones come first: row i is row order[i] of the caller.

    Rows 0 to n_plain stand alone: singleton bags, and the rows of hard negative bags, for which
    D = sum_k softplus(z_k) falls apart (appendix of the paper). The rest are coupled within bags, whose offsets
    count from row n_plain.
    """

    order: Ints
    plain_weight: Floats
    plain_label: Floats
    offsets: Ints
    weight: Floats
    label: Floats
    exponent: Floats
    pooling: int

    @classmethod
    def build(cls, offsets: Ints, label: Floats, weight: Floats, pooling: Pooling) -> BagLoss:
        """Sort bags (rows offsets[m] to offsets[m + 1] each) into plain rows and coupled bags."""
        sizes = np.diff(offsets)
        exponent = pooling.exponents(sizes)
        plain = (sizes == 1) | (pooling.splits_negatives & (label == 0))
        row_is_plain = np.repeat(plain, sizes)
        coupled_sizes = sizes[~plain]
        return cls(
            order=np.concatenate([np.flatnonzero(row_is_plain), np.flatnonzero(~row_is_plain)]),
            plain_weight=np.repeat((weight * exponent)[plain], sizes[plain]),
            plain_label=np.repeat(label[plain], sizes[plain]),
            offsets=np.concatenate([[0], np.cumsum(coupled_sizes)]).astype(np.int64),
            weight=weight[~plain],
            label=label[~plain],
            exponent=exponent[~plain],
            pooling=pooling.code,
        )

    @property
    def coupled(self) -> tuple[Ints, Floats, Floats, Floats, int]:
        """What compiled loops over the coupled bags take."""
        return self.offsets, self.weight, self.label, self.exponent, self.pooling

    @property
    def n_plain(self) -> int:
        """Number of plain rows; the coupled rows follow them."""
        return len(self.plain_weight)

    @property
    def n_rows(self) -> int:
        """Number of rows in all."""
        return len(self.order)

    @property
    def is_convex(self) -> bool:
        """Whether the loss is known to be convex in z: no coupled bag, or the mean of scores."""
        return len(self.weight) == 0 or self.pooling == _kernels.MEAN

    def value(self, z: Floats, residual: Floats) -> float:
        """Return D(z) and write its gradient dD/dz into residual."""
        n = self.n_plain
        total = _kernels.plain_terms(z[:n], self.plain_weight, self.plain_label, residual[:n])
        if len(self.weight):
            total += _kernels.bag_terms(z[n:], *self.coupled, residual[n:])
        return total

    def plain_curvature(self, z: Floats) -> Floats:
        """Second derivative of each plain row."""
        curvature = np.empty(self.n_plain)
        _kernels.plain_curvature(z[: self.n_plain], self.plain_weight, curvature)
        return curvature

    def bag_curvature(self, z: Floats, *, safe: float = 0.0) -> BagCurvature:
        """Second derivative of the coupled bags; safe = 1 replaces it by a positive semidefinite one.

        The stand-in for the noisy-or is the curvature sigma (1 - sigma) of the EM majorizer, which touches
        the loss with the same gradient; the other poolings drop the negative part.
        """
        n_coupled = self.n_rows - self.n_plain
        curvature = BagCurvature(np.empty(n_coupled), np.empty(n_coupled), np.empty(len(self.weight)))
        written = curvature.diagonal, curvature.direction, curvature.strength
        _kernels.bag_curvature(z[self.n_plain :], *self.coupled, safe, *written)
        return curvature


NormalizationName = Literal["none", "bags", "class"]
NORMALIZATIONS = ("none", "bags", "class")


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
    repetitions = read_weights(sample_weight, len(bags), "sample_weight")
    if reader_weight is None:
        reader_weight = bags.reader_weight
    readers = read_weights(reader_weight, len(bags), "reader_weight")
    weight = bag_weights(labels.probability, repetitions, readers, normalization)
    total = float(weight.sum())
    if not (np.isfinite(total) and total > 0):
        raise InvalidInputError(
            "sample_weight times reader_weight is 0 for every bag, or their sum is too large for a float"
        )
    return WeighedBags(labels, repetitions, weight)
