"""L1 with a ridge beside it, which keeps columns that say the same together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.models.penalties.penalty import Penalty

__all__ = ["ElasticNet"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``R(w) = sum_j l1_ratio |w_j| + (1 - l1_ratio) / 2 w_j^2``, with scikit-learn's meaning of l1_ratio.

    Zou and Hastie, "Regularization and variable selection via the elastic net" (2005). Of columns that say the same,
    L1 takes one or another; the ridge shares the coefficient among them, so that the choice is stable.

    Parameters
    ----------
    l1_ratio
        Share of L1, above 0 and at most 1; 1 is L1. lambda_max is that of L1 divided by it.

    Examples
    --------
    >>> from overread.models import ElasticNet, SoftMILLogisticRegression
    >>> X = [[0.0, 0.1], [3.0, 2.9], [0.1, 0.0], [-0.2, -0.1]]
    >>> model = SoftMILLogisticRegression(0.1, penalty=ElasticNet(0.5)).fit(X, [0.25, 1.0, 0.0, 0.0])
    >>> int((model.coef_ != 0).sum())
    2
    """

    name: ClassVar[str] = "elastic_net"

    # As scikit-learn's ElasticNet has it.
    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        ratio = self.l1_ratio
        if not isinstance(ratio, Real) or isinstance(ratio, bool) or not 0.0 < float(ratio) <= 1.0:
            raise InvalidInputError(f"l1_ratio={ratio!r} must be a number above 0 and at most 1")

    @property
    def kink(self) -> float:
        """l1_ratio."""
        return float(self.l1_ratio)

    def value(self, w: Floats) -> float:
        """``l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|_2^2``."""
        return float(self.kink * np.abs(w).sum() + 0.5 * (1.0 - self.kink) * np.square(w).sum())

    def slope(self, w: Floats) -> Floats:
        """(1 - l1_ratio) w_j."""
        return (1.0 - self.kink) * w

    def curvature(self, w: Floats) -> Floats:
        """1 - l1_ratio."""
        return np.full_like(w, 1.0 - self.kink)

    def conjugate(self, gradient: Floats, lam: float) -> float:
        """Sum of what exceeds the kink, squared, over twice the ridge."""
        ridge = lam * (1.0 - self.kink)
        if ridge == 0.0:
            return super().conjugate(gradient, lam)
        return float(np.square(np.maximum(np.abs(gradient) - lam * self.kink, 0.0)).sum() / (2.0 * ridge))
