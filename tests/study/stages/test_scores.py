"""Scores of all candidates, the best of them on each GT, and thresholds counted again by hand."""

import statistics

import numpy as np
import pandas as pd
import pytest

from overread.study import KEYS
from overread.study.stages.scores import SOURCES, TREATMENTS, MatchedScores, tabulate_objects
from study_chain import Chain, show_by_hand

MODELS = ("soft", "b1", "b2", "boosted")


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_the_saved_model_on_the_whole_matrix(chain: Chain, name: str) -> None:
    matrix = pd.DataFrame(
        np.load(chain.folder.path("features.npy")), columns=chain.load("feature_names.json")
    )
    expected = chain.load(f"models/{name}.json").instance_decision_function(matrix)
    scores = chain.load("tables/scores.parquet")
    assert scores[KEYS].equals(chain.load("tables/candidates.parquet")[KEYS])
    assert scores[name].to_numpy() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_out_of_fold_scores_are_of_training_and_validation(chain: Chain, name: str) -> None:
    scores = chain.load("tables/scores.parquet")
    split = scores["image_id"].map(chain.load("tables/images.parquet").set_index("image_id")["split"])
    column = scores[f"{name}_out_of_fold"]
    assert column[split == "test"].isna().all()
    assert column[split != "test"].notna().all()
    assert (column[split != "test"] != scores.loc[split != "test", name]).any()


@pytest.mark.parametrize("name", MODELS)
def test_the_best_candidate_of_each_object(chain: Chain, name: str) -> None:
    objects, cohort = chain.load("tables/objects.parquet"), chain.load("cohort")
    scores = chain.load("tables/scores.parquet")[name]
    shown = show_by_hand(cohort.candidates, scores.tolist())
    for row, told in enumerate(objects.to_dict("records")):
        on_it = cohort.hits.loc[cohort.hits["truth_row"] == row, "candidate_row"]
        assert told["reached"] == (len(on_it) > 0)
        on_it = on_it[shown[on_it]]
        if len(on_it) == 0:
            assert np.isnan(told[f"{name}_score"])
            assert pd.isna(told[f"{name}_candidate"])
            continue
        best = max(on_it, key=lambda candidate: (scores[candidate], -candidate))
        assert told[f"{name}_score"] == scores[best]
        assert told[f"{name}_candidate"] == cohort.candidates.loc[best, "candidate_id"]
    split = chain.load("tables/images.parquet").set_index("image_id")["split"]
    assert objects["split"].tolist() == split[objects["image_id"]].tolist()


def test_equal_scores_give_the_first_candidate(chain: Chain) -> None:
    cohort = chain.load("cohort")
    scores = chain.load("tables/scores.parquet").assign(soft=0.0)
    objects = tabulate_objects(cohort, scores, ["soft"])
    shown = show_by_hand(cohort.candidates, scores["soft"].tolist())
    hits = cohort.hits[shown[cohort.hits["candidate_row"]]]
    first = hits.sort_values(["truth_row", "candidate_row"]).groupby("truth_row").first()
    names = cohort.candidates["candidate_id"].to_numpy()[first["candidate_row"]]
    assert objects.loc[first.index, "soft_candidate"].tolist() == names.tolist()


@pytest.mark.parametrize("name", ["soft", "boosted"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_threshold_is_the_lowest_score_within_the_target(chain: Chain, name: str, source: str) -> None:
    cohort = chain.load("cohort")
    column = name if source == "in_sample" else f"{name}_out_of_fold"
    scores = chain.load("tables/scores.parquet")[column]
    images = cohort.images.loc[cohort.images["split"] != "test", "image_id"]
    inside = cohort.candidates["image_id"].isin(images).to_numpy(copy=True)
    golden = cohort.truth["golden"].to_numpy()
    on_golden = np.isin(
        np.arange(len(scores)), cohort.hits.loc[golden[cohort.hits["truth_row"]], "candidate_row"]
    )
    on_any = np.isin(np.arange(len(scores)), cohort.hits["candidate_row"])
    points = pd.DataFrame(chain.load("operating_points.json"))
    inside[inside] = show_by_hand(cohort.candidates[inside], scores[inside].tolist())
    for treatment in TREATMENTS:
        is_false = inside & (~on_any if treatment == "ignore" else ~on_golden)
        counted = is_false | (inside & on_golden)
        for target in chain.settings.evaluation.fp_targets:
            allowed = [
                score
                for score in scores[counted]
                if (scores[is_false] >= score).sum() / len(images) <= target
            ]
            (point,) = points.query(
                "model == @name and source == @source and single_reader == @treatment and fp_target == @target"
            ).to_dict("records")
            assert point["threshold"] == min(allowed)
            is_shown = inside & (scores >= point["threshold"])
            marks = [(is_shown & (cohort.candidates["image_id"] == image)).sum() for image in images]
            assert point["n_images"] == len(images)
            assert point["marks_per_image"] == pytest.approx(statistics.mean(map(float, marks)))
            assert point["marks_variance"] == pytest.approx(statistics.variance(map(float, marks)))


def test_the_test_set_has_no_say_in_the_thresholds(chain: Chain) -> None:
    cohort, scores = chain.load("cohort"), chain.load("tables/scores.parquet")
    test = cohort.split("test")
    changed = scores.copy()
    changed.loc[changed["image_id"].isin(test.images["image_id"]), list(MODELS)] = 99.0
    matched = {name: MatchedScores.from_table(cohort, changed, name) for name in MODELS}
    (points,) = chain.call("operating_points", matched=matched).values()
    assert points == chain.load("operating_points.json")


def test_matched_scores_are_of_their_sets(chain: Chain) -> None:
    matched = chain.load("matched")["soft"]
    scores = chain.load("tables/scores.parquet")
    test = scores["image_id"].isin(chain.load("cohort").split("test").images["image_id"])
    assert np.array_equal(matched.test.candidate_scores, scores.loc[test, "soft"])
    assert np.array_equal(matched.source("in_sample").candidate_scores, scores.loc[~test, "soft"])
    assert np.array_equal(
        matched.source("out_of_fold").candidate_scores, scores.loc[~test, "soft_out_of_fold"]
    )
    assert matched.under("fp").test.counting.single_reader == "fp"
