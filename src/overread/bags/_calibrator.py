"""Calibration against soft labels: decision values become probabilities that can be trusted.

scikit-learn's ``CalibratedClassifierCV`` refuses soft labels. A soft label y is here what it means: the row
once as positive with weight y and once as negative with weight 1 - y. Both methods then are the usual ones.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from overread.bags._labels import read_labels
from overread.bags._scoring import mean_soft_kl, out_of_fold
from overread.bags._validation import read_weights
from overread.errors import InvalidInputError, NotConvergedError

# As many as LIBSVM allows its fit of the same sigmoid (Lin, Lin, Weng 2007).
NEWTON_STEPS = 100
# Squared Newton decrement over the loss: it is quadratic in the error of the parameters, which is then near 1e-12.
CONVERGED = 1e-24
# A loss summed in float64 may seem to rise by some ulp (2.2e-16 each) at the minimum.
ROUNDING = 1e-14
# Mean cross-entropy below which no finite sigmoid is the minimum. Set by judgement.
SEPARATED = 1e-13


@dataclass(eq=False, repr=False)
class SoftCalibrator(BaseEstimator):
    """Map decision values to probabilities, fitted to soft labels.

    ``"sigmoid"`` (Platt 2000): p = sigma(a f + b) with (a, b) minimizing the weighted cross-entropy

    ::

        -sum_i w_i [t_i log p_i + (1 - t_i) log(1 - p_i)],   t_i = y_i t+ + (1 - y_i) t-,

    with Platt's targets t+ = (N+ + 1)/(N+ + 2) and t- = 1/(N- + 2), N+ = sum w y, N- = sum w (1 - y). They
    keep (a, b) finite where the labels can be separated.
    ``"isotonic"``: the increasing function of least weighted squared error, constant beyond the data.

    Parameters
    ----------
    method : {"sigmoid", "isotonic"}
        The kind of map.
    smooth : bool, default True
        Whether the sigmoid uses Platt's targets; False uses the labels as they are.

    Attributes
    ----------
    slope_, intercept_ : float
        a and b of the sigmoid.
    isotonic_ : sklearn.isotonic.IsotonicRegression
        The isotonic map.
    """

    method: Literal["sigmoid", "isotonic"] = "sigmoid"
    _: KW_ONLY
    smooth: bool = True

    def fit(self, decision: Any, y: Any, sample_weight: Any = None) -> SoftCalibrator:
        """Fit the map.

        Parameters
        ----------
        decision : array-like of shape (n,)
            Decision values, better out of fold.
        y : array-like of shape (n,)
            Two classes or soft labels.
        sample_weight : array-like of shape (n,), optional
            Weights; k counts as k rows.
        """
        values = _read_decision(decision)
        labels = read_labels(y).probability
        check_consistent_length(values, labels)
        weights = read_weights(sample_weight, len(labels), "sample_weight")
        if self.method == "sigmoid":
            targets = labels
            if self.smooth:
                positive, negative = weights @ labels, weights @ (1 - labels)
                targets = labels * ((positive + 1) / (positive + 2)) + (1 - labels) / (negative + 2)
            self.slope_, self.intercept_ = _fit_sigmoid(values, targets, weights)
        elif self.method == "isotonic":
            self.isotonic_ = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            self.isotonic_.fit(values, labels, sample_weight=weights)
        else:
            raise InvalidInputError(f'method must be "sigmoid" or "isotonic", got {self.method!r}')
        return self

    def predict(self, decision: Any) -> NDArray[np.float64]:
        """Return the calibrated probability of each decision value."""
        check_is_fitted(self)
        values = _read_decision(decision)
        if self.method == "isotonic":
            return np.asarray(self.isotonic_.predict(values))
        return expit(self.slope_ * values + self.intercept_)


def _read_decision(decision: Any) -> NDArray[np.float64]:
    values = np.asarray(decision, dtype=np.float64)
    if values.ndim != 1:
        raise InvalidInputError(f"decision values must be a vector, got shape {values.shape}")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InvalidInputError(f"decision value {bad[0]} is {values[bad[0]]}; calibration needs finite ones")
    return values


def _fit_sigmoid(
    decision: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float]:
    """Minimize the cross-entropy by Newton's method, in decision values centred and scaled to 1."""
    centre = float(np.average(decision, weights=weights))
    scale = float(np.abs(decision - centre).max()) or 1.0
    design = np.column_stack([(decision - centre) / scale, np.ones_like(decision)])
    mean = float(np.average(targets, weights=weights))
    if mean in (0.0, 1.0):
        raise InvalidInputError("labels that are all 0 or all 1 leave the sigmoid unbounded; use smooth=True")
    theta = np.array([0.0, float(logit(mean))])
    loss = _cross_entropy(design @ theta, targets, weights)
    for _ in range(NEWTON_STEPS):
        p = expit(design @ theta)
        gradient = design.T @ (weights * (p - targets))
        hessian = (design.T * (weights * p * (1 - p))) @ design
        # A constant decision value leaves the slope undetermined: the least-norm step keeps it 0.
        step = np.linalg.lstsq(hessian, -gradient, rcond=1e-14)[0]
        if loss <= SEPARATED * weights.sum():
            raise NotConvergedError("the labels are separable, the sigmoid is unbounded; use smooth=True")
        if -gradient @ step <= CONVERGED * loss:
            slope = float(theta[0] / scale)
            return slope, float(theta[1] - slope * centre)
        while (new_loss := _cross_entropy(design @ (theta + step), targets, weights)) > loss * (1 + ROUNDING):
            step /= 2
        theta, loss = theta + step, new_loss
    raise NotConvergedError(f"the sigmoid did not converge in {NEWTON_STEPS} Newton steps; use smooth=True")


def _cross_entropy(
    z: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    return float(-weights @ (targets * log_expit(z) + (1 - targets) * log_expit(-z)))


@dataclass(eq=False, repr=False)
class CalibratedSoftClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with probabilities calibrated on its out-of-fold decision values.

    The decision values of every bag come from a model fitted without its group (:func:`out_of_fold`); a
    :class:`SoftCalibrator` is fitted to them; the model itself is fitted on everything. It is
    ``CalibratedClassifierCV(ensemble=False)`` for bags and soft labels.

    Parameters
    ----------
    estimator : classifier
        Has ``decision_function``, one value a bag.
    method : {"sigmoid", "isotonic"}
        See :class:`SoftCalibrator`.
    cv : int, splitter or iterable of (train, test)
        See :func:`out_of_fold`.
    smooth : bool, default True
        See :class:`SoftCalibrator`.
    n_jobs : int, optional
        Folds fitted at a time.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all bags.
    calibrator_ : SoftCalibrator
        Fitted on the out-of-fold decision values.
    classes_ : ndarray of shape (2,)
        The negative and the positive class.
    """

    estimator: Any
    _: KW_ONLY
    method: Literal["sigmoid", "isotonic"] = "sigmoid"
    cv: Any = 5
    smooth: bool = True
    n_jobs: int | None = None

    def fit(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None, **params: Any
    ) -> CalibratedSoftClassifier:
        """Fit the model and its calibration.

        Parameters
        ----------
        X : Bags, array or data frame
            The samples.
        y : array-like of shape (n,)
            Two classes or soft labels.
        groups : sequence of hashable, optional
            What must stay on one side of a fold; those that ``X`` carries where None.
        sample_weight : array-like of shape (n,), optional
            Weights in the fits and in the calibration.
        **params
            More arguments of the estimator's ``fit``.
        """
        self.classes_ = read_labels(y).classes
        if sample_weight is not None:
            params["sample_weight"] = np.asarray(sample_weight)
        decision = out_of_fold(
            self.estimator,
            X,
            y,
            cv=self.cv,
            groups=groups,
            params=params,
            method="decision_function",
            n_jobs=self.n_jobs,
        )
        self.calibrator_ = SoftCalibrator(self.method, smooth=self.smooth)
        self.calibrator_.fit(decision, y, sample_weight=sample_weight)
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of the model fitted on everything, not calibrated."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the calibrated probabilities of the two classes."""
        positive = self.calibrator_.predict(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class."""
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean soft KL divergence."""
        return -mean_soft_kl(y, self.predict_proba(X), sample_weight=sample_weight, classes=self.classes_)
