"""EM of the crowd models, which differ in the model of the labels before any vote, and the information on their skills.

Reader r has sensitivity alpha_r = P(vote 1 | label 1) and specificity beta_r = P(vote 0 | label 0); votes are
independent given the label. With p_i the probability of label 1 before any vote (Raykar et al. 2010, section 2):

    A_i  = prod_r alpha_r^v (1 - alpha_r)^(1-v),     B_i = prod_r beta_r^(1-v) (1 - beta_r)^v,
    mu_i = p_i A_i / (p_i A_i + (1 - p_i) B_i),      L = sum_i log(p_i A_i + (1 - p_i) B_i) + log prior,
    alpha_r = (a - 1 + sum_i mu_i v_ir) / (a + b - 2 + sum_{i read by r} mu_i),  Beta(a, b) prior; beta_r alike.

Intervals of the skills do not take the hidden labels as known. With theta the logits of all skills and the parameters
of the labels' model, Louis (1982) gives the second derivative of minus the log-likelihood of the votes: what the labels
would give, minus what is lost with them,

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
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import expit, logit, ndtri, xlogy
from sklearn.exceptions import ConvergenceWarning

from overread.bags import Bags
from overread.errors import DataWarning, InvalidInputError
from overread.models._base import linear_scores
from overread.models._penalties import find_penalty
from overread.models._soft import SoftMILLogisticRegression
from overread.models.loss._bag_loss import BagLoss, Pooling, find_pooling
from overread.models.rvm._posterior import information_matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """A Beta(a, b) prior with a, b >= 1; Beta(1, 1) leaves maximum likelihood."""

    a: float
    b: float

    def mode(self, yes: Any, total: Any) -> Any:
        """Most probable rate after yes of total; 1/2 if there is neither data nor prior."""
        top, bottom = np.asarray(self.a - 1 + yes), np.asarray(self.a + self.b - 2 + total)
        return np.clip(np.divide(top, bottom, out=np.full(top.shape, 0.5), where=bottom > 0), 0.0, 1.0)

    @property
    def weight(self) -> float:
        """Votes that the prior is worth at its mode, a + b - 2."""
        return self.a + self.b - 2

    def with_half_a_vote(self) -> Prior:
        """Prior with half a vote more of either kind."""
        return Prior(self.a + 0.5, self.b + 0.5)

    def log_density(self, rate: Any) -> float:
        """Sum of the logarithms of the densities, without their constant."""
        return float(np.sum(xlogy(self.a - 1, rate) + xlogy(self.b - 1, 1 - np.asarray(rate))))


# Of sensitivity and of specificity, the same for all readers. Skills are an array (2, R) in this order.
Priors = tuple[Prior, Prior]
# The labels' model after its M-step: log p_i, log(1 - p_i), and what its own prior adds to the objective.
LabelStep = tuple[Floats, Floats, float]
# The labels' model in the information: its part of u, (n, q), and its block of D, (q, q).
LabelPart = tuple[Floats, Floats]


def prior_of(value: Any, name: str) -> Prior:
    """Read the two numbers of a Beta prior."""
    try:
        a, b = (float(part) for part in value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}={value!r} must be two numbers, (a, b) of a Beta prior") from error
    if not (1 <= a < np.inf and 1 <= b < np.inf):
        raise InvalidInputError(f"{name}={value!r}: both numbers must be finite and at least 1")
    return Prior(a, b)


def majority(matrix: Floats) -> Floats:
    """Proportion of the votes of each bag that are 1: the start of EM."""
    return np.nanmean(matrix, axis=1)


class VoteList:
    """The votes of a matrix of 0, 1 and NaN, one after the other: most of many readers read few bags."""

    def __init__(self, matrix: Floats) -> None:
        self.n_bags, self.n_readers = matrix.shape
        self.bags, self.readers = np.nonzero(~np.isnan(matrix))
        self.is_yes = matrix[self.bags, self.readers] == 1

    def sum_of_readers(self, of_votes: Floats) -> Floats:
        """Sum a value of each vote over the votes of each reader."""
        return np.asarray(np.bincount(self.readers, of_votes, self.n_readers), dtype=np.float64)

    def sum_of_bags(self, of_votes: Floats) -> Floats:
        """Sum a value of each vote over the votes of each bag."""
        return np.asarray(np.bincount(self.bags, of_votes, self.n_bags), dtype=np.float64)


def maximize(votes: VoteList, posterior: Floats, priors: Priors) -> Floats:
    """Most probable skills for these posteriors."""
    own = posterior[votes.bags]
    other = 1.0 - own
    found = ((own, own * votes.is_yes), (other, other * ~votes.is_yes))
    modes = [
        prior.mode(votes.sum_of_readers(right), votes.sum_of_readers(total))
        for prior, (total, right) in zip(priors, found, strict=True)
    ]
    return np.stack(modes)


def expect(votes: VoteList, skills: Floats, log_p: Floats, log_q: Floats) -> tuple[Floats, float]:
    """Posteriors for these skills and the log-likelihood of all votes; log_p, log_q are log p_i and log(1 - p_i)."""
    by, is_yes = votes.readers, votes.is_yes
    sensitivity, specificity = skills
    with np.errstate(divide="ignore"):
        # Chosen, not multiplied: 0 * -inf would make NaN of a reader who never errs.
        given_one = np.where(is_yes, np.log(sensitivity)[by], np.log1p(-sensitivity)[by])
        given_zero = np.where(is_yes, np.log1p(-specificity)[by], np.log(specificity)[by])
    if_one, if_zero = log_p + votes.sum_of_bags(given_one), log_q + votes.sum_of_bags(given_zero)
    both = np.logaddexp(if_one, if_zero)
    return np.exp(if_one - both), float(both.sum())


@dataclass(frozen=True)
class EMResult:
    """Where EM ended: posteriors, the skills they follow from, and L at the start and after each round."""

    posterior: Floats
    skills: Floats
    objectives: Floats
    converged: bool


def run_em(
    matrix: Floats,
    posterior: Floats,
    priors: Priors,
    label_step: Callable[[Floats], LabelStep],
    *,
    tol: float,
    max_rounds: int,
) -> EMResult:
    """Alternate between skills and labels from these posteriors on, until a round raises L by at most tol a bag."""
    objectives: list[float] = []
    converged = False
    votes = VoteList(matrix)
    for _ in range(max_rounds + 1):
        skills = maximize(votes, posterior, priors)
        log_p, log_q, log_prior = label_step(posterior)
        posterior, log_likelihood = expect(votes, skills, log_p, log_q)
        of_skills = [prior.log_density(rates) for prior, rates in zip(priors, skills, strict=True)]
        objectives.append(log_likelihood + log_prior + sum(of_skills))
        if len(objectives) > 1 and objectives[-1] - objectives[-2] <= tol * len(posterior):
            converged = True
            break
    return EMResult(posterior, skills, np.array(objectives), converged)


def warn_about_crowd(result: EMResult, skills: pd.DataFrame, *, determined: bool) -> None:
    """Warn if the fit did not converge, is not determined, has equal votes, or readers are worse than chance."""
    if not result.converged:
        rise = result.objectives[-1] - result.objectives[-2]
        warnings.warn(
            f"EM not converged after {len(result.objectives) - 1} rounds: the last raised L by {rise:.2g}; "
            "raise the rounds",
            ConvergenceWarning,
            stacklevel=4,
        )
    remarks = []
    if not determined:
        remarks.append(
            f"the votes ({len(skills)} readers) do not determine skills and labels: others explain them as well. "
            "It takes three readers who share bags, or priors on both skills"
        )
    marked, votes = int(skills["n_marked"].sum()), int(skills["n_votes"].sum())
    if marked in (0, votes):
        remarks.append(
            f"every vote is {int(marked > 0)}: so is every label, and nothing is known of the other one"
        )
    youden = skills["sensitivity"] + skills["specificity"] - 1
    if float((youden * skills["n_votes"]).sum()) < 0:
        remarks.append("the readers are on the whole worse than chance: the two labels may be exchanged")
    for remark in remarks:
        warnings.warn(remark, DataWarning, stacklevel=4)


LEVEL = 0.95
# Shares below: no information is left in that direction. A skill with less than TINY has none to begin with.
SMALLEST_SHARE, TINY = 1e-9, 1e-9
# Smallest share for which skills count as determined by the votes; set by judgement.
NOT_DETERMINED = 1e-5


def observed_information(
    matrix: Floats, posterior: Floats, skills: Floats, priors: Priors, labels: LabelPart
) -> tuple[Floats, Floats, float]:
    """Return the diagonal of I^-1 at a stationary point of L, and the smallest 1 - s^2.

    The diagonal holds the variances of the logits of the skills (2, R), infinite for a skill of 0 or 1, and of the
    labels' parameters (q,). A prior Beta(a, b) adds (a + b - 2) alpha (1 - alpha) to D.
    """
    read = ~np.isnan(matrix)
    given = [np.where(read, matrix - rates, 0.0) for rates in (skills[0], 1.0 - skills[1])]
    own = np.concatenate(
        [
            (share @ read + prior.weight) * rates * (1 - rates)
            for share, prior, rates in zip((posterior, 1 - posterior), priors, skills, strict=True)
        ]
    )
    difference, information = labels
    root = cholesky(information, lower=True)
    of_skills, has_some = np.hstack(given), own > TINY
    of_skills = np.divide(of_skills, np.sqrt(own), out=np.zeros_like(of_skills), where=has_some)
    of_labels = solve_triangular(root, difference.T, lower=True).T
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
    return variance.reshape(2, -1), of_parameters, float((1.0 - squares).min(initial=1.0))


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
    return difference, information


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
