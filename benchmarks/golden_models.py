"""Golden values of logistic regression with L1 and with the elastic net, written by the peers.

Run by ``.venv-peers/bin/python -m benchmarks.golden_models``; writes ``tests/golden/l1_logistic.json`` and
``tests/golden/elastic_net.json``. Objective, with z = X w + b, b unpenalized, and r = 1 for L1:

    sum_i weight_i [softplus(z_i) - y_i z_i] / sum_i weight_i + lam (r |w|_1 + (1 - r) / 2 |w|_2^2).

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
from skglm.penalties import L1, L1_plus_L2
from skglm.solvers import ProxNewton
from sklearn.linear_model import LogisticRegression
from tests.golden.l1_problems import CASES, SmallProblem, make_problem

from benchmarks.gap import Array, duality_gap

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
L1_RATIOS = {"l1_logistic.json": (1.0,), "elastic_net.json": (0.9, 0.5, 0.1)}
FRACTIONS_OF_LAMBDA_MAX = (0.5, 0.2, 0.05)
MOST_GAP = 1e-8
DECIMALS = 7
OBJECTIVE_DECIMALS = 12


def with_glum(problem: SmallProblem, lam: float, l1_ratio: float) -> tuple[Array, float]:
    model = GeneralizedLinearRegressor(
        family="binomial",
        alpha=lam,
        l1_ratio=l1_ratio,
        solver="irls-cd",
        gradient_tol=1e-12,
        max_iter=500,
    )
    model.fit(problem.X, problem.y, sample_weight=problem.weight)
    return model.coef_, float(model.intercept_)


def with_sklearn(problem: SmallProblem, lam: float, l1_ratio: float) -> tuple[Array, float]:
    X, y, weight = as_classes(problem)
    model = LogisticRegression(
        penalty="elasticnet",
        l1_ratio=l1_ratio,
        solver="saga",
        C=1 / (lam * weight.sum()),
        tol=1e-12,
        max_iter=200_000,
    )
    model.fit(X, y, sample_weight=weight)
    return model.coef_[0], float(model.intercept_[0])


def with_skglm(problem: SmallProblem, lam: float, l1_ratio: float) -> tuple[Array, float]:
    """Solve the cases of weight one and hard labels: skglm takes neither weights nor soft labels."""
    solver = ProxNewton(tol=1e-12, max_iter=200)
    penalty = L1(lam) if l1_ratio == 1 else L1_plus_L2(lam, l1_ratio)
    w = solver.solve(np.asfortranarray(problem.X), 2 * problem.y - 1, Logistic(), penalty)[0]
    return w[:-1], float(w[-1])


def as_classes(problem: SmallProblem) -> tuple[Array, Array, Array]:
    """Restate the problem with classes only: every row twice, without rows of weight 0."""
    X = np.vstack([problem.X, problem.X])
    y = np.repeat([1.0, 0.0], len(problem.y))
    weight = np.concatenate([problem.weight * problem.y, problem.weight * (1 - problem.y)])
    return X[weight > 0], y[weight > 0], weight[weight > 0]


def golden_case(name: str, l1_ratio: float) -> dict[str, object]:
    """Solve one problem by every peer that can, at three penalties."""
    problem = make_problem(name)
    omega = problem.weight / problem.weight.sum()
    largest = float(np.abs(problem.X.T @ (omega * (omega @ problem.y - problem.y))).max())
    lambda_max = largest / l1_ratio
    solvers = {"glum": with_glum, "scikit-learn": with_sklearn}
    if np.all(problem.weight == 1) and set(problem.y) <= {0.0, 1.0}:
        solvers["skglm"] = with_skglm
    fits = []
    for lam in lambda_max * np.array(FRACTIONS_OF_LAMBDA_MAX):
        for solver, solve in solvers.items():
            w, b = solve(problem, lam, l1_ratio)
            gap = duality_gap(
                problem.X,
                problem.y,
                omega,
                np.array([lam]),
                w[:, None],
                np.array([b]),
                l1_ratio=l1_ratio,
            )
            fit = {
                "peer": solver,
                "lam": float(lam),
                "objective": round(float(gap.primal[0]), OBJECTIVE_DECIMALS),
                "intercept": round(b, DECIMALS),
                "coefficients": (w.round(DECIMALS) + 0.0).tolist(),  # + 0.0: no minus zero
                "support": np.flatnonzero(np.abs(w) > 1e-9).tolist(),
            }
            fits.append(fit)
            print(
                f"{name:20s} {l1_ratio:3g} {solver:13s} gap {gap.relative[0]:.1e} features {len(fit['support'])}"
            )
            if gap.relative[0] > MOST_GAP:
                raise SystemExit(f"{solver} did not converge: no golden value for {name}")
    case = {"name": name, "checksum": problem.checksum()}
    if l1_ratio != 1:
        case["l1_ratio"] = l1_ratio
    return {**case, "lambda_max": lambda_max, "fits": fits}


def main() -> None:
    warnings.simplefilter("ignore")
    peers = {name: version(name) for name in ("glum", "skglm", "scikit-learn", "numpy")}
    for file, ratios in L1_RATIOS.items():
        cases = [golden_case(name, l1_ratio) for name in CASES for l1_ratio in ratios]
        content = {"schema": 1, "peers": peers, "cases": cases}
        (GOLDEN / file).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
