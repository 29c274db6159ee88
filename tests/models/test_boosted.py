"""Boosted trees: scikit-learn's own numbers, kept without scikit-learn's classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models import BoostedBags, load_model, model_bytes, save_model


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads that wait for each other make small trees slow where the machine is busy."""
    with threadpool_limits(1, user_api="openmp"):
        yield


OPTIONS = {"n_trees": 12, "learning_rate": 0.2, "max_leaves": 7, "min_instances": 5, "l2": 0.5}


def reference(n_trees, learning_rate, max_leaves, min_instances, l2):
    """The same trees in scikit-learn's words."""
    return HistGradientBoostingClassifier(
        max_iter=n_trees,
        learning_rate=learning_rate,
        max_leaf_nodes=max_leaves,
        min_samples_leaf=min_instances,
        l2_regularization=l2,
        early_stopping=False,
        random_state=0,
    )


@pytest.fixture(scope="module")
def table():
    """Instances whose class no weighted sum can tell."""
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 6))
    return X, ((X[:, 1] ** 2 + X[:, 4] > 1) ^ (random.random(500) < 0.05)).astype(int)


@pytest.fixture(scope="module")
def fitted(table):
    return BoostedBags(**OPTIONS, random_state=0).fit(*table)


@pytest.fixture(scope="module")
def expected(table):
    return reference(**OPTIONS).fit(*table)


def test_hard_labels_of_single_instances_are_scikit_learn_s_trees(table, fitted, expected):
    X, _ = table
    np.testing.assert_allclose(
        fitted.instance_decision_function(X), expected.decision_function(X), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(fitted.decision_function(X), expected.decision_function(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12)
    assert np.array_equal(fitted.predict(X), expected.predict(X))
    fresh = np.random.default_rng(1).normal(size=(300, 6)) * 3
    np.testing.assert_allclose(
        fitted.instance_decision_function(fresh), expected.decision_function(fresh), rtol=0, atol=1e-12
    )


def test_values_on_a_threshold_go_where_scikit_learn_sends_them(fitted, expected):
    splits = fitted.feature_ >= 0
    X = np.zeros((splits.sum(), 6))
    X[np.arange(len(X)), fitted.feature_[splits]] = fitted.threshold_[splits]
    np.testing.assert_allclose(
        fitted.instance_decision_function(X), expected.decision_function(X), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["holes", "all of a class"])
def test_missing_values_go_where_scikit_learn_sends_them(table, kind):
    X, y = table
    if kind == "holes":
        X = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    else:
        X = np.where(y[:, None] == 1, np.nan, X[:, :1])
    grown = reference(**OPTIONS).fit(X, y)
    model = BoostedBags(**OPTIONS)
    model.n_features_in_ = X.shape[1]
    model._keep(grown)
    assert np.isfinite(model.threshold_).all()
    found = model.decision_on_support(X[:, model.support_])
    np.testing.assert_allclose(found, grown.decision_function(X), rtol=0, atol=1e-12)


def test_soft_labels_are_weighted_rows_of_both_classes(make_mil):
    mil = make_mil(n_bags=200, seed=5)
    sizes = np.bincount(mil.ids)
    p, share = mil.y[mil.ids], 1.0 / sizes[mil.ids]
    rows = [(x, 1, q * w) for x, q, w in zip(mil.X, p, share, strict=True) if q > 0]
    rows += [(x, 0, (1 - q) * w) for x, q, w in zip(mil.X, p, share, strict=True) if q < 1]
    X, hard, weight = (np.array(column) for column in zip(*rows, strict=True))
    grown = reference(**OPTIONS).fit(X, hard, sample_weight=weight / weight.mean())
    model = BoostedBags(**OPTIONS, random_state=0).fit(mil.bags, mil.y)
    # Another order of rows adds up scikit-learn's float32 gradients in another order.
    np.testing.assert_allclose(
        model.instance_decision_function(mil.X), grown.decision_function(mil.X), atol=1e-5
    )


def test_reader_weights_of_the_bags_count(make_mil):
    mil = make_mil(n_bags=150, seed=6, hard=True)
    weight = np.random.default_rng(0).uniform(0.2, 1.0, len(mil.y))
    carried = Bags.from_ids(mil.X, mil.ids, reader_weight=weight)
    one = BoostedBags(**OPTIONS).fit(carried, mil.y)
    two = BoostedBags(**OPTIONS).fit(mil.bags, mil.y, sample_weight=weight)
    plain = BoostedBags(**OPTIONS).fit(mil.bags, mil.y)
    np.testing.assert_allclose(
        one.instance_decision_function(mil.X), two.instance_decision_function(mil.X), atol=1e-6
    )
    assert not np.allclose(one.instance_decision_function(mil.X), plain.instance_decision_function(mil.X))


def test_a_bag_is_the_noisy_or_of_its_instances(mil):
    model = BoostedBags(**OPTIONS).fit(mil.bags, mil.y)
    z = model.instance_decision_function(mil.X)
    for bag, found in enumerate(model.predict_proba(mil.bags)[:, 1]):
        none = np.prod(1 / (1 + np.exp(z[mil.ids == bag])))
        assert found == pytest.approx(1 - none, abs=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_trees": 0},
        {"learning_rate": 0},
        {"max_leaves": 1},
        {"min_instances": 0.5},
        {"l2": -1},
        {"pooling": "max"},
    ],
)
def test_a_wrong_parameter_is_named(table, wrong):
    with pytest.raises(InvalidInputError, match=f"{next(iter(wrong))}="):
        BoostedBags(**wrong).fit(*table)


def test_one_class_is_refused(table):
    X, y = table
    with pytest.raises(InvalidInputError, match="class"):
        BoostedBags().fit(X, np.zeros_like(y))
    with pytest.raises(InvalidInputError, match="one class only"):
        BoostedBags().fit(Bags.singletons(X), np.ones(len(y)))


def test_only_used_columns_are_looked_at(table, fitted):
    X, _ = table
    lean = BoostedBags(n_trees=2, max_leaves=3, min_instances=5).fit(*table)
    assert 0 < lean.n_features_ < 6
    used = lean.support_
    assert np.array_equal(lean.decision_on_support(X[:, used]), lean.instance_decision_function(X))
    spoilt = X.copy()
    spoilt[:, np.setdiff1d(np.arange(6), used)] = 1e300
    assert np.array_equal(lean.instance_decision_function(spoilt), lean.instance_decision_function(X))
    assert set(used) == set(np.flatnonzero(lean.gains_))
    assert fitted.gains_.argmax() in (1, 4)


def test_float32_and_columns_in_any_memory_order(table, fitted):
    X = table[0].astype(np.float32)
    found = fitted.instance_decision_function(X)
    assert np.array_equal(fitted.instance_decision_function(np.asfortranarray(X)), found)
    assert np.array_equal(fitted.decision_on_support(np.asfortranarray(X)[:, fitted.support_]), found)


@pytest.mark.parametrize("with_names", [False, True])
def test_it_comes_back_bit_by_bit(table, tmp_path, with_names):
    X, y = table
    X = pd.DataFrame(X, columns=list("abcdef")) if with_names else X
    model = BoostedBags(**OPTIONS, random_state=0).fit(X, y)
    save_model(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert np.array_equal(again.instance_decision_function(X), model.instance_decision_function(X))
    assert again.get_params() == model.get_params()
    assert model_bytes(again) == model_bytes(model) == (tmp_path / "m.json").read_bytes()
    assert b"Predictor" not in model_bytes(model)
