"""Section 5.1: B1 and B2 by the likelihood, gradient and Hessian of the appendix, written out in loops over bags.

B1 is the point at which relevance vector machines stop: the coefficients are the mode under N(0, 1 / alpha), and every
alpha is what the posterior at that mode makes of it, alpha (w^2 + S) = 1 (MacKay). B2's network is a logistic
regression on bags of the readers' standardized scores, found here by Newton's method.
"""

import numpy as np
import pytest

from overread.bags import make_bags, reader_bags
from overread.models import RVMMIL, ReaderMixture
from overread.simulate import candidate_cohort
from overread.truth import merge_marks


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(150, n_readers=4, n_features=12, n_informative=4, seed=5)


@pytest.fixture(scope="module")
def golden(cohort):
    truth = merge_marks(cohort.marks, cohort.readings)
    return make_bags(cohort.candidates, cohort.features, truth, labels="golden", images=cohort.images)


def derive(rows_of_bags, labels, v):
    """Gradient and Hessian of minus the log-likelihood in v; the last column of the rows is 1, for the intercept."""
    gradient, hessian = np.zeros(len(v)), np.zeros((len(v), len(v)))
    for rows, label in zip(rows_of_bags, labels, strict=True):
        P = 1 / (1 + np.exp(-rows @ v))
        p = 1 - np.prod(1 - P)
        beta = (1 - p) / p
        x_g = rows.T @ P
        factor = beta if label == 1 else -1.0
        spread = (rows.T * (P * (1 - P))) @ rows
        gradient -= factor * x_g
        hessian -= factor * spread - label * beta * (beta + 1) * np.outer(x_g, x_g)
    return gradient, hessian


def split_rows(bags, X):
    """Rows of each bag, with a column of ones."""
    rows = np.column_stack([X, np.ones(len(X))])
    return [rows[bags.bag_of_instance == k] for k in range(len(bags))]


@pytest.mark.parametrize("bound", [10.0, 1e3])
def test_b1_is_a_stationary_point_of_the_evidence(golden, bound):
    model = RVMMIL(prune_bound=bound, tol=1e-8, max_iter=5000).fit(golden, golden.labels)
    kept = np.flatnonzero(model.coef_[0])
    assert (golden.sizes[golden.labels == 1] > 1).any()
    assert 0 < len(kept) < golden.n_features or bound > 10
    X = golden.instances.astype(float)
    Z = (X[:, kept] - model.mean_[kept]) / model.scale_[kept]
    w = model.coef_[0][kept] * model.scale_[kept]
    b = float(model.intercept_[0] + model.coef_[0] @ model.mean_)
    alpha = model.alpha_[kept]
    assert (alpha <= bound).all()
    gradient, hessian = derive(split_rows(golden, Z), golden.labels, np.append(w, b))
    prior = np.append(alpha, 0.0)
    np.testing.assert_allclose(gradient + prior * np.append(w, b), 0, atol=1e-4)
    S = np.diag(np.linalg.inv(hessian + np.diag(prior)))[:-1]
    np.testing.assert_allclose(alpha * (w**2 + S), 1, atol=1e-3)


def test_b2_is_a_network_of_the_readers_models(cohort, golden):
    own = reader_bags(cohort.candidates, cohort.features, cohort.marks, cohort.readings, images=cohort.images)
    mixture = ReaderMixture(n_bootstrap=0, tol=1e-8, max_iter=5000).fit(golden, reader_bags=own)
    X = golden.instances.astype(float)
    scores = []
    for reader in mixture.reader_ids_:
        expert = RVMMIL(tol=1e-8, max_iter=5000, prune_bound=mixture.prune_bound)
        expert.fit(own[reader], own[reader].labels)
        scores.append(X @ expert.coef_[0] + expert.intercept_[0])
    scores = np.column_stack(scores)
    rows = split_rows(golden, (scores - scores.mean(axis=0)) / scores.std(axis=0))
    ridge = np.append(np.full(scores.shape[1], mixture.ridge), 0.0)
    v = np.append(np.full(scores.shape[1], 0.1), -3.0)
    for _ in range(50):
        gradient, hessian = derive(rows, golden.labels, v)
        step = np.linalg.solve(hessian + np.diag(ridge), gradient + ridge * v)
        # The likelihood of bags is not concave far from its maximum.
        v = v - step * min(1.0, 1.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    assert np.abs(step).max() < 1e-9
    np.testing.assert_allclose(mixture.importance_, v[:-1], rtol=1e-3, atol=1e-3)
    assert mixture.mixture_intercept_ == pytest.approx(v[-1], rel=1e-3)
