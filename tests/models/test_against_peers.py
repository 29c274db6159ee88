"""Singleton bags are plain L1 logistic regression: glum, scikit-learn and skglm must find the same answer."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.golden.l1_problems import CASES, make_problem

from overread.models import SoftMILLogisticRegression

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "l1_logistic.json").read_text())
FITS = [(case["name"], fit) for case in GOLDEN["cases"] for fit in case["fits"]]


def objective(problem, w, b, lam):
    z = problem.X @ w + b
    loss = np.logaddexp(0.0, z) - problem.y * z
    return problem.weight @ loss / problem.weight.sum() + lam * np.abs(w).sum()


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_the_data_are_those_the_peers_saw(case):
    assert make_problem(case["name"]).checksum() == case["checksum"]


def test_every_case_has_golden_values():
    assert [case["name"] for case in GOLDEN["cases"]] == list(CASES)


@pytest.mark.parametrize(
    ("name", "fit"), FITS, ids=[f"{name}-{fit['peer']}-{fit['lam']:.4f}" for name, fit in FITS]
)
def test_objective_and_support_equal_the_peers(name, fit):
    problem = make_problem(name)
    model = SoftMILLogisticRegression(lam=fit["lam"], normalization="bags", standardize=False, tol=1e-10)
    model.fit(problem.X, problem.y, sample_weight=problem.weight)
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    assert objective(problem, w, b, fit["lam"]) == pytest.approx(fit["objective"], rel=1e-8, abs=0)
    assert np.flatnonzero(w).tolist() == fit["support"]
    np.testing.assert_allclose(w, fit["coefficients"], rtol=0, atol=1e-4)
