"""Lengthened steps of evidence maximization do not drop features that plain steps keep."""

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.models import RVMMIL


def draw_problem(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Twelve features that can stand in for each other, some of which decide on the label."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(150, 4)) @ random.normal(size=(4, 12)) + 0.6 * random.normal(size=(150, 12))
    w = np.where(random.random(12) < 0.4, random.normal(0, 0.5, 12), 0)
    return X, (random.random(150) < 1 / (1 + np.exp(1 - X @ w))).astype(int)


def maximize_plainly(X: NDArray[np.float64], y: NDArray[np.int64], bound: float) -> dict[int, float]:
    """Alpha of each feature that stays, by MacKay's steps as they are and Newton's method in dense matrices."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    kept, alpha, v = np.arange(Z.shape[1]), np.ones(Z.shape[1]), np.zeros(Z.shape[1] + 1)
    for _ in range(2000):
        A, prior = np.column_stack([Z[:, kept], np.ones(len(Z))]), np.append(alpha, 0)
        for _ in range(20):
            p = 1 / (1 + np.exp(-A @ v))
            hessian = (A.T * (p * (1 - p))) @ A + np.diag(prior)
            v = v - np.linalg.solve(hessian, A.T @ (p - y) + prior * v)
        squares, variance = v[:-1] ** 2, np.diag(np.linalg.inv(hessian))[:-1]
        new = np.maximum((1 - alpha * variance) / squares, 1 / (squares + variance))
        stays = new <= bound
        settled = stays.all() and np.abs(np.log(new / alpha)).max(initial=0) < 1e-7
        kept, alpha, v = kept[stays], new[stays], v[np.append(stays, True)]
        if settled:
            break
    return dict(zip(kept.tolist(), alpha.tolist(), strict=True))


@pytest.mark.parametrize(("seed", "bound"), [(1, 10.0), (5, 100.0), (20, 10.0), (24, 10.0), (37, 100.0)])
def test_features_are_those_of_plain_steps(seed, bound):
    X, y = draw_problem(seed)
    expected = maximize_plainly(X, y, bound)
    model = RVMMIL(prune_bound=bound, tol=1e-7).fit(X, y)
    assert np.flatnonzero(model.coef_[0]).tolist() == list(expected)
    np.testing.assert_allclose(model.alpha_[list(expected)], list(expected.values()), rtol=1e-3)
