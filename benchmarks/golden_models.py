"""Golden values of L1 logistic regression, written by the peers.

Run by ``.venv-peers/bin/python -m benchmarks.golden_models``; writes ``tests/golden/l1_logistic.json``.
Objective: sum_i weight_i [softplus(z_i) - y_i z_i] / sum_i weight_i + lam |w|_1, z = X w + b, b unpenalized.
A fractional label y is given to peers that know only classes as two rows, of weights y and 1 - y.
``tests/models/test_against_peers.py`` makes the same data from the seed and compares. Values are rounded to what the
peers' convergence leaves the same on another machine.
"""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from glum import GeneralizedLinearRegressor
from skglm.datafits import Logistic
from skglm.penalties import L1
from skglm.solvers import ProxNewton
from sklearn.linear_model import LogisticRegression
from tests.golden.l1_problems import CASES, SmallProblem, make_problem

from benchmarks.gap import Array, duality_gap

TARGET = Path(__file__).parents[1] / "tests" / "golden" / "l1_logistic.json"
FRACTIONS_OF_LAMBDA_MAX = (0.5, 0.2, 0.05)
MOST_GAP = 1e-8
DECIMALS = 7
OBJECTIVE_DECIMALS = 12


def with_glum(problem: SmallProblem, lam: float) -> tuple[Array, float]:
    model = GeneralizedLinearRegressor(
        family="binomial", alpha=lam, l1_ratio=1, solver="irls-cd", gradient_tol=1e-12, max_iter=500
    )
    model.fit(problem.X, problem.y, sample_weight=problem.weight)
    return model.coef_, float(model.intercept_)


def with_sklearn(problem: SmallProblem, lam: float) -> tuple[Array, float]:
    X, y, weight = as_classes(problem)
    model = LogisticRegression(
        penalty="l1", solver="saga", C=1 / (lam * weight.sum()), tol=1e-12, max_iter=200_000
    )
    model.fit(X, y, sample_weight=weight)
    return model.coef_[0], float(model.intercept_[0])


def with_skglm(problem: SmallProblem, lam: float) -> tuple[Array, float]:
    """Solve the cases of weight one and hard labels: skglm takes neither weights nor soft labels."""
    solver = ProxNewton(tol=1e-12, max_iter=200)
    w = solver.solve(np.asfortranarray(problem.X), 2 * problem.y - 1, Logistic(), L1(lam))[0]
    return w[:-1], float(w[-1])


def as_classes(problem: SmallProblem) -> tuple[Array, Array, Array]:
    """Restate the problem with classes only: every row twice, without rows of weight 0."""
    X = np.vstack([problem.X, problem.X])
    y = np.repeat([1.0, 0.0], len(problem.y))
    weight = np.concatenate([problem.weight * problem.y, problem.weight * (1 - problem.y)])
    return X[weight > 0], y[weight > 0], weight[weight > 0]


def golden(name: str) -> dict[str, object]:
    problem = make_problem(name)
    omega = problem.weight / problem.weight.sum()
    lambda_max = float(np.abs(problem.X.T @ (omega * (omega @ problem.y - problem.y))).max())
    solvers = {"glum": with_glum, "scikit-learn": with_sklearn}
    if np.all(problem.weight == 1) and set(problem.y) <= {0.0, 1.0}:
        solvers["skglm"] = with_skglm
    fits = []
    for lam in lambda_max * np.array(FRACTIONS_OF_LAMBDA_MAX):
        for solver, solve in solvers.items():
            w, b = solve(problem, lam)
            gap = duality_gap(problem.X, problem.y, omega, np.array([lam]), w[:, None], np.array([b]))
            fit = {
                "peer": solver,
                "lam": float(lam),
                "objective": round(float(gap.primal[0]), OBJECTIVE_DECIMALS),
                "intercept": round(b, DECIMALS),
                "coefficients": (w.round(DECIMALS) + 0.0).tolist(),  # + 0.0: no minus zero
                "support": np.flatnonzero(np.abs(w) > 1e-9).tolist(),
            }
            fits.append(fit)
            print(f"{name:20s} {solver:13s} gap {gap.relative[0]:.1e} features {len(fit['support'])}")
            if gap.relative[0] > MOST_GAP:
                raise SystemExit(f"{solver} did not converge: no golden value for {name}")
    return {"name": name, "checksum": problem.checksum(), "lambda_max": lambda_max, "fits": fits}


def main() -> None:
    warnings.simplefilter("ignore")
    peers = {name: version(name) for name in ("glum", "skglm", "scikit-learn", "numpy")}
    content = {"schema": 1, "peers": peers, "cases": [golden(name) for name in CASES]}
    TARGET.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
