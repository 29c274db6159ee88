from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr

from overread.apps.scenario._contenders import CONTENDERS
from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import draw_seed, make_test_set, make_training_set
from overread.apps.scenario._points import _foretell_shares, _tune_and_fit, measure_point
from overread.froc import froc_curve, sensitivity_at


@pytest.fixture(scope="module")
def sets(material, design):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training = make_training_set(material, draw_seed(material, design, 1), Condition(80, 4), design)
        return training, make_test_set(material, design)


def test_a_point_tells_what_the_fitted_model_does_on_unseen_images(sets, design):
    training, test = sets
    model, settings = CONTENDERS["soft"], design.settings()
    told = measure_point(model, training, test, settings, fp_targets=[0.5, 1.0, 2.0], n_bootstrap=30, seed=0)
    fitted = _tune_and_fit(model, training, settings, 0)
    scores = fitted.instance_decision_function(test.split.features.read(test.split.features.names))
    for found, matching in ((told.known, test.known), (told.golden, test.golden)):
        by_hand = sensitivity_at(froc_curve(matching.with_scores(scores)), [0.5, 1.0, 2.0])["gt_sensitivity"]
        np.testing.assert_allclose(found.sensitivity, by_hand)
        assert np.shape(found.draws) == (30, 3)
    assert told.n_features == np.count_nonzero(fitted.coef_)
    assert (told.n_readers, told.n_objects) == (4, len(training.truth))
    assert told.skills == []


def test_the_right_probabilities_explain_all_and_the_mean_explains_nothing():
    shares = np.tile([0.0, 0.25, 0.5, 0.75], 50)
    right = _foretell_shares(np.maximum(shares, 1e-5), shares)
    assert right.deviance == pytest.approx(0, abs=1e-4)
    assert right.spearman == pytest.approx(1)
    mean = _foretell_shares(np.full(200, shares.mean()), shares)
    assert mean.deviance == pytest.approx(mean.deviance_of_mean)
    assert np.isnan(mean.spearman)


def test_the_slope_is_below_1_where_probabilities_are_too_sure():
    random = np.random.default_rng(0)
    logits = random.normal(0, 1.5, 4000)
    shares = random.binomial(8, 1 / (1 + np.exp(-logits))) / 8
    sure = _foretell_shares(1 / (1 + np.exp(-2 * logits)), shares)
    assert sure.slope == pytest.approx(0.5, abs=0.03)
    assert sure.spearman == pytest.approx(spearmanr(logits[shares > 0], shares[shares > 0]).statistic)
