"""Models are checked, and what was chosen is fitted to training + validation."""

import re

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.study import MODELS, parse_settings
from overread.study.stages.fitting import check_stage, fit_stage
from study_chain import Chain, call_alone


def test_the_last_fit_is_that_of_what_was_chosen(chain: Chain) -> None:
    chosen = chain.load("chosen/soft")
    model = chain.load("models/soft.json")
    assert (model.alpha, model.normalization) == (chosen["lam"], chosen["normalization"])
    bags = chain.load("cohort").split("training", "validation").bags("soft")
    again = MODELS["soft"].build(chosen, chain.settings).fit(bags, bags.labels)
    assert np.array_equal(model.coef_, again.coef_)


def test_only_models_that_can_be_refused_are_checked(chain: Chain) -> None:
    assert [name for name, model in MODELS.items() if model.check_settings] == ["b2"]
    assert chain.call("check_models") == {"skipped.json": {}}
    assert check_stage([MODELS["soft"], MODELS["boosted"]]).reads == ()


def test_a_mixture_without_readers_is_skipped(chain: Chain) -> None:
    stage = check_stage([MODELS["soft"], MODELS["b2"]])
    made = call_alone(stage, chain.values(stage), parse_settings({"b2": {"min_positives": 500}}))
    assert list(made["skipped.json"]) == ["b2"]
    assert re.match(
        r"no reader has 500 .*\[b2\] min_positives.*\[models\] wanted", made["skipped.json"]["b2"]
    )


def test_without_any_model_the_run_is_refused(chain: Chain) -> None:
    stage = check_stage([MODELS["b2"]])
    with pytest.raises(InvalidInputError, match=r"^b2: no reader has 500 .*\[b2\] min_positives"):
        call_alone(stage, chain.values(stage), parse_settings({"b2": {"min_positives": 500}}))


def test_a_fit_depends_on_its_own_settings_alone(chain: Chain) -> None:
    for name, model in MODELS.items():
        sections = {setting.partition(".")[0] for setting in fit_stage(model).settings}
        assert sections.isdisjoint({other for other in MODELS if other != name})
        # How a setting was chosen does not matter to its fit.
        assert set(fit_stage(model).settings).isdisjoint(
            {
                *("models.standard_errors", "models.choice_fp_targets", "soft.n_lambdas", "boosted.n_trees"),
                *(name, f"{name}.rule", f"{name}.prune_bounds", f"{name}.alpha_inits"),
            }
        )
