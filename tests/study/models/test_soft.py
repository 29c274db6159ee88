"""The soft model of a study: paths, then a choice by the paper's rule."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.models import SoftMILLogisticRegression
from overread.study.models import MODELS
from overread.study.models.soft import choose_penalty, fit_path
from overread.study.settings import parse_settings
from study_chain import Chain

SOFT = MODELS["soft"]


def test_a_path_for_each_normalization_then_a_choice(chain: Chain) -> None:
    settings = parse_settings({"soft": {"normalizations": ["class", "none"]}})
    stages = SOFT.stages(settings)
    assert [stage.name for stage in stages] == ["path_class", "path_none", "tuning_soft"]
    assert stages[-1].reads == ("cohort", "models/path_class.json", "models/path_none.json")


def test_a_path_holds_the_fits_of_its_penalties(chain: Chain) -> None:
    training = chain.load("cohort").split("training")
    path = fit_path(training, chain.settings, "bags")
    bags = training.bags("soft")
    for place in (1, 4):
        alone = SoftMILLogisticRegression(path.lambdas_[place], normalization="bags").fit(bags, bags.labels)
        np.testing.assert_allclose(path.coefs_[place], alone.coef_[0], atol=1e-5)


def test_tuning_at_once_is_tuning_in_stages(chain: Chain) -> None:
    cohort = chain.load("cohort")
    tuned = SOFT.tune(cohort.split("training"), cohort.split("validation"), chain.settings)
    assert tuned.parameters == chain.load("chosen/soft")
    stored = chain.load("tuning/soft.json")
    assert list(stored["table"]) == list(tuned.table.columns)
    assert stored["table"]["n_features"] == tuned.table["n_features"].tolist()


def test_the_choice_is_one_of_the_settings_tried(chain: Chain) -> None:
    tuned = chain.load("tuning/soft.json")
    table = pd.DataFrame(tuned["table"])
    soft = chain.settings.soft
    assert len(table) == len(soft.normalizations) * soft.n_lambdas * len(soft.choice_fp_targets)
    chosen = tuned["parameters"]
    assert chosen["lam"] in chain.load(f"models/path_{chosen['normalization']}.json").lambdas_
    rows = table[(table["lam"] == chosen["lam"]) & (table["normalization"] == chosen["normalization"])]
    assert rows["accepted"].any()


@pytest.mark.parametrize("pick", ["sparsest", "best"])
def test_sparsest_or_best(chain: Chain, pick: str) -> None:
    cohort = chain.load("cohort")
    settings = parse_settings(
        {"soft": {"tolerance": 1.0, "max_gap": 1.0, "pick": pick, "normalizations": ["bags"]}}
        | {"evaluation": {"n_bootstrap": 5}}
    )
    path = chain.load("models/path_bags.json")
    choice = choose_penalty({"bags": path}, cohort.split("training"), cohort.split("validation"), settings)
    place = int(np.flatnonzero(path.lambdas_ == choice.lam)[0])
    # All are accepted within a tolerance of 1: the sparsest has the fewest features of all.
    if pick == "sparsest":
        assert path.n_features_[place] == path.n_features_.min()


def test_what_is_built_has_what_was_chosen(chain: Chain) -> None:
    settings = parse_settings({"seed": 9, "soft": {"divide_by_features": True, "n_init": 3}})
    model = SOFT.build({"lam": 0.25, "normalization": "class"}, settings)
    assert model.get_params()["lam"] == 0.25
    assert (model.normalization, model.divide_by_features, model.n_init) == ("class", True, 3)
    assert model.random_state == 9
