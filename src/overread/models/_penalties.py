"""Penalties, and what the solver asks of them.

A penalty is alpha R(w), with R a sum over the columns of convex functions whose only kink is at 0::

    R(w) = sum_j kink_j |w_j| + S_j(w_j),      kink_j > 0,  S_j smooth and convex,  S_j(0) = S_j'(0) = 0.

From `value`, `kink`, `slope` (S') and `curvature` (S'') follows all that a working-set proximal Newton method needs:

- its *value*, alpha R(w), for the line search and the objective;
- the *coordinate step*. On the quadratic model of the loss, of slope g and curvature h, a column at w moves to::

      prox = shrink(h' w - g', alpha kink) / h',   g' = g + alpha S'(w),  h' = h + alpha S''(w),
      shrink(v, t) = sign(v) max(|v| - t, 0),

  which is the proximal operator of the penalty where S is quadratic, as for L1 and the elastic net. The compiled
  loop is `solver._kernels.coordinate_descent`; it gets the kinks as an array, and S inside gradient and Hessian;
- the *distance to the subdifferential*, the size of `subgradient`: 0 on all columns if and only if the point is
  stationary;
- *alpha_max*, the smallest alpha for which w = 0 is stationary.

`docs/how-to/add_a_penalty.md` adds one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from overread.errors import InvalidInputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Penalty(ABC):
    """R(w) of a penalty alpha R(w), on the standardized scale; the intercept is never penalized.

    A subclass is a frozen dataclass whose fields are numbers, text or tuples of these: so it is compared, copied,
    shown and saved by its fields. One without a smooth part needs `name`, `kink` and `value` alone.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def kink(self) -> float | Floats:
        """Half the jump of the slope at w_j = 0, above 0: one number, or one a column."""

    @abstractmethod
    def value(self, w: Floats) -> float:
        """R(w)."""

    def slope(self, w: Floats) -> Floats | None:
        """S', the slope of each column's smooth part, 0 at w = 0; None if there is no smooth part."""
        return None

    def curvature(self, w: Floats) -> Floats | None:
        """S'', at least 0; None if there is no smooth part."""
        return None

    def on(self, columns: Ints) -> Self:
        """Return the penalty of some columns; itself where all columns are treated alike."""
        return self

    def check(self, n_features: int) -> None:  # noqa: B027 - most fit any number
        """Raise `InvalidInputError` where the penalty is not made for this many features."""

    def subgradient(self, w: Floats, gradient: Floats, alpha: float) -> Floats:
        """Smallest element of gradient + alpha dR(w), column by column; gradient is that of the loss.

        gradient + alpha (S' + kink sign(w)) where w is not 0, else what of the gradient exceeds alpha kink.
        """
        kink, slope = alpha * self.kink, self.slope(w)
        at_zero = gradient - np.minimum(np.maximum(gradient, -kink), kink)
        elsewhere = gradient + kink * np.sign(w)
        if slope is not None:
            elsewhere += alpha * slope
        subgradient: Floats = np.where(w != 0, elsewhere, at_zero)
        return subgradient

    def conjugate(self, gradient: Floats, alpha: float) -> float:
        """Upper bound of -gradient'v - alpha R(v) over all v, for the certificate of convex problems; may be infinite.

        As S is at least 0 it is 0 where no entry exceeds its kink. Without a smooth part there is no lower one.
        """
        return 0.0 if (np.abs(gradient) <= alpha * self.kink).all() else np.inf

    def alpha_max(self, gradient: Floats) -> float:
        """Smallest alpha for which w = 0 is stationary, where the loss has this gradient at w = 0."""
        return float((np.abs(gradient) / self.kink).max(initial=0.0))


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``R(w) = sum_j l1_ratio |w_j| + (1 - l1_ratio) / 2 w_j^2``, with scikit-learn's meaning of l1_ratio.

    Zou and Hastie, "Regularization and variable selection via the elastic net" (2005). Of columns that say the same,
    L1 takes one or another; the ridge shares the coefficient among them, so that the choice is stable.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of L1, above 0 and at most 1; 1 is L1. alpha_max is that of L1 divided by it.

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

    def conjugate(self, gradient: Floats, alpha: float) -> float:
        """Sum of what exceeds the kink, squared, over twice the ridge."""
        ridge = alpha * (1.0 - self.kink)
        if ridge == 0.0:
            return super().conjugate(gradient, alpha)
        return float(np.square(np.maximum(np.abs(gradient) - alpha * self.kink, 0.0)).sum() / (2.0 * ridge))


@dataclass(frozen=True)
class L1(Penalty):
    """``R(w) = sum_j |w_j|``: the paper's section 4."""

    name: ClassVar[str] = "l1"

    @property
    def kink(self) -> float:
        """Height of the kink: 1."""
        return 1.0

    def value(self, w: Floats) -> float:
        """Sum of ``|w_j|``."""
        return float(np.abs(w).sum())


PENALTIES: dict[str, type[Penalty]] = {penalty.name: penalty for penalty in (L1, ElasticNet)}
"""Every penalty that a model can be asked for, by its name."""


def find_penalty(given: str | Penalty) -> Penalty:
    """Return a penalty that is given as such, or by the name of one that has defaults for all its fields."""
    if isinstance(given, Penalty):
        return given
    if not isinstance(given, str) or given not in PENALTIES:
        raise InvalidInputError(
            f"penalty={given!r} is unknown; choose one of {', '.join(PENALTIES)}, or pass a Penalty"
        )
    return PENALTIES[given]()
