"""Without a normalization the penalty follows the number of bags from where it was judged to the refit."""

import numpy as np
import pytest

from overread.files import to_json
from overread.study import MODELS, choose_by_paper, parse_settings
from study_chain import open_chain
from study_stand_in import LIGHT, make_study

SOFT = MODELS["soft"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A study up to its candidates."""
    opened = open_chain(make_study(tmp_path_factory.mktemp("refit") / "study", settings=LIGHT))
    for name in ("images", "candidates"):
        opened.workspace.run(opened.stages[name])
    return opened


def set_soft(**keys: object) -> object:
    return parse_settings({"soft": {"n_lambdas": 8, **keys}, "evaluation": {"n_bootstrap": 100}, "seed": 3})


def sum_weights(split: object) -> float:
    """Sum of the weights of the bags, in the way that the model takes them."""
    return float(split.bags("soft").reader_weight.sum())


def test_the_paper_s_rule_is_refitted_with_the_penalty_per_bag_that_it_judged(chain):
    cohort, settings = chain.load("cohort"), set_soft(rule="paper", normalizations=["none"])
    training, merged = cohort.split("training"), cohort.split("training", "validation")
    choice = choose_by_paper(cohort, settings)
    (chosen,) = SOFT.grid(merged, settings)
    assert sum_weights(merged) > 1.3 * sum_weights(training)
    assert chosen["lam"] / sum_weights(merged) == pytest.approx(choice.alpha / sum_weights(training))
    # What the stage reads from the run's file is the same.
    assert SOFT.take_grid({"tuning/paper.json": to_json(choice)}, merged, settings) == [chosen]


def test_without_a_normalization_the_refit_is_that_of_bags(chain):
    """Penalties that mean the same choose the same: "none" and "bags" differ in their units alone."""
    cohort = chain.load("cohort")
    merged = cohort.split("training", "validation")
    counts = {}
    for name in ("none", "bags"):
        settings = set_soft(rule="paper", normalizations=[name])
        model = SOFT.build(SOFT.grid(merged, settings)[0], settings)
        SOFT.fit(model, merged)
        counts[name] = choose_by_paper(cohort, settings).n_features, model.coef_[0]
    assert counts["none"][0] == counts["bags"][0]
    # The weights of readings differ a little between the parts, which "bags" does not divide by.
    np.testing.assert_array_equal(counts["none"][1] != 0, counts["bags"][1] != 0)
    np.testing.assert_allclose(counts["none"][1], counts["bags"][1], rtol=0.1, atol=1e-3)


def test_folds_try_the_penalty_per_bag_of_the_whole(chain):
    settings = set_soft(normalizations=["none"])
    merged = chain.load("cohort").split("training", "validation")
    grid, fold = SOFT.grid(merged, settings), chain.load("folds")[0]
    trial = SOFT.try_settings(grid, fold, settings)
    bags, features = fold.rest.bags("soft"), fold.held_out.features
    share = sum_weights(fold.rest) / sum_weights(merged)
    assert share < 0.7
    for column in (2, 5):
        setting = grid[column] | {"lam": share * grid[column]["lam"]}
        alone = SOFT.build(setting, settings).fit(bags, bags.labels)
        expected = alone.instance_decision_function(features.read(features.names))
        np.testing.assert_allclose(trial.scores[:, column], expected, atol=1e-4)


@pytest.mark.parametrize("normalization", ["bags", "class"])
def test_a_normalized_penalty_stays(chain, normalization):
    cohort = chain.load("cohort")
    settings = set_soft(rule="paper", normalizations=[normalization])
    (chosen,) = SOFT.grid(cohort.split("training", "validation"), settings)
    assert chosen["lam"] == choose_by_paper(cohort, settings).alpha
