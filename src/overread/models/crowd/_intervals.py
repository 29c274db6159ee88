"""Intervals of the readers' skills from the observed information: the hidden labels are not taken as known.

With theta the logits of all skills and the parameters of the labels' model, Louis (1982) gives the second derivative
of minus the log-likelihood of the votes: what the labels would tell, less what is lost with them,

    I = D - sum_i mu_i (1 - mu_i) u_i u_i'.

mu_i is the posterior of bag i, D the information if the labels were known, and u_i the derivative of the
log-likelihood for label 1 less that for label 0: v_ir - alpha_r for the logit of alpha_r, and v_ir - (1 - beta_r)
for the logit of beta_r, where reader r read the bag. With D = C C' and s, V the singular values and vectors of the
matrix with rows sqrt(mu_i (1 - mu_i)) (C^-1 u_i)',

    I^-1 = C^-T (1 + V diag(s^2 / (1 - s^2)) V') C^-1,

and 1 - s^2 are the shares of the information that the votes keep.

A limit is the logit plus or minus a normal quantile times the deviation. All are taken where half a vote of either
kind is added to each skill, because at a skill of 0 or 1 there is no information at all; for votes on known labels
this is Gart's interval for a proportion.

Information on the weights of a multiple-instance model whose bags have posteriors instead of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import expit, logit, ndtri

from overread.bags import Bags
from overread.models._base import linear_scores
from overread.models._penalties import find_penalty
from overread.models._soft import SoftMILLogisticRegression
from overread.models.crowd._em import Priors, Skills
from overread.models.loss._bag_loss import BagLoss, Pooling, find_pooling
from overread.models.rvm._posterior import information_matrix

Floats = NDArray[np.float64]

LEVEL = 0.95
# Shares below: no information is left in that direction. A skill with less than TINY has none to begin with.
SMALLEST_SHARE, TINY = 1e-9, 1e-9
# Smallest share for which skills count as determined by the votes; chosen by eye.
NOT_DETERMINED = 1e-5


@dataclass(frozen=True)
class LabelPart:
    """The labels' model in the information: its part of u, (n, q), and its block of D, (q, q)."""

    difference: Floats
    information: Floats


@dataclass(frozen=True)
class Information:
    """Variances of the logits of sensitivity and specificity (R,) and of the labels' parameters (q,).

    ``share`` is the smallest 1 - s^2.
    """

    sensitivity: Floats
    specificity: Floats
    labels: Floats
    share: float

    @property
    def determined(self) -> bool:
        """Whether the votes say something about every combination of the parameters."""
        return self.share > NOT_DETERMINED


def observed_information(
    matrix: Floats, posterior: Floats, skills: Skills, priors: Priors, labels: LabelPart
) -> Information:
    """Return the diagonal of I^-1; infinite for a skill of 0 or 1.

    Parameters
    ----------
    matrix
        Votes: 0, 1 or NaN.
    posterior, skills
        At a stationary point of L.
    priors
        Of the skills; Beta(a, b) adds (a + b - 2) alpha (1 - alpha) to D.
    labels
        Part of the labels' model.
    """
    read = ~np.isnan(matrix)
    given_one = np.where(read, matrix - skills.sensitivity, 0.0)
    given_zero = np.where(read, matrix - (1.0 - skills.specificity), 0.0)
    own = np.concatenate(
        [
            (posterior @ read + priors.sensitivity.weight) * skills.sensitivity * (1 - skills.sensitivity),
            ((1 - posterior) @ read + priors.specificity.weight)
            * skills.specificity
            * (1 - skills.specificity),
        ]
    )
    root = cholesky(labels.information, lower=True)
    of_skills, has_some = np.hstack([given_one, given_zero]), own > TINY
    of_skills = np.divide(of_skills, np.sqrt(own), out=np.zeros_like(of_skills), where=has_some)
    of_labels = solve_triangular(root, labels.difference.T, lower=True).T
    spread = np.sqrt(posterior * (1.0 - posterior))[:, None]
    squares, directions = _singular_squares(np.hstack([of_skills, of_labels]) * spread)
    kept = np.maximum(1.0 - squares, SMALLEST_SHARE)
    # Rows of V diag(s^2 / (1 - s^2)) V', of which the diagonal is wanted after C^-1 from both sides.
    n_skills = len(own)
    growth = (directions**2 @ (squares / kept))[:n_skills]
    variance = np.divide(1.0 + growth, own, out=np.full(n_skills, np.inf), where=has_some)
    back = solve_triangular(root, np.eye(len(root)), lower=True)
    inner = directions[n_skills:].T @ back
    of_parameters = (back**2).sum(axis=0) + (squares / kept) @ inner**2
    half = n_skills // 2
    return Information(
        variance[:half], variance[half:], of_parameters, float((1.0 - squares).min(initial=1.0))
    )


def logit_interval(rate: Any, variance: Any, *, level: float = LEVEL) -> tuple[Any, Any]:
    """Limits of rates strictly between 0 and 1 whose logits have these variances."""
    reach = ndtri(0.5 + level / 2) * np.sqrt(variance)
    return expit(logit(rate) - reach), expit(logit(rate) + reach)


def _singular_squares(rows: Floats) -> tuple[Floats, Floats]:
    """s^2, and V with a column for each, from the smaller of the two products with itself."""
    n, p = rows.shape
    if p <= n:
        squares, directions = np.linalg.eigh(rows.T @ rows)
        return np.clip(squares, 0.0, 1.0), directions
    squares, left = np.linalg.eigh(rows @ rows.T)
    squares = np.clip(squares, 0.0, 1.0)
    scale = np.divide(1.0, np.sqrt(squares), out=np.zeros(n), where=squares > TINY)
    return squares, rows.T @ left * scale


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
    X = (bags.instances[:, used].astype(np.float64) - model.mean_[used]) / scale
    z = linear_scores(bags.instances, model.coef_[0], model.intercept_[0])
    pooling = find_pooling(model.pooling)
    columns = np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X
    difference = np.add.reduceat(columns * _slope(z, bags, pooling)[:, None], bags.offsets[:-1], axis=0)
    loss = BagLoss.build(bags.offsets, posterior, np.ones(len(bags)), pooling)
    information = _positive_information(X, z, loss, fit_intercept=model.fit_intercept)
    bend = find_penalty(model.penalty).on(used).curvature(model.coef_[0, used] * scale)
    if bend is not None:
        information[np.diag_indices(len(used))] += len(bags) * model.alpha_ * bend
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
