"""Updates of alpha: same fixed points, planted features found, the certificate says what happened.

Lengthened steps drop no feature that plain steps keep. Score statistics against the chi-square of a two-by-two table.
"""

import numpy as np
import pytest
from scipy.stats import binom, chi2, chi2_contingency
from sklearn.exceptions import ConvergenceWarning

from overread.bags import Bags
from overread.columns._columns import MemoryColumns
from overread.errors import DataWarning
from overread.models import RVMMIL
from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.rvm._evidence import score_statistics, screen_features


def planted(n_bags=400, n_features=30, seed=0, largest=3):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, largest + 1, n_bags)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = random.normal(size=(offsets[-1], n_features))
    z = 2.0 * X[:, 3] - 1.5 * X[:, 7] - 2.0
    s = np.add.reduceat(np.logaddexp(0, z), offsets[:-1])
    y = (random.random(n_bags) < -np.expm1(-s)).astype(int)
    return Bags(X, offsets), y


@pytest.mark.parametrize("seed", range(3))
def test_pruning_recovers_the_planted_features(seed):
    bags, y = planted(seed=seed)
    model = RVMMIL().fit(bags, y)
    report = model.fit_report_
    order = np.argsort(-np.abs(model.coef_[0]))
    assert set(order[:2]) == {3, 7}
    assert np.abs(np.delete(model.coef_[0], [3, 7])).max() < 0.6
    assert report.n_pruned + report.n_features == 30
    np.testing.assert_allclose(model.coef_[0][[3, 7]], [2.0, -1.5], atol=0.6)
    assert np.count_nonzero(model.coef_) == report.n_features == np.count_nonzero(model.alpha_)


def test_em_and_mackay_share_their_stationary_points():
    random = np.random.default_rng(2)
    sizes = random.integers(1, 4, 400)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    # Both features matter: with an irrelevant one EM would take for ever.
    X = random.normal(size=(offsets[-1], 2))
    s = np.add.reduceat(np.logaddexp(0, 2.0 * X[:, 0] - 1.0 * X[:, 1] - 1.5), offsets[:-1])
    bags, y = Bags(X, offsets), (random.random(400) < -np.expm1(-s)).astype(int)
    mackay = RVMMIL(tol=1e-10).fit(bags, y)
    em = RVMMIL("em", tol=1e-10, max_iter=5000).fit(bags, y)
    np.testing.assert_allclose(em.alpha_, mackay.alpha_, rtol=1e-6)
    np.testing.assert_allclose(em.coef_, mackay.coef_, rtol=1e-6)
    for model in (em, mackay):
        assert model.fit_report_.evidence_gradient < 1e-8
    # alpha (w^2 + S) = 1 is the condition both formulas state.
    w = mackay.coef_[0] * mackay.scale_
    variance = (mackay.deviation_ * mackay.scale_) ** 2
    np.testing.assert_allclose(mackay.alpha_ * (w**2 + variance), 1.0, rtol=1e-6)


def test_the_stationary_point_maximizes_the_evidence():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 1))
    y = (0.8 * X[:, 0] + random.logistic(size=300) > 0).astype(int)
    model = RVMMIL(tol=1e-8).fit(X, y)
    best = model.alpha_[0]

    def evidence(alpha):
        return RVMMIL("fixed", alpha_init=alpha).fit(X, y).fit_report_.log_evidence[-1]

    assert evidence(best) > max(evidence(best * 1.3), evidence(best / 1.3))


def test_em_never_meets_the_bound_and_says_so():
    bags, y = planted()
    with pytest.warns(ConvergenceWarning, match="not converged: after 20 rounds"):
        model = RVMMIL("em", max_iter=20).fit(bags, y)
    assert model.fit_report_.n_pruned == 0
    assert not model.fit_report_.converged


def test_the_prior_holds_separated_labels():
    X = np.linspace(-1, 1, 40)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = RVMMIL().fit(X, y)
    assert model.fit_report_.converged
    assert model.fit_report_.at_floor == 0
    np.testing.assert_array_equal(model.predict(X), y)


def test_a_sharp_edge_ends_at_the_floor_with_a_warning():
    X = np.linspace(-1, 1, 4000)[:, None]
    with pytest.warns(DataWarning, match="separated"):
        model = RVMMIL().fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(model.coef_).all()
    assert model.fit_report_.at_floor == 1


def test_the_share_of_noise_that_stays_is_the_one_expected():
    """A feature stays where its q^2 / s > 1 (Tipping and Faul 2003); of noise, q^2 / s is chi-squared with one degree.

    So 31.7 % stay, and the number is nearly binomial. Asked over cohorts with and without features that matter.
    """
    stayed, tried = 0, 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        plain = RVMMIL().fit(random.normal(size=(500, 30)), (random.random(500) < 0.3).astype(int))
        among = RVMMIL().fit(*planted(seed=seed))
        assert plain.fit_report_.converged
        stayed += np.count_nonzero(plain.coef_) + np.count_nonzero(np.delete(among.coef_[0], [3, 7]))
        tried += 30 + 28
    low, high = binom.interval(0.999, tried, chi2.sf(1, 1))
    assert low <= stayed <= high


@pytest.mark.parametrize("screen", [5, 15])
def test_screening_keeps_strong_features_and_is_reported(screen):
    bags, y = planted()
    model = RVMMIL(screen=screen).fit(bags, y)
    assert model.fit_report_.n_screened == 30 - screen
    assert model.coef_[0][[3, 7]].all()
    assert model.fit_report_.left_out_gain < 5
    assert model.fit_report_.n_kept_per_round[0] == screen


def test_the_gain_of_a_feature_left_out_is_the_evidence_it_adds():
    """One strong feature in, another of equal strength left out: the gain predicts the rise of the evidence."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 2))
    y = (0.3 * X[:, 0] + 0.25 * X[:, 1] + random.logistic(size=2000) > 0).astype(int)
    one, both = (RVMMIL(screen=screen, tol=1e-6).fit(X, y).fit_report_ for screen in (1, None))
    rise = both.log_evidence[-1] - one.log_evidence[-1]
    assert one.n_screened == 1
    assert one.left_out_gain == pytest.approx(rise, rel=0.05)


@pytest.fixture
def binary():
    random = np.random.default_rng(1)
    y = (random.random(300) < 0.3).astype(float)
    Xt = np.array([(random.random(300) < 0.2 + share * y) for share in (0.0, 0.5, 0.1, 0.3)], dtype=float)
    loss = BagLoss.build(np.arange(301), y, np.ones(300), POOLINGS["noisy_or"])
    return Xt, y, loss, float(np.log(y.mean() / (1 - y.mean())))


def test_on_a_binary_feature_it_is_pearsons_chi_square(binary):
    Xt, y, loss, null = binary
    tables = [[[np.sum((x == i) & (y == j)) for j in (0, 1)] for i in (0, 1)] for x in Xt]
    expected = [chi2_contingency(table, correction=False).statistic for table in tables]
    np.testing.assert_allclose(score_statistics(MemoryColumns(Xt), loss, null), expected, rtol=1e-10)


def test_the_best_of_the_usable_enter_in_order(binary):
    Xt, _, loss, null = binary
    usable = np.array([0, 2, 3])
    assert screen_features(MemoryColumns(Xt), loss, null, usable, None) is usable
    assert screen_features(MemoryColumns(Xt), loss, null, usable, 3) is usable
    assert screen_features(MemoryColumns(Xt), loss, null, usable, 1).tolist() == [3]
    assert screen_features(MemoryColumns(Xt), loss, null, np.arange(4), 2).tolist() == [1, 3]


def draw_problem(seed):
    """Twelve features that can stand in for each other, some of which decide on the label."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(150, 4)) @ random.normal(size=(4, 12)) + 0.6 * random.normal(size=(150, 12))
    w = np.where(random.random(12) < 0.4, random.normal(0, 0.5, 12), 0)
    return X, (random.random(150) < 1 / (1 + np.exp(1 - X @ w))).astype(int)


def maximize_plainly(X, y, bound):
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
