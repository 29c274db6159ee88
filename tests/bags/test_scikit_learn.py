"""Bags in scikit-learn's own tools, and evidence of the traps that docs/reference/bags.md warns of.

A trap test asserts what scikit-learn does today, not what we wish: when one fails after an upgrade, the page
and the remedy must change.
"""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, indexable, resample, shuffle
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from overread.bags import PerInstance, SoftStratifiedGroupKFold, out_of_fold, soft_kl_scorer
from overread.errors import InvalidInputError
from overread.models import SoftMILLogisticRegression


@pytest.fixture
def pipeline(bag_mean_logistic):
    return Pipeline([("scale", PerInstance(StandardScaler())), ("model", bag_mean_logistic())])


def by_hand(estimator, bags, cv):
    scores = []
    for train, test in cv.split(bags, bags.labels):
        fitted = clone(estimator).fit(bags[train], bags.labels[train])
        scores.append(fitted.score(bags[test], bags.labels[test]))
    return np.array(scores)


def test_bags_are_samples_to_scikit_learn(soft_problem):
    assert _num_samples(soft_problem) == 120
    assert indexable(soft_problem, soft_problem.labels)[0] is soft_problem
    rows = np.array([3, 1, 2])
    assert _safe_indexing(soft_problem, rows) == soft_problem[rows]
    assert _safe_indexing(soft_problem, [True] * 5 + [False] * 115) == soft_problem[:5]
    assert _safe_indexing(soft_problem, slice(0, 4)) == soft_problem[:4]
    np.testing.assert_array_equal(_safe_indexing(soft_problem, 7), soft_problem[7])


def test_train_test_split_shuffle_and_resample(soft_problem):
    train, test, y_train, y_test = train_test_split(
        soft_problem, soft_problem.labels, test_size=0.25, random_state=0
    )
    assert (len(train), len(test)) == (90, 30)
    np.testing.assert_array_equal(train.labels, y_train)
    np.testing.assert_array_equal(test.labels, y_test)
    assert not set(train.bag_ids) & set(test.bag_ids)
    mixed, y = shuffle(soft_problem, soft_problem.labels, random_state=1)
    np.testing.assert_array_equal(mixed.labels, y)
    drawn, y = resample(soft_problem, soft_problem.labels, random_state=1)
    np.testing.assert_array_equal(drawn.labels, y)


@pytest.mark.parametrize(
    "cv",
    [KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0), SoftStratifiedGroupKFold(3)],
)
def test_cross_val_score_is_the_plain_loop(soft_problem, pipeline, cv):
    found = cross_val_score(pipeline, soft_problem, soft_problem.labels, cv=cv)
    np.testing.assert_array_equal(found, by_hand(pipeline, soft_problem, cv))


def test_hard_labels_with_scikit_learns_metrics(soft_problem, pipeline):
    y = np.where(soft_problem.labels > 0.4, "malignant", "benign")
    bags = soft_problem.with_labels(None).with_groups(None)
    found = cross_validate(
        pipeline, bags, y, cv=StratifiedKFold(3), scoring=["accuracy", "roc_auc", "neg_log_loss", "f1_macro"]
    )
    assert found["test_roc_auc"].mean() > 0.7
    proba = cross_val_predict(pipeline, bags, y, cv=StratifiedKFold(3), method="predict_proba")
    np.testing.assert_allclose(proba, out_of_fold(pipeline, bags, y, cv=StratifiedKFold(3)), rtol=1e-9)
    assert set(cross_val_predict(pipeline, bags, y, cv=3)) == {"benign", "malignant"}


def test_searches(soft_problem, pipeline):
    grid = {"model__ridge": [0.1, 10.0, 1000.0], "scale__transformer__with_std": [True, False]}
    cv = SoftStratifiedGroupKFold(3)
    search = GridSearchCV(pipeline, grid, cv=cv, scoring={"soft_kl": soft_kl_scorer}, refit="soft_kl")
    search.fit(soft_problem, soft_problem.labels)
    means = {}
    for ridge in grid["model__ridge"]:
        for with_std in grid["scale__transformer__with_std"]:
            chosen = {"model__ridge": ridge, "scale__transformer__with_std": with_std}
            means[ridge, with_std] = by_hand(clone(pipeline).set_params(**chosen), soft_problem, cv).mean()
    best = max(means, key=means.get)
    assert tuple(search.best_params_.values()) == best
    assert search.best_score_ == pytest.approx(means[best], rel=1e-12)
    assert search.predict_proba(soft_problem).shape == (120, 2)
    random = RandomizedSearchCV(pipeline, {"model__ridge": [0.1, 10.0]}, n_iter=2, cv=cv, random_state=0)
    assert np.isfinite(random.fit(soft_problem, soft_problem.labels).best_score_)


def test_weights_are_cut_to_the_training_side(soft_problem, bag_mean_logistic):
    weight = np.linspace(0.5, 2, 120)
    found = cross_val_score(
        bag_mean_logistic(), soft_problem, soft_problem.labels, cv=KFold(3), params={"sample_weight": weight}
    )
    expected = []
    for train, test in KFold(3).split(soft_problem):
        model = bag_mean_logistic().fit(soft_problem[train], soft_problem.labels[train], weight[train])
        expected.append(model.score(soft_problem[test], soft_problem.labels[test]))
    np.testing.assert_array_equal(found, expected)


def test_processes(soft_problem, pipeline):
    """Two workers; the large bags are over joblib's limit and reach them as a read-only memory map."""
    cv = SoftStratifiedGroupKFold(2)
    large = soft_problem.with_instances(np.tile(soft_problem.instances, (1, 200)))
    assert large.instances.nbytes > 2**20
    sums = Parallel(n_jobs=2)(delayed(_sum_of)(bags) for bags in (large, large[60:]))
    assert sums == [large.instances.sum(), large[60:].instances.sum()]
    serial = cross_val_score(pipeline, soft_problem, soft_problem.labels, cv=cv)
    parallel = cross_val_score(pipeline, soft_problem, soft_problem.labels, cv=cv, n_jobs=2)
    np.testing.assert_array_equal(parallel, serial)
    for model in (pipeline, SoftMILLogisticRegression(alpha=0.01)):
        np.testing.assert_array_equal(
            out_of_fold(model, soft_problem, cv=cv, n_jobs=2), out_of_fold(model, soft_problem, cv=cv)
        )


def _sum_of(bags):
    return bags.instances.sum()


def test_a_transformer_without_per_instance_is_refused_with_the_remedy(soft_problem, bag_mean_logistic):
    with pytest.raises(TypeError, match=r"PerInstance\(transformer\)"):
        make_pipeline(StandardScaler(), bag_mean_logistic()).fit(soft_problem, soft_problem.labels)
    with pytest.raises(TypeError, match="an estimator that knows bags"):
        LogisticRegression().fit(soft_problem, soft_problem.labels > 0.5)


class Spy(ClassifierMixin, BaseEstimator):
    """Remember what fit got."""

    seen: list[np.ndarray] = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append(np.asarray(y))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_trap_cross_val_predict_recodes_soft_labels():
    Spy.seen.clear()
    y = np.array([0, 0.25] * 6)
    cross_val_predict(Spy(), np.zeros((12, 1)), y, cv=KFold(2), method="predict_proba")
    assert [set(labels) for labels in Spy.seen] == [{0, 1}, {0, 1}]
    Spy.seen.clear()
    out_of_fold(Spy(), np.zeros((12, 1)), y, cv=KFold(2))
    assert [set(labels) for labels in Spy.seen] == [{0, 0.25}, {0, 0.25}]


def test_carried_labels_turn_that_trap_into_an_error(soft_problem, pipeline):
    with pytest.raises(InvalidInputError, match=r"overread\.bags\.out_of_fold"):
        cross_val_predict(pipeline, soft_problem, soft_problem.labels, cv=KFold(3), method="predict_proba")
    with pytest.raises(InvalidInputError, match=r"overread\.bags\.out_of_fold"):
        cross_val_predict(
            pipeline, soft_problem, soft_problem.labels, cv=KFold(3), method="decision_function"
        )


def test_cross_val_predict_of_labels_does_not_recode(soft_problem, pipeline):
    found = cross_val_predict(pipeline, soft_problem, soft_problem.labels, cv=KFold(3))
    np.testing.assert_array_equal(
        found, out_of_fold(pipeline, soft_problem.with_groups(None), cv=KFold(3), method="predict")
    )


@pytest.mark.parametrize("splitter", [StratifiedKFold(3), StratifiedGroupKFold(3)])
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_trap_stratified_splitters_refuse_soft_labels(soft_problem, splitter):
    with pytest.raises(ValueError, match=r"Supported target types are.*Got 'continuous'"):
        list(splitter.split(soft_problem, soft_problem.labels, soft_problem.groups))


def test_trap_metrics_and_calibration_refuse_soft_labels(soft_problem, bag_mean_logistic):
    y = soft_problem.labels
    with pytest.raises(ValueError, match="continuous format is not supported"):
        roc_auc_score(y, y)
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        log_loss(y, np.full(120, 0.5))
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        CalibratedClassifierCV(LogisticRegression()).fit(np.zeros((120, 1)), y)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: VotingClassifier([("model", model)]),
        lambda model: StackingClassifier([("model", model)], cv=3),
        lambda model: TunedThresholdClassifierCV(model, cv=3),
        lambda model: CalibratedClassifierCV(model, cv=3),
        OneVsRestClassifier,
        BaggingClassifier,
        AdaBoostClassifier,
    ],
)
def test_other_meta_estimators_refuse_soft_bags(soft_problem, bag_mean_logistic, wrap):
    with pytest.raises(ValueError, match=r"Unknown label type|Bags is not an array"):
        wrap(bag_mean_logistic()).fit(soft_problem, soft_problem.labels)


@pytest.mark.parametrize("wrap", [OneVsRestClassifier, lambda model: VotingClassifier([("model", model)])])
def test_some_meta_estimators_take_bags_with_classes(soft_problem, bag_mean_logistic, wrap):
    y = (soft_problem.labels > 0.4).astype(int)
    bags = soft_problem.with_labels(y)
    expected = bag_mean_logistic().fit(bags, y).predict(bags)
    np.testing.assert_array_equal(wrap(bag_mean_logistic()).fit(bags, y).predict(bags), expected)


class RoutedBags(ClassifierMixin, BaseEstimator):
    """Take bag ids as metadata, the way that does not work."""

    rows_scored: list[tuple[int, bool]] = []  # noqa: RUF012

    def fit(self, X, y, bags=None):
        assert bags is not None
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, bags=None):
        self.rows_scored.append((len(X), bags is not None))
        return np.full(len(X), self.classes_[0])


def test_trap_scorers_do_not_route_bags_to_predict():
    """With routing on and bags requested everywhere, fit gets the bags; predict does not, without a word."""
    RoutedBags.rows_scored.clear()
    X, y = np.zeros((12, 1)), np.tile([0, 1], 6)
    with sklearn.config_context(enable_metadata_routing=True):
        model = RoutedBags().set_fit_request(bags=True).set_predict_request(bags=True)
        scores = cross_val_score(
            model, X, y, cv=KFold(2), scoring="accuracy", params={"bags": np.repeat(np.arange(6), 2)}
        )
    assert np.isfinite(scores).all()
    assert RoutedBags.rows_scored == [(6, False), (6, False)]


def test_soft_target_gives_plain_folds_by_default(soft_problem):
    from sklearn.model_selection import check_cv

    assert type(check_cv(3, soft_problem.labels, classifier=True)) is KFold
    assert type(check_cv(3, soft_problem.labels > 0.5, classifier=True)) is StratifiedKFold
