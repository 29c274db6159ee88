"""Transformers of rows inside pipelines of bags, against scikit-learn on the flat rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from overread.bags import Bags, PerInstance
from overread.errors import InputTypeError, InvalidInputError


@pytest.fixture
def named(soft_problem):
    return soft_problem.with_instances(soft_problem.instances, feature_names=["a", "b", "c"])


def test_it_transforms_the_flat_rows_and_keeps_the_bags(soft_problem):
    scaled = PerInstance(StandardScaler()).fit_transform(soft_problem)
    assert isinstance(scaled, Bags)
    np.testing.assert_array_equal(scaled.instances, StandardScaler().fit_transform(soft_problem.instances))
    assert scaled.with_instances(soft_problem.instances) == soft_problem


def test_it_is_fitted_on_training_bags_only(soft_problem):
    scaler = PerInstance(StandardScaler()).fit(soft_problem[:50])
    np.testing.assert_array_equal(scaler.transformer_.mean_, soft_problem[:50].instances.mean(axis=0))
    moved = scaler.transform(soft_problem[50:]).instances
    np.testing.assert_array_equal(moved, scaler.transformer_.transform(soft_problem[50:].instances))


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


def test_cloning_and_parameters(soft_problem):
    scaler = PerInstance(StandardScaler()).fit(soft_problem)
    again = clone(scaler)
    assert again.get_params()["transformer__with_mean"] is True
    with pytest.raises(NotFittedError):
        again.transform(soft_problem)
    again.set_params(transformer__with_mean=False)
    assert again.transformer.with_mean is False
    assert scaler.transformer.with_mean is True


def test_arrays_and_frames_pass_through():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_array_equal(
        PerInstance(StandardScaler()).fit_transform(rows), StandardScaler().fit_transform(rows)
    )
    weight = np.arange(20.0)
    fitted = PerInstance(StandardScaler()).fit(pd.DataFrame(rows, columns=["a", "b"]), sample_weight=weight)
    np.testing.assert_allclose(fitted.transformer_.mean_, np.average(rows, axis=0, weights=weight))


def test_sparse_output_is_refused(soft_problem):
    rounded = soft_problem.with_instances(soft_problem.instances.round())
    with pytest.raises(InputTypeError, match="sparse"):
        PerInstance(OneHotEncoder()).fit_transform(rounded)


def test_pipeline_equals_its_parts(soft_problem, bag_mean_logistic):
    pipeline = Pipeline([("scale", PerInstance(StandardScaler())), ("model", bag_mean_logistic())])
    pipeline.fit(soft_problem, soft_problem.labels)
    scaled = PerInstance(StandardScaler()).fit_transform(soft_problem)
    model = bag_mean_logistic().fit(scaled, scaled.labels)
    np.testing.assert_array_equal(pipeline.predict_proba(soft_problem), model.predict_proba(scaled))
