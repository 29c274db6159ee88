"""The soft model of a study: penalties common to all folds, and the paper's rule beside them."""

import numpy as np
import pandas as pd

from overread.study import MODELS, choose_by_paper, fit_path, parse_settings
from study_chain import Chain

SOFT = MODELS["soft"]


def test_the_grid_is_the_path_of_each_normalization(chain: Chain) -> None:
    merged = chain.load("cohort").split("training", "validation")
    grid = SOFT.grid(merged, chain.settings)
    assert grid == chain.load("tuning/soft_grid.json")
    n_alphas = chain.settings.soft.n_lambdas
    assert [one["normalization"] for one in grid] == ["bags"] * n_alphas + ["class"] * n_alphas
    for name in ("bags", "class"):
        path = fit_path(merged, chain.settings, name)
        assert [one["lam"] for one in grid if one["normalization"] == name] == path.alphas_.tolist()


def test_a_fold_tries_the_common_penalties(chain: Chain) -> None:
    """Each column is the model of that penalty alone, fitted to the rest of the fold."""
    fold, grid = chain.load("folds")[0], chain.load("tuning/soft_grid.json")
    trial = SOFT.try_settings(grid, fold, chain.settings)
    assert trial.scores.shape == (len(fold.held_out.candidates), len(grid))
    bags, features = fold.rest.bags("soft"), fold.held_out.features
    for column in (1, 4, 7):
        alone = SOFT.build(grid[column], chain.settings).fit(bags, bags.labels)
        expected = alone.instance_decision_function(features.read(features.names))
        np.testing.assert_allclose(trial.scores[:, column], expected, atol=1e-4)
        assert trial.n_features[column] == np.count_nonzero(alone.coef_)


def test_the_paper_s_rule_leaves_one_setting(chain: Chain) -> None:
    merged = chain.load("cohort").split("training", "validation")
    changed = chain.settings.to_plain()
    changed["soft"]["rule"] = "paper"
    settings = parse_settings(changed)
    choice = choose_by_paper(chain.load("cohort"), settings)
    assert SOFT.grid(merged, settings) == [{"lam": choice.alpha, "normalization": choice.normalization}]


def test_the_choice_is_one_of_the_settings_tried(chain: Chain) -> None:
    tuned, grid = chain.load("tuning/soft.json"), chain.load("tuning/soft_grid.json")
    table = pd.DataFrame(tuned["choice"]["table"])
    assert table[["lam", "normalization"]].to_dict("records") == grid
    assert tuned["parameters"] == grid[tuned["choice"]["position"]]
    chosen = table.iloc[tuned["choice"]["position"]]
    assert chosen["accepted"]
    assert table.loc[table["accepted"], "n_features"].min() == chosen["n_features"]


def test_what_is_built_has_what_was_chosen(chain: Chain) -> None:
    settings = parse_settings({"seed": 9, "soft": {"divide_by_features": True, "n_init": 3}})
    model = SOFT.build({"lam": 0.25, "normalization": "class"}, settings)
    assert model.get_params()["alpha"] == 0.25
    assert (model.normalization, model.divide_by_features, model.n_init) == ("class", True, 3)
    assert model.random_state == 9
