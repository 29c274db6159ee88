"""Mode, curvature and evidence against finite differences, quadrature and scikit-learn.

Information on single features against the whole matrix.
"""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from sklearn.linear_model import LogisticRegression

from overread.columns._columns import MemoryColumns
from overread.models import RVMMIL
from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.rvm import _posterior as information
from overread.models.rvm._posterior import PosteriorSearch, information_diagonal, information_matrix


def small_problem(n_features=3, n_bags=25, largest=4, seed=0):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, largest + 1, n_bags)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    label = (random.random(n_bags) < 0.4).astype(float)
    loss = BagLoss.build(offsets, label, random.uniform(0.5, 2.0, n_bags), POOLINGS["noisy_or"])
    X = random.normal(size=(sizes.sum(), n_features))
    X[np.repeat(label, sizes) > 0, 0] += 1.0
    return X[loss.order].T.copy(), loss


def penalized(Xt, loss, alpha, theta):
    z = theta[:-1] @ Xt + theta[-1]
    residual = np.empty(loss.n_rows)
    return loss.value(z, residual) + 0.5 * alpha @ theta[:-1] ** 2


def numeric_gradient(f, theta, step=1e-5):
    eye = np.eye(len(theta)) * step
    return np.array([(f(theta + e) - f(theta - e)) / (2 * step) for e in eye])


@pytest.mark.parametrize("seed", range(3))
def test_hessian_against_finite_differences(seed):
    Xt, loss = small_problem(seed=seed)
    theta = np.random.default_rng(seed).normal(size=4) * 0.5
    alpha = np.zeros(3)

    def gradient(at):
        return numeric_gradient(lambda t: penalized(Xt, loss, alpha, t), at)

    numeric = np.array([(gradient(theta + e) - gradient(theta - e)) / 2e-4 for e in np.eye(4) * 1e-4])
    H = information_matrix(Xt, np.arange(3), loss, theta[:-1] @ Xt + theta[-1])
    np.testing.assert_allclose(H, numeric, atol=2e-4 * np.abs(H).max())


def test_hessian_in_blocks_and_in_float32(monkeypatch):
    Xt, loss = small_problem(n_bags=400)
    z = 0.3 * Xt[0] - 1.0
    whole = information_matrix(Xt, np.arange(3), loss, z)
    single = information_matrix(Xt.astype(np.float32), np.arange(3), loss, z)
    monkeypatch.setattr("overread.models.rvm._posterior.ROWS_PER_BLOCK", 7)
    blocks = information_matrix(Xt, np.arange(3), loss, z)
    np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(single, whole, rtol=1e-5, atol=1e-5 * np.abs(whole).max())


@pytest.mark.parametrize("seed", range(3))
def test_the_mode_is_a_minimum(seed):
    Xt, loss = small_problem(seed=seed)
    alpha = np.array([0.5, 2.0, 5.0])
    search = PosteriorSearch(Xt, loss, np.arange(3), -1.0, fit_intercept=True)
    posterior = search.minimize(alpha, tol=1e-12)
    mode = np.append(posterior.w, posterior.b)
    assert posterior.converged
    assert posterior.exact
    gradient = numeric_gradient(lambda t: penalized(Xt, loss, alpha, t), mode)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
    assert posterior.gradient_norm < 1e-8
    precision = information_matrix(Xt, np.arange(3), loss, search.z) + np.diag(np.append(alpha, 0.0))
    np.testing.assert_allclose(posterior.variance, np.linalg.inv(precision).diagonal()[:-1], rtol=1e-6)


def test_evidence_against_quadrature_of_one_feature():
    Xt, loss = small_problem(n_features=1, n_bags=300, largest=3)
    alpha = np.array([2.0])
    search = PosteriorSearch(Xt, loss, np.arange(1), 0.0, fit_intercept=False)
    posterior = search.minimize(alpha, tol=1e-12)

    def integrand(w):
        value = penalized(Xt, loss, alpha, np.array([w, 0.0])) - penalized(
            Xt, loss, alpha, np.append(posterior.w, 0.0)
        )
        return np.exp(-value) * np.sqrt(alpha[0] / (2 * np.pi))

    sd = np.sqrt(posterior.variance[0])
    integral, _ = quad(integrand, posterior.w[0] - 10 * sd, posterior.w[0] + 10 * sd, epsabs=0, epsrel=1e-9)
    exact = np.log(integral) - penalized(Xt, loss, alpha, np.append(posterior.w, 0.0))
    assert posterior.log_evidence(alpha, fit_intercept=False) == pytest.approx(exact, abs=5e-3)


def test_evidence_against_quadrature_with_a_flat_intercept():
    Xt, loss = small_problem(n_features=1, n_bags=400, largest=2, seed=1)
    alpha = np.array([1.0])
    posterior = PosteriorSearch(Xt, loss, np.arange(1), 0.0, fit_intercept=True).minimize(alpha, tol=1e-12)
    mode = np.append(posterior.w, posterior.b)
    lowest = penalized(Xt, loss, alpha, mode)

    def integrand(b, w):
        return np.exp(lowest - penalized(Xt, loss, alpha, np.array([w, b]))) / np.sqrt(2 * np.pi)

    w, b = mode
    integral, _ = dblquad(integrand, w - 1.5, w + 1.5, b - 1.5, b + 1.5, epsabs=1e-8, epsrel=1e-6)
    assert posterior.log_evidence(alpha, fit_intercept=True) == pytest.approx(
        np.log(integral) - lowest, abs=1e-2
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_fixed_alpha_is_l2_logistic_regression(intercept):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    y = (X[:, 0] + random.logistic(size=200) > 0).astype(int)
    peer = LogisticRegression(C=1 / 3.0, tol=1e-12, max_iter=1000, solver="newton-cholesky")
    peer.set_params(fit_intercept=intercept).fit(X, y)
    ours = RVMMIL("fixed", alpha_init=3.0, standardize=False, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-8)


def test_an_indefinite_start_is_overcome():
    Xt, loss = small_problem(n_bags=60, largest=12, seed=4)
    alpha = np.full(3, 1e-3)
    search = PosteriorSearch(Xt, loss, np.arange(3), 4.0, fit_intercept=True)
    posterior = search.minimize(alpha, tol=1e-10)
    assert posterior.converged
    gradient = numeric_gradient(lambda t: penalized(Xt, loss, alpha, t), np.append(posterior.w, posterior.b))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    offsets = np.arange(0, 61, 3)
    label = (random.random(20) < 0.4).astype(float)
    loss = BagLoss.build(offsets, label, np.ones(20), POOLINGS["noisy_or"])
    return random.normal(size=(7, 60)), loss, random.normal(size=60) - 1


@pytest.mark.parametrize("cells", [60, 2**20])
def test_beside_a_fitted_intercept(problem, monkeypatch, cells):
    """H_jj - H_jb^2 / H_bb of the safe matrix's diagonal part, one feature at a time or all at once."""
    Xt, loss, z = problem
    monkeypatch.setattr(information, "CELLS_PER_BLOCK", cells)
    rows = np.concatenate([loss.plain_curvature(z), loss.bag_curvature(z, safe=1.0).diagonal])
    expected = [(rows * (x - rows @ x / rows.sum()) ** 2).sum() for x in Xt]
    np.testing.assert_allclose(information_diagonal(MemoryColumns(Xt), loss, z), expected, rtol=1e-12)
