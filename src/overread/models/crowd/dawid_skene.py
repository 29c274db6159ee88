"""Dawid and Skene's model for two classes: prevalence and reader skills by EM, without features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from overread.models.crowd.em import LabelStep, run_em
from overread.models.crowd.expectation import Prior, majority, prior_of, priors_of
from overread.models.crowd.intervals import LabelPart, logit_interval
from overread.models.crowd.skills import ReaderSkills
from overread.models.crowd.votes import read_votes
from overread.models.fields import Field, Float, FloatArray
from overread.models.preparation import check_number

__all__ = ["DawidSkene"]

Floats = NDArray[np.float64]


class DawidSkene(ReaderSkills, BaseEstimator, kind="DawidSkene"):
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
        reader_id, n_votes, n_marked, expected_positives, sensitivity and specificity with 95 % intervals from the
        observed information (`overread.models.crowd.intervals`; coverage in docs/explanation/crowd_models.md).
    prevalence_interval_ : ndarray of shape (2,)
        95 % interval of pi, likewise.
    objectives_ : ndarray
        L at the start and after each round.
    n_iter_, converged_
        Rounds, and whether tol was reached.
    determined_
        Whether the votes determine skills and labels; two readers never do, without priors.

    Examples
    --------
    >>> model = DawidSkene().fit([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]])
    >>> model.posterior_.round(2)
    array([1., 1., 0., 0.])
    """

    saved_fields: ClassVar[Mapping[str, Field]] = {
        **ReaderSkills.skill_fields,
        "prevalence_": Float(),
        "prevalence_interval_": FloatArray(2),
    }

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
        priors = priors_of(self)
        prevalence_prior = prior_of(self.prevalence_prior, "prevalence_prior")
        tol = check_number(self.tol, "tol", high=1.0)
        rounds = int(check_number(self.max_iter, "max_iter", low=1, integer=True))
        start = majority(read.matrix)
        labels = _Prevalence(prevalence_prior)
        result = run_em(read.matrix, start, priors, labels.step, tol=tol, max_rounds=rounds)
        self.prevalence_ = labels.rate
        shrunk = _Prevalence(prevalence_prior.with_half_a_vote())
        information = self._keep_skills(read, result, priors, shrunk.step, shrunk.part)
        low, high = logit_interval(shrunk.rate, information.labels[0])
        self.prevalence_interval_ = np.array([min(low, self.prevalence_), max(high, self.prevalence_)])
        return self


class _Prevalence:
    """One probability of label 1 for all bags, `rate`."""

    def __init__(self, prior: Prior) -> None:
        self.prior = prior
        self.rate = 0.5

    def step(self, posterior: Floats) -> LabelStep:
        self.rate = float(self.prior.mode(posterior.sum(), len(posterior)))
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(self.rate), np.log1p(-self.rate)
        shape = np.ones(len(posterior))
        return LabelStep(log_p * shape, log_q * shape, self.prior.log_density(self.rate))

    def part(self, posterior: Floats) -> LabelPart:
        rate = float(self.prior.mode(posterior.sum(), len(posterior)))
        information = (len(posterior) + self.prior.weight) * rate * (1.0 - rate)
        return LabelPart(np.ones((len(posterior), 1)), np.array([[information]]))
