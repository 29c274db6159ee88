"""What every model of bags can do once its instances have scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from overread.bags import Bags, Matrix, StoredInstances, mean_soft_kl
from overread.errors import InvalidInputError
from overread.models.loss._bag_loss import PoolingName, pool

Floats = NDArray[np.float64]

# Rows turned to float64 at once; set by judgement.
ROWS_PER_BLOCK = 8192
INSTANCE_METHODS = ("instance_predict_proba", "instance_decision_function")


def make_alike(kind: Any, estimator: BaseEstimator, **parameters: Any) -> Any:
    """Make an estimator of another kind with the parameters that it shares with this one, and some of its own."""
    shared = kind().get_params(deep=False).keys() & estimator.get_params(deep=False).keys()
    return kind(**{name: getattr(estimator, name) for name in shared} | parameters)


def read_bags(estimator: BaseEstimator, X: Any, bags: Any, *, reset: bool) -> Bags:
    """Bags from what scikit-learn's methods are given: `Bags`, or a matrix with or without the bag of each row.

    Feature names and their number, and whether there are bags, are remembered (reset) or compared. The columns of
    `Bags` are matched by name; for a data frame scikit-learn's rule holds, that another order is an error.
    """
    if reset:
        estimator.fitted_with_bags_ = bags is not None or isinstance(X, Bags)
    if isinstance(X, Bags):
        if bags is not None:
            raise InvalidInputError("X is Bags already: leave bags= out")
        return _named_bags(estimator, X, reset=reset)
    read = Bags.singletons(X) if bags is None else Bags.from_ids(X, bags)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return read


def bags_to_score(estimator: Any, X: Any, bags: Any) -> Bags:
    """Bags for a fitted estimator; a matrix alone is refused by one that was fitted with bags."""
    check_is_fitted(estimator)
    if estimator.fitted_with_bags_ and bags is None and not isinstance(X, Bags):
        single = [name for name in INSTANCE_METHODS if hasattr(estimator, name)]
        raise InvalidInputError(
            f"this {type(estimator).__name__} was fitted with bags: pass Bags, or bags= with the bag of each row. "
            f"For scores of single instances use {' or '.join(single)}"
        )
    return read_bags(estimator, X, bags, reset=False)


def _named_bags(estimator: BaseEstimator, bags: Bags, *, reset: bool) -> Bags:
    if reset:
        estimator.n_features_in_ = bags.n_features
        if bags.feature_names is not None:
            estimator.feature_names_in_ = np.asarray(bags.feature_names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return bags
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and bags.feature_names is not None and tuple(known) != bags.feature_names:
        missing = [name for name in known if name not in bags.feature_names]
        if missing:
            raise InvalidInputError(f"the bags lack the features {missing[:5]} ({len(missing)} in all)")
        position = {name: j for j, name in enumerate(bags.feature_names)}
        columns = [position[name] for name in known]
        return bags.with_instances(bags.instances[:, columns], feature_names=list(known))
    if bags.n_features != estimator.n_features_in_:
        raise InvalidInputError(
            f"X has {bags.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return bags


def linear_scores(X: Matrix, coefficients: Floats, intercept: Floats | float) -> Floats:
    """X coefficients + intercept in float64 whatever the precision of X, block by block.

    Only columns with a coefficient are read, so that a value of 1e300 in an unused column does no harm.
    """
    used = np.flatnonzero(np.atleast_2d(coefficients.T).any(axis=0))
    active = coefficients[used]
    scores = np.empty((len(X), *coefficients.shape[1:]))
    if isinstance(X, StoredInstances):
        scores[:] = intercept
        for factors, values in zip(active, X.read_columns(used), strict=True):
            scores += np.multiply.outer(values.astype(np.float64), factors)
        return scores
    for first in range(0, len(X), ROWS_PER_BLOCK):
        rows = slice(first, first + ROWS_PER_BLOCK)
        scores[rows] = X[rows][:, used].astype(np.float64) @ active + intercept
    return scores


def count_features(model: Any) -> int:
    """Features that a fitted model reads: the union over readers for a mixture."""
    return int(model.n_features_) if hasattr(model, "n_features_") else int(np.count_nonzero(model.coef_))


class BagClassifier(ABC, ClassifierMixin, BaseEstimator):
    """Predictions of a fitted model whose bags are pooled from scores of their instances.

    Needs the fitted attributes ``classes_`` and ``fitted_with_bags_``, and the parameter ``pooling``.
    """

    pooling: PoolingName
    classes_: NDArray[Any]
    fitted_with_bags_: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Any, bags: Any = None) -> Floats:
        """Log-odds log p - log(1 - p) of each bag."""
        log_p, log_q = self._log_probabilities(X, bags)
        return log_p - log_q

    def predict_log_proba(self, X: Any, bags: Any = None) -> Floats:
        """Logarithm of the probability of each class, one row a bag."""
        log_p, log_q = self._log_probabilities(X, bags)
        return np.column_stack([log_q, log_p])

    def predict_proba(self, X: Any, bags: Any = None) -> Floats:
        """Probability of each class, one row a bag."""
        log_q = self._log_probabilities(X, bags)[1]
        return np.column_stack([np.exp(log_q), -np.expm1(log_q)])

    def predict(self, X: Any, bags: Any = None) -> NDArray[Any]:
        """More probable class of each bag."""
        positive = self.decision_function(X, bags) > 0
        return self.classes_[positive.astype(int)]

    def instance_decision_function(self, X: Any) -> Floats:
        """Score z of each instance, in log-odds."""
        check_is_fitted(self)
        return self._score_instances(read_bags(self, X, None, reset=False).matrix)

    def instance_predict_proba(self, X: Any) -> Floats:
        """Probability sigma(z) of the positive class for each instance."""
        z = self.instance_decision_function(X)
        log_p, _ = pool(z, np.arange(len(z) + 1))
        return np.exp(log_p)

    def score(self, X: Any, y: Any, sample_weight: Any = None, bags: Any = None) -> float:
        """Minus the mean Kullback-Leibler divergence from the labels; 0 is perfect."""
        log_proba = self.predict_log_proba(X, bags)
        return -mean_soft_kl(y, log_proba=log_proba, sample_weight=sample_weight, classes=self.classes_)

    def _log_probabilities(self, X: Any, bags: Any) -> tuple[Floats, Floats]:
        given = bags_to_score(self, X, bags)
        return pool(self._score_instances(given.matrix), given.offsets, self.pooling)

    @property
    @abstractmethod
    def support_(self) -> NDArray[np.intp]:
        """Columns of the features that the model looks at."""

    @abstractmethod
    def decision_on_support(self, X: NDArray[np.floating]) -> Floats:
        """Score instances from their used columns alone, in order."""

    def _score_instances(self, X: Matrix) -> Floats:
        if isinstance(X, StoredInstances):
            return self.decision_on_support(np.column_stack(list(X.read_columns(self.support_))))
        return self.decision_on_support(X[:, self.support_])


class LinearBagClassifier(BagClassifier):
    """Predictions of a fitted linear model; needs ``coef_`` (1, d) and ``intercept_`` (1,) as well."""

    coef_: Floats
    intercept_: Floats

    @property
    def support_(self) -> NDArray[np.intp]:
        """Columns with a coefficient."""
        return np.flatnonzero(self.coef_[0])

    def decision_on_support(self, X: NDArray[np.floating]) -> Floats:
        """Score z = w'x + b from the columns with a coefficient alone."""
        return linear_scores(X, self.coef_[0][self.support_], self.intercept_[0])

    def _score_instances(self, X: Matrix) -> Floats:
        return linear_scores(X, self.coef_[0], self.intercept_[0])
