"""Information on the weights of a multiple-instance model whose bags have posteriors instead of labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from overread.bags import Bags
from overread.models.crowd.intervals import LabelPart
from overread.models.loss.bag_loss import BagLoss
from overread.models.loss.pooling import Pooling, find_pooling
from overread.models.penalties.registry import find_penalty
from overread.models.prediction import linear_scores
from overread.models.rvm.information import information_matrix
from overread.models.soft import SoftMILLogisticRegression

__all__ = ["label_part"]

Floats = NDArray[np.float64]

# Beside an information of about a quarter a bag: a flat direction must not stop the factorization.
RELATIVE_RIDGE = 1e-10


def label_part(model: SoftMILLogisticRegression, bags: Bags, posterior: Floats) -> LabelPart:
    """Return the derivatives with respect to the weights in use and the intercept, on their fitted scale.

    The kinks of the penalty are linear where no weight changes its sign and so add nothing; its smooth part, where it
    has one, adds its curvature to D, the second derivative of the soft divergence. Where bags bend the divergence
    the wrong way, its positive semidefinite stand-in is taken, as in `RVMMIL`.
    """
    used = np.flatnonzero(model.coef_[0])
    scale = np.where(model.scale_[used] > 0, model.scale_[used], 1.0)
    X = (bags.instances[:, used].astype(np.float64) - model.center_[used]) / scale
    z = linear_scores(bags.instances, model.coef_[0], model.intercept_[0])
    pooling = find_pooling(model.pooling)
    columns = np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X
    difference = np.add.reduceat(columns * _slope(z, bags, pooling)[:, None], bags.offsets[:-1], axis=0)
    loss = BagLoss.build(bags.offsets, posterior, np.ones(len(bags)), pooling)
    information = _positive_information(X, z, loss, fit_intercept=model.fit_intercept)
    bend = find_penalty(model.penalty).on(used).curvature(model.coef_[0, used] * scale)
    if bend is not None:
        information[np.diag_indices(len(used))] += len(bags) * model.lam_ * bend
    return LabelPart(difference, information)


def _slope(z: Floats, bags: Bags, pooling: Pooling) -> Floats:
    """Differentiate each bag's log-odds by the score of each of its instances."""
    slopes = []
    for label in (0.0, 1.0):
        loss = BagLoss.build(bags.offsets, np.full(len(bags), label), np.ones(len(bags)), pooling)
        residual, slope = np.empty(len(z)), np.empty(len(z))
        loss.value(z[loss.order], residual)
        slope[loss.order] = residual
        slopes.append(slope)
    return slopes[0] - slopes[1]


def _positive_information(X: Floats, z: Floats, loss: BagLoss, *, fit_intercept: bool) -> Floats:
    Xt = np.ascontiguousarray(X[loss.order].T)
    chosen = np.arange(len(Xt) + fit_intercept)
    for safe in (0.0, 1.0):
        H = information_matrix(Xt, np.arange(len(Xt)), loss, z[loss.order], safe=safe)[np.ix_(chosen, chosen)]
        H[np.diag_indices_from(H)] += RELATIVE_RIDGE * max(float(np.diag(H).max(initial=0.0)), 1.0)
        try:
            cholesky(H, lower=True)
        except LinAlgError:
            continue
        return H
    return np.diag(np.diag(H))
