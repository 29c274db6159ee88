"""The soft model for a grid of penalties, each fit started from the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from overread._terminal import count_steps
from overread.bags import Bags, make_splits
from overread.errors import InvalidInputError
from overread.models import _problem as fitting
from overread.models._base import LinearBagClassifier, bags_to_score, linear_scores, make_alike, read_bags
from overread.models._plots import plot_path
from overread.models._report import FitReport
from overread.models._saving import BAG_FIELDS, Field, Float, FloatArray, IntegerArray, SavedModel
from overread.models._soft import SoftMILLogisticRegression, SoftParameters
from overread.models.loss._bag_loss import WeighedBags, pool, weigh_bags
from overread.models.solver._path import alpha_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Smallest penalty of a path, as a share of the largest that matters; the solver's benchmarks end there too.
MIN_RATIO = 0.02

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Scores closer than this are equal.
ROUNDING = 1e-9


def find_best(values: Floats, sparsity: Floats) -> int:
    """Position of the highest value; of equal ones the sparsest."""
    return int(np.lexsort((sparsity, -np.round(values, 9)))[0])


def take_sparsest(values: Floats, sparsity: Floats, errors: Floats, n_standard_errors: float) -> int:
    """Take the sparsest setting within this many standard errors of the best; of equally sparse ones the better.

    Breiman et al., Classification and Regression Trees (1984), section 3.4.3; `errors` are those of the paired
    differences from the best, because the same patients judge all settings.
    """
    accepted = np.flatnonzero(values - values.max() >= -n_standard_errors * errors - ROUNDING)
    order = np.lexsort((-np.round(values[accepted], 9), sparsity[accepted]))
    return int(accepted[order[0]])


@dataclass(frozen=True)
class PathProgress:
    """What a callback receives after each penalty: position, size of the grid, and the certificate."""

    index: int
    n_alphas: int
    report: FitReport


@dataclass(eq=False, repr=False)
class SoftMILPath(SoftParameters, SavedModel, BaseEstimator, kind="SoftMILPath"):
    """All models of `SoftMILLogisticRegression` along a decreasing grid of penalties.

    Parameters
    ----------
    alphas : array-like of float, optional
        Penalties, any order; None means a geometric grid of `n_alphas` from alpha_max to
        `min_ratio` alpha_max.
    n_alphas, min_ratio
        The grid, where `alphas` is None.
    penalty, normalization, divide_by_features, fit_intercept, standardize, pooling, tol, max_iter, \
    random_state, memory_mb
        As in `SoftMILLogisticRegression`; max_iter is per penalty.

    Attributes
    ----------
    alphas_ : ndarray of shape (L,)
        Penalties in decreasing order, L of them.
    coef_path_, intercept_path_ : ndarray of shape (L, d) and (L,)
        Coefficients (L, d) and intercepts (L,) on the user's scale.
    objectives_, n_features_ : ndarray of shape (L,)
        Objective and number of non-zero coefficients of each, (L,).
    fit_reports_ : tuple of FitReport
        L certificates; counts in them are cumulative along the path.
    alpha_max_ : float
        Smallest penalty that gives w = 0.
    mean_, scale_
        As in `SoftMILLogisticRegression`.

    Examples
    --------
    >>> from overread import SoftMILPath
    >>> path = SoftMILPath(n_alphas=3).fit([[0.0], [3.0], [0.1], [-0.2]], [0.25, 1.0, 0.0, 0.0])
    >>> path.n_features_.tolist()
    [0, 1, 1]
    """

    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **BAG_FIELDS,
        "alphas_": FloatArray("L"),
        "coef_path_": FloatArray("L", "d"),
        "intercept_path_": FloatArray("L"),
        "mean_": FloatArray("d"),
        "scale_": FloatArray("d"),
        "objectives_": FloatArray("L"),
        "n_features_": IntegerArray("L"),
        "alpha_max_": Float(),
        "fit_reports_": Field(tuple[FitReport, ...], "L"),
    }

    alphas: Any = None
    _: KW_ONLY
    n_alphas: int = 30
    min_ratio: float = MIN_RATIO

    def __sklearn_tags__(self) -> Any:
        """Report classifier labels, although several models in one are not a classifier to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        bags: Any = None,
        sample_weight: Any = None,
        reader_weight: Any = None,
        callback: Callable[[PathProgress], None] | None = None,
    ) -> SoftMILPath:
        """Fit every penalty of the grid; arguments as in `SoftMILLogisticRegression.fit`.

        Parameters
        ----------
        X, y, bags, sample_weight, reader_weight
            As in `SoftMILLogisticRegression.fit`.
        callback : callable, optional
            Called with a `PathProgress` after each penalty.
        """
        given = read_bags(self, X, bags, reset=True)
        options = fitting.read_options(self)
        problem = fitting.prepare(self, given, y, sample_weight, reader_weight)
        solver = problem.solver(options.seed)
        self.alpha_max_ = problem.alpha_max
        self.alphas_ = self._grid(self.alpha_max_)

        self.classes_ = problem.labels.classes
        coefs, intercepts, reports = [], [], []
        with fitting.single_threaded_blas():
            for index, alpha in enumerate(count_steps("penalties", self.alphas_)):
                solution = solver.solve(
                    alpha * problem.alpha_unit, tol=options.tol, max_iter=options.max_iter
                )
                coefficients, intercept = problem.design.to_user(solution.w, solution.b)
                coefs.append(coefficients)
                intercepts.append(intercept)
                objectives = (problem.unit * solution.objective,)
                report = fitting.make_report(problem, solver, solution, float(alpha), options, objectives)
                reports.append(report)
                if callback is not None:
                    callback(PathProgress(index, len(self.alphas_), report))
        self.coef_path_, self.intercept_path_ = np.array(coefs), np.array(intercepts)
        self.mean_, self.scale_ = problem.design.center, problem.design.scale
        self.fit_reports_ = tuple(reports)
        self.objectives_ = np.array([report.objective for report in reports])
        self.n_features_ = np.array([report.n_features for report in reports])
        for report in reports:
            fitting.warn_about(report)
        return self

    def _grid(self, alpha_max: float) -> Floats:
        if self.alphas is None:
            n_alphas = int(fitting.check_number(self.n_alphas, "n_alphas", low=1, integer=True))
            ratio = fitting.check_number(self.min_ratio, "min_ratio", low=np.finfo(float).tiny, high=1.0)
            return alpha_grid(alpha_max, n_alphas, ratio)
        try:
            values = np.asarray(self.alphas, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"alphas must be numbers: {error}") from error
        if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values >= 0)).all():
            raise InvalidInputError("alphas must be a sequence of at least one finite number >= 0")
        return np.sort(values)[::-1]

    def make_grid(
        self, X: Any, y: Any, *, bags: Any = None, sample_weight: Any = None, reader_weight: Any = None
    ) -> Floats:
        """Return the penalties that `fit` would take, without fitting: to try the same ones on parts of the data."""
        problem = fitting.prepare(self, read_bags(self, X, bags, reset=True), y, sample_weight, reader_weight)
        return self._grid(problem.alpha_max)

    def decision_function(self, X: Any, bags: Any = None) -> Floats:
        """Log-odds of each bag for each penalty, (n_bags, L)."""
        given = bags_to_score(self, X, bags)
        scores = linear_scores(given.matrix, self.coef_path_.T, self.intercept_path_)
        columns = [pool(scores[:, i], given.offsets, self.pooling) for i in range(scores.shape[1])]
        return np.column_stack([log_p - log_q for log_p, log_q in columns])

    def instance_decision_function(self, X: Any) -> Floats:
        """Score of each instance for each penalty, (n_instances, L)."""
        check_is_fitted(self)
        instances = read_bags(self, X, None, reset=False).matrix
        return linear_scores(instances, self.coef_path_.T, self.intercept_path_)

    def plot(self, axes: Axes | None = None, *, chosen: int | None = None, n_named: int = 6) -> Axes:
        """Draw the coefficients along the path.

        Parameters
        ----------
        axes : Axes, optional
            Where to draw; a new figure if not given.
        chosen : int, optional
            Position of the penalty to mark, such as that of a `SettingChoice`.
        n_named : int, default=6
            Features to name, those with the largest coefficients in the end.

        Returns
        -------
        matplotlib.axes.Axes
            Its ``figure`` can be saved.
        """
        check_is_fitted(self)
        return plot_path(self, axes, chosen=chosen, n_named=n_named)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Tell what was fitted; before that, the parameters as scikit-learn does."""
        if not hasattr(self, "coef_path_"):
            return str(super().__repr__(N_CHAR_MAX))
        counts, alphas = self.n_features_, self.alphas_
        return (
            f"SoftMILPath({len(alphas)} penalties {alphas[0]:.3g} to {alphas[-1]:.3g}, "
            f"{counts.min()} to {counts.max()} of {self.coef_path_.shape[1]} features)"
        )

    def model(self, index: int) -> SoftMILLogisticRegression:
        """Return the fitted model of one penalty."""
        check_is_fitted(self)
        model: SoftMILLogisticRegression = make_alike(
            SoftMILLogisticRegression, self, alpha=float(self.alphas_[index])
        )
        model.coef_, model.intercept_ = self.coef_path_[[index]], self.intercept_path_[[index]]
        model.alpha_ = float(self.alphas_[index])
        model.fit_report_ = self.fit_reports_[index]
        model.n_iter_ = max(1, model.fit_report_.n_iter)
        for name in SoftMILLogisticRegression._saved_fields.keys() & self._saved_fields.keys():
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model


# Accepted shortfall against the best penalty, in standard errors.
RULES = {"1se": 1.0, "best": 0.0}


@dataclass(eq=False, repr=False)
class SoftMILPathCV(SoftParameters, LinearBagClassifier):
    """`SoftMILLogisticRegression` with its penalty chosen by cross-validation along a path.

    Every fold is fitted by a `SoftMILPath` on the penalties of the whole data, and scored on the bags that it left out
    by minus the mean soft Kullback-Leibler divergence (`soft_kl_scorer`). The chosen penalty is fitted to all bags.

    Parameters
    ----------
    alphas, n_alphas, min_ratio
        The grid of penalties, as in `SoftMILPath`.
    cv : int, splitter or iterable of (train, test), default 5
        Number of folds of a `SoftStratifiedGroupKFold`, a splitter of scikit-learn, or pairs of indices of bags. Each
        bag is tested once, and no group may be on both sides of a fold.
    rule : {"1se", "best"}, default "1se"
        "1se": the largest penalty whose mean score is at most one standard error below the best. The error is that of
        the difference from the best over the folds, because the same bags judge both. "best": the best itself.
    penalty, normalization, divide_by_features, fit_intercept, standardize, pooling, n_init, tol, max_iter, \
    random_state, memory_mb
        As in `SoftMILLogisticRegression`; n_init is that of the last fit. With normalization "none" the penalty of a
        fold is smaller than that of the whole by its share of the weights of the bags.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    alphas_ : ndarray of shape (L,)
        Penalties in decreasing order, L of them.
    cv_scores_ : ndarray of shape (L, folds)
        Score of each penalty on each fold, (L, folds); larger is better.
    best_estimator_ : SoftMILLogisticRegression
        `SoftMILLogisticRegression` of the chosen penalty, fitted to all bags; it can be saved.
    coef_, intercept_, classes_, n_iter_
        Of it.

    See Also
    --------
    choose_setting : The same rule for out-of-fold FROC.

    Examples
    --------
    >>> import numpy as np
    >>> from overread import SoftMILPathCV
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(90, 5))
    >>> y = (X[:, 0] + 0.5 * random.normal(size=90) > 0.5).astype(int)
    >>> model = SoftMILPathCV(n_alphas=10, cv=3).fit(X, y)
    >>> np.flatnonzero(model.coef_[0]).tolist()
    [0]
    """

    alphas: Any = None
    _: KW_ONLY
    n_alphas: int = 30
    min_ratio: float = MIN_RATIO
    cv: Any = 5
    rule: Literal["1se", "best"] = "1se"
    n_init: int = 1

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        bags: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        reader_weight: Any = None,
    ) -> SoftMILPathCV:
        """Choose the penalty, and fit the model.

        Parameters
        ----------
        X, y, bags, sample_weight, reader_weight
            As in `SoftMILLogisticRegression.fit`.
        groups : array-like of shape (n_bags,), optional
            Group of each bag, such as its patient; by default what the `Bags` carry.
        """
        if self.rule not in RULES:
            raise InvalidInputError(f"rule={self.rule!r} is unknown; choose one of {', '.join(RULES)}")
        given = read_bags(self, X, bags, reset=True)
        if len(given) < 2:
            raise InvalidInputError("1 sample: cross-validation needs at least two bags")
        weights = {"sample_weight": sample_weight, "reader_weight": reader_weight}
        weighed = weigh_bags(given, y, normalization=self.normalization, **weights)
        self.alphas_ = make_alike(SoftMILPath, self).make_grid(given, y, **weights)
        splits = make_splits(self.cv, given, weighed.labels.probability, groups)
        bare = given.with_labels(None)
        self.cv_scores_ = np.column_stack(
            [self._score_fold(bare, weighed, weights, *split) for split in splits]
        )
        means = self.cv_scores_.mean(axis=1)
        differences = self.cv_scores_ - self.cv_scores_[find_best(means, -self.alphas_)]
        errors = differences.std(axis=1, ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else 0.0 * means
        self.alpha_ = float(self.alphas_[take_sparsest(means, -self.alphas_, errors, RULES[self.rule])])
        model = make_alike(SoftMILLogisticRegression, self, alpha=self.alpha_)
        self.best_estimator_ = model.fit(X, y, bags=bags, **weights)
        self.classes_ = model.classes_
        self.coef_, self.intercept_, self.n_iter_ = model.coef_, model.intercept_, model.n_iter_
        return self

    def _score_fold(
        self, bags: Bags, weighed: WeighedBags, weights: dict[str, Any], train: Ints, test: Ints
    ) -> list[float]:
        """Scores of all penalties on the bags of a fold."""
        label = weighed.labels.probability
        # A loss that is a sum over the bags grows with them, and the penalty with it.
        is_sum = self.normalization == "none"
        share = weighed.weight[train].sum() / weighed.weight.sum() if is_sum else 1.0
        # A number counts for every bag.
        given = {name: np.asarray(one) for name, one in weights.items() if one is not None}
        own = {name: np.broadcast_to(one, len(bags))[train] for name, one in given.items()}
        path = make_alike(SoftMILPath, self, alphas=share * self.alphas_).fit(
            bags[train], label[train], **own
        )
        judged, counts = bags[test], weighed.sample_weight[test]
        return [path.model(i).score(judged, label[test], counts) for i in range(len(self.alphas_))]
