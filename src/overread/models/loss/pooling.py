"""How the instances of a bag make the probability of the bag.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.models.loss import _kernels

__all__ = ["POOLINGS", "Pooling", "PoolingName", "find_pooling", "pool"]

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
    """Return (log p, log(1 - p)) of each bag.

    Parameters
    ----------
    scores
        Score z of each instance, bag after bag.
    offsets
        Bag m holds the instances offsets[m] to offsets[m + 1].
    pooling
        A name from the table in `overread.models.loss.pooling`.
    """
    kind = find_pooling(pooling)
    exponents = kind.exponents(np.diff(offsets))
    log_p, log_q = np.empty(len(exponents)), np.empty(len(exponents))
    _kernels.bag_log_probabilities(
        np.ascontiguousarray(scores, dtype=np.float64), offsets, exponents, kind.code, log_p, log_q
    )
    return log_p, log_q
