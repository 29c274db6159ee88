"""The objective F(w, b) with its derivatives: what the solver minimizes, open to inspection.

In the paper's words (section 4, equation "KL and L1", and the appendix), with z_k = w'x_k + b and R(w) = |w|_1:

    F(w, b) = D(w, b) + alpha R(w),           D = sum_mu a_mu D_mu,
    D_mu    = -[p~ log p + (1 - p~) log(1 - p)],     p = 1 - prod_k (1 - sigma(z_k)),
    g_mu    = -(p~/p - 1) x^g,                       x^g = sum_k sigma(z_k) x_k,
    H_mu    = -[(p~/p - 1) sum_k c_k x_k x_k' - p~ beta (beta + 1) x^g x^g'],
    c_k     = sigma(z_k) sigma(-z_k),                beta = (1 - p) / p.

Here they are computed from the derivatives of D in the scores z alone (`BagLoss`), which are the same for the
solver: g = X' dD/dz and H = X' (diag(a) + sum_mu rho_mu u_mu u_mu') X, in the forms that do not cancel (p~/p - 1
is taken as p~ beta - (1 - p~)). For the other poolings only p, and with it dD/dz, a, rho and u differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models._penalties import Penalty, find_penalty
from overread.models.loss._bag_loss import BagLoss, NormalizationName, PoolingName, find_pooling, weigh_bags

Floats = NDArray[np.float64]


class SoftMILObjective:
    """F(w, b) of the soft multiple-instance model in the user's own features, without standardization.

    Derivatives are with respect to the d coefficients and, last, the intercept: d + 1 numbers. They are those of
    the smooth part D; the penalty has a kink at 0, for which there is `minimum_norm_subgradient`.

    Parameters
    ----------
    bags : Bags
        Instances and where each bag begins; a float64 copy of them is kept.
    y : object, optional
        Soft labels in [0, 1] or two classes; None means those that the bags carry.
    alpha : float, default=0.0
        Strength of the penalty.
    penalty, normalization, divide_by_features, pooling
        As in `overread.models.SoftMILLogisticRegression`.
    sample_weight, reader_weight : object, optional
        As in `overread.models.SoftMILLogisticRegression.fit`.

    Attributes
    ----------
    weights
        Weight of each bag's divergence: normalization, sample and reader weights in one number.
    penalty : str or Penalty, default='l1'
        R, a `Penalty`.
    strength
        Its factor: alpha, or alpha / d.
    entropy
        sum_mu a_mu h(p~_mu), h(p) = -p log p - (1 - p) log(1 - p). What the Kullback-Leibler divergence lacks of
        the cross-entropy; it does not depend on w, so both have the same minimum and derivatives.

    Examples
    --------
    >>> from overread.bags import Bags
    >>> bags = Bags.from_ids([[1.0], [-1.0], [0.5]], ["a", "a", "b"], labels=[0.5, 0.0])
    >>> objective = SoftMILObjective(bags, alpha=0.1, normalization="none")
    >>> round(objective.value([0.0], 0.0), 4)  # p = 3/4 and 1/2
    1.5301
    >>> objective.gradient([0.0], 0.0).round(4).tolist()
    [0.25, 0.8333]
    """

    def __init__(
        self,
        bags: Bags,
        y: Any = None,
        *,
        alpha: float = 0.0,
        penalty: str | Penalty = "l1",
        normalization: NormalizationName = "bags",
        divide_by_features: bool = False,
        pooling: PoolingName = "noisy_or",
        sample_weight: Any = None,
        reader_weight: Any = None,
    ) -> None:
        labels = bags.labels if y is None else y
        weighed = weigh_bags(
            bags,
            labels,
            sample_weight=sample_weight,
            reader_weight=reader_weight,
            normalization=normalization,
        )
        probability = weighed.labels.probability
        self.weights = weighed.weight
        self.penalty = find_penalty(penalty)
        self.penalty.check(bags.n_features)
        self.strength = alpha / bags.n_features if divide_by_features else alpha
        self.entropy = float(self.weights @ _entropies(probability))
        self._loss = BagLoss.build(bags.offsets, probability, self.weights, find_pooling(pooling))
        self._X = np.ascontiguousarray(bags.instances[self._loss.order], dtype=np.float64)

    def value(self, w: ArrayLike, b: float = 0.0) -> float:
        """F(w, b) = D(w, b) + strength R(w), with D the cross-entropy (equation "KL and L1")."""
        return self.cross_entropy(w, b) + self.strength * self.penalty.value(self._check(w))

    def cross_entropy(self, w: ArrayLike, b: float = 0.0) -> float:
        """D(w, b) = -sum_mu a_mu [p~ log p + (1 - p~) log(1 - p)]."""
        return self._loss.value(self._scores(w, b), np.empty(self._loss.n_rows))

    def kl_divergence(self, w: ArrayLike, b: float = 0.0) -> float:
        """sum_mu a_mu D_KL(p~, p), the cross-entropy minus `entropy`.

        Exact to rounding of the cross-entropy, so that a divergence far below it has few digits.
        """
        return self.cross_entropy(w, b) - self.entropy

    def gradient(self, w: ArrayLike, b: float = 0.0) -> Floats:
        """Gradient of D: the appendix's g^new = sum_mu a_mu g^new_mu, then dD/db."""
        residual = np.empty(self._loss.n_rows)
        self._loss.value(self._scores(w, b), residual)
        return self._multiply_transposed(residual)

    def hessian(self, w: ArrayLike, b: float = 0.0) -> Floats:
        """Second derivative of D: the appendix's H^new = sum_mu a_mu H^new_mu, bordered by that in b."""
        return self.hessian_product(w, b, np.eye(self._X.shape[1] + 1))

    def hessian_product(self, w: ArrayLike, b: float, v: ArrayLike) -> Floats:
        """H v for v of d + 1 numbers, or of d + 1 rows for several at once, without forming H."""
        loss, z = self._loss, self._scores(w, b)
        vector = np.asarray(v, dtype=np.float64)
        if vector.shape[0] != self._X.shape[1] + 1:
            raise InvalidInputError(
                f"v has {vector.shape[0]} rows; give {self._X.shape[1]} for w and one more for b"
            )
        directions = vector.reshape(len(vector), -1)
        change = self._X @ directions[:-1] + directions[-1]
        n = loss.n_plain
        bent = np.empty_like(change)
        bent[:n] = loss.plain_curvature(z)[:, None] * change[:n]
        if len(loss.weight):
            bent[n:] = loss.bag_curvature(z).times(change[n:], loss.offsets)
        return self._multiply_transposed(bent).reshape(vector.shape)

    def minimum_norm_subgradient(self, w: ArrayLike, b: float = 0.0) -> Floats:
        """Smallest subgradient of F; (w, b) is a stationary point if and only if it is 0.

        For L1 g_j + strength sign(w_j) where w_j is not 0, else what of g_j exceeds the strength; dD/db last.
        """
        gradient = self.gradient(w, b)
        gradient[:-1] = self.penalty.subgradient(self._check(w), gradient[:-1], self.strength)
        return gradient

    def _check(self, w: ArrayLike) -> Floats:
        coefficients = np.asarray(w, dtype=np.float64)
        if coefficients.shape != (self._X.shape[1],):
            raise InvalidInputError(f"w has shape {coefficients.shape}; give {self._X.shape[1]} numbers")
        return coefficients

    def _scores(self, w: ArrayLike, b: float) -> Floats:
        return self._X @ self._check(w) + b

    def _multiply_transposed(self, rows: Floats) -> Floats:
        return np.concatenate([self._X.T @ rows, rows.sum(axis=0)[None]])


def _entropies(p: Floats) -> Floats:
    """-p log p - (1 - p) log(1 - p), with 0 log 0 = 0."""
    inner = np.where((p > 0) & (p < 1), p, 0.5)
    entropy: Floats = np.where(
        (p > 0) & (p < 1), -inner * np.log(inner) - (1 - inner) * np.log1p(-inner), 0.0
    )
    return entropy
