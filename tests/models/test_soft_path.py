"""The path is what single fits would give, one after the other, for less.

SoftMILPathCV: against a plain loop over folds, and its rule against the definition.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from overread.bags import Bags, soft_kl_scorer
from overread.errors import InvalidInputError, LeakageError
from overread.models import PathProgress, SoftMILLogisticRegression, SoftMILPath, SoftMILPathCV


@pytest.fixture(scope="module")
def path(mil):
    return SoftMILPath(n_alphas=8, min_ratio=0.05, tol=1e-9).fit(mil.X, mil.y, bags=mil.ids)


def test_shapes_and_grid(path, mil):
    d = mil.X.shape[1]
    assert path.coef_path_.shape == (8, d)
    assert path.intercept_path_.shape == path.objectives_.shape == path.n_features_.shape == (8,)
    assert path.alphas_[0] == path.alpha_max_
    np.testing.assert_allclose(path.alphas_, path.alpha_max_ * np.geomspace(1, 0.05, 8), rtol=1e-14)
    assert not path.coef_path_[0].any()
    assert path.n_features_.tolist() == np.count_nonzero(path.coef_path_, axis=1).tolist()
    assert (np.diff(path.objectives_) < 0).all()
    assert all(report.converged for report in path.fit_reports_)


def test_equals_single_fits(path, mil):
    for index in range(8):
        single = SoftMILLogisticRegression(alpha=path.alphas_[index], tol=1e-9)
        single.fit(mil.X, mil.y, bags=mil.ids)
        assert single.fit_report_.objective == pytest.approx(path.objectives_[index], rel=1e-8)
        np.testing.assert_allclose(single.coef_[0], path.coef_path_[index], rtol=0, atol=1e-5)
        assert single.alpha_max_ == path.alpha_max_


def test_a_model_of_the_path_predicts_like_the_path(path, mil):
    decision = path.decision_function(mil.bags)
    instances = path.instance_decision_function(mil.X)
    assert decision.shape == (len(mil.y), 8)
    assert instances.shape == (len(mil.X), 8)
    for index in (0, 3, 7, -1):
        model = path.model(index)
        np.testing.assert_allclose(model.decision_function(mil.bags), decision[:, index], rtol=1e-12)
        np.testing.assert_allclose(
            model.instance_decision_function(mil.X), instances[:, index], rtol=1e-12, atol=1e-14
        )
        assert model.fit_report_ == path.fit_reports_[index]
        assert model.get_params()["tol"] == 1e-9
        assert clone(model).fit(mil.bags, mil.y).fit_report_.objective == pytest.approx(
            path.objectives_[index], rel=1e-8
        )


def test_given_lambdas_in_any_order(path, mil):
    some = [path.alphas_[5], path.alphas_[1], path.alphas_[3]]
    given = SoftMILPath(alphas=some, tol=1e-9).fit(mil.X, mil.y, bags=mil.ids)
    assert given.alphas_.tolist() == sorted(some, reverse=True)
    np.testing.assert_allclose(given.coef_path_, path.coef_path_[[1, 3, 5]], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {"alphas": []},
        {"alphas": [0.1, -0.1]},
        {"alphas": [np.nan]},
        {"alphas": [np.inf]},
        {"alphas": [[0.1]]},
        {"alphas": "many"},
        {"alphas": 0.1},
        {"n_alphas": 0},
        {"n_alphas": 2.5},
        {"min_ratio": 0.0},
        {"min_ratio": 2.0},
    ],
    ids=repr,
)
def test_a_grid_that_is_none(mil, parameters):
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        SoftMILPath(**parameters).fit(mil.X, mil.y, bags=mil.ids)


def test_progress_is_told(mil):
    told = []
    path = SoftMILPath(n_alphas=5)
    path.fit(mil.X, mil.y, bags=mil.ids, callback=told.append)
    assert told == [PathProgress(i, 5, report) for i, report in enumerate(path.fit_reports_)]


def _problem(n_rows, n_features, seed, largest_bag):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, 1:] += 0.7 * X[:, :-1]
    sizes = random.integers(1, largest_bag + 1, n_rows)
    sizes = sizes[np.cumsum(sizes) <= n_rows]
    sizes = np.append(sizes, n_rows - sizes.sum()) if sizes.sum() < n_rows else sizes
    score = X[:, 0] - X[:, 3] + random.normal(size=n_rows)
    best = np.maximum.reduceat(score, np.cumsum(sizes) - sizes)
    y = np.where(best > np.quantile(best, 0.9), random.integers(1, 5, len(sizes)) / 4, 0.0)
    return X, y, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "largest_bag"),
    [(400, 300, 1), (1500, 200, 4), (20_000, 100, 1), (20_000, 60, 3)],
)
@pytest.mark.parametrize("normalization", ["bags", "class"])
def test_full_passes_over_the_columns(n_rows, n_features, largest_bag, normalization):
    """At most L + 5 reads of all columns for L penalties."""
    X, y, ids = _problem(n_rows, n_features, 0, largest_bag)
    path = SoftMILPath(n_alphas=20, normalization=normalization).fit(X, y, bags=ids)
    assert path.fit_reports_[-1].full_passes <= 20 + 5
    assert all(report.converged for report in path.fit_reports_)
    if largest_bag == 1 and n_rows > 10_000:
        assert path.fit_reports_[-1].rows_sampled


@pytest.fixture(scope="module")
def grouped(make_mil):
    mil = make_mil(n_bags=120, seed=4)
    groups = np.arange(120) // 2
    return Bags.from_ids(mil.X, mil.ids, groups=groups), mil.y, groups


def choose_by_hand(scores, alphas, *, one_standard_error):
    """The largest alpha that is within one standard error of the best, alpha by alpha."""
    means = scores.mean(axis=1)
    best = int(means.argmax())
    for position, alpha in enumerate(alphas):
        difference = scores[best] - scores[position]
        error = difference.std(ddof=1) / np.sqrt(scores.shape[1]) if one_standard_error else 0.0
        if difference.mean() <= error + 1e-9:
            return alpha
    raise AssertionError


@pytest.mark.parametrize("rule", ["1se", "best"])
@pytest.mark.parametrize("normalization", ["bags", "none"])
def test_it_is_a_plain_loop_over_group_folds(grouped, rule, normalization):
    bags, y, groups = grouped
    cv = GroupKFold(4)
    found = SoftMILPathCV(n_alphas=8, cv=cv, rule=rule, normalization=normalization).fit(bags, y)
    alphas = SoftMILPath(n_alphas=8, normalization=normalization).fit(bags, y).alphas_
    np.testing.assert_allclose(found.alphas_, alphas, rtol=1e-12)
    scores = np.empty((8, 4))
    for fold, (train, test) in enumerate(cv.split(y, groups=groups)):
        share = len(train) / len(y) if normalization == "none" else 1.0
        path = SoftMILPath(share * alphas, normalization=normalization).fit(bags[train], y[train])
        for position in range(8):
            scores[position, fold] = soft_kl_scorer(path.model(position), bags[test], y[test])
    np.testing.assert_allclose(found.cv_scores_, scores, rtol=0, atol=1e-9)
    assert found.alpha_ == choose_by_hand(scores, found.alphas_, one_standard_error=rule == "1se")
    alone = SoftMILLogisticRegression(found.alpha_, normalization=normalization).fit(bags, y)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    np.testing.assert_array_equal(found.predict_proba(bags), alone.predict_proba(bags))
    assert found.best_estimator_.alpha_ == found.alpha_


def test_a_weight_is_a_repetition_in_fit_and_score(make_mil):
    mil = make_mil(n_bags=40, seed=1)
    counts = np.random.default_rng(0).integers(1, 3, 40)
    rows = np.repeat(np.arange(40), counts)
    fold = np.arange(40) % 2
    cut = [
        [(np.flatnonzero(at != one), np.flatnonzero(at == one)) for one in (0, 1)]
        for at in (fold, fold[rows])
    ]
    weighed = SoftMILPathCV(n_alphas=4, cv=cut[0]).fit(mil.bags, mil.y, sample_weight=counts)
    repeated = SoftMILPathCV(n_alphas=4, cv=cut[1]).fit(mil.bags[rows], mil.y[rows])
    twice = SoftMILPathCV(n_alphas=4, cv=cut[0])
    scalar, listed = (
        clone(twice).fit(mil.bags, mil.y, sample_weight=n) for n in (2.0, np.full(len(mil.y), 2.0))
    )
    np.testing.assert_array_equal(scalar.cv_scores_, listed.cv_scores_)
    np.testing.assert_allclose(weighed.cv_scores_, repeated.cv_scores_, atol=1e-7)
    assert weighed.alpha_ == pytest.approx(repeated.alpha_, rel=1e-9)


def test_what_it_refuses(grouped):
    bags, y, _ = grouped
    with pytest.raises(InvalidInputError, match="rule='2se' is unknown"):
        SoftMILPathCV(rule="2se").fit(bags, y)
    rows = np.arange(120)
    with pytest.raises(LeakageError, match="on both sides"):
        SoftMILPathCV(cv=[(rows[rows % 2 == one], rows[rows % 2 != one]) for one in (0, 1)]).fit(bags, y)
    with pytest.raises(InvalidInputError, match="folds need at least as many groups"):
        SoftMILPathCV(cv=61).fit(bags, y)
