"""B2, the paper's mixture of readers: a relevance vector machine per reader, and one network that mixes them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from overread._terminal import count_steps
from overread.bags import Bags, SoftStratifiedGroupKFold, group_codes, read_labels, take_rows
from overread.errors import DataWarning, InvalidInputError
from overread.models import _saving as saving
from overread.models._base import LinearBagClassifier, linear_scores, make_alike, read_bags
from overread.models._problem import check_number, seed_of
from overread.models._saving import LINEAR_FIELDS, Field, SavedModel
from overread.models.loss._bag_loss import PoolingName
from overread.models.rvm._estimator import RVMMIL
from overread.models.rvm._evidence import UpdateName

Floats = NDArray[np.float64]


def bootstrap_weights(network: RVMMIL, scores: Bags, target: Floats, n_draws: int, seed: int) -> Floats:
    """Weights (draws, R) of the mixture, refitted to groups drawn with replacement.

    A bag counts as often as its group was drawn. Draws without a positive or without a negative bag are drawn again.
    """
    random = np.random.default_rng(seed)
    group = group_codes(scores, None, len(scores))
    n_groups = int(group.max()) + 1
    bare = scores.with_labels(None)
    weights = np.empty((n_draws, scores.n_features))
    for draw in count_steps("bootstraps of readers", range(n_draws)):
        counts = np.zeros(len(target))
        while len(np.unique(target[counts > 0])) < 2:
            drawn = random.multinomial(n_groups, np.full(n_groups, 1.0 / n_groups))
            counts = drawn[group].astype(np.float64)
        chosen = np.flatnonzero(counts)
        fitted = clone(network).fit(bare[chosen], target[chosen], sample_weight=counts[chosen])
        weights[draw] = fitted.coef_[0]
    return weights


ScoresName = Literal["in_sample", "out_of_fold"]


@dataclass(frozen=True)
class _Reader:
    """A reader with a model and, where there are folds, a column of out-of-fold scores for each prune bound."""

    id: str
    n_positive: int
    n_bags: int
    models: list[RVMMIL]
    scores: Floats


@dataclass(eq=False, repr=False)
class ReaderMixture(SavedModel, LinearBagClassifier, kind="ReaderMixture"):
    """One `RVMMIL` per reader on the images that reader read, mixed by a logistic network on golden GTs (B2).

    Sections 5.1 and 6.2 of the paper. With the score s_r(x) = w_r'x + b_r of reader r's model, standardized
    over the training instances to mean 0 and deviation 1,

    ::

        z(x) = c + sum_r v_r (s_r(x) - m_r) / d_r,    p = 1 - prod_k (1 - sigma(z(x_k))),

    and (v, c) maximize the likelihood of the golden labels less ``ridge/2 |v|^2``. The weight v_r is the reader's
    importance (the paper's Figure 5). The mixture is linear in x, so that ``coef_`` and ``intercept_`` are all
    that a prediction needs.

    Parameters
    ----------
    update, prune_bound, alpha_init, screen, tol, max_iter, pooling, memory_mb
        Of each reader's `RVMMIL`.
    scores : {"in_sample", "out_of_fold"}, default "in_sample"
        "in_sample", as in the paper: the mixture learns from scores of the instances the readers' models were
        trained on. "out_of_fold": from scores by models trained without the patient's group.
    cv : int, default 5
        Number of folds of the out-of-fold scores.
    min_positives : int, default 10
        A reader with fewer positive bags, or fewer negative ones, is left out and named.
    ridge : float, default 1e-3
        Precision of the prior on v; so small that it matters only where scores are collinear, and two readers
        with the same scores then share their weight equally.
    n_bootstrap, confidence : int, default 200; float, default 0.95
        Draws of the groups (patients) for the intervals of the importance, and their level. The readers' models
        are held fixed. 0 draws: no intervals.
    random_state : int, optional
        Seed of the bootstrap; None means 0.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, d) and (1,)
        Of the whole mixture, (1, d) and (1,), on the user's scale.
    reader_ids_ : ndarray of shape (R,)
        Readers in the mixture, R of them.
    reader_importance_ : pandas.DataFrame
        Table: reader_id, importance, low, high, n_positive, n_bags, n_features.
    left_out_readers_ : dict
        Reason by reader id.
    reader_coefs_, reader_intercepts_ : ndarray of shape (R, d) and (R,)
        The readers' models, (R, d) and (R,).
    score_means_, score_deviations_ : ndarray of shape (R,)
        By which the scores are standardized, (R,).
    n_features_ : int
        Features that any reader's model uses: the size of the union.
    converged_ : bool
        Whether all readers' models and the mixture did.
    """

    _later_parameters = frozenset({"memory_mb"})
    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **LINEAR_FIELDS,
        "reader_ids_": saving.Names("R"),
        "reader_coefs_": saving.FloatArray("R", "d"),
        "reader_intercepts_": saving.FloatArray("R"),
        "score_means_": saving.FloatArray("R"),
        "score_deviations_": saving.FloatArray("R"),
        "importance_": saving.FloatArray("R"),
        "interval_": saving.FloatArray("R", 2),
        "n_positive_": saving.IntegerArray("R"),
        "n_bags_": saving.IntegerArray("R"),
        "mixture_intercept_": saving.Float(),
        "left_out_ids_": saving.Names("L"),
        "left_out_reasons_": saving.Names("L"),
        "n_features_": saving.Integer(),
        "converged_": saving.Flag(),
    }

    update: UpdateName = "mackay"
    _: KW_ONLY
    prune_bound: float = 1e6
    alpha_init: float = 1.0
    screen: int | None = None
    tol: float = 1e-3
    max_iter: int = 1000
    pooling: PoolingName = "noisy_or"
    scores: ScoresName = "in_sample"
    cv: int = 5
    min_positives: int = 10
    ridge: float = 1e-3
    n_bootstrap: int = 200
    confidence: float = 0.95
    random_state: int | None = None
    memory_mb: float | None = None

    def fit(self, X: Bags, y: Any = None, *, reader_bags: Mapping[str, Bags]) -> ReaderMixture:
        """Fit the readers' models and the mixture.

        Parameters
        ----------
        X : Bags
            Bags of golden GTs, as `make_bags(labels="golden")` makes them. Their groups (patients) are what the
            bootstrap draws and the folds keep whole.
        y : array-like of shape (n_bags,), optional
            Two classes; the labels that `X` carries where None.
        reader_bags : mapping of str to Bags
            Bags of each reader, carrying labels, as `overread.bags._grouping` makes them: the same features in
            the same order, and groups of the same kind.
        """
        self._fit_models([self], X, y, reader_bags)
        return self

    def fit_each(
        self, X: Bags, y: Any = None, *, reader_bags: Mapping[str, Bags], prune_bounds: Sequence[float]
    ) -> list[ReaderMixture]:
        """Fit a mixture for each prune bound, with these parameters otherwise; the same as `fit` of each, but quicker.

        Each reader's bags are read once, and each reader's models are fitted by `RVMMIL.fit_each`.

        Parameters
        ----------
        X, y, reader_bags
            As in `fit`.
        prune_bounds : sequence of float
            In the order of the models returned.
        """
        models = [clone(self).set_params(prune_bound=bound) for bound in prune_bounds]
        self._fit_models(models, X, y, reader_bags)
        return models

    def _fit_models(
        self, models: Sequence[ReaderMixture], X: Bags, y: Any, reader_bags: Mapping[str, Bags]
    ) -> None:
        """Fit mixtures that differ from this one in their prune bound alone."""
        if not isinstance(X, Bags):
            raise InvalidInputError("ReaderMixture learns from Bags; make them with overread.bags.make_bags")
        self._check()
        bags = read_bags(self, X, None, reset=True)
        labels = read_labels(bags.labels if y is None else y)
        if not labels.is_hard:
            raise InvalidInputError("ReaderMixture needs golden labels: make_bags(labels='golden')")
        if labels.is_constant:
            raise InvalidInputError(
                "every golden label is the same: there is nothing for the mixture to learn"
            )
        folds = self._folds(bags, labels.probability)
        bounds = [model.prune_bound for model in models]
        readers, left_out = self._fit_readers(bags, reader_bags, folds, bounds)
        for position, model in enumerate(models):
            read_bags(model, X, None, reset=True)
            model.classes_ = labels.classes
            model.reader_ids_ = np.array([reader.id for reader in readers], dtype=object)
            model.n_positive_ = np.array([reader.n_positive for reader in readers], dtype=np.int64)
            model.n_bags_ = np.array([reader.n_bags for reader in readers], dtype=np.int64)
            model.left_out_ids_ = np.array(list(left_out), dtype=object)
            reasons = [f"{reader}: {why}" for reader, why in left_out.items()]
            model.left_out_reasons_ = np.array(reasons, dtype=object)
            model._fit_mixture(readers, position, bags, labels.probability, folds)

    @property
    def reader_importance_(self) -> pd.DataFrame:
        """One row per reader in the mixture; low and high are NaN without a bootstrap."""
        low, high = self.interval_.T if self.n_bootstrap else (np.nan, np.nan)
        return pd.DataFrame(
            {
                "reader_id": pd.Series(self.reader_ids_, dtype="str"),
                "importance": self.importance_,
                "low": low,
                "high": high,
                "n_positive": self.n_positive_,
                "n_bags": self.n_bags_,
                "n_features": np.count_nonzero(self.reader_coefs_, axis=1),
            }
        )

    @property
    def left_out_readers_(self) -> dict[str, str]:
        """Why each reader without a model was left out."""
        return dict(zip(self.left_out_ids_.tolist(), self.left_out_reasons_.tolist(), strict=True))

    def _check(self) -> None:
        if self.scores not in ("in_sample", "out_of_fold"):
            raise InvalidInputError(f"scores={self.scores!r} is unknown; choose in_sample or out_of_fold")
        check_number(self.min_positives, "min_positives", low=1, integer=True)
        check_number(self.ridge, "ridge", low=1e-6)
        check_number(self.n_bootstrap, "n_bootstrap", integer=True)
        check_number(self.confidence, "confidence", high=1.0)

    def _folds(self, bags: Bags, target: Floats) -> NDArray[np.int64] | None:
        """Fold of each bag, or None for in-sample scores."""
        if self.scores == "in_sample":
            return None
        if bags.groups is None:
            raise InvalidInputError(
                "out-of-fold scores need bags that carry groups: pass images= to make_bags"
            )
        fold = np.empty(len(bags), dtype=np.int64)
        for number, (_, test) in enumerate(SoftStratifiedGroupKFold(self.cv).split(bags, target)):
            fold[test] = number
        return fold

    def _fit_readers(
        self,
        bags: Bags,
        reader_bags: Mapping[str, Bags],
        folds: NDArray[np.int64] | None,
        bounds: Sequence[float],
    ) -> tuple[list[_Reader], dict[str, str]]:
        """Fit the models of readers for each bound, with their scores of the bags by fold; and why others have none."""
        fitted, left_out = [], {}
        for reader in reader_bags:
            own = read_bags(self, reader_bags[reader], None, reset=False)
            label = _hard_labels(own, reader)
            n_positive = int(label.sum())
            for count, kind in ((n_positive, "positive"), (len(label) - n_positive, "negative")):
                if count < self.min_positives:
                    left_out[reader] = f"{count} {kind} bags, fewer than min_positives={self.min_positives}"
                    break
            else:
                models = make_alike(RVMMIL, self).fit_each(own, label, prune_bounds=bounds)
                scores = self._fold_scores(own, label, bags, folds, bounds)
                fitted.append(_Reader(reader, n_positive, len(label), models, scores))
        if left_out:
            named = "; ".join(f"{reader}: {reason}" for reader, reason in left_out.items())
            warnings.warn(f"readers left out of the mixture: {named}", DataWarning, stacklevel=4)
        if not fitted:
            raise InvalidInputError("no reader has enough marks near candidates to be learned from")
        return fitted, left_out

    def _fold_scores(
        self, own: Bags, label: Floats, bags: Bags, folds: NDArray[np.int64] | None, bounds: Sequence[float]
    ) -> Floats:
        """Scores of all instances for each bound, one column a bound, by models that did not see the group."""
        scores = np.zeros((bags.n_instances, len(bounds)))
        if folds is None:
            return scores
        if own.groups is None or bags.groups is None:
            raise InvalidInputError("out-of-fold scores need reader bags that carry groups")
        fold_of_instance = folds[bags.bag_of_instance]
        for fold in np.unique(folds):
            tested = set(bags.groups[folds == fold].tolist())
            train = np.array([group not in tested for group in own.groups.tolist()])
            rows = fold_of_instance == fold
            models = make_alike(RVMMIL, self).fit_each(own[train], label[train], prune_bounds=bounds)
            tested_rows = take_rows(bags.matrix, np.flatnonzero(rows))
            for column, model in enumerate(models):
                scores[rows, column] = linear_scores(tested_rows, model.coef_[0], model.intercept_[0])
        return scores

    def _fit_mixture(
        self,
        readers: Sequence[_Reader],
        position: int,
        bags: Bags,
        target: Floats,
        folds: NDArray[np.int64] | None,
    ) -> None:
        """Mix the readers' models of a bound."""
        models = [reader.models[position] for reader in readers]
        self.converged_ = all(model.fit_report_.converged for model in models)
        coefs = self.reader_coefs_ = np.concatenate([model.coef_ for model in models])
        intercepts = self.reader_intercepts_ = np.concatenate([model.intercept_ for model in models])
        scores = linear_scores(bags.matrix, coefs.T, intercepts)
        self.score_means_, self.score_deviations_ = scores.mean(axis=0), _deviations(scores)
        if folds is not None:
            scores = np.column_stack([reader.scores[:, position] for reader in readers])
        self._learn_weights(bags.with_instances(_standardize_scores(scores, bags, folds)), target)
        share = np.divide(
            self.importance_,
            self.score_deviations_,
            out=np.zeros_like(self.importance_),
            where=self.score_deviations_ > 0,
        )
        self.coef_ = (share @ coefs)[None, :]
        offset = self.mixture_intercept_ + share @ (intercepts - self.score_means_)
        self.intercept_ = np.array([offset])
        self.n_features_ = int(np.count_nonzero(coefs.any(axis=0)))

    def _learn_weights(self, scores: Bags, target: Floats) -> None:
        fixed = {"update": "fixed", "alpha_init": self.ridge, "prune_bound": 1e6, "screen": None}
        network = make_alike(RVMMIL, self, standardize=False, **fixed)
        network.fit(scores.with_labels(None), target)
        self.importance_, self.mixture_intercept_ = network.coef_[0], float(network.intercept_[0])
        self.converged_ = self.converged_ and network.fit_report_.converged
        self.interval_ = np.zeros((len(self.importance_), 2))
        if self.n_bootstrap:
            draws = bootstrap_weights(network, scores, target, self.n_bootstrap, seed_of(self.random_state))
            tail = 50.0 * (1.0 - self.confidence)
            self.interval_ = np.percentile(draws, [tail, 100.0 - tail], axis=0).T


def _hard_labels(own: Bags, reader: str) -> Floats:
    if own.labels is None:
        raise InvalidInputError(f"the bags of reader {reader!r} carry no labels; make them with reader_bags")
    labels = read_labels(own.labels)
    if not labels.is_hard:
        raise InvalidInputError(f"the bags of reader {reader!r} carry soft labels; marks give hard labels")
    return labels.probability


def _deviations(scores: Floats) -> Floats:
    """Deviation of each column; 0 for one that does not vary, whose reader then has no say."""
    deviation = scores.std(axis=0)
    deviation[deviation <= 1e-12 * np.abs(scores).max(axis=0, initial=0.0)] = 0.0
    return deviation


def _standardize_scores(scores: Floats, bags: Bags, folds: NDArray[np.int64] | None) -> Floats:
    """Scores with mean 0 and deviation 1, within each fold, if there are folds."""
    fold = np.zeros(bags.n_instances, dtype=np.int64) if folds is None else folds[bags.bag_of_instance]
    result = np.empty_like(scores)
    for number in np.unique(fold):
        part = scores[fold == number]
        deviation = _deviations(part)
        centred = part - part.mean(axis=0)
        result[fold == number] = np.divide(centred, deviation, out=np.zeros_like(part), where=deviation > 0)
    return result
