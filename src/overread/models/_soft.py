"""Soft-label multiple-instance logistic regression, sparse: the paper's model as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.models import _problem as fitting
from overread.models._base import LinearBagClassifier, read_bags
from overread.models._penalties import Penalty
from overread.models._report import FitReport
from overread.models._saving import LINEAR_FIELDS, Field, Float, FloatArray, Integer, SavedModel
from overread.models.loss._bag_loss import NormalizationName, PoolingName

Floats = NDArray[np.float64]

# Of alpha_max: a model of some features on most data; set by judgement, to be tuned by the user.
DEFAULT_FRACTION = 0.1


@dataclass(eq=False, repr=False, kw_only=True)
class SoftParameters:
    """Parameters that all soft models have."""

    _later_parameters = frozenset({"memory_mb", "penalty"})

    penalty: str | Penalty = "l1"
    normalization: NormalizationName = "bags"
    divide_by_features: bool = False
    fit_intercept: bool = True
    standardize: bool = True
    pooling: PoolingName = "noisy_or"
    tol: float = 1e-6
    max_iter: int = 200
    random_state: int | np.random.RandomState | None = None
    memory_mb: float | None = None


@dataclass(eq=False, repr=False)
class SoftMILLogisticRegression(
    SoftParameters, SavedModel, LinearBagClassifier, kind="SoftMILLogisticRegression"
):
    """Noisy-or multiple-instance logistic regression on soft labels, kept compact by L1 or the elastic net.

    Minimizes the paper's equation (1), section 4,

    ::

        F(w, b) = sum_mu a_mu D_mu(w, b) + alpha R(w),
        D_mu = -[p~ log p + (1 - p~) log(1 - p)],    p = 1 - prod_k (1 - sigma(w'x_k + b)),

    with the weights a_mu of `normalization`, `sample_weight` and `reader_weight`, and b unpenalized; ``R(w) = |w|_1``
    in the paper, and ``l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|_2^2`` for ``penalty=ElasticNet(l1_ratio)``. The
    problem is not convex once a bag has two instances: ``fit_report_`` is a certificate of what was reached.

    Parameters
    ----------
    alpha : float, optional
        Strength of the penalty, the paper's lambda; None means a tenth of the smallest one that gives w = 0.
    penalty
        R: "l1", or an object as `overread.models.ElasticNet`. As R penalizes standardized coefficients
        (see `standardize`), so does the elastic net's ridge.
    normalization
        "none" (sum over bags), "bags" (1/M) or "class" (1/M+ and 1/M-); section 4.1 of the paper.
    divide_by_features
        Whether the penalty is alpha / d.
    fit_intercept
        Whether there is an intercept (the paper has none).
    standardize
        Whether features are brought to mean 0 and deviation 1 before they are penalized. Coefficients are
        returned on the user's scale in any case.
    pooling
        "noisy_or", "noisy_or_mean", "log_sum_exp" or "mean"; see `overread.models.loss._bag_loss`.
    n_init : int, default=1
        Number of starts; the best stationary point is kept. The first is w = 0, followed down to alpha at two
        paces; each other is the fit to one random instance of each bag. Ignored where the problem is convex.
    tol
        Largest violation of the optimality conditions, relative to alpha (times l1_ratio for the elastic net), and,
        where the problem is convex, largest certified gap (F - minimum) / F.
    max_iter
        Newton steps allowed for a penalty.
    warm_start : bool, default=False
        Whether to start from the current coefficients.
    random_state
        Seed of row sampling (above 10,000 rows) and of the extra starts; None means 0.
    memory_mb
        Megabytes that the process may take while it fits `StoredInstances`; None: half of the machine's memory. What is
        in memory already is fitted there.

    Attributes
    ----------
    coef_, intercept_
        Coefficients (1, d) and intercept (1,) on the user's scale.
    classes_
        The two classes; [0, 1] for soft labels.
    alpha_, alpha_max_
        Penalty used, and the smallest one that gives w = 0.
    mean_, scale_
        Mean and deviation (d,) by which features were standardized; scale 0 marks a feature left out because it
        does not vary. ``coef_ * scale_`` are the coefficients that were penalized.
    n_iter_
        Newton steps.
    fit_report_
        `FitReport`: the certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from overread.models import SoftMILLogisticRegression
    >>> X = np.array([[0.0], [3.0], [0.1], [-0.2]])
    >>> model = SoftMILLogisticRegression(alpha=0.01).fit(X, [0.75, 0.0, 0.0], bags=["a", "a", "b", "c"])
    >>> model.predict_proba(X, bags=["a", "a", "b", "c"])[:, 1].round(2)
    array([0.74, 0.01, 0.  ])
    """

    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **LINEAR_FIELDS,
        "mean_": FloatArray("d"),
        "scale_": FloatArray("d"),
        "alpha_": Float(),
        "alpha_max_": Float(),
        "n_iter_": Integer(),
        "fit_report_": Field(FitReport),
    }

    alpha: float | None = None
    _: KW_ONLY
    n_init: int = 1
    warm_start: bool = False

    def fit(
        self, X: Any, y: Any, *, bags: Any = None, sample_weight: Any = None, reader_weight: Any = None
    ) -> SoftMILLogisticRegression:
        """Fit the model.

        Parameters
        ----------
        X : Bags, array-like or pandas.DataFrame
            Bags, or instances of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Soft labels in [0, 1], or two classes; bags in order of first appearance.
        bags : array-like of shape (n_instances,), optional
            The bag of each row of a matrix; None makes every row its own bag.
        sample_weight : array-like of shape (n_bags,), optional
            Counts as repetition of a bag, in M, M+ and M- and in the standardization too.
        reader_weight : array-like of shape (n_bags,), optional
            The paper's a = n / n_max; leaves M alone. By default what the `Bags` carry.
        """
        given = read_bags(self, X, bags, reset=True)
        options = fitting.read_options(self)
        alpha = None if self.alpha is None else fitting.check_number(self.alpha, "alpha")
        start = self._warm_start()
        problem = fitting.prepare(self, given, y, sample_weight, reader_weight)
        self.alpha_max_ = problem.alpha_max
        self.alpha_ = DEFAULT_FRACTION * self.alpha_max_ if alpha is None else alpha
        if start is not None:
            start = problem.design.from_user(*start)
        with fitting.single_threaded_blas():
            solution, solver, objectives = fitting.fit_one_alpha(
                problem, self.alpha_ * problem.alpha_unit, options, start
            )
        self.classes_ = problem.labels.classes
        coefficients, intercept = problem.design.to_user(solution.w, solution.b)
        self.coef_, self.intercept_ = coefficients[None, :], np.array([intercept])
        self.mean_, self.scale_ = problem.design.center, problem.design.scale
        self.n_iter_ = max(1, solution.n_iter)
        self.fit_report_ = fitting.make_report(problem, solver, solution, self.alpha_, options, objectives)
        fitting.warn_about(self.fit_report_)
        return self

    def _warm_start(self) -> tuple[Floats, float] | None:
        """Coefficients to start from, if there are any and they fit the data."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coefficients = np.asarray(self.coef_, dtype=float).ravel()
        intercept = float(np.ravel(self.intercept_)[0])
        if not (np.isfinite(coefficients).all() and np.isfinite(intercept)):
            raise InvalidInputError(
                "warm_start: coef_ or intercept_ holds NaN or infinity; clone() the model"
            )
        return (coefficients, intercept) if len(coefficients) == self.n_features_in_ else None
