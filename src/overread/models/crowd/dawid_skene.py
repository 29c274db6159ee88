"""Dawid and Skene's model for two classes: prevalence and reader skills by EM, without features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from overread.errors import DataWarning
from overread.models.crowd.expectation import expect, majority, maximize, prior_of, skills_table
from overread.models.crowd.votes import read_votes
from overread.models.preparation import check_number

__all__ = ["DawidSkene", "warn_about_crowd"]


class DawidSkene(BaseEstimator):
    """Hidden labels of bags from votes alone (Dawid and Skene 1979, two classes).

    Maximizes L = sum_i log(pi A_i + (1 - pi) B_i) + log prior over the prevalence pi and the readers' skills; A and B
    as in `overread.models.crowd.expectation`. EM starts from the proportion of votes and never lowers L.

    Parameters
    ----------
    sensitivity_prior, specificity_prior, prevalence_prior
        (a, b) of Beta priors, at least 1; (1, 1) is maximum likelihood.
    tol
        EM stops when a round raises L by at most tol per bag.
    max_iter
        Rounds allowed.

    Attributes
    ----------
    posterior_ : ndarray of shape (n_bags,)
        Probability of label 1 given the votes.
    prevalence_ : float
        pi.
    reader_skills_ : pandas.DataFrame
        reader_id, n_votes, n_marked, expected_positives, sensitivity and specificity with 95 % intervals. The
        intervals take the posteriors as known, and so are too short: see docs/crowd_models.md.
    objectives_ : ndarray
        L at the start and after each round.
    n_iter_, converged_
        Rounds, and whether tol was reached.

    Examples
    --------
    >>> model = DawidSkene().fit([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]])
    >>> model.posterior_.round(2)
    array([1., 1., 0., 0.])
    """

    def __init__(
        self,
        *,
        sensitivity_prior: tuple[float, float] = (1.0, 1.0),
        specificity_prior: tuple[float, float] = (1.0, 1.0),
        prevalence_prior: tuple[float, float] = (1.0, 1.0),
        tol: float = 1e-9,
        max_iter: int = 2000,
    ) -> None:
        self.sensitivity_prior = sensitivity_prior
        self.specificity_prior = specificity_prior
        self.prevalence_prior = prevalence_prior
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, votes: Any, y: None = None) -> DawidSkene:
        """Fit to votes, in any form that `overread.models.crowd.votes.read_votes` takes; y is ignored."""
        read = read_votes(votes)
        priors = [prior_of(getattr(self, name), name) for name in ("sensitivity_prior", "specificity_prior")]
        prevalence_prior = prior_of(self.prevalence_prior, "prevalence_prior")
        tol = check_number(self.tol, "tol", high=1.0)
        rounds = int(check_number(self.max_iter, "max_iter", low=1, integer=True))
        posterior = majority(read.matrix)
        objectives: list[float] = []
        self.converged_ = False
        for _ in range(rounds + 1):
            skills = maximize(read.matrix, posterior, *priors)
            prevalence = float(prevalence_prior.mode(posterior.sum(), len(posterior)))
            with np.errstate(divide="ignore"):
                log_p, log_q = np.log(prevalence), np.log1p(-prevalence)
            expectation = expect(read.matrix, skills, log_p, log_q)
            posterior = expectation.posterior
            objectives.append(
                expectation.log_likelihood
                + priors[0].log_density(skills.sensitivity)
                + priors[1].log_density(skills.specificity)
                + prevalence_prior.log_density(prevalence)
            )
            if len(objectives) > 1 and objectives[-1] - objectives[-2] <= tol * len(posterior):
                self.converged_ = True
                break
        self.posterior_, self.prevalence_ = posterior, prevalence
        self.reader_skills_ = skills_table(read, posterior, skills)
        self.objectives_ = np.array(objectives)
        self.n_iter_ = len(objectives) - 1
        warn_about_crowd(self.reader_skills_, self.objectives_, converged=self.converged_)
        return self


def warn_about_crowd(skills: pd.DataFrame, objectives: NDArray[np.float64], *, converged: bool) -> None:
    """Say what the fit has to say: not converged, one reader only, or readers worse than chance."""
    if not converged:
        rise = objectives[-1] - objectives[-2]
        warnings.warn(
            f"EM not converged after {len(objectives) - 1} rounds: the last raised L by {rise:.2g}; raise the rounds",
            ConvergenceWarning,
            stacklevel=3,
        )
    if len(skills) == 1:
        warnings.warn("one reader: skill and truth cannot be told apart", DataWarning, stacklevel=3)
    youden = skills["sensitivity"] + skills["specificity"] - 1
    if float((youden * skills["n_votes"]).sum()) < 0:
        warnings.warn(
            "the readers are on the whole worse than chance: the two labels may be exchanged",
            DataWarning,
            stacklevel=3,
        )
