"""Every solver behind one call: (X, p, omega, lambdas, tol) -> coefficients (d x L), intercepts (L), details.

Each function imports its own library, so that this module loads in both environments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.problem import Array, Problem


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


def adelie(problem: Problem, task: Task) -> Solution:
    import adelie as ad

    dtype = problem.X.dtype
    p, omega = problem.labels(task.labels)
    glm = ad.glm.binomial(p.astype(dtype), weights=omega.astype(dtype), dtype=dtype.type)
    options = {"early_exit": False, "progress_bar": False, "n_threads": 1}
    lambdas = task.lambdas.astype(dtype)
    state = ad.grpnet(problem.X, glm, lmda_path=lambdas, tol=task.tol, irls_tol=task.tol, **options)
    return Solution(np.asarray(state.betas.todense()).T, np.asarray(state.intercepts))


def skglm(problem: Problem, task: Task) -> Solution:
    """Proximal Newton, warm-started along the path; it knows neither weights nor soft labels."""
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    X = problem.X
    y = (2 * problem.labels("hard")[0] - 1).astype(X.dtype)
    w, Xw = np.zeros(X.shape[1] + 1, X.dtype), np.zeros(len(y), X.dtype)
    solutions = []
    for lam in task.lambdas:
        # Its tolerance is absolute; the gradient scales with lambda.
        solver = ProxNewton(tol=task.tol * lam, max_iter=100)
        w = solver.solve(X, y, Logistic(), L1(float(lam)), w, Xw)[0]
        solutions.append(w.astype(np.float64))
    V = np.array(solutions).T
    return Solution(V[:-1], V[-1])


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
    function.__name__: function for function in (adelie, skglm, glum, glmnet, saga, liblinear, floor)
}
