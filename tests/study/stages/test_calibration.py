"""Score maps are fitted to out-of-fold scores of places; the supported model is the most compact of the best."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread.files import from_json, to_json
from overread.froc import SettingChoice
from overread.models import count_features
from overread.study import KEYS
from overread.study._calibration import ScoreCalibration, fit_score_map
from overread.study._store import json_bytes
from overread.study.stages.calibration import calibration_stage, find_places, supported_stage
from overread.study.stages.cohort import COHORT
from study_chain import Chain, call_alone, show_by_hand

NAMES = ["soft", "b1", "b2", "boosted"]


def places_by_hand(split: Any, scores: np.ndarray) -> pd.DataFrame:
    """Candidates that lie on no stronger one, with the largest soft label of the objects that they hit."""
    shown = show_by_hand(split.candidates, scores.tolist())
    labels = np.zeros(len(scores))
    for candidate, truth in split.hits[["candidate_row", "truth_row"]].to_numpy():
        labels[candidate] = max(labels[candidate], split.truth["probability"][truth])
    n_readings = split.candidates["image_id"].map(split.readings["image_id"].value_counts())
    table = split.candidates[KEYS].assign(score=scores, label=labels, weight=n_readings / split.n_max)
    return table[shown]


def test_places_are_marks_that_are_shown_with_the_label_of_what_they_lie_on(chain: Chain) -> None:
    split = chain.load("cohort").split("training", "validation")
    scores = np.random.default_rng(0).normal(-1, 2, len(split.candidates))
    places, expected = find_places(split, scores), places_by_hand(split, scores)
    assert places.rows.tolist() == expected.index.tolist()
    assert places.labels == pytest.approx(expected["label"].to_numpy())
    assert places.weights == pytest.approx(expected["weight"].to_numpy())
    assert places.images.tolist() == expected["image_id"].tolist()
    patient = split.images.set_index("image_id")["patient_id"]
    assert places.patients.tolist() == expected["image_id"].map(patient).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_map_is_that_of_out_of_fold_scores_and_the_study_s_folds(chain: Chain, name: str) -> None:
    merged = chain.load("cohort").split("training", "validation")
    scores = chain.load(f"tables/out_of_fold_{name}.parquet")["score"].to_numpy()
    places = places_by_hand(merged, scores)
    fold = np.full(len(places), -1)
    for k, one in enumerate(chain.load("folds")):
        fold[places["image_id"].isin(one.held_out.images["image_id"])] = k
    assert set(fold) == {0, 1}
    columns = (places[column].to_numpy() for column in ("score", "label", "weight"))
    expected = fit_score_map(*columns, fold)
    assert json_bytes(to_json(expected)) == json_bytes(chain.load(f"tuning/{name}_map.json"))
    (alone,) = chain.call(f"calibration_{name}").values()
    assert json_bytes(alone) == json_bytes(to_json(expected))


def test_a_planted_slope_is_found(chain: Chain) -> None:
    """Scores whose log-odds are a third of what they should be get a slope of about three."""
    merged = chain.load("cohort").split("training", "validation")
    rng = np.random.default_rng(1)
    labels = np.zeros(len(merged.candidates))
    rows, objects = merged.hits[["candidate_row", "truth_row"]].to_numpy().T
    np.maximum.at(labels, rows, merged.truth["probability"].to_numpy()[objects])
    truth = np.clip(labels, 0.03, 0.97)
    scores = np.log(truth / (1 - truth)) / 3 + rng.normal(0, 0.1, len(truth))
    table = merged.candidates[KEYS].assign(score=scores)
    (made,) = chain.call("calibration_soft", **{"tables/out_of_fold_soft.parquet": table}).values()
    found = from_json(ScoreCalibration, made, "map")
    assert found.method in ("sigmoid", "isotonic")
    assert found.held_out_kl["sigmoid"] < found.held_out_kl["none"]
    if found.method == "sigmoid":
        assert found.slope == pytest.approx(3.0, rel=0.25)


def test_the_test_set_has_no_say(chain: Chain) -> None:
    test = set(chain.load("cohort").split("test").images["image_id"])
    truth = chain.load("tables/truth.parquet")
    values = chain.values(COHORT) | {"tables/truth.parquet": truth[~truth["image_id"].isin(test)]}
    cohort = call_alone(COHORT, values, chain.settings)
    for stage in ("calibration_soft", "supported"):
        (made,) = chain.call(stage, cohort=cohort).values()
        (before,) = chain.call(stage).values()
        assert json_bytes(made) == json_bytes(before)


def test_the_maps_see_no_setting(chain: Chain) -> None:
    assert calibration_stage("b1").settings == ()
    assert calibration_stage("b1").reads == ("cohort", "folds", "tables/out_of_fold_b1.parquet")


def plant(chain: Chain, **quality: float) -> dict[str, pd.DataFrame]:
    """Out-of-fold tables with the same noise in all models, and so much more on golden objects."""
    merged = chain.load("cohort").split("training", "validation")
    golden = merged.truth["golden"].to_numpy()[merged.hits["truth_row"]]
    on_golden = np.isin(np.arange(len(merged.candidates)), merged.hits["candidate_row"][golden])
    noise = np.random.default_rng(0).normal(size=len(on_golden))
    return {
        f"tables/out_of_fold_{name}.parquet": merged.candidates[KEYS].assign(
            score=noise + quality.get(name, 0.0) * on_golden
        )
        for name in NAMES
    }


@pytest.mark.parametrize("best", NAMES)
def test_a_planted_better_model_wins(chain: Chain, best: str) -> None:
    (made,) = chain.call("supported", **plant(chain, **{best: 20.0})).values()
    assert made["model"] == best
    choice = from_json(SettingChoice, made["choice"], "choice")
    assert choice.table["model"].tolist() == NAMES
    assert choice.table["model"][choice.best] == best
    assert (
        choice.table["sensitivity"][choice.best] > choice.table["sensitivity"].drop(index=choice.best).max()
    )


@pytest.mark.parametrize("order", [(9, 5, 7, 8), (9, 5, 3, 8), (2, 5, 3, 8)])
def test_of_equal_models_the_one_with_the_fewest_features(chain: Chain, order: tuple[int, ...]) -> None:
    models = {
        f"models/{name}.json": SimpleNamespace(coef_=np.ones((1, n)))
        for name, n in zip(NAMES, order, strict=True)
    }
    assert [count_features(model) for model in models.values()] == list(order)
    (made,) = chain.call("supported", **plant(chain), **models).values()
    assert made["model"] == NAMES[int(np.argmin(order))]


def test_the_run_s_own_support(chain: Chain) -> None:
    told = chain.load("supported.json")
    table = pd.DataFrame(told["choice"]["table"])
    assert table["model"].tolist() == NAMES
    assert table["n_features"].tolist() == [
        count_features(chain.load(f"models/{name}.json")) for name in NAMES
    ]
    # Of the accepted ones the fewest features.
    assert (
        table.loc[table["accepted"], "n_features"].min()
        == table.set_index("model").loc[told["model"], "n_features"]
    )


def test_one_model_is_supported_by_itself(chain: Chain) -> None:
    stage = supported_stage(["b1"])
    settings = chain.settings.model_copy(
        update={"models": chain.settings.models.model_copy(update={"wanted": ["b1"]})}
    )
    (made,) = call_alone(stage, chain.values(stage), settings).values()
    assert made["model"] == "b1"
