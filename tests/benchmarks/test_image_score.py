"""Pooled scores of an image, and the area under its ROC curve."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.image_score import area, pool_scores, score_by_response
from sklearn.metrics import roc_auc_score


def test_pooled_scores_by_hand():
    probability = np.array([0.1, 0.5, 0.3, 0.2])
    pooled = pool_scores(np.log(probability / (1 - probability)))
    any_of_them = 1 - np.prod(1 - probability)
    assert pooled["max"] == pytest.approx(0.0)
    assert pooled["top-3"] == pytest.approx(np.mean(np.log([1.0, 0.3 / 0.7, 0.25])))
    assert pooled["noisy-or"] == pytest.approx(np.log(any_of_them / (1 - any_of_them)))


def test_noisy_or_of_sure_candidates_is_finite():
    assert np.isfinite(pool_scores(np.full(60, 50.0))["noisy-or"])
    assert np.isfinite(pool_scores(np.full(60, -50.0))["noisy-or"])


def test_responses_are_pooled_by_image():
    found = pd.DataFrame({"image_id": ["b", "a", "b", "b"], "response": [1.0, -2.0, 4.0, 1.0]})
    images = pd.DataFrame({"image_id": ["a", "b"], "patient": ["1", "2"]})
    pooled = score_by_response(images, found)
    assert pooled["max"].tolist() == [-2.0, 4.0]
    assert pooled["top-3"].tolist() == [-2.0, 2.0]
    assert pooled["patient"].tolist() == ["1", "2"]


def test_area_is_that_of_scikit_learn_and_inside_its_interval():
    random = np.random.default_rng(0)
    high = pd.DataFrame({"score": random.normal(0.7, 1, 50).round(1), "patient": np.repeat(range(25), 2)})
    low = pd.DataFrame({"score": random.normal(0, 1, 80).round(1), "patient": range(80)})
    value, lower, upper = area(high, low, "score")
    labels = np.repeat([1, 0], [50, 80])
    assert value == pytest.approx(roc_auc_score(labels, pd.concat([high, low])["score"]))
    assert lower < value < upper
