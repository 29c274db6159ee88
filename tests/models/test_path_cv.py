"""SoftMILPathCV: against a plain loop over folds, and its rule against the definition."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from overread.bags import Bags, soft_kl_scorer
from overread.errors import InvalidInputError, LeakageError
from overread.models import SoftMILLogisticRegression, SoftMILPath, SoftMILPathCV


@pytest.fixture(scope="module")
def problem(make_mil):
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
def test_it_is_a_plain_loop_over_group_folds(problem, rule, normalization):
    bags, y, groups = problem
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
    np.testing.assert_allclose(weighed.cv_scores_, repeated.cv_scores_, atol=1e-7)
    assert weighed.alpha_ == pytest.approx(repeated.alpha_, rel=1e-9)


def test_what_it_refuses(problem):
    bags, y, _ = problem
    with pytest.raises(InvalidInputError, match="rule='2se' is unknown"):
        SoftMILPathCV(rule="2se").fit(bags, y)
    rows = np.arange(120)
    with pytest.raises(LeakageError, match="on both sides"):
        SoftMILPathCV(cv=[(rows[rows % 2 == one], rows[rows % 2 != one]) for one in (0, 1)]).fit(bags, y)
    with pytest.raises(InvalidInputError, match="folds need at least as many groups"):
        SoftMILPathCV(cv=61).fit(bags, y)
