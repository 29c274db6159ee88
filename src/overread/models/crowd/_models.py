"""Crowd models: Dawid and Skene's for two classes, without features, and Raykar's with a model of bags; both by EM."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models import _saving as saving
from overread.models._base import LinearBagClassifier, make_alike, read_bags
from overread.models._penalties import Penalty, find_penalty
from overread.models._problem import check_number, warn_about
from overread.models._report import FitReport
from overread.models._saving import LINEAR_FIELDS, Field, SavedModel
from overread.models._soft import SoftMILLogisticRegression
from overread.models.crowd import _em as em
from overread.models.crowd._votes import Votes, read_votes
from overread.models.loss._bag_loss import PoolingName

Floats = NDArray[np.float64]

FEWEST_READERS, FEWEST_VOTES = 3, 2
INTERVAL_ROUNDS, INTERVAL_TOL = 2000, 1e-9


class ReaderSkills(SavedModel):
    """Skills of readers with their intervals, kept as arrays and shown as a table."""

    skill_fields: ClassVar[Mapping[str, Field]] = {
        "posterior_": saving.FloatArray("n"),
        "objectives_": saving.FloatArray("k"),
        "n_iter_": saving.Integer(),
        "converged_": saving.Flag(),
        "determined_": saving.Flag(),
        "reader_ids_": saving.Names("R"),
        "n_votes_": saving.IntegerArray("R"),
        "n_marked_": saving.IntegerArray("R"),
        "expected_positives_": saving.FloatArray("R"),
        "sensitivity_": saving.FloatArray("R"),
        "sensitivity_interval_": saving.FloatArray("R", 2),
        "specificity_": saving.FloatArray("R"),
        "specificity_interval_": saving.FloatArray("R", 2),
    }

    posterior_: Floats
    sensitivity_: Floats
    sensitivity_interval_: Floats
    specificity_: Floats
    specificity_interval_: Floats

    @property
    def reader_skills_(self) -> pd.DataFrame:
        """One row a reader: counts, expected positives, either skill with its 95 % interval."""
        columns: dict[str, Any] = {
            "reader_id": pd.Series(self.reader_ids_, dtype="str"),
            "n_votes": self.n_votes_,
            "n_marked": self.n_marked_,
            "expected_positives": self.expected_positives_,
        }
        for name in ("sensitivity", "specificity"):
            columns[name] = getattr(self, f"{name}_")
            columns[f"{name}_low"], columns[f"{name}_high"] = getattr(self, f"{name}_interval_").T
        return pd.DataFrame(columns)

    def _keep_skills(
        self,
        votes: Votes,
        result: em.EMResult,
        priors: em.Priors,
        label_step: Callable[[Floats], em.LabelStep],
        label_part: Callable[[Floats], em.LabelPart],
    ) -> Floats:
        """Keep the result of EM with intervals, and warn; return the variances of the labels' parameters."""
        read = ~np.isnan(votes.matrix)
        self.posterior_, self.objectives_ = result.posterior, result.objectives
        self.n_iter_, self.converged_ = len(result.objectives) - 1, result.converged
        self.reader_ids_ = _as_text(votes.reader_ids)
        self.n_votes_, self.n_marked_ = read.sum(axis=0), (votes.matrix == 1).sum(axis=0)
        self.expected_positives_ = result.posterior @ read
        self.sensitivity_, self.specificity_ = result.skills
        wider = (priors[0].with_half_a_vote(), priors[1].with_half_a_vote())
        start, matrix = result.posterior, votes.matrix
        shrunk = em.run_em(matrix, start, wider, label_step, tol=INTERVAL_TOL, max_rounds=INTERVAL_ROUNDS)
        (*_, share), (of_skills, of_labels, _) = (
            em.observed_information(matrix, at.posterior, at.skills, own, label_part(at.posterior))
            for at, own in ((result, priors), (shrunk, wider))
        )
        low, high = em.logit_interval(shrunk.skills, of_skills)
        low, high = np.minimum(low, result.skills), np.maximum(high, result.skills)
        self.sensitivity_interval_, self.specificity_interval_ = np.stack([low, high], axis=-1)
        # Without three readers and a bag that two of them read there is always another fit; where estimates are 0 or 1
        # the information does not show this.
        can_be = bool(read.shape[1] >= FEWEST_READERS and read.sum(axis=1).max() >= FEWEST_VOTES)
        has_priors = min(prior.weight for prior in priors) > 0
        self.determined_ = share > em.NOT_DETERMINED and (has_priors or can_be)
        em.warn_about_crowd(result, self.reader_skills_, determined=self.determined_)
        return of_labels


def _read_priors(estimator: Any) -> em.Priors:
    """Read and check an estimator's priors."""
    names = ("sensitivity_prior", "specificity_prior")
    sensitivity, specificity = (em.prior_of(getattr(estimator, name), name) for name in names)
    return sensitivity, specificity


def _as_text(ids: pd.Index[Any]) -> NDArray[Any]:
    """Ids as strings, which is what a file and a table hold."""
    names = np.array([str(reader) for reader in ids], dtype=object)
    if len(set(names)) < len(names):
        raise InvalidInputError("votes: two readers have the same name when written as text; rename one")
    return names


@dataclass(eq=False, repr=False)
class DawidSkene(ReaderSkills, BaseEstimator, kind="DawidSkene"):
    """Hidden labels of bags from votes alone (Dawid and Skene 1979, two classes).

    Maximizes L = sum_i log(pi A_i + (1 - pi) B_i) + log prior over the prevalence pi and the readers' skills; A_i and
    B_i are the probabilities of the votes on bag i if its label is 1, or 0. EM starts from the proportion of votes and
    never lowers L.

    Parameters
    ----------
    sensitivity_prior, specificity_prior, prevalence_prior : tuple of float, default (1.0, 1.0)
        (a, b) of Beta priors, at least 1; (1, 1) is maximum likelihood.
    tol : float, default 1e-9
        EM stops when a round raises L by at most tol per bag.
    max_iter : int, default 2000
        Rounds allowed.

    Attributes
    ----------
    posterior_ : ndarray of shape (n_bags,)
        Probability of label 1 given the votes.
    prevalence_ : float
        pi.
    reader_skills_ : pandas.DataFrame
        reader_id, n_votes, n_marked, expected_positives, sensitivity and specificity with 95 % intervals from the
        observed information (docs/explanation/crowd_models.md has their coverage).
    prevalence_interval_ : ndarray of shape (2,)
        95 % interval of pi, likewise.
    objectives_ : ndarray
        L at the start and after each round.
    n_iter_, converged_ : int, bool
        Rounds, and whether tol was reached.
    determined_ : bool
        Whether the votes determine skills and labels; two readers never do, without priors.

    Examples
    --------
    >>> model = DawidSkene().fit([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]])
    >>> model.posterior_.round(2)
    array([1., 1., 0., 0.])
    """

    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **ReaderSkills.skill_fields,
        "prevalence_": saving.Float(),
        "prevalence_interval_": saving.FloatArray(2),
    }

    _: KW_ONLY
    sensitivity_prior: tuple[float, float] = (1.0, 1.0)
    specificity_prior: tuple[float, float] = (1.0, 1.0)
    prevalence_prior: tuple[float, float] = (1.0, 1.0)
    tol: float = 1e-9
    max_iter: int = 2000

    def fit(self, votes: Any, y: None = None) -> DawidSkene:
        """Fit to votes, of `votes_on_bags` or `votes_from_marks`, or a table of them; y is ignored."""
        read = read_votes(votes)
        priors = _read_priors(self)
        prevalence_prior = em.prior_of(self.prevalence_prior, "prevalence_prior")
        tol = check_number(self.tol, "tol", high=1.0)
        rounds = int(check_number(self.max_iter, "max_iter", low=1, integer=True))
        start = em.majority(read.matrix)
        labels = _Prevalence(prevalence_prior)
        result = em.run_em(read.matrix, start, priors, labels.step, tol=tol, max_rounds=rounds)
        self.prevalence_ = labels.rate
        shrunk = _Prevalence(prevalence_prior.with_half_a_vote())
        of_labels = self._keep_skills(read, result, priors, shrunk.step, shrunk.part)
        low, high = em.logit_interval(shrunk.rate, of_labels[0])
        self.prevalence_interval_ = np.array([min(low, self.prevalence_), max(high, self.prevalence_)])
        return self


class _Prevalence:
    """One probability of label 1 for all bags, `rate`."""

    def __init__(self, prior: em.Prior) -> None:
        self.prior = prior
        self.rate = 0.5

    def step(self, posterior: Floats) -> em.LabelStep:
        self.rate = float(self.prior.mode(posterior.sum(), len(posterior)))
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(self.rate), np.log1p(-self.rate)
        shape = np.ones(len(posterior))
        return log_p * shape, log_q * shape, self.prior.log_density(self.rate)

    def part(self, posterior: Floats) -> em.LabelPart:
        rate = float(self.prior.mode(posterior.sum(), len(posterior)))
        information = (len(posterior) + self.prior.weight) * rate * (1.0 - rate)
        return np.ones((len(posterior), 1)), np.array([[information]])


@dataclass(eq=False, repr=False)
class RaykarCrowd(ReaderSkills, LinearBagClassifier, kind="RaykarCrowd"):
    """Learning from crowds (Raykar et al. 2010) on bags: the model's probability is the prior of each bag's label.

    Maximizes, with p_i the noisy-or probability of bag i and A, B as in `DawidSkene`,

    ::

        L = sum_i log(p_i A_i + (1 - p_i) B_i) + log prior(skills) - M alpha R(w),    M bags.

    The E-step gives the posterior of each label; the M-step for (w, b) is `SoftMILLogisticRegression` with the
    posteriors as soft labels, warm-started, so that no round lowers L. A stationary point, not a global one.

    Parameters
    ----------
    alpha : float, optional
        Penalty as in `SoftMILLogisticRegression` with normalization "bags"; None means a tenth of the smallest one
        that gives w = 0 for the labels of the first round, kept for all rounds.
    sensitivity_prior, specificity_prior : tuple of float, default (1.0, 1.0)
        (a, b) of Beta priors, at least 1; (1, 1) is maximum likelihood.
    penalty, fit_intercept, standardize, pooling, random_state
        As in `SoftMILLogisticRegression`.
    tol, max_iter : float, default 1e-6; int, default 200
        Of each M-step, as in `SoftMILLogisticRegression`.
    round_tol, max_rounds : float, default 1e-7; int, default 500
        EM stops when a round raises L by at most round_tol per bag, or after max_rounds rounds.

    Attributes
    ----------
    posterior_ : ndarray of shape (n_bags,)
        Probability of label 1 given votes and features.
    reader_skills_ : pandas.DataFrame
        As in `DawidSkene`. The intervals take the chosen features as given and alpha R(w) as it is.
    coef_, intercept_, mean_, scale_, alpha_, alpha_max_, fit_report_
        Results of the last M-step, as in `SoftMILLogisticRegression`.
    objectives_, n_iter_, converged_
        L after each round, rounds, and whether round_tol was reached.
    determined_ : bool
        As in `DawidSkene`.
    """

    _later_parameters = frozenset({"penalty"})
    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **LINEAR_FIELDS,
        "mean_": saving.FloatArray("d"),
        "scale_": saving.FloatArray("d"),
        "alpha_": saving.Float(),
        "alpha_max_": saving.Float(),
        "fit_report_": Field(FitReport),
        **ReaderSkills.skill_fields,
    }

    alpha: float | None = None
    _: KW_ONLY
    penalty: str | Penalty = "l1"
    sensitivity_prior: tuple[float, float] = (1.0, 1.0)
    specificity_prior: tuple[float, float] = (1.0, 1.0)
    fit_intercept: bool = True
    standardize: bool = True
    pooling: PoolingName = "noisy_or"
    tol: float = 1e-6
    max_iter: int = 200
    round_tol: float = 1e-7
    max_rounds: int = 500
    random_state: int | None = None

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
        priors = _read_priors(self)
        round_tol = check_number(self.round_tol, "round_tol", high=1.0)
        rounds = int(check_number(self.max_rounds, "max_rounds", low=1, integer=True))
        model = make_alike(SoftMILLogisticRegression, self, warm_start=True)
        result = em.run_em(
            read.matrix,
            em.majority(read.matrix),
            priors,
            lambda posterior: self._label_step(model, given, posterior),
            tol=round_tol,
            max_rounds=rounds,
        )
        for name in ("coef_", "intercept_", "mean_", "scale_", "alpha_", "alpha_max_", "fit_report_"):
            setattr(self, name, getattr(model, name))
        self.classes_ = np.array([0, 1])
        warn_about(model.fit_report_)
        # The weights stay as they are where half a vote is added: it moves them very little, and a fit costs much.
        log_q, log_p = model.predict_log_proba(given).T
        self._keep_skills(
            read,
            result,
            priors,
            lambda _: (log_p, log_q, 0.0),
            lambda posterior: em.label_part(model, given, posterior),
        )
        return self

    def _label_step(self, model: SoftMILLogisticRegression, bags: Bags, posterior: Floats) -> em.LabelStep:
        # Warnings concern a step on the way: the last certificate speaks for all.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(bags, posterior, reader_weight=np.ones(len(bags)))
        model.alpha = model.alpha_
        log_q, log_p = model.predict_log_proba(bags).T
        penalized = model.coef_[0] * (model.scale_ if self.standardize else 1.0)
        strength = len(bags) * model.alpha_
        return log_p, log_q, -strength * find_penalty(self.penalty).value(penalized)
