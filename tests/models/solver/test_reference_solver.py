"""The solver beside a slow and obvious one: accelerated proximal gradient, from the equations, in plain numpy.

The paper used Schmidt's L1General; any correct method for D(w) + alpha R(w) must stop at the same stationary points.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from overread.bags import Bags
from overread.models import ElasticNet, SoftMILLogisticRegression, SoftMILObjective

POOLINGS = ("noisy_or", "noisy_or_mean", "log_sum_exp", "mean")
NORMALIZATIONS = ("none", "bags", "class")


def sigma(z):
    return 1 / (1 + np.exp(-z))


@dataclass
class PlainObjective:
    """D(w, b) of the paper with the weights a; theta = (w, b)."""

    X: np.ndarray
    bag: np.ndarray
    labels: np.ndarray
    a: np.ndarray
    pooling: str

    def value_and_gradient(self, theta):
        z = self.X @ theta[:-1] + theta[-1]
        sizes = np.bincount(self.bag)
        label, size = self.labels, sizes[self.bag]
        if self.pooling in ("noisy_or", "noisy_or_mean"):
            c = 1.0 / sizes if self.pooling == "noisy_or_mean" else np.ones(len(sizes))
            q = np.exp(c * np.bincount(self.bag, np.log(1 - sigma(z))))
            p = 1 - q
            residual = -(label / p - 1)[self.bag] * c[self.bag] * sigma(z)
        else:
            if self.pooling == "mean":
                p, share = sigma(np.bincount(self.bag, z) / sizes), 1 / size
            else:
                p = sigma(np.log(np.bincount(self.bag, np.exp(z)) / sizes))
                share = np.exp(z) / np.bincount(self.bag, np.exp(z))[self.bag]
            q = 1 - p
            residual = (p - label)[self.bag] * share
        D = -(label * np.log(p) + (1 - label) * np.log(q))
        residual = self.a[self.bag] * residual
        return self.a @ D, np.append(self.X.T @ residual, residual.sum())


def prox(v, t, l1_ratio):
    """Of t times the elastic net, t one number a coordinate."""
    return np.sign(v) * np.maximum(np.abs(v) - t * l1_ratio, 0) / (1 + t * (1 - l1_ratio))


def penalty_of(w, l1_ratio):
    return l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * w @ w


def proximal_gradient(objective, theta, alpha, *, fit_intercept, l1_ratio=1.0, tol=1e-11, max_iter=200_000):
    """FISTA with backtracking, restarted whenever its momentum points uphill; stops at |subgradient| <= tol sum a."""
    free = np.append(np.ones(len(theta) - 1), float(fit_intercept))
    penalty = np.append(np.full(len(theta) - 1, alpha), 0.0)
    scale = objective.a.sum()
    y, momentum, step = theta.copy(), 1.0, 0.1 / scale
    for _ in range(max_iter):
        D, g = objective.value_and_gradient(y)
        g = g * free
        while True:
            new = prox(y - step * g, step * penalty, l1_ratio)
            move = new - y
            bound = D + g @ move + move @ move / (2 * step)
            if objective.value_and_gradient(new)[0] <= bound + 1e-15 * scale:
                break
            step /= 2
        if np.abs(move).max() / step <= tol * scale:
            return new
        if move @ (new - theta) < 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        y = new + (momentum - 1) / following * (new - theta)
        theta, momentum, step = new, following, 1.1 * step
    raise AssertionError("the reference did not converge")


def make_problem(seed):
    """Bags whose label comes from their best instance: 60 bags, 7 features of which 2 matter."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 6, 60)
    X = random.normal(size=(sizes.sum(), 7)) @ (np.eye(7) + 0.3 * random.normal(size=(7, 7)))
    bag = np.repeat(np.arange(60), sizes)
    best = np.maximum.reduceat(X[:, 0] - X[:, 1], np.cumsum(sizes) - sizes)
    labels = np.where(best > 1.5, random.choice([0.25, 0.5, 0.75, 1.0], 60), 0.0)
    return Bags.from_ids(X, bag), labels


def weights_of(labels, normalization):
    positive = labels > 0
    if normalization == "class":
        return np.where(positive, 1 / positive.sum(), 1 / (~positive).sum())
    return np.full(len(labels), 1.0 if normalization == "none" else 1 / len(labels))


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_same_stationary_points_as_proximal_gradient(pooling, normalization, fit_intercept, l1_ratio):
    bags, labels = make_problem(seed=3)
    penalty = "l1" if l1_ratio == 1 else ElasticNet(l1_ratio)
    settings = {"normalization": normalization, "pooling": pooling, "penalty": penalty}
    model = SoftMILLogisticRegression(
        **settings, fit_intercept=fit_intercept, standardize=False, tol=1e-9, max_iter=1000
    )
    plain = PlainObjective(
        bags.instances, bags.bag_of_instance, labels, weights_of(labels, normalization), pooling
    )
    alpha_max = model.fit(bags, labels).alpha_max_
    how = {"fit_intercept": fit_intercept, "l1_ratio": l1_ratio}
    theta = proximal_gradient(plain, np.zeros(8), 2 * alpha_max, **how)
    assert not theta[:-1].any()
    largest = np.abs(plain.value_and_gradient(theta)[1][:-1]).max()
    assert largest / l1_ratio == pytest.approx(alpha_max, rel=1e-7)
    for fraction in (0.5, 0.1, 0.02):
        alpha = fraction * alpha_max
        theta = proximal_gradient(plain, theta, alpha, **how)
        reference = plain.value_and_gradient(theta)[0] + alpha * penalty_of(theta[:-1], l1_ratio)
        model.set_params(alpha=alpha).fit(bags, labels)
        assert model.fit_report_.objective == pytest.approx(reference, rel=1e-9)
        assert np.array_equal(model.coef_[0] != 0, theta[:-1] != 0)
        np.testing.assert_allclose(model.coef_[0], theta[:-1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_each_stays_where_the_other_stopped(pooling):
    """From random starts the two may end in different basins; each must accept the other's end."""
    bags, labels = make_problem(seed=8)
    plain = PlainObjective(bags.instances, bags.bag_of_instance, labels, weights_of(labels, "bags"), pooling)
    alpha = 0.05 * SoftMILLogisticRegression(pooling=pooling, standardize=False).fit(bags, labels).alpha_max_
    random = np.random.default_rng(0)
    for _ in range(4):
        theta = proximal_gradient(plain, random.normal(size=8), alpha, fit_intercept=True)
        reference = plain.value_and_gradient(theta)[0] + alpha * np.abs(theta[:-1]).sum()
        objective = SoftMILObjective(bags, labels, alpha=alpha, pooling=pooling)
        assert np.abs(objective.minimum_norm_subgradient(theta[:-1], theta[-1])).max() < 1e-9
        assert objective.value(theta[:-1], theta[-1]) == pytest.approx(reference, rel=1e-12)
        model = SoftMILLogisticRegression(
            alpha, pooling=pooling, standardize=False, warm_start=True, tol=1e-8
        )
        model.coef_, model.intercept_ = theta[None, :-1].copy(), theta[-1:].copy()
        model.n_features_in_ = 7
        model.fit(bags, labels)
        assert model.fit_report_.objective == pytest.approx(reference, rel=1e-9)
        assert model.n_iter_ <= 2
        back = proximal_gradient(
            plain, np.append(model.coef_[0], model.intercept_), alpha, fit_intercept=True
        )
        np.testing.assert_allclose(back[:-1], model.coef_[0], atol=1e-6)
