"""Soft KL against scipy, scikit-learn and 50 digits; out-of-fold prediction against a plain loop.

Transformers of rows inside pipelines of bags, against scikit-learn on the flat rows.
"""

import mpmath
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import rel_entr
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from overread.bags import (
    Bags,
    PerInstance,
    SoftStratifiedGroupKFold,
    mean_soft_kl,
    out_of_fold,
    soft_kl_scorer,
)
from overread.errors import InputTypeError, InvalidInputError, LeakageError


def test_it_is_the_mean_relative_entropy():
    rng = np.random.default_rng(0)
    y, p, w = rng.random((3, 50))
    expected = rel_entr(y, p) + rel_entr(1 - y, 1 - p)
    assert mean_soft_kl(y, p) == pytest.approx(expected.mean(), rel=1e-13)
    assert mean_soft_kl(y, p, sample_weight=w) == pytest.approx(np.average(expected, weights=w), rel=1e-13)
    assert mean_soft_kl(y, np.column_stack([1 - p, p])) == pytest.approx(expected.mean(), rel=1e-13)


def test_hard_labels_give_the_log_loss():
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 50), rng.random(50)
    assert mean_soft_kl(y, p) == pytest.approx(log_loss(y, p), rel=1e-14)


@pytest.mark.parametrize("y", [0.0, 1e-320, 1e-12, 0.25, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("log_yes", [-1e-300, -1e-17, -0.5, -40.0, -2000.0])
def test_log_probabilities_are_exact(y, log_yes):
    with mpmath.workdps(50):
        yes = mpmath.mpf(log_yes)
        no = mpmath.log(-mpmath.expm1(yes))
        label = mpmath.mpf(y)
        terms = [q * (mpmath.log(q) - log_q) for q, log_q in ((label, yes), (1 - label, no)) if q != 0]
        expected = float(mpmath.fsum(terms))
    found = mean_soft_kl([y, y], log_proba=[[float(no), log_yes]] * 2, classes=np.array([0, 1]))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_certain_predictions():
    assert mean_soft_kl([0, 1], [0.0, 1.0]) == 0
    assert mean_soft_kl([0, 1], [1.0, 1.0]) == np.inf
    assert mean_soft_kl([0.5, 1], [1.0, 1.0]) == np.inf
    assert mean_soft_kl([0.25, 0.75], [0.25, 0.75]) == 0
    assert mean_soft_kl([0, 1], [1.0, 1.0], sample_weight=[0, 1]) == 0
    # both columns keep what 1 - p loses
    assert mean_soft_kl([0, 0], [[1e-30, 1.0]] * 2) == pytest.approx(30 * np.log(10))


def test_labels_are_read_by_the_classes_of_the_model():
    assert mean_soft_kl(["b", "b"], [0.5, 0.5], classes=np.array(["a", "b"])) == pytest.approx(np.log(2))
    assert mean_soft_kl([1, 1], [0.0, 0.0], classes=np.array([1, 2])) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y_prob": [0.5, 1.5]}, r"in \[0, 1\]"),
        ({"y_prob": [0.5, np.nan]}, "none NaN"),
        ({"y_prob": np.ones((2, 3))}, "shape"),
        ({}, "either"),
        ({"log_proba": [[0.1, -1.0]] * 2}, "log_proba"),
        ({"log_proba": [-1.0, -1.0]}, "log_proba"),
        ({"y_prob": [0.5]}, "inconsistent numbers of samples"),
        ({"y_prob": [0.5, 0.5], "sample_weight": [1, -1]}, r"sample_weight\[1\] is -1"),
        ({"y_prob": [0.5, 0.5], "sample_weight": [1, np.nan]}, r"sample_weight\[1\] is nan"),
        ({"y_prob": [0.5, 0.5], "sample_weight": [0, 0]}, "zero for every bag"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(ValueError, match=words):
        mean_soft_kl([0, 0.5], **arguments)


def test_scorer_uses_log_probabilities(soft_problem, bag_mean_logistic):
    model = bag_mean_logistic().fit(soft_problem, soft_problem.labels)
    expected = -mean_soft_kl(soft_problem.labels, model.predict_proba(soft_problem))
    assert soft_kl_scorer(model, soft_problem, soft_problem.labels) == pytest.approx(expected, rel=1e-12)
    model.theta_ *= 1e3
    assert np.isfinite(soft_kl_scorer(model, soft_problem, soft_problem.labels))
    assert not np.isfinite(mean_soft_kl(soft_problem.labels, model.predict_proba(soft_problem)))


def test_scorer_falls_back_to_probabilities():
    class Coin:
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    assert soft_kl_scorer(Coin(), [1, 2], [0, 1]) == pytest.approx(-np.log(2))


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
def test_out_of_fold_is_a_plain_loop(soft_problem, bag_mean_logistic, method):
    cv = SoftStratifiedGroupKFold(4)
    weight = np.linspace(1, 2, 120)
    found = out_of_fold(
        bag_mean_logistic(), soft_problem, cv=4, method=method, params={"sample_weight": weight}
    )
    for train, test in cv.split(soft_problem):
        model = bag_mean_logistic()
        model.fit(soft_problem[train], soft_problem.labels[train], sample_weight=weight[train])
        np.testing.assert_array_equal(found[test], getattr(model, method)(soft_problem[test]))


def test_out_of_fold_instances(soft_problem, bag_mean_logistic):
    found = out_of_fold(
        bag_mean_logistic(), soft_problem, cv=4, method="instance_predict_proba", level="instances"
    )
    assert found.shape == (soft_problem.n_instances,)
    for train, test in SoftStratifiedGroupKFold(4).split(soft_problem):
        model = bag_mean_logistic().fit(soft_problem[train], soft_problem.labels[train])
        rows = np.isin(soft_problem.bag_of_instance, test)
        np.testing.assert_array_equal(found[rows], model.instance_predict_proba(soft_problem[np.sort(test)]))


def test_out_of_fold_agrees_with_scikit_learn_where_that_is_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    cv = StratifiedKFold(4)
    theirs = cross_val_predict(LogisticRegression(), X, y, cv=cv, method="predict_proba")
    for features, labels in ((X, y), (pd.DataFrame(X), pd.Series(y, index=range(100, 160))), (X, y.tolist())):
        np.testing.assert_allclose(
            out_of_fold(LogisticRegression(), features, labels, cv=cv), theirs, rtol=1e-12
        )
    splits = list(cv.split(X, y))
    np.testing.assert_allclose(out_of_fold(LogisticRegression(), X, y, cv=splits), theirs, rtol=1e-12)


def test_out_of_fold_refuses_a_group_on_both_sides(soft_problem, bag_mean_logistic):
    with pytest.raises(LeakageError, match="fold 0 has the group of sample"):
        out_of_fold(bag_mean_logistic(), soft_problem, cv=KFold(4, shuffle=True, random_state=0))
    alone = soft_problem.with_groups(None)
    out_of_fold(bag_mean_logistic(), alone, cv=KFold(4, shuffle=True, random_state=0))
    with pytest.raises(LeakageError, match="both sides"):
        out_of_fold(
            bag_mean_logistic(),
            alone,
            groups=soft_problem.groups,
            cv=[(np.arange(61, 120), np.arange(61)), (np.arange(61), np.arange(61, 120))],
        )


def test_out_of_fold_refusals(soft_problem, bag_mean_logistic):
    model = bag_mean_logistic()
    with pytest.raises(InvalidInputError, match="needs the labels"):
        out_of_fold(model, soft_problem.with_labels(None))
    with pytest.raises(InvalidInputError, match="exactly once"):
        out_of_fold(model, soft_problem, cv=[(np.arange(60), np.arange(60, 120))])
    with pytest.raises(InvalidInputError, match="cv must be"):
        out_of_fold(model, soft_problem, cv=None)
    with pytest.raises(InvalidInputError, match=r"gave .* rows for .* bags"):
        out_of_fold(model, soft_problem, method="instance_predict_proba")
    with pytest.raises(InvalidInputError, match="needs Bags"):
        out_of_fold(LogisticRegression(), np.eye(10), [0, 1] * 5, cv=2, level="instances")
    with pytest.raises(InvalidInputError, match="level must be"):
        out_of_fold(model, soft_problem, level="instance")
    with pytest.raises(ValueError, match="inconsistent numbers"):
        out_of_fold(model, soft_problem, [0, 1])
    with pytest.raises(InvalidInputError, match="differs from the labels the bags carry"):
        out_of_fold(model, soft_problem, 1 - soft_problem.labels)


@pytest.fixture
def named(soft_problem):
    return soft_problem.with_instances(soft_problem.instances, feature_names=["a", "b", "c"])


def test_it_transforms_the_flat_rows_and_keeps_the_bags(soft_problem):
    scaled = PerInstance(StandardScaler()).fit_transform(soft_problem)
    assert isinstance(scaled, Bags)
    np.testing.assert_array_equal(scaled.instances, StandardScaler().fit_transform(soft_problem.instances))
    assert scaled.with_instances(soft_problem.instances) == soft_problem


def test_weights_of_bags_count_as_repetition(soft_problem):
    weight = np.arange(len(soft_problem)) % 3
    weighted = PerInstance(StandardScaler()).fit(soft_problem, sample_weight=weight)
    repeated = StandardScaler().fit(soft_problem[np.repeat(np.arange(len(weight)), weight)].instances)
    np.testing.assert_allclose(weighted.transformer_.mean_, repeated.mean_, rtol=0, atol=1e-14)
    np.testing.assert_allclose(weighted.transformer_.scale_, repeated.scale_, rtol=1e-14)


def test_weights_that_do_not_fit(soft_problem):
    with pytest.raises(InvalidInputError, match="120 bags"):
        PerInstance(StandardScaler()).fit(soft_problem, sample_weight=[1.0])
    with pytest.raises(InputTypeError, match="PCA takes no sample_weight"):
        PerInstance(PCA()).fit(soft_problem, sample_weight=np.ones(120))


def test_feature_names_follow(named):
    assert PerInstance(StandardScaler()).fit_transform(named).feature_names == ("a", "b", "c")
    reduced = PerInstance(PCA(2)).fit(named)
    assert reduced.transform(named).feature_names == ("pca0", "pca1")
    assert reduced.get_feature_names_out().tolist() == ["pca0", "pca1"]
    assert reduced.n_features_in_ == 3
    constant = named.with_instances(named.instances * [1, 0, 1], feature_names=["a", "b", "c"])
    assert PerInstance(VarianceThreshold()).fit_transform(constant).feature_names == ("a", "c")
    assert PerInstance(FunctionTransformer(np.square)).fit_transform(named).feature_names == ("a", "b", "c")
    nameless = PerInstance(FunctionTransformer(lambda rows: rows.to_numpy()[:, :2]))
    assert nameless.fit_transform(named).feature_names is None


def test_features_in_another_order_are_refused(named):
    scaler = PerInstance(StandardScaler()).fit(named)
    other = named.with_instances(named.instances, feature_names=["b", "a", "c"])
    with pytest.raises(ValueError, match="feature names should match"):
        scaler.transform(other)


@pytest.mark.parametrize("container", ["pandas", "default"])
def test_scikit_learns_output_setting_does_no_harm(named, container):
    expected = PerInstance(StandardScaler()).fit_transform(named)
    pipeline = make_pipeline(PerInstance(StandardScaler())).set_output(transform=container)
    assert pipeline.fit_transform(named) == expected
    inner = PerInstance(StandardScaler().set_output(transform=container))
    assert inner.fit_transform(named) == expected
    with sklearn.config_context(transform_output=container):
        assert PerInstance(StandardScaler()).fit_transform(named) == expected


def test_inverse(named):
    scaler = PerInstance(StandardScaler()).fit(named)
    back = scaler.inverse_transform(scaler.transform(named))
    assert back.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(back.instances, named.instances, atol=1e-14)
    assert not hasattr(PerInstance(VarianceThreshold()), "fit_inverse")
    assert not hasattr(PerInstance(sklearn.preprocessing.Normalizer()), "inverse_transform")


def test_arrays_and_frames_pass_through():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_array_equal(
        PerInstance(StandardScaler()).fit_transform(rows), StandardScaler().fit_transform(rows)
    )
    weight = np.arange(20.0)
    fitted = PerInstance(StandardScaler()).fit(pd.DataFrame(rows, columns=["a", "b"]), sample_weight=weight)
    np.testing.assert_allclose(fitted.transformer_.mean_, np.average(rows, axis=0, weights=weight))
