"""Scores and out-of-fold predictions for soft labels, which scikit-learn's functions refuse or recode.

``PerInstance``: a transformer of rows that works inside a pipeline of bags.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from overread.bags._bags import Bags
from overread.bags._labels import read_labels
from overread.bags._splitting import SoftStratifiedGroupKFold, group_codes
from overread.bags._validation import read_weights
from overread.errors import InputTypeError, InvalidInputError, LeakageError

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def mean_soft_kl(
    y_true: Any, y_prob: Any = None, *, log_proba: Any = None, sample_weight: Any = None, classes: Any = None
) -> float:
    """Mean Kullback-Leibler divergence of predictions from soft labels.

    The paper's D_KL (section "MIL with soft labeling"), per bag

    ::

        y log(y / p) + (1 - y) log((1 - y) / (1 - p)),    0 log 0 = 0,

    averaged with the weights. For hard labels it is the log loss; it is 0 where p = y, and infinite where p
    excludes what the label allows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes or soft labels.
    y_prob : array-like of shape (n,) or (n, 2)
        Probability of the positive class, or of both. Both keep 1 - p exact where p is next to 1.
    log_proba : array-like of shape (n, 2), optional
        Logarithms of both probabilities, in place of ``y_prob``: exact where p itself underflows.
    sample_weight : array-like of shape (n,), optional
        Weights of the bags.
    classes : ndarray of shape (2,), optional
        Classes of the fitted model, to read ``y_true`` by.

    Returns
    -------
    float
        At least 0.
    """
    y = read_labels(y_true, classes=classes).probability
    log_no, log_yes = _log_probabilities(y_prob, log_proba)
    check_consistent_length(y, log_yes)
    # 0 * -inf would be NaN: a label of exactly 0 or 1 asks nothing of the other probability.
    with np.errstate(invalid="ignore", divide="ignore"):
        yes = np.where(y > 0, y * (np.log(y) - log_yes), 0.0)
        no = np.where(y < 1, (1 - y) * (np.log1p(-y) - log_no), 0.0)
    values = np.maximum(yes + no, 0.0)
    if sample_weight is None:
        return float(values.mean())
    weights = read_weights(sample_weight, len(y), "sample_weight")
    # A weight of 0 takes a bag out, also one whose divergence is infinite.
    return float(np.average(values[weights > 0], weights=weights[weights > 0]))


def _log_probabilities(y_prob: Any, log_proba: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if (y_prob is None) == (log_proba is None):
        raise InvalidInputError("give either y_prob or log_proba")
    if log_proba is not None:
        logs = np.asarray(log_proba, dtype=np.float64)
        if logs.ndim != 2 or logs.shape[1] != 2 or np.isnan(logs).any() or (logs > 0).any():
            raise InvalidInputError("log_proba must be two columns of log probabilities, none NaN")
        return logs[:, 0], logs[:, 1]
    probability = np.asarray(y_prob, dtype=np.float64)
    if not ((probability >= 0) & (probability <= 1)).all():
        raise InvalidInputError("y_prob must be probabilities in [0, 1], none NaN")
    with np.errstate(divide="ignore"):
        if probability.ndim == 2 and probability.shape[1] == 2:
            return np.log(probability[:, 0]), np.log(probability[:, 1])
        if probability.ndim != 1:
            raise InvalidInputError(f"y_prob has shape {probability.shape}, not (n,) or (n, 2)")
        return np.log1p(-probability), np.log(probability)


def soft_kl_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Score an estimator by minus the mean soft KL divergence: a scikit-learn scorer, larger is better.

    Use it as ``scoring=soft_kl_scorer``, or by a name of your choice among other metrics:
    ``scoring={"soft_kl": soft_kl_scorer, ...}``. It reads ``predict_log_proba`` where the estimator has it,
    so that confident predictions are scored exactly.
    """
    classes = getattr(estimator, "classes_", None)
    classes = classes if classes is not None and len(classes) == 2 else None
    if hasattr(estimator, "predict_log_proba"):
        log_proba = estimator.predict_log_proba(X)
        return -mean_soft_kl(y, log_proba=log_proba, sample_weight=sample_weight, classes=classes)
    return -mean_soft_kl(y, estimator.predict_proba(X), sample_weight=sample_weight, classes=classes)


def out_of_fold(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: int | Any = 5,
    groups: Any = None,
    params: dict[str, Any] | None = None,
    method: str = "predict_proba",
    level: Literal["bags", "instances"] = "bags",
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Predict every bag with a model that was fitted without the bag and its group.

    Like scikit-learn's ``cross_val_predict``, which cannot be used: for ``predict_proba`` and
    ``decision_function`` it label-encodes ``y``, so that soft labels {0, 0.25} reach ``fit`` as {0, 1}.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fold.
    X : Bags, array or data frame
        The samples.
    y : array-like of shape (n,), optional
        Labels, handed to ``fit`` as they are; those that ``X`` carries where None.
    cv : int, splitter or iterable of (train, test)
        An integer means :class:`SoftStratifiedGroupKFold`. The test sides must be a partition.
    groups : sequence of hashable, optional
        As in :class:`SoftStratifiedGroupKFold`.
    params : dict, optional
        More arguments of ``fit``; what has one value a sample is cut to the training side.
    method : str
        Name of the predicting method.
    level : {"bags", "instances"}
        What the method gives one row for. Instances come in the order of ``X.instances``.
    n_jobs : int, optional
        Folds fitted at a time.

    Returns
    -------
    ndarray
        Predictions in the order of the samples, or of the instances.

    Raises
    ------
    LeakageError
        If a split puts one group on both sides.
    """
    labels = X.labels if y is None and isinstance(X, Bags) else y
    if labels is None:
        raise InvalidInputError("out-of-fold prediction needs the labels: pass y")
    if level not in ("bags", "instances"):
        raise InvalidInputError(f'level must be "bags" or "instances", got {level!r}')
    if level == "instances" and not isinstance(X, Bags):
        raise InvalidInputError('level="instances" needs Bags')
    X, labels = indexable(X, labels)
    splits = make_splits(cv, X, labels, groups)
    predicted = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(clone(estimator), X, labels, split, params or {}, method)
        for split in splits
    )
    targets = [X.rows_of(test) if level == "instances" else test for _, test in splits]
    for values, target in zip(predicted, targets, strict=True):
        if len(values) != len(target):
            raise InvalidInputError(f"{method} gave {len(values)} rows for {len(target)} {level}")
    stacked = np.concatenate(predicted)
    result = np.empty_like(stacked)
    result[np.concatenate(targets)] = stacked
    return result


def make_splits(cv: Any, X: Any, y: Any, groups: Any) -> list[Split]:
    """Return training and test rows of each fold; every row is tested once and no group is on both sides."""
    if isinstance(cv, Integral):
        cv = SoftStratifiedGroupKFold(int(cv))
    if hasattr(cv, "split"):
        if groups is None and isinstance(X, Bags):
            groups = X.groups
        with warnings.catch_warnings():
            # A splitter that ignores groups is recognized by its splits: see _refuse_unfair_splits.
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            cv = list(cv.split(X, y, groups))
    elif not isinstance(cv, Iterable):
        raise InvalidInputError(f"cv must be an integer, a splitter or pairs of indices, got {cv!r}")
    splits = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    _refuse_unfair_splits(splits, group_codes(X, groups, len(y)), len(y))
    return splits


def _refuse_unfair_splits(splits: list[Split], group: NDArray[np.int64], n_samples: int) -> None:
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_samples)
    if len(tested) != n_samples or (tested != 1).any():
        raise InvalidInputError("out-of-fold prediction needs folds that test every sample exactly once")
    for number, (train, test) in enumerate(splits):
        shared = np.intersect1d(group[train], group[test])
        if len(shared):
            row = int(np.flatnonzero(group == shared[0])[0])
            raise LeakageError(
                f"fold {number} has the group of sample {row} on both sides; use SoftStratifiedGroupKFold"
            )


def _fit_and_predict(
    estimator: Any, X: Any, y: Any, split: Split, params: dict[str, Any], method: str
) -> NDArray[Any]:
    train, test = split
    chosen = {name: _cut(value, train, len(y)) for name, value in params.items()}
    estimator.fit(_take(X, train), _take(y, train), **chosen)
    return np.asarray(getattr(estimator, method)(_take(X, test)))


def _cut(value: Any, rows: NDArray[np.int64], n_samples: int) -> Any:
    per_sample = hasattr(value, "__len__") and not isinstance(value, str | dict) and len(value) == n_samples
    return _take(value, rows) if per_sample else value


def _take(values: Any, rows: NDArray[np.int64]) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return [values[row] for row in rows] if isinstance(values, list | tuple) else values[rows]


def _inverse_exists(self: PerInstance) -> bool:
    return hasattr(getattr(self, "transformer_", self.transformer), "inverse_transform")


class PerInstance(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Apply a scikit-learn transformer to the instances, and keep the bags.

    The transformer is fitted on all instances of the training bags; it never sees the labels, which belong to
    bags. Everything the bags carry passes through. A plain 2-D array is transformed as it is, so that one
    pipeline serves bags and arrays.

    Parameters
    ----------
    transformer : transformer
        Takes a 2-D array and gives a 2-D array with as many rows. It is cloned before it is fitted.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> bags = Bags.from_ids([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> PerInstance(StandardScaler()).fit_transform(bags)
    Bags(2 bags, 3 instances, 1 features, float64, largest bag 2)
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> PerInstance:
        """Fit a clone of the transformer on the instances.

        Parameters
        ----------
        X : Bags or array-like of shape (n_instances, n_features)
            The training data.
        y : ignored
            Labels belong to bags, not to instances.
        sample_weight : array-like of shape (n_bags,), optional
            Weights of the bags; every instance gets the weight of its bag.
        """
        self.transformer_ = clone(self.transformer)
        weights = {}
        if sample_weight is not None:
            if not has_fit_parameter(self.transformer_, "sample_weight"):
                raise InputTypeError(f"{type(self.transformer).__name__} takes no sample_weight")
            weights["sample_weight"] = _instance_weights(X, sample_weight)
        self.transformer_.fit(_rows(X), **weights)
        return self

    def transform(self, X: Any) -> Any:
        """Transform the instances; bags come back as bags, an array as the transformer gives it."""
        check_is_fitted(self)
        return self._rebag(X, self.transformer_.transform(_rows(X)), names=self._names_out(X))

    @available_if(_inverse_exists)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Any:
        """Undo :meth:`transform`, where the transformer can."""
        check_is_fitted(self)
        names = getattr(self.transformer_, "feature_names_in_", None)
        return self._rebag(X, self.transformer_.inverse_transform(_rows(X)), names=names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names the transformer gives its columns."""
        check_is_fitted(self)
        return np.asarray(self.transformer_.get_feature_names_out(input_features), dtype=object)

    def set_output(self, *, transform: str | None = None) -> PerInstance:
        """Accept scikit-learn's request for data frames; the output of bags is always bags."""
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen by ``fit``."""
        return int(self.transformer_.n_features_in_)

    def _names_out(self, X: Any) -> Any:
        if not isinstance(X, Bags) or X.feature_names is None:
            return None
        if not hasattr(self.transformer_, "get_feature_names_out"):
            return None
        return self.transformer_.get_feature_names_out()

    @staticmethod
    def _rebag(X: Any, transformed: Any, *, names: Any) -> Any:
        if not isinstance(X, Bags):
            return transformed
        return X.with_instances(transformed, feature_names=None if names is None else list(names))


def _rows(X: Any) -> Any:
    if not isinstance(X, Bags):
        return X
    if X.feature_names is None:
        return X.instances
    return X.to_frame()


def _instance_weights(X: Any, sample_weight: Any) -> NDArray[np.float64]:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if not isinstance(X, Bags):
        return weights
    if weights.shape != X.shape:
        raise InvalidInputError(f"sample_weight has shape {weights.shape} for {len(X)} bags")
    return np.repeat(weights, X.sizes)
