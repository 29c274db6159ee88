"""Score maps are fitted to out-of-fold scores of bags; the supported model is the most compact of the best."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread.files.records import from_json, to_json
from overread.froc import SettingChoice
from overread.models.tuning import count_features
from overread.study.cohort import KEYS
from overread.study.score_map import ScoreMap, fit_score_map
from overread.study.stages.calibration import calibration_stage, score_bags, supported_stage
from overread.study.stages.cohort import COHORT
from overread.study.store.run_folder import json_bytes
from study_chain import Chain, call_alone

NAMES = ["soft", "b1", "b2", "boosted"]


def sigma(score: Any) -> Any:
    return 1 / (1 + np.exp(-score))


def test_bags_are_scored_by_noisy_or_of_their_candidates(chain: Chain) -> None:
    split = chain.load("cohort").split("training", "validation")
    scores = np.random.default_rng(0).normal(-1, 2, len(split.candidates))
    bags, decision = score_bags(split, scores)
    known = split.bags("soft")
    assert list(bags.bag_ids) == list(known.bag_ids)
    assert np.array_equal(bags.labels, known.labels)
    assert np.array_equal(bags.reader_weight, known.reader_weight)
    by_key = dict(zip(split.candidates[KEYS].itertuples(index=False, name=None), scores, strict=True))
    columns = split.candidates[KEYS].to_numpy()
    for k in range(len(bags)):
        rows = bags.source_rows[bags.offsets[k] : bags.offsets[k + 1]]
        miss = np.prod([1 - sigma(by_key[tuple(columns[row])]) for row in rows])
        assert decision[k] == pytest.approx(np.log((1 - miss) / miss), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_map_is_that_of_out_of_fold_scores_and_the_study_s_folds(chain: Chain, name: str) -> None:
    merged = chain.load("cohort").split("training", "validation")
    table = chain.load(f"tables/out_of_fold_{name}.parquet")
    bags, decision = score_bags(merged, table["score"].to_numpy())
    fold = np.full(len(bags), -1)
    for k, one in enumerate(chain.load("folds")):
        fold[bags.bag_table["image_id"].isin(one.held_out.images["image_id"])] = k
    assert set(fold) == {0, 1}
    expected = fit_score_map(decision, bags.labels, bags.reader_weight, fold)
    assert json_bytes(to_json(expected)) == json_bytes(chain.load(f"tuning/{name}_map.json"))
    (alone,) = chain.call(f"calibration_{name}").values()
    assert json_bytes(alone) == json_bytes(to_json(expected))


def test_a_planted_slope_is_found(chain: Chain) -> None:
    """Scores whose log-odds are a third of what they should be get a slope of about three."""
    merged = chain.load("cohort").split("training", "validation")
    rng = np.random.default_rng(1)
    bags, _ = score_bags(merged, np.zeros(len(merged.candidates)))
    truth = np.clip(np.asarray(bags.labels), 0.03, 0.97)
    scores = np.full(len(merged.candidates), np.nan)
    for k in range(len(bags)):
        rows = bags.source_rows[bags.offsets[k] : bags.offsets[k + 1]]
        odds = np.log(truth[k] / (1 - truth[k])) / 3 + rng.normal(0, 0.1)
        # Candidates of a bag share its score, so that their noisy-or is what was meant.
        scores[rows] = np.log(np.expm1(np.log1p(np.exp(odds)) / len(rows)))
    table = merged.candidates[KEYS].assign(score=scores)
    (made,) = chain.call("calibration_soft", **{"tables/out_of_fold_soft.parquet": table}).values()
    found = from_json(ScoreMap, made, "map")
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
