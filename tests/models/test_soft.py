"""Behaviour of the estimator: input, weights, units of lambda, starts, determinism, certificate."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from overread.bags import Bags, PerInstance
from overread.errors import InvalidInputError
from overread.models import SoftMILLogisticRegression


def fit(problem, **parameters):
    return SoftMILLogisticRegression(**parameters).fit(problem.X, problem.y, bags=problem.ids)


def test_ids_bags_frames_and_lists_are_the_same_input(mil):
    names = [f"x{j}" for j in range(mil.X.shape[1])]
    frame = pd.DataFrame(mil.X, columns=names)
    matrices = [mil.X[mil.ids == bag] for bag in np.unique(mil.ids)]
    expected = fit(mil).coef_
    text = np.array([f"bag {i}" for i in mil.ids])
    for X, bags in [
        (mil.bags, None),
        (frame, mil.ids),
        (frame, pd.Series(text)),
        (mil.X.tolist(), list(text)),
        (Bags.from_list(matrices), None),
        (Bags.from_ids(frame, text), None),
    ]:
        model = SoftMILLogisticRegression().fit(X, mil.y, bags=bags)
        assert model.coef_.tolist() == expected.tolist()
    assert model.feature_names_in_.tolist() == names


def test_bags_given_twice_and_recoded_labels_are_refused(mil):
    with pytest.raises(InvalidInputError, match="leave bags= out"):
        SoftMILLogisticRegression().fit(mil.bags, mil.y, bags=mil.ids)
    with pytest.raises(
        InvalidInputError, match=r"y differs from the labels.*recodes soft labels: use overread"
    ):
        SoftMILLogisticRegression().fit(mil.bags.with_labels(mil.y), (mil.y > 0).astype(int))


@pytest.mark.parametrize("normalization", ["none", "bags", "class"])
def test_reader_weight_leaves_the_counts_alone(mil, normalization):
    """By the definition: a enters the sum, not M, M+ or M-; a common factor is one on lambda."""
    alpha = fit(mil, normalization=normalization).alpha_
    half = SoftMILLogisticRegression(alpha=alpha / 2, normalization=normalization, tol=1e-11)
    half.fit(mil.X, mil.y, bags=mil.ids, reader_weight=np.full(len(mil.y), 0.5))
    whole = fit(mil, alpha=alpha, normalization=normalization, tol=1e-11)
    np.testing.assert_allclose(half.coef_, whole.coef_, rtol=0, atol=1e-8)
    assert half.fit_report_.objective == pytest.approx(whole.fit_report_.objective / 2, rel=1e-10)
    assert half.alpha_max_ == pytest.approx(whole.alpha_max_ / 2, rel=1e-12)


def test_reader_weight_of_the_bags_is_used(mil):
    weight = 0.25 + 0.75 * (np.arange(len(mil.y)) % 4) / 3
    carried = SoftMILLogisticRegression(alpha=0.02).fit(mil.bags.with_reader_weight(weight), mil.y)
    given_ = SoftMILLogisticRegression(alpha=0.02).fit(mil.X, mil.y, bags=mil.ids, reader_weight=weight)
    assert carried.coef_.tolist() == given_.coef_.tolist()
    assert carried.coef_.tolist() != fit(mil, alpha=0.02).coef_.tolist()


def test_standardization_is_undone(mil):
    """The answer does not depend on the user's units."""
    random = np.random.default_rng(0)
    scale, shift = 10.0 ** random.uniform(-3, 3, mil.X.shape[1]), random.normal(size=mil.X.shape[1])
    plain = fit(mil, alpha=0.02, tol=1e-10)
    moved = SoftMILLogisticRegression(alpha=0.02, tol=1e-10).fit(mil.X * scale + shift, mil.y, bags=mil.ids)
    np.testing.assert_allclose(moved.coef_ * scale, plain.coef_, rtol=0, atol=1e-8)
    expected = plain.predict_proba(mil.X, bags=mil.ids)
    after = moved.predict_proba(mil.X * scale + shift, bags=mil.ids)
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(plain.scale_, mil.X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(plain.mean_, mil.X.mean(axis=0), rtol=0, atol=1e-14)


def test_warm_start(mil):
    model = SoftMILLogisticRegression(alpha=0.02, warm_start=True, tol=1e-9).fit(mil.X, mil.y, bags=mil.ids)
    first = model.coef_.copy()
    model.fit(mil.X, mil.y, bags=mil.ids)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.coef_, first, rtol=0, atol=1e-7)
    narrow = mil.X[:, :3]
    model.fit(narrow, mil.y, bags=mil.ids)
    assert model.coef_.shape == (1, 3)


def test_more_starts_are_reported_and_never_worse(make_mil):
    problem = make_mil(80, 20, seed=7, hard=True)
    one, many = fit(problem, alpha=0.01), fit(problem, alpha=0.01, n_init=5)
    report = many.fit_report_
    default = one.fit_report_.start_objectives
    assert report.start_objectives[: len(default)] == default
    assert len(report.start_objectives) == len(default) + 4
    assert one.fit_report_.objective == min(default)
    assert report.objective == min(report.start_objectives)
    low, high = min(report.start_objectives), max(report.start_objectives)
    assert report.spread == pytest.approx((high - low) / low)
    assert report.converged


def test_a_convex_problem_needs_one_start(mil):
    y = (mil.X[:, 0] > 0).astype(int)
    report = SoftMILLogisticRegression(n_init=4).fit(mil.X, y).fit_report_
    assert report.convex
    assert len(report.start_objectives) == 1


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"tol": -1.0}, "tol="),
        ({"tol": np.nan}, "tol="),
        ({"max_iter": 1.5}, "max_iter="),
        ({"max_iter": -1}, "max_iter="),
        ({"n_init": 0}, "n_init="),
        ({"random_state": -1}, "random_state="),
        ({"random_state": "x"}, "random_state="),
        ({"pooling": "max"}, "pooling='max' is unknown"),
        ({"normalization": "bag"}, "normalization='bag' is unknown"),
    ],
)
def test_parameters_are_checked(mil, parameters, match):
    with pytest.raises(InvalidInputError, match=match):
        fit(mil, **parameters)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), n_bags=st.integers(5, 40), n_features=st.integers(1, 12))
def test_random_problems_are_certified(make_mil, seed, n_bags, n_features):
    problem = make_mil(n_bags, n_features, seed=seed)
    if problem.y.max() == 0 or problem.y.min() == problem.y.max():
        return
    model = fit(problem)
    assert model.fit_report_.converged
    assert model.fit_report_.n_features == np.count_nonzero(model.coef_)


def test_the_same_seed_gives_the_same_bits(make_mil):
    problem = make_mil(60, 10, seed=3)
    first = fit(problem, n_init=3, random_state=5)
    again = clone(first).fit(problem.X, problem.y, bags=problem.ids)
    assert again.coef_.tobytes() == first.coef_.tobytes()
    assert again.fit_report_ == first.fit_report_
    assert fit(problem, random_state=np.random.RandomState(0)).fit_report_.seed == (
        fit(problem, random_state=np.random.RandomState(0)).fit_report_.seed
    )


SCRIPT = """
import hashlib
import numpy as np
from overread.models import SoftMILPath
random = np.random.default_rng(0)
X = random.normal(size=(25_000, 40)).astype(np.float32)
ids = np.concatenate([np.arange(15_000), np.repeat(np.arange(15_000, 20_000), 2)])
y = (np.maximum.reduceat(X[:, 0], np.flatnonzero(np.diff(ids, prepend=-1))) + random.normal(size=20_000) > 2) * 0.5
path = SoftMILPath(n_alphas=6, min_ratio=0.05).fit(X, y, bags=ids)
assert path.fit_reports_[-1].rows_sampled
print(hashlib.sha256(path.coef_path_.tobytes() + path.decision_function(X, bags=ids).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_number_of_threads_does_not_change_a_bit():
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    digests = set()
    for threads in ("1", "2"):
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1


def test_a_pipeline_and_a_search(mil):
    names = list("abcdef")
    frame = pd.DataFrame(1000 * mil.X + 7, columns=names)
    bags = Bags.from_ids(frame, mil.ids)
    pipeline = make_pipeline(
        PerInstance(StandardScaler()), SoftMILLogisticRegression(alpha=0.02, standardize=False, tol=1e-10)
    )
    pipeline.fit(bags, mil.y)
    direct = SoftMILLogisticRegression(alpha=0.02, tol=1e-10).fit(bags, mil.y)
    np.testing.assert_allclose(pipeline.predict_proba(bags), direct.predict_proba(bags), rtol=0, atol=1e-8)
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert len(cross_val_score(pipeline, bags, mil.y, cv=KFold(3))) == 3
    search = GridSearchCV(pipeline, {"softmillogisticregression__alpha": [0.01, 0.1]}, cv=KFold(3))
    assert np.isfinite(search.fit(bags, mil.y).best_score_)


@pytest.fixture(scope="module")
def reported(mil):
    return SoftMILLogisticRegression(alpha=0.01, n_init=2).fit(mil.X, mil.y, bags=mil.ids)


def test_the_objective_by_the_definition(reported, mil):
    model = reported
    starts = np.flatnonzero(np.diff(mil.ids, prepend=-1))
    q = -np.add.reduceat(np.logaddexp(0, mil.X @ model.coef_[0] + model.intercept_[0]), starts)
    loss = -(mil.y * np.log(-np.expm1(q)) + (1 - mil.y) * q).mean()
    penalty = model.alpha_ * np.abs(model.coef_[0] * model.scale_).sum()
    report = model.fit_report_
    assert report.loss == pytest.approx(loss, rel=1e-12)
    assert report.objective == pytest.approx(loss + penalty, rel=1e-12)
    assert (report.alpha, report.alpha_max) == (model.alpha_, model.alpha_max_)


def test_the_residual_by_the_definition(reported, mil):
    """Largest violation of the optimality conditions relative to alpha, by central differences."""
    model = reported
    Z = (mil.X - model.mean_) / model.scale_
    w = model.coef_[0] * model.scale_
    b = model.intercept_[0] + model.coef_[0] @ model.mean_
    starts = np.flatnonzero(np.diff(mil.ids, prepend=-1))

    def loss(theta):
        q = -np.add.reduceat(np.logaddexp(0, Z @ theta[:-1] + theta[-1]), starts)
        return -(mil.y * np.log(-np.expm1(q)) + (1 - mil.y) * q).mean()

    theta = np.append(w, b)
    g = np.array([(loss(theta + e) - loss(theta - e)) / 2e-5 for e in 1e-5 * np.eye(len(theta))])
    alpha = model.alpha_
    violation = np.where(w != 0, np.abs(g[:-1] + alpha * np.sign(w)), np.maximum(np.abs(g[:-1]) - alpha, 0))
    largest = max(violation.max(), abs(g[-1])) / alpha
    assert model.fit_report_.kkt_residual <= 1e-6
    assert largest == pytest.approx(model.fit_report_.kkt_residual, abs=2e-6)


def test_the_criterion_and_the_gap(reported, mil):
    """Bags of several instances have no certified gap; rows that stand alone have, and the default meets it."""
    assert (reported.fit_report_.criterion, reported.fit_report_.gap) == ("conditions", 1.0)
    rows = np.unique(mil.ids, return_index=True)[1]
    single = SoftMILLogisticRegression().fit(mil.X[rows], mil.y).fit_report_
    assert single.criterion == "conditions"
    assert 0.0 <= single.gap <= single.tol == 1e-6
    with pytest.warns(ConvergenceWarning):
        stopped = SoftMILLogisticRegression(max_iter=1).fit(mil.X[rows], mil.y).fit_report_
    assert (stopped.criterion, stopped.converged) == ("none", False)
    assert stopped.gap > 1e-6
