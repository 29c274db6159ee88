"""The elastic net against its formula, 40 digits, other ways to state it, and the solvers of others.

`tests/models/test_against_peers.py` has skglm, glum and scikit-learn; `tests/models/solver/test_reference_solver.py` a
proximal gradient method for bags.
"""

import mpmath
import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.models import L1, ElasticNet, RaykarCrowd, SoftMILLogisticRegression, SoftMILPath


@pytest.fixture(scope="module")
def singles():
    random = np.random.default_rng(4)
    X = random.normal(size=(50, 5)) @ (np.eye(5) + 0.4 * random.normal(size=(5, 5)))
    y = random.integers(0, 5, 50) / 4 * (X[:, 0] - X[:, 1] > 0)
    return X, y


@pytest.mark.parametrize("l1_ratio", [0.0, -0.1, 1.1, np.nan, np.inf, "0.5", None, True])
def test_a_share_that_is_none(l1_ratio):
    with pytest.raises(InvalidInputError, match=r"l1_ratio=.* above 0 and at most 1"):
        ElasticNet(l1_ratio)


def test_the_formula():
    w, penalty = np.array([2.0, 0.0, -4.0]), ElasticNet(0.25)
    assert penalty.value(w) == 0.25 * 6 + 0.375 * 20
    assert penalty.subgradient(w, np.array([0.0, 0.5, 1.0]), 1.0).tolist() == [1.75, 0.25, -2.25]
    assert penalty.alpha_max(np.array([0.25, -0.5])) == 2.0


@pytest.mark.parametrize("kind", [SoftMILLogisticRegression, SoftMILPath])
def test_a_share_of_one_is_l1_bit_by_bit(kind, mil):
    first, second, third = (
        kind(penalty=penalty).fit(mil.X, mil.y, bags=mil.ids) for penalty in ("l1", L1(), ElasticNet(1.0))
    )
    name = "coef_" if kind is SoftMILLogisticRegression else "coef_path_"
    assert getattr(first, name).tobytes() == getattr(second, name).tobytes() == getattr(third, name).tobytes()


@pytest.mark.parametrize("l1_ratio", [0.9, 0.3])
def test_singletons_to_forty_digits(singles, l1_ratio):
    """On the columns that are left the optimum solves smooth equations: Newton's method in mpmath finds its digits."""
    X, y = singles
    alpha = 0.1
    model = SoftMILLogisticRegression(alpha, penalty=ElasticNet(l1_ratio), standardize=False, tol=1e-11)
    model.fit(X, y)
    used = np.flatnonzero(model.coef_[0])
    assert 0 < len(used) < X.shape[1]
    sign = np.sign(model.coef_[0, used])
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(float(x)) for x in row] + [mpmath.mpf(1)] for row in X[:, used]]
        labels = [mpmath.mpf(float(label)) for label in y]

        def slope(*theta):
            residual = [
                1 / (1 + mpmath.exp(-mpmath.fdot(row, theta))) - label
                for row, label in zip(rows, labels, strict=True)
            ]
            g = [mpmath.fdot(residual, column) / len(y) for column in zip(*rows, strict=True)]
            ridge = 1 - mpmath.mpf(l1_ratio)
            return [
                g[j] + mpmath.mpf(alpha) * (mpmath.mpf(l1_ratio) * float(sign[j]) + ridge * theta[j])
                for j in range(len(used))
            ] + [g[-1]]

        exact = mpmath.findroot(slope, [*model.coef_[0, used].tolist(), float(model.intercept_[0])])
        loss = mpmath.fsum(
            mpmath.log1p(mpmath.exp(mpmath.fdot(row, list(exact)))) - label * mpmath.fdot(row, list(exact))
            for row, label in zip(rows, labels, strict=True)
        ) / len(y)
        ridge = 1 - mpmath.mpf(l1_ratio)
        penalty = mpmath.fsum(l1_ratio * abs(w) + ridge / 2 * w**2 for w in list(exact)[:-1])
        objective = float(loss + mpmath.mpf(alpha) * penalty)
    found = np.append(model.coef_[0, used], model.intercept_)
    np.testing.assert_allclose(found, [float(value) for value in exact], rtol=1e-9, atol=1e-10)
    assert model.fit_report_.objective == pytest.approx(objective, rel=1e-13)


def test_its_ridge_is_on_the_standardized_scale(singles):
    X, y = singles
    scaled = X * np.array([1.0, 100.0, 0.01, 5.0, 1.0]) + 3.0
    standard = (X - X.mean(0)) / X.std(0)
    settings = {"penalty": ElasticNet(0.4), "tol": 1e-10}
    first = SoftMILLogisticRegression(0.05, **settings).fit(scaled, y)
    second = SoftMILLogisticRegression(0.05, standardize=False, **settings).fit(standard, y)
    np.testing.assert_allclose(first.coef_ * first.scale_, second.coef_, rtol=1e-7, atol=1e-12)
    assert first.fit_report_.objective == pytest.approx(second.fit_report_.objective, rel=1e-12)


def test_it_shares_among_equal_columns(singles):
    X, y = singles
    doubled = np.column_stack([X, X])
    model = SoftMILLogisticRegression(0.05, penalty=ElasticNet(0.5), tol=1e-9).fit(doubled, y)
    np.testing.assert_allclose(model.coef_[0, :5], model.coef_[0, 5:], atol=1e-7)
    assert model.coef_.any()


def test_the_crowd_model_never_falls(mil):
    random = np.random.default_rng(2)
    votes = (random.random((len(mil.y), 5)) < 0.1 + 0.8 * (mil.y > 0)[:, None]).astype(float)
    model = RaykarCrowd(0.01, penalty=ElasticNet(0.2), tol=1e-9).fit(mil.X, votes, bags=mil.ids)
    assert np.diff(model.objectives_).min() >= -1e-8
    assert model.coef_.any()
