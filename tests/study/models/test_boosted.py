"""Boosted trees as a model of a study."""

import math

import numpy as np

from overread.models import BoostedBags
from overread.study import MODELS, parse_settings
from study_chain import Chain

BOOSTED = MODELS["boosted"]


def test_what_is_built() -> None:
    own = {"learning_rate": 0.3, "max_leaves": 5, "min_instances": 7, "n_trees": [3, 9]}
    settings = parse_settings({"seed": 8, "boosted": own})
    assert BOOSTED.grid(None, settings) == [{"n_trees": 3}, {"n_trees": 9}]
    model = BOOSTED.build({"n_trees": 9}, settings)
    assert isinstance(model, BoostedBags)
    assert (model.n_trees, model.learning_rate, model.max_leaves, model.min_instances) == (9, 0.3, 5, 7)
    assert model.random_state == 8


def test_features_are_weighed_by_their_share_of_the_gain(chain: Chain) -> None:
    model, features = chain.load("models/boosted.json"), chain.load("cohort").features
    told = BOOSTED.weigh_features(model, features)
    assert all(math.isnan(weight) for _, weight, _ in told)
    shares = {name: share for name, _, share in told}
    assert sum(shares.values()) == 1 or math.isclose(sum(shares.values()), 1)
    gains = dict(zip(features.names, model.gains_, strict=True))
    for name, share in shares.items():
        assert share == gains[name] / model.gains_.sum()
    assert set(shares) == {name for name, gain in gains.items() if gain > 0}


def test_scores_of_the_store_are_scores_of_the_matrix(chain: Chain) -> None:
    model, cohort = chain.load("models/boosted.json"), chain.load("cohort")
    test = cohort.split("test").features
    whole = test.read(test.names)
    assert np.array_equal(BOOSTED.score(model, test), model.instance_decision_function(whole))
