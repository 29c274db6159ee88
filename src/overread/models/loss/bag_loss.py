"""The divergence D as a function of the instance scores z alone; it knows no features and no penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.models.loss import _kernels
from overread.models.loss.pooling import Pooling

__all__ = ["BagCurvature", "BagLoss"]

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
    """sum_mu weight_mu D_mu(z), rows reordered so that the cheap ones come first.

    Rows 0 to n_plain stand alone: singleton bags, and the rows of hard negative bags, for which
    D = sum_k softplus(z_k) falls apart (appendix of the paper). The rest are coupled within bags.

    Attributes
    ----------
    order
        Row i here is row order[i] of the caller.
    plain_weight, plain_label
        One entry per plain row.
    offsets, weight, label, exponent
        One entry per coupled bag; offsets count from row n_plain.
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
            total += _kernels.bag_terms(
                z[n:], self.offsets, self.weight, self.label, self.exponent, self.pooling, residual[n:]
            )
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
        _kernels.bag_curvature(
            z[self.n_plain :],
            self.offsets,
            self.weight,
            self.label,
            self.exponent,
            self.pooling,
            safe,
            curvature.diagonal,
            curvature.direction,
            curvature.strength,
        )
        return curvature
