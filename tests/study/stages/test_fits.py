"""Models are checked, fitted to training + validation, and fitted again without each fold."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.study.models import MODELS
from overread.study.models.plug import Fold
from overread.study.settings import parse_settings
from overread.study.stages.cohort import COHORT
from overread.study.stages.fits import check_stage, fit_stage
from study_chain import Chain, call_alone


@pytest.mark.parametrize("name", ["soft", "b1", "boosted"])
def test_out_of_fold_scores_are_those_of_a_model_of_the_rest(chain: Chain, name: str) -> None:
    plug = MODELS[name]
    table = chain.load(f"tables/out_of_fold_{name}.parquet")
    seen = []
    for fold in chain.load("folds"):
        model = plug.build(chain.load(f"chosen/{name}"), chain.settings)
        bags = fold.rest.bags(plug.labels)
        model.fit(bags, bags.labels)
        features = fold.held_out.features.read(fold.held_out.features.names)
        expected = model.decision_instance_function(features)
        rows = table["image_id"].isin(fold.held_out.images["image_id"])
        assert table.loc[rows, "score"].to_numpy() == pytest.approx(expected, abs=1e-9)
        seen.append(rows.to_numpy())
    assert np.array_equal(np.sum(seen, axis=0), np.ones(len(table)))


def test_scores_of_a_fold_do_not_know_its_labels(chain: Chain) -> None:
    """A model that sees the truth of one held-out image more or less gives its candidates the same scores."""
    folds = chain.load("folds")
    image_id = folds[0].held_out.images["image_id"].iloc[0]
    truth = chain.load("tables/truth.parquet")
    values = chain.values(COHORT) | {"tables/truth.parquet": truth[truth["image_id"] != image_id]}
    cohort = call_alone(COHORT, values, chain.settings)
    same = [
        Fold(*(cohort.of_images(part.images["image_id"]) for part in (fold.held_out, fold.rest)))
        for fold in folds
    ]
    (made,) = chain.call("out_of_fold_b1", cohort=cohort, folds=same).values()
    before = chain.load("tables/out_of_fold_b1.parquet")
    rows = before["image_id"].isin(folds[0].held_out.images["image_id"])
    assert np.array_equal(made.loc[rows, "score"], before.loc[rows, "score"])
    assert not np.array_equal(made.loc[~rows, "score"], before.loc[~rows, "score"])


def test_the_last_fit_is_that_of_what_was_chosen(chain: Chain) -> None:
    chosen = chain.load("chosen/soft")
    model = chain.load("models/soft.json")
    assert (model.lam, model.normalization) == (chosen["lam"], chosen["normalization"])
    bags = chain.load("cohort").split("training", "validation").bags("soft")
    again = MODELS["soft"].build(chosen, chain.settings).fit(bags, bags.labels)
    assert np.array_equal(model.coef_, again.coef_)


def test_only_models_that_can_be_refused_are_checked(chain: Chain) -> None:
    checks = [name for name in chain.stages if name.startswith("check_")]
    assert (
        checks == [f"check_{name}" for name, model in MODELS.items() if model.check_settings] == ["check_b2"]
    )
    assert chain.call("check_b2") == {}


def test_a_mixture_without_readers_is_refused(chain: Chain) -> None:
    stage = check_stage(MODELS["b2"])
    with pytest.raises(
        InvalidInputError, match=r"no reader has 500 .*\[b2\] min_positives.*\[models\] wanted"
    ):
        call_alone(stage, chain.values(stage), parse_settings({"b2": {"min_positives": 500}}))


def test_a_fit_depends_on_its_own_settings_alone(chain: Chain) -> None:
    for name, model in MODELS.items():
        sections = {setting.partition(".")[0] for setting in fit_stage(model).settings}
        assert sections.isdisjoint({other for other in MODELS if other != name})
        assert not any(setting.startswith(f"{name}.tolerance") for setting in fit_stage(model).settings)
