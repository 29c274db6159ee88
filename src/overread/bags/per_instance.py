"""``PerInstance``: a transformer of rows that works inside a pipeline of bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from overread.bags.bags import Bags
from overread.errors import InputTypeError, InvalidInputError

__all__ = ["PerInstance"]


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
