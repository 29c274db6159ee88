"""The code of docs/how-to/add_a_model.md runs, and its model is tried, fitted and scored like any other."""

from types import SimpleNamespace

import numpy as np

from page_code import run_page
from study_chain import Chain


def test_the_model_of_the_page(chain: Chain) -> None:
    plug = run_page("how-to/add_a_model.md")["Ridge"]()
    settings = SimpleNamespace(ridge=plug.settings())
    fold = chain.load("folds")[0]
    grid = plug.grid(fold.rest, settings)
    assert [one["alpha_init"] for one in grid] == [1.0, 10.0, 100.0]
    trial = plug.try_settings(grid, fold, settings)
    assert trial.scores.shape == (len(fold.held_out.candidates), 3)
    # A larger precision shrinks the scores.
    assert np.all(np.diff(trial.scores.std(axis=0)) < 0)
    model = plug.build(grid[0], settings)
    plug.fit(model, fold.rest)
    assert np.array_equal(plug.score(model, fold.held_out.features), trial.scores[:, 0])
    assert {name for name, _, _ in plug.weigh_features(model, fold.rest.features)} <= set(
        fold.rest.features.names
    )
