"""The rounds of EM that both crowd models share; they differ in the model of the labels before any vote.

The two steps that the crowd models share: skills from posteriors, and posteriors from skills.

Reader r has sensitivity alpha_r = P(vote 1 | label 1) and specificity beta_r = P(vote 0 | label 0); votes are
independent given the label. With p_i the probability of label 1 before any vote (Raykar et al. 2010, section 2):

    A_i  = prod_r alpha_r^v (1 - alpha_r)^(1-v),     B_i = prod_r beta_r^(1-v) (1 - beta_r)^v,
    mu_i = p_i A_i / (p_i A_i + (1 - p_i) B_i),      L = sum_i log(p_i A_i + (1 - p_i) B_i) + log prior,
    alpha_r = (a - 1 + sum_i mu_i v_ir) / (a + b - 2 + sum_{i read by r} mu_i),  Beta(a, b) prior; beta_r alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning

from overread.errors import DataWarning, InvalidInputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """A Beta(a, b) prior with a, b >= 1; Beta(1, 1) leaves maximum likelihood."""

    a: float
    b: float

    def mode(self, yes: Any, total: Any) -> Any:
        """Most probable rate after yes of total; 1/2 where there is neither data nor prior."""
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


@dataclass(frozen=True)
class Skills:
    """Sensitivity and specificity of each reader."""

    sensitivity: Floats
    specificity: Floats


@dataclass(frozen=True)
class Priors:
    """Priors of either skill, the same for all readers."""

    sensitivity: Prior
    specificity: Prior

    def log_density(self, skills: Skills) -> float:
        """Of the skills of all readers."""
        return self.sensitivity.log_density(skills.sensitivity) + self.specificity.log_density(
            skills.specificity
        )

    def with_half_a_vote(self) -> Priors:
        """Priors with half a vote more of either kind."""
        return Priors(self.sensitivity.with_half_a_vote(), self.specificity.with_half_a_vote())


@dataclass(frozen=True)
class Expectation:
    """Posterior of label 1 of each bag, and the logarithm of the votes' likelihood summed over bags."""

    posterior: Floats
    log_likelihood: float


def priors_of(estimator: Any) -> Priors:
    """Read and check an estimator's priors of the skills."""
    return Priors(
        prior_of(estimator.sensitivity_prior, "sensitivity_prior"),
        prior_of(estimator.specificity_prior, "specificity_prior"),
    )


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


@dataclass(frozen=True)
class VoteList:
    """Votes that were given, one after the other: a reader of many reads few bags, and a matrix is mostly empty.

    Attributes
    ----------
    bags, readers
        Row and column of each vote.
    is_yes
        Whether it is 1.
    n_bags, n_readers
        Shape of the matrix.
    """

    bags: NDArray[np.intp]
    readers: NDArray[np.intp]
    is_yes: NDArray[np.bool_]
    n_bags: int
    n_readers: int

    def sum_of_readers(self, of_votes: Floats) -> Floats:
        """Sum a value of each vote over the votes of each reader."""
        return np.asarray(np.bincount(self.readers, of_votes, self.n_readers), dtype=np.float64)

    def sum_of_bags(self, of_votes: Floats) -> Floats:
        """Sum a value of each vote over the votes of each bag."""
        return np.asarray(np.bincount(self.bags, of_votes, self.n_bags), dtype=np.float64)


def list_votes(matrix: Floats) -> VoteList:
    """List the votes of a matrix of 0, 1 and NaN."""
    bags, readers = np.nonzero(~np.isnan(matrix))
    return VoteList(bags, readers, matrix[bags, readers] == 1, *matrix.shape)


def maximize(votes: VoteList, posterior: Floats, priors: Priors) -> Skills:
    """Most probable skills for these posteriors."""
    own = posterior[votes.bags]
    other = 1.0 - own
    return Skills(
        priors.sensitivity.mode(votes.sum_of_readers(own * votes.is_yes), votes.sum_of_readers(own)),
        priors.specificity.mode(votes.sum_of_readers(other * ~votes.is_yes), votes.sum_of_readers(other)),
    )


def expect(votes: VoteList, skills: Skills, log_p: Floats, log_q: Floats) -> Expectation:
    """Posteriors for these skills, in log space; log_p and log_q are log p_i and log(1 - p_i)."""
    with np.errstate(divide="ignore"):
        # Chosen, not multiplied: 0 * -inf would make NaN of a reader who never errs.
        given_one = np.where(
            votes.is_yes,
            np.log(skills.sensitivity)[votes.readers],
            np.log1p(-skills.sensitivity)[votes.readers],
        )
        given_zero = np.where(
            votes.is_yes,
            np.log1p(-skills.specificity)[votes.readers],
            np.log(skills.specificity)[votes.readers],
        )
    if_one, if_zero = log_p + votes.sum_of_bags(given_one), log_q + votes.sum_of_bags(given_zero)
    both = np.logaddexp(if_one, if_zero)
    return Expectation(np.exp(if_one - both), float(both.sum()))


@dataclass(frozen=True)
class LabelStep:
    """The labels' model after its M-step: log p_i, log(1 - p_i), and what its own prior adds to the objective."""

    log_p: Floats
    log_q: Floats
    log_prior: float


@dataclass(frozen=True)
class EMResult:
    """Where EM ended: posteriors, the skills they follow from, and L at the start and after each round."""

    posterior: Floats
    skills: Skills
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
    votes = list_votes(matrix)
    for _ in range(max_rounds + 1):
        skills = maximize(votes, posterior, priors)
        labels = label_step(posterior)
        expectation = expect(votes, skills, labels.log_p, labels.log_q)
        posterior = expectation.posterior
        objectives.append(expectation.log_likelihood + labels.log_prior + priors.log_density(skills))
        if len(objectives) > 1 and objectives[-1] - objectives[-2] <= tol * len(posterior):
            converged = True
            break
    return EMResult(posterior, skills, np.array(objectives), converged)


def warn_about_crowd(result: EMResult, skills: pd.DataFrame, *, determined: bool) -> None:
    """Say what the fit has to say: not converged, not determined, votes all alike, readers worse than chance."""
    if not result.converged:
        rise = result.objectives[-1] - result.objectives[-2]
        warnings.warn(
            f"EM not converged after {len(result.objectives) - 1} rounds: the last raised L by {rise:.2g}; "
            "raise the rounds",
            ConvergenceWarning,
            stacklevel=4,
        )
    if not determined:
        warnings.warn(
            f"the votes ({len(skills)} readers) do not determine skills and labels: others explain them as well. "
            "It takes three readers who share bags, or priors on both skills",
            DataWarning,
            stacklevel=4,
        )
    marked, votes = int(skills["n_marked"].sum()), int(skills["n_votes"].sum())
    if marked in (0, votes):
        warnings.warn(
            f"every vote is {int(marked > 0)}: so is every label, and nothing is known of the other one",
            DataWarning,
            stacklevel=4,
        )
    youden = skills["sensitivity"] + skills["specificity"] - 1
    if float((youden * skills["n_votes"]).sum()) < 0:
        warnings.warn(
            "the readers are on the whole worse than chance: the two labels may be exchanged",
            DataWarning,
            stacklevel=4,
        )
