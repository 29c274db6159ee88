"""Singleton bags are plain sparse logistic regression: glum, scikit-learn and skglm must find the same answer."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.golden.l1_problems import CASES, make_problem

from overread.models import ElasticNet, SoftMILLogisticRegression

FOLDER = Path(__file__).parents[1] / "golden"
L1_CASES = json.loads((FOLDER / "l1_logistic.json").read_text())["cases"]
ELASTIC_CASES = json.loads((FOLDER / "elastic_net.json").read_text())["cases"]
ALL_CASES = L1_CASES + ELASTIC_CASES
FITS = [(case["name"], case.get("l1_ratio", 1.0), fit) for case in ALL_CASES for fit in case["fits"]]


def objective(problem, w, b, alpha, l1_ratio):
    z = problem.X @ w + b
    loss = np.logaddexp(0.0, z) - problem.y * z
    penalty = l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w**2).sum()
    return problem.weight @ loss / problem.weight.sum() + alpha * penalty


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: f"{case['name']}-{case.get('l1_ratio', 1)}")
def test_the_data_are_those_the_peers_saw(case):
    assert make_problem(case["name"]).checksum() == case["checksum"]


def test_every_case_has_golden_values():
    assert [case["name"] for case in L1_CASES] == list(CASES)
    assert {case["l1_ratio"] for case in ELASTIC_CASES} == {0.9, 0.5, 0.1}
    assert {case["name"] for case in ELASTIC_CASES} == set(CASES)


@pytest.mark.parametrize("case", ELASTIC_CASES, ids=lambda case: f"{case['name']}-{case['l1_ratio']}")
def test_lambda_max_is_that_of_l1_over_its_share(case):
    problem = make_problem(case["name"])
    model = SoftMILLogisticRegression(penalty=ElasticNet(case["l1_ratio"]), standardize=False)
    model.fit(problem.X, problem.y, sample_weight=problem.weight)
    assert model.alpha_max_ == pytest.approx(case["lambda_max"], rel=1e-11)


@pytest.mark.parametrize(
    ("name", "l1_ratio", "fit"),
    FITS,
    ids=[f"{name}-{ratio:g}-{fit['peer']}-{fit['lam']:.4f}" for name, ratio, fit in FITS],
)
def test_objective_and_support_equal_the_peers(name, l1_ratio, fit):
    problem = make_problem(name)
    penalty = "l1" if l1_ratio == 1 else ElasticNet(l1_ratio)
    model = SoftMILLogisticRegression(
        alpha=fit["lam"], penalty=penalty, normalization="bags", standardize=False, tol=1e-10
    )
    model.fit(problem.X, problem.y, sample_weight=problem.weight)
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    assert objective(problem, w, b, fit["lam"], l1_ratio) == pytest.approx(fit["objective"], rel=1e-8, abs=0)
    assert np.flatnonzero(w).tolist() == fit["support"]
    np.testing.assert_allclose(w, fit["coefficients"], rtol=0, atol=1e-4)
