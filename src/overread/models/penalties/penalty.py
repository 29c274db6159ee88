"""What the solver asks of a penalty.

A penalty is lam R(w), with R a sum over the columns of convex functions whose only kink is at 0::

    R(w) = sum_j kink_j |w_j| + S_j(w_j),      kink_j > 0,  S_j smooth and convex,  S_j(0) = S_j'(0) = 0.

From `value`, `kink`, `slope` (S') and `curvature` (S'') follows all that a working-set proximal Newton method needs:

- its *value*, lam R(w), for the line search and the objective;
- the *coordinate step*. On the quadratic model of the loss, of slope g and curvature h, a column at w moves to::

      prox = shrink(h' w - g', lam kink) / h',   g' = g + lam S'(w),  h' = h + lam S''(w),
      shrink(v, t) = sign(v) max(|v| - t, 0),

  which is the proximal operator of the penalty where S is quadratic, as for L1 and the elastic net. The compiled
  loop is `solver._kernels.coordinate_descent`; it gets the kinks as an array, and S inside gradient and Hessian;
- the *distance to the subdifferential*, the size of `subgradient`: 0 on all columns if and only if the point is
  stationary;
- *lambda_max*, the smallest lam for which w = 0 is stationary.

`docs/how-to/add_a_penalty.md` adds one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Penalty"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Penalty(ABC):
    """R(w) of a penalty lam R(w), on the standardized scale; the intercept is never penalized.

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

    def subgradient(self, w: Floats, gradient: Floats, lam: float) -> Floats:
        """Smallest element of gradient + lam dR(w), column by column; gradient is that of the loss.

        gradient + lam (S' + kink sign(w)) where w is not 0, else what of the gradient exceeds lam kink.
        """
        kink, slope = lam * self.kink, self.slope(w)
        at_zero = gradient - np.minimum(np.maximum(gradient, -kink), kink)
        elsewhere = gradient + kink * np.sign(w)
        if slope is not None:
            elsewhere += lam * slope
        subgradient: Floats = np.where(w != 0, elsewhere, at_zero)
        return subgradient

    def conjugate(self, gradient: Floats, lam: float) -> float:
        """Upper bound of -gradient'v - lam R(v) over all v, for the certificate of convex problems; may be infinite.

        As S is at least 0 it is 0 where no entry exceeds its kink. Without a smooth part there is no lower one.
        """
        return 0.0 if (np.abs(gradient) <= lam * self.kink).all() else np.inf

    def lambda_max(self, gradient: Floats) -> float:
        """Smallest lam for which w = 0 is stationary, where the loss has this gradient at w = 0."""
        return float((np.abs(gradient) / self.kink).max(initial=0.0))
