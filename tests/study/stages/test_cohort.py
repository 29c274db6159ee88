"""The shared cohort, its folds without shared patients, and views that hide how a choice was made."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from overread.study import parse_settings
from overread.study.stages.cohort import COHORT, FOLDS, chosen_view
from overread.truth import candidate_hits
from study_chain import Chain, call_alone


def test_images_that_were_given_up_are_in_no_table(chain: Chain) -> None:
    images = chain.load("tables/images.parquet").query("image_id != 'case 007'")
    values = chain.values(COHORT) | {"tables/images.parquet": images}
    candidates = values["tables/candidates.parquet"]
    values["tables/candidates.parquet"] = candidates[candidates["image_id"] != "case 007"]
    cohort = call_alone(COHORT, values, chain.settings)
    for name in ("images", "readings", "marks", "truth", "candidates"):
        assert "case 007" not in set(getattr(cohort, name)["image_id"])
        assert set(getattr(cohort, name)["image_id"]) <= set(images["image_id"])
    assert len(cohort.images) == 35


def test_the_reading_range_is_that_of_the_whole_study(chain: Chain) -> None:
    readings = chain.load("tables/readings.parquet")
    per_image = readings.groupby("image_id").size()
    most = per_image[per_image == per_image.max()].index
    images = chain.load("tables/images.parquet")
    values = chain.values(COHORT)
    values["tables/images.parquet"] = images[~images["image_id"].isin(most)]
    assert call_alone(COHORT, values, chain.settings).n_max == per_image.max()


def test_hits_are_those_of_the_rule(chain: Chain) -> None:
    for hits in ({}, {"rule": "distance", "max_distance": 3.0}):
        settings = parse_settings({"hits": hits})
        cohort = call_alone(COHORT, chain.values(COHORT), settings)
        rule = settings.hits.hit_rule().in_unit("mm")
        expected = candidate_hits(cohort.candidates, cohort.truth, rule)
        pd.testing.assert_frame_equal(cohort.hits, expected)
        assert cohort.rule == cohort.counting.rule == rule
        assert (cohort.counting.single_reader, cohort.counting.repeats) == ("ignore", "suppress")


def test_a_fold_is_made_when_it_is_asked_for(chain: Chain) -> None:
    folds = chain.load("folds")
    assert len(folds) == len(list(folds)) == 2
    assert folds[0] is not folds[0]
    assert folds[-1].rest.candidates.equals(folds[0].held_out.candidates)
    assert [fold.held_out.images.equals(folds[1].held_out.images) for fold in folds] == [False, True]
    with pytest.raises(IndexError):
        folds[2]


def test_folds_are_a_partition_and_share_no_patient(chain: Chain) -> None:
    folds = chain.load("folds")
    merged = chain.load("cohort").split("training", "validation")
    own = chain.inputs.images.set_index("image_id")["patient_id"]
    held_out = [fold.held_out.images["image_id"] for fold in folds]
    assert len(folds) == chain.settings.models.folds
    assert sorted(np.concatenate(held_out)) == sorted(merged.images["image_id"])
    for fold in folds:
        assert set(own[fold.held_out.images["image_id"]]).isdisjoint(own[fold.rest.images["image_id"]])
        both = {*fold.held_out.images["image_id"], *fold.rest.images["image_id"]}
        assert both == set(merged.images["image_id"])
    patients = [set(own[ids]) for ids in held_out]
    assert all(one.isdisjoint(other) for one, other in combinations(patients, 2))


def test_there_are_no_more_folds_than_patients(chain: Chain) -> None:
    merged = chain.load("cohort").split("training", "validation")
    settings = parse_settings({"models": {"folds": 100}, "seed": 3})
    folds = call_alone(FOLDS, {"cohort": chain.load("cohort")}, settings)
    assert len(folds) == merged.images["patient_id"].nunique()
    assert {fold.held_out.images["patient_id"].nunique() for fold in folds} == {1}


@pytest.mark.parametrize("model", ["soft", "b1"])
def test_how_a_setting_was_chosen_does_not_matter_to_its_readers(chain: Chain, model: str) -> None:
    view, tuned = chosen_view(model), chain.load(f"tuning/{model}.json")
    parameters = call_alone(view, {f"tuning/{model}.json": tuned}, chain.settings)
    other = call_alone(view, {f"tuning/{model}.json": {**tuned, "choice": {}}}, chain.settings)
    assert parameters == other == tuned["parameters"]
    assert view.key is not None
    assert view.key(parameters) == view.key(other)
