"""B1, the paper's binary classifier: a relevance vector machine for bags."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from overread.bags import Bags, read_labels
from overread.columns import Columns, FileColumns
from overread.errors import DataWarning, InvalidInputError
from overread.models._base import LinearBagClassifier, read_bags
from overread.models._problem import FitProblem, check_number, prepare, single_threaded_blas
from overread.models._report import RVMReport
from overread.models._saving import LINEAR_FIELDS, Field, FloatArray, Integer, SavedModel
from overread.models.loss._bag_loss import PoolingName
from overread.models.rvm import _evidence as evidence
from overread.models.rvm._evidence import SMALLEST_ALPHA, UPDATES, Rounds, UpdateName
from overread.models.rvm._posterior import PosteriorSearch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False, repr=False)
class RVMMIL(SavedModel, LinearBagClassifier, kind="RVMMIL"):
    """Multiple-instance logistic regression with a prior width per feature, learned from the data (B1).

    The paper's baseline of section 5.1, after Raykar et al. (2008). Likelihood of hard labels y and prior

    ::

        log L(w, b) = sum_mu c_mu [y log p + (1 - y) log(1 - p)],    p = 1 - prod_k (1 - sigma(w'x_k + b)),
        w_i ~ N(0, 1 / alpha_i),    b flat.

    A round finds the mode of the posterior by Newton's method, fits the Gaussian with covariance S there, and
    updates alpha to raise the evidence p(y | alpha) in Laplace's approximation. A feature whose alpha passes
    `prune_bound` is dropped for good. ``fit_report_`` is a certificate of what was reached.

    Parameters
    ----------
    update : {"mackay", "em", "fixed"}, default "mackay"
        "mackay": alpha = (1 - alpha S_ii) / w^2. "em": alpha = 1 / (w^2 + S_ii), slower by far. "fixed": alpha
        stays at `alpha_init`, which gives L2-penalized multiple-instance logistic regression.
    prune_bound : float, default 1e6
        Largest alpha of a feature that stays.
    alpha_init : float, default 1.0
        Alpha of every feature in the first round.
    screen : int, optional
        Number of features that enter the first round, those with the largest score statistic; None lets all in.
        It saves time and costs evidence (docs/explanation/baselines.md).
    threshold : float, optional
        None: soft labels are an error. Else a soft label of at least this counts as 1, a smaller one as 0.
    fit_intercept : bool, default True
        Whether there is an intercept; it has no prior and is never pruned.
    standardize : bool, default True
        Whether features are brought to mean 0 and deviation 1, to which alpha then refers.
    pooling : str, default "noisy_or"
        As in `SoftMILLogisticRegression`.
    tol : float, default 1e-3
        Largest change of log alpha in the last round.
    max_iter : int, default 1000
        Rounds allowed.
    memory_mb : float, optional
        Megabytes that the process may take while it fits `StoredInstances`; None: half of the machine's memory. As many
        features enter as it holds, the best by `screen`'s measure, and a warning says so where these are not all. What
        is in memory already is fitted there.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, d) and (1,)
        Coefficients (1, d) and intercept (1,) on the user's scale; 0 for dropped features.
    classes_ : ndarray of shape (2,)
        The two classes.
    alpha_ : ndarray of shape (d,)
        Prior precisions (d,) on the scale the model was fitted on; 0 stands for a feature without a coefficient.
    deviation_ : ndarray of shape (d,)
        Posterior standard deviations (d,) of the coefficients on the user's scale; 0 where there is none.
    n_iter_ : int
        Rounds, at least 1.
    fit_report_ : RVMReport
        `RVMReport`: the certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from overread import RVMMIL
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 5))
    >>> y = (X[:, 2] + random.logistic(size=200) > 0).astype(int)
    >>> np.flatnonzero(RVMMIL(prune_bound=10.0).fit(X, y).coef_).tolist()
    [2]
    """

    _later_parameters = frozenset({"memory_mb"})
    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **LINEAR_FIELDS,
        "alpha_": FloatArray("d"),
        "deviation_": FloatArray("d"),
        "mean_": FloatArray("d"),
        "scale_": FloatArray("d"),
        "n_iter_": Integer(),
        "fit_report_": Field(RVMReport),
    }

    update: UpdateName = "mackay"
    _: KW_ONLY
    prune_bound: float = 1e6
    alpha_init: float = 1.0
    screen: int | None = None
    threshold: float | None = None
    fit_intercept: bool = True
    standardize: bool = True
    pooling: PoolingName = "noisy_or"
    tol: float = 1e-3
    max_iter: int = 1000
    memory_mb: float | None = None

    def fit(self, X: Any, y: Any, *, bags: Any = None, sample_weight: Any = None) -> RVMMIL:
        """Fit the model. Reader weights that `Bags` carry are not used: the paper's B1 has none.

        Parameters
        ----------
        X : Bags, array-like or pandas.DataFrame
            Bags, or instances of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Two classes; soft labels need `threshold`.
        bags : array-like of shape (n_instances,), optional
            The bag of each row of a matrix; None makes every row its own bag.
        sample_weight : array-like of shape (n_bags,), optional
            Counts as repetition of a bag.
        """
        _fit_models([self], X, y, bags=bags, sample_weight=sample_weight)
        return self

    def fit_each(
        self, X: Any, y: Any, *, prune_bounds: Sequence[float], bags: Any = None, sample_weight: Any = None
    ) -> list[RVMMIL]:
        """Fit a model for each prune bound, with these parameters otherwise; the same as `fit` of each, but quicker.

        Features are standardized, and the mode of the first round is found, once for all. The counts in each report are
        those of a fit by itself.

        Parameters
        ----------
        X, y, bags, sample_weight
            As in `fit`.
        prune_bounds : sequence of float
            In the order of the models returned.
        """
        models = [clone(self).set_params(prune_bound=bound) for bound in prune_bounds]
        _fit_models(models, X, y, bags=bags, sample_weight=sample_weight)
        return models

    def _settings(self) -> dict[str, Any]:
        if self.update not in UPDATES:
            raise InvalidInputError(f"update={self.update!r} is unknown; choose one of {UPDATES}")
        if self.screen is not None:
            check_number(self.screen, "screen", low=1, integer=True)
        if self.threshold is not None:
            check_number(self.threshold, "threshold", low=np.finfo(float).tiny, high=1.0)
        bound = check_number(self.prune_bound, "prune_bound", low=SMALLEST_ALPHA)
        return {
            "update": self.update,
            "alpha_init": check_number(self.alpha_init, "alpha_init", low=SMALLEST_ALPHA, high=bound),
            "prune_bound": bound,
            "tol": check_number(self.tol, "tol"),
            "max_rounds": int(check_number(self.max_iter, "max_iter", integer=True)),
        }

    def _problem(self, bags: Bags, y: Any, sample_weight: Any) -> FitProblem:
        bags.check_labels(y)
        labels = read_labels(y)
        if not labels.is_hard:
            if self.threshold is None:
                raise InvalidInputError(
                    "Unknown label type: continuous. RVMMIL needs two classes, and y holds soft labels: use "
                    "make_bags(labels='golden'), or threshold= to say from which label on a bag is positive"
                )
            y = (labels.probability >= self.threshold).astype(np.float64)
        return prepare(self, bags.with_labels(None), y, sample_weight, np.ones(len(bags)))

    def _search(self, problem: FitProblem) -> tuple[PosteriorSearch, Ints]:
        """Return the search over the screened features, on the loss as a sum of nats, and which features these are."""
        loss = problem.loss
        loss = replace(loss, plain_weight=loss.plain_weight * problem.unit, weight=loss.weight * problem.unit)
        usable = np.flatnonzero(problem.design.scale > 0)
        if problem.labels.is_constant:
            usable = usable[:0]
        columns = problem.design.columns
        limit = self._limit(columns, len(usable))
        entered = evidence.screen_features(columns, loss, problem.null, usable, limit)
        Xt, rows = columns.load(entered)
        return PosteriorSearch(Xt, loss, rows, problem.null, fit_intercept=self.fit_intercept), entered

    def _limit(self, columns: Columns, n_usable: int) -> int | None:
        """Return how many features may enter; of those in a file no more than memory holds."""
        if not isinstance(columns, FileColumns):
            return self.screen
        wanted = n_usable if self.screen is None else min(self.screen, n_usable)
        if wanted <= columns.capacity:
            return self.screen
        told = f"memory_mb holds {columns.capacity} features of {columns.n_rows} rows"
        if self.screen is not None:
            raise InvalidInputError(f"{told}, and screen={self.screen}: lower screen, or raise memory_mb")
        warnings.warn(
            f"{told}: of {n_usable} features the others were left out before the first round; raise memory_mb to let"
            " all enter",
            DataWarning,
            stacklevel=6,
        )
        return columns.capacity

    def _keep(
        self, problem: FitProblem, search: PosteriorSearch, rounds: Rounds, entered: Ints, kept: Ints
    ) -> None:
        """Keep what the rounds found, on the user's scale, with its certificate; which features entered, and stayed."""
        design, posterior, d = problem.design, rounds.posterior, len(problem.design.scale)
        w, self.alpha_, self.deviation_ = np.zeros(d), np.zeros(d), np.zeros(d)
        w[kept], self.alpha_[kept] = posterior.w, rounds.alpha
        self.deviation_[kept] = np.sqrt(posterior.variance) / design.scale[kept]
        coefficients, intercept = design.to_user(w, posterior.b)
        self.classes_ = problem.labels.classes
        self.coef_, self.intercept_ = coefficients[None, :], np.array([intercept])
        self.mean_, self.scale_ = design.center, design.scale
        self.n_iter_ = max(1, len(rounds.log_evidence) - 1)
        usable = design.scale > 0
        left_out = np.setdiff1d(np.flatnonzero(usable & (not problem.labels.is_constant)), entered)
        self.fit_report_ = RVMReport(
            n_rounds=len(rounds.log_evidence) - 1,
            log_evidence=rounds.log_evidence,
            n_kept_per_round=rounds.n_kept,
            alpha_change=rounds.alpha_change,
            evidence_gradient=rounds.evidence_gradient,
            gradient_norm=posterior.gradient_norm,
            decrement=posterior.decrement,
            tol=check_number(self.tol, "tol"),
            converged=rounds.converged,
            n_features=len(kept),
            n_screened=len(left_out),
            left_out_gain=evidence.left_out_gain(search, rounds.alpha, design.columns, left_out)
            if len(left_out)
            else 0.0,
            n_pruned=len(entered) - len(kept),
            n_constant=int(np.count_nonzero(~usable)),
            n_newton_steps=rounds.n_newton_steps,
            n_hessians=search.n_hessians,
            exact_curvature=posterior.exact,
            n_held=int(np.count_nonzero(rounds.held)),
            at_floor=int(np.count_nonzero(rounds.alpha <= SMALLEST_ALPHA)) if rounds.n_kept[1:] else 0,
        )


def _fit_models(models: Sequence[RVMMIL], X: Any, y: Any, *, bags: Any, sample_weight: Any) -> None:
    """Fit models that differ in their prune bound alone."""
    if not models:
        return
    for model in models:
        given = read_bags(model, X, bags, reset=True)
    settings = [model._settings() for model in models]
    problem = models[0]._problem(given, y, sample_weight)
    with single_threaded_blas():
        shared, entered = models[0]._search(problem)
        first = None
        if settings[0]["update"] != "fixed" and settings[0]["max_rounds"]:
            # What all prune bounds have in common: no feature has left yet.
            first = shared.minimize(
                np.full(len(shared.kept), settings[0]["alpha_init"]), tol=evidence.ROUND_TOL
            )
        for model, own in zip(models, settings, strict=True):
            search = shared.branch()
            rounds = evidence.maximize_evidence(search, first, **own)
            model._keep(problem, search, rounds, entered, entered[np.isin(shared.kept, search.kept)])
    for model in models:
        _warn_about(model.fit_report_)


def _warn_about(report: RVMReport) -> None:
    if not report.converged:
        warnings.warn(
            f"not converged: after {report.n_rounds} rounds log alpha still changes by {report.alpha_change:.2g} "
            f"(tol={report.tol:g}), and the mode is found to {report.decrement:.2g} nats; raise max_iter, or use "
            "update='mackay'",
            ConvergenceWarning,
            stacklevel=4,
        )
    if report.at_floor:
        warnings.warn(
            f"the evidence asks for unbounded coefficients of {report.at_floor} features, as where labels are "
            f"separated perfectly; alpha was held at {SMALLEST_ALPHA:g}",
            DataWarning,
            stacklevel=4,
        )
