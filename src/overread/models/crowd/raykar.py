"""Raykar's model: reader skills and a multiple-instance logistic model, by EM."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models.crowd.em import LabelStep, run_em
from overread.models.crowd.expectation import majority, priors_of
from overread.models.crowd.label_information import label_part
from overread.models.crowd.skills import ReaderSkills
from overread.models.crowd.votes import read_votes
from overread.models.fields import Classes, Field, Flag, Float, FloatArray, Length, Names, Record
from overread.models.fitting import warn_about
from overread.models.loss.pooling import PoolingName
from overread.models.penalties.penalty import Penalty
from overread.models.penalties.registry import find_penalty
from overread.models.prediction import LinearBagClassifier, read_bags
from overread.models.preparation import check_number
from overread.models.report import FitReport
from overread.models.soft import SoftMILLogisticRegression

__all__ = ["RaykarCrowd"]

Floats = NDArray[np.float64]


class RaykarCrowd(ReaderSkills, LinearBagClassifier, kind="RaykarCrowd"):
    """Learning from crowds (Raykar et al. 2010) on bags: the model's probability is the prior of each bag's label.

    Maximizes, with p_i the noisy-or probability of bag i and A, B as in `overread.models.crowd.expectation`,

    ::

        L = sum_i log(p_i A_i + (1 - p_i) B_i) + log prior(skills) - M lam R(w),    M bags.

    The E-step gives the posterior of each label; the M-step for (w, b) is `SoftMILLogisticRegression` with the
    posteriors as soft labels, warm-started, so that no round lowers L. A stationary point, not a global one.

    Parameters
    ----------
    lam
        Penalty as in `SoftMILLogisticRegression` with normalization "bags"; None means a tenth of the smallest one
        that gives w = 0 for the labels of the first round, kept for all rounds.
    sensitivity_prior, specificity_prior
        (a, b) of Beta priors, at least 1; (1, 1) is maximum likelihood.
    penalty, fit_intercept, standardize, pooling, random_state
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
        As in `DawidSkene`. The intervals take the chosen features as given and lam R(w) as it is.
    coef_, intercept_, center_, scale_, lam_, lambda_max_, fit_report_
        Of the last M-step, as in `SoftMILLogisticRegression`.
    objectives_, n_iter_, converged_
        L after each round, rounds, and whether round_tol was reached.
    determined_
        As in `DawidSkene`.
    """

    later_parameters = frozenset({"penalty"})
    saved_fields: ClassVar[Mapping[str, Field]] = {
        "n_features_in_": Length("d"),
        "feature_names_in_": Names("d", optional=True),
        "classes_": Classes(),
        "fitted_with_bags_": Flag(),
        "coef_": FloatArray(1, "d"),
        "intercept_": FloatArray(1),
        "center_": FloatArray("d"),
        "scale_": FloatArray("d"),
        "lam_": Float(),
        "lambda_max_": Float(),
        "fit_report_": Record(FitReport),
        **ReaderSkills.skill_fields,
    }

    def __init__(
        self,
        lam: float | None = None,
        *,
        penalty: str | Penalty = "l1",
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
        self.penalty = penalty
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
        priors = priors_of(self)
        round_tol = check_number(self.round_tol, "round_tol", high=1.0)
        rounds = int(check_number(self.max_rounds, "max_rounds", low=1, integer=True))
        model = self._soft_model()
        result = run_em(
            read.matrix,
            majority(read.matrix),
            priors,
            lambda posterior: self._label_step(model, given, posterior),
            tol=round_tol,
            max_rounds=rounds,
        )
        for name in ("coef_", "intercept_", "center_", "scale_", "lam_", "lambda_max_", "fit_report_"):
            setattr(self, name, getattr(model, name))
        self.classes_ = np.array([0, 1])
        self.fitted_with_bags_ = bags is not None or isinstance(X, Bags)
        warn_about(model.fit_report_)
        # The weights stay as they are where half a vote is added: it hardly moves them, and a fit costs much.
        log_q, log_p = model.predict_log_proba(given).T
        fixed = LabelStep(log_p, log_q, 0.0)
        self._keep_skills(
            read, result, priors, lambda _: fixed, lambda posterior: label_part(model, given, posterior)
        )
        return self

    def _label_step(self, model: SoftMILLogisticRegression, bags: Bags, posterior: Floats) -> LabelStep:
        self._fit_soft(model, bags, posterior)
        log_q, log_p = model.predict_log_proba(bags).T
        penalized = model.coef_[0] * (model.scale_ if self.standardize else 1.0)
        strength = len(bags) * model.lam_
        return LabelStep(log_p, log_q, -strength * find_penalty(self.penalty).value(penalized))

    def _soft_model(self) -> SoftMILLogisticRegression:
        return SoftMILLogisticRegression(
            self.lam,
            penalty=self.penalty,
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
