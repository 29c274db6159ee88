"""Raykar's model: reader skills and a multiple-instance logistic model, by EM."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models.crowd.dawid_skene import warn_about_crowd
from overread.models.crowd.expectation import expect, majority, maximize, prior_of, skills_table
from overread.models.crowd.votes import read_votes
from overread.models.fitting import warn_about
from overread.models.loss.pooling import PoolingName
from overread.models.prediction import LinearBagClassifier, read_bags
from overread.models.preparation import check_number
from overread.models.soft import SoftMILLogisticRegression

__all__ = ["RaykarCrowd"]


class RaykarCrowd(LinearBagClassifier):
    """Learning from crowds (Raykar et al. 2010) on bags: the model's probability is the prior of each bag's label.

    Maximizes, with p_i the noisy-or probability of bag i and A, B as in `overread.models.crowd.expectation`,

        L = sum_i log(p_i A_i + (1 - p_i) B_i) + log prior(skills) - M lam |w|_1,    M bags.

    The E-step gives the posterior of each label; the M-step for (w, b) is `SoftMILLogisticRegression` with the
    posteriors as soft labels, warm-started, so that no round lowers L. A stationary point, not a global one.

    Parameters
    ----------
    lam
        Penalty as in `SoftMILLogisticRegression` with normalization "bags"; None means a tenth of the smallest one
        that gives w = 0 for the labels of the first round, kept for all rounds.
    sensitivity_prior, specificity_prior
        (a, b) of Beta priors, at least 1; (1, 1) is maximum likelihood.
    fit_intercept, standardize, pooling, random_state
        As in `SoftMILLogisticRegression`.
    tol, max_iter
        Of each M-step, as in `SoftMILLogisticRegression`.
    round_tol, max_rounds
        EM stops when a round raises L by at most round_tol per bag, or after so many rounds.

    Attributes
    ----------
    posterior_ : ndarray of shape (n_bags,)
        Probability of label 1 given votes and features.
    reader_skills_ : pandas.DataFrame
        As in `DawidSkene`.
    model_ : SoftMILLogisticRegression
        The last M-step; its ``fit_report_`` is the certificate. ``coef_`` and ``intercept_`` are its.
    objectives_, n_iter_, converged_
        L after each round, rounds, and whether round_tol was reached.
    """

    def __init__(
        self,
        lam: float | None = None,
        *,
        sensitivity_prior: tuple[float, float] = (1.0, 1.0),
        specificity_prior: tuple[float, float] = (1.0, 1.0),
        fit_intercept: bool = True,
        standardize: bool = True,
        pooling: PoolingName = "noisy_or",
        tol: float = 1e-6,
        max_iter: int = 200,
        round_tol: float = 1e-7,
        max_rounds: int = 500,
        random_state: int | None = None,
    ) -> None:
        self.lam = lam
        self.sensitivity_prior = sensitivity_prior
        self.specificity_prior = specificity_prior
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.pooling: PoolingName = pooling
        self.tol = tol
        self.max_iter = max_iter
        self.round_tol = round_tol
        self.max_rounds = max_rounds
        self.random_state = random_state

    def fit(self, X: Any, votes: Any, *, bags: Any = None) -> RaykarCrowd:
        """Fit the model.

        Parameters
        ----------
        X : Bags, array-like or pandas.DataFrame
            Bags, or instances of shape (n_instances, n_features). Labels and reader weights that `Bags` carry are
            not used: the votes say both.
        votes : Votes, pandas.DataFrame or array-like of shape (n_bags, n_readers)
            0, 1 or NaN; rows in the order of the bags.
        bags : array-like of shape (n_instances,), optional
            The bag of each row of a matrix; None makes every row its own bag.
        """
        given = read_bags(self, X, bags, reset=True).with_labels(None)
        read = read_votes(votes)
        if len(read.matrix) != len(given):
            raise InvalidInputError(f"votes on {len(read.matrix)} bags for {len(given)} bags of X")
        priors = [prior_of(getattr(self, name), name) for name in ("sensitivity_prior", "specificity_prior")]
        round_tol = check_number(self.round_tol, "round_tol", high=1.0)
        rounds = int(check_number(self.max_rounds, "max_rounds", low=1, integer=True))
        model = self._soft_model()
        posterior = majority(read.matrix)
        objectives: list[float] = []
        self.converged_ = False
        for _ in range(rounds + 1):
            skills = maximize(read.matrix, posterior, *priors)
            self._fit_soft(model, given, posterior)
            log_q, log_p = model.predict_log_proba(given).T
            expectation = expect(read.matrix, skills, log_p, log_q)
            posterior = expectation.posterior
            penalty = len(given) * model.lam_ * float(np.abs(model.coef_[0] * self._penalized(model)).sum())
            objectives.append(
                expectation.log_likelihood
                - penalty
                + priors[0].log_density(skills.sensitivity)
                + priors[1].log_density(skills.specificity)
            )
            if len(objectives) > 1 and objectives[-1] - objectives[-2] <= round_tol * len(posterior):
                self.converged_ = True
                break
        self.model_, self.coef_, self.intercept_ = model, model.coef_, model.intercept_
        self.classes_ = np.array([0, 1])
        self.fitted_with_bags_ = bags is not None or isinstance(X, Bags)
        self.posterior_ = posterior
        self.reader_skills_ = skills_table(read, posterior, skills)
        self.objectives_ = np.array(objectives)
        self.n_iter_ = len(objectives) - 1
        warn_about(model.fit_report_)
        warn_about_crowd(self.reader_skills_, self.objectives_, converged=self.converged_)
        return self

    def _soft_model(self) -> SoftMILLogisticRegression:
        return SoftMILLogisticRegression(
            self.lam,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize,
            pooling=self.pooling,
            tol=self.tol,
            max_iter=self.max_iter,
            warm_start=True,
            random_state=self.random_state,
        )

    def _fit_soft(self, model: SoftMILLogisticRegression, bags: Bags, posterior: Any) -> None:
        """Fit one M-step; its warnings concern a step on the way, so the last certificate speaks for all."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(bags, posterior, reader_weight=np.ones(len(bags)))
        model.lam = model.lam_

    def _penalized(self, model: SoftMILLogisticRegression) -> Any:
        return model.scale_ if self.standardize else 1.0
