"""Every solver behind one call: (X, p, omega, lambdas, tol) -> coefficients (d x L), intercepts (L), details.

Each function imports its own library, so that this module loads in both environments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from benchmarks.problem import Array, Problem, lambda_path


@dataclass(frozen=True)
class Solution:
    """Coefficients (d x L), intercepts (L) and what the solver says of its own work."""

    W: Array
    b: Array
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """Labels (hard, soft, class or mil), decreasing lambdas, the solver's own tolerance."""

    labels: str
    lambdas: Array
    tol: float


def ours(problem: Problem, task: Task) -> Solution:
    from overread.bags import Bags
    from overread.models import SoftMILPath

    # The class-wise mean over both classes is twice the weighted mean with weights that sum to one.
    unit, normalization = (2.0, "class") if task.labels == "class" else (1.0, "bags")
    path = SoftMILPath(
        unit * task.lambdas, normalization=normalization, standardize=False, tol=task.tol, random_state=0
    )
    if task.labels == "mil":
        path.fit(Bags(problem.X, problem.offsets), problem.bag_labels())
    else:
        path.fit(problem.X, problem.labels(task.labels)[0])
    last = path.fit_reports_[-1]
    details = {"full_passes": last.full_passes, "active_passes": last.active_passes}
    return Solution(path.coef_path_.T, path.intercept_path_, details)


def adelie(problem: Problem, task: Task) -> Solution:
    import adelie as ad

    dtype = problem.X.dtype
    p, omega = problem.labels(task.labels)
    lambdas = task.lambdas
    if len(lambdas) == 1:
        # Given one lambda alone it stops at a gap of 1e-2; five steps towards it are the least that serve.
        lambda_max = lambda_path(problem.X, p, omega, end=1.0, count=1)[0]
        lambdas = np.geomspace(lambda_max, lambdas[0], 6)
    glm = ad.glm.binomial(p.astype(dtype), weights=omega.astype(dtype), dtype=dtype.type)
    options = {"early_exit": False, "progress_bar": False, "n_threads": 1}
    state = ad.grpnet(
        problem.X, glm, lmda_path=lambdas.astype(dtype), tol=task.tol, irls_tol=task.tol, **options
    )
    kept = slice(-len(task.lambdas), None)
    return Solution(np.asarray(state.betas.todense()).T[:, kept], np.asarray(state.intercepts)[kept])


def skglm(problem: Problem, task: Task) -> Solution:
    """Proximal Newton, warm-started along the path; it knows neither weights nor soft labels."""
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    X = problem.X
    y = (2 * problem.labels("hard")[0] - 1).astype(X.dtype)
    w, Xw = np.zeros(X.shape[1] + 1, X.dtype), np.zeros(len(y), X.dtype)
    datafit = _skglm_logistic()()
    solutions = []
    for lam in task.lambdas:
        # Its tolerance is absolute; the gradient scales with lambda.
        solver = ProxNewton(tol=task.tol * lam, max_iter=100)
        w = solver.solve(X, y, datafit, L1(float(lam)), w, Xw)[0]
        solutions.append(w.astype(np.float64))
    V = np.array(solutions).T
    return Solution(V[:-1], V[-1])


@cache
def _skglm_logistic() -> type:
    from skglm.datafits import Logistic

    class LogisticOfAnyPrecision(Logistic):
        """Skglm 0.5 cannot compile its own class for float32, because its list of fields is None, not empty."""

        def get_spec(self) -> tuple[()]:
            return ()

    return LogisticOfAnyPrecision


def glum(problem: Problem, task: Task) -> Solution:
    from glum import GeneralizedLinearRegressor

    p, omega = problem.labels(task.labels)
    model = GeneralizedLinearRegressor(
        family="binomial",
        l1_ratio=1,
        alpha_search=True,
        alphas=task.lambdas,
        solver="irls-cd",
        gradient_tol=task.tol,
        max_iter=300,
        copy_X=False,
    )
    dtype = problem.X.dtype
    model.fit(problem.X, p.astype(dtype), sample_weight=(omega * len(p)).astype(dtype))
    return Solution(
        np.asarray(model.coef_path_, dtype=np.float64).T, np.asarray(model.intercept_path_).ravel()
    )


def glmnet(problem: Problem, task: Task) -> Solution:
    """Call glmnet's Fortran code through python-glmnet, which copies X; float64 and classes only."""
    from glmnet import LogitNet

    p, omega = problem.labels(task.labels)
    model = LogitNet(alpha=1, lambda_path=task.lambdas, standardize=False, n_splits=0, tol=task.tol)
    model.fit(problem.X, p, sample_weight=omega * len(p))
    return Solution(model.coef_path_[0], np.ravel(model.intercept_path_))


def saga(problem: Problem, task: Task) -> Solution:
    return _sklearn(problem, task, solver="saga", max_iter=100_000)


def liblinear(problem: Problem, task: Task) -> Solution:
    """Liblinear penalizes the intercept; scaled by 1,000 that penalty is all but gone."""
    return _sklearn(problem, task, solver="liblinear", intercept_scaling=1_000.0, max_iter=10_000)


def _sklearn(problem: Problem, task: Task, **options: Any) -> Solution:
    from sklearn.linear_model import LogisticRegression

    p, omega = problem.labels(task.labels)
    (lam,) = task.lambdas
    model = LogisticRegression(penalty="l1", C=1 / (lam * len(p)), tol=task.tol, random_state=0, **options)
    model.fit(problem.X, p, sample_weight=omega * len(p))
    return Solution(model.coef_.T.astype(np.float64), model.intercept_.astype(np.float64))


def floor(problem: Problem, task: Task) -> Solution:
    """One read of all of X for each lambda and one more: what no path with exact gradients can undercut."""
    r = np.ones(problem.X.shape[0], dtype=problem.X.dtype)
    for _ in range(len(task.lambdas) + 1):
        problem.X.T @ r
    return Solution(np.zeros((problem.X.shape[1], 1)), np.zeros(1))


SOLVERS: dict[str, Callable[[Problem, Task], Solution]] = {
    function.__name__: function for function in (ours, adelie, skglm, glum, glmnet, saga, liblinear, floor)
}
