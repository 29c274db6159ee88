"""Every patient of a nested run is scored by what was made without him, at thresholds locked without him."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import nested as simulation
from overread.files import from_json
from overread.froc import operating_points, performance_at
from overread.study import KEYS, MODELS, Cohort, Fold, Inputs, Run, open_run
from overread.study._calibration import ScoreCalibration
from overread.study.stages.calibration import choose_model, find_places
from overread.study.stages.evaluation import assess_calibration
from overread.study.stages.fitting import fit_stage, tuning_stages
from overread.study.stages.nested import count_outer_folds, nested_stages
from study_chain import Chain, call_alone, plant_labels, run_chain
from study_stand_in import FAST, make_study
from study_trees import copied

NAMES = ["soft", "b1"]
SETTINGS = FAST.replace("[models]", '[models]\nwanted = ["soft", "b1"]').replace(
    'headline = "test"', "outer_folds = 3"
)


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """A study of 36 images with no headline set: too small for a test set."""
    return run_chain(make_study(tmp_path_factory.mktemp("studies") / "nested", settings=SETTINGS))


@pytest.fixture(scope="module")
def nested_run(nested: Chain) -> Run:
    return open_run(nested.folder.root)


def test_a_small_study_has_no_test_set(nested: Chain, nested_run: Run) -> None:
    assert nested.settings.evaluation.headline == "auto"
    results = nested_run.results
    assert results.headline.kind == "nested"
    assert len(results.headline.chosen) == 3
    assert [part.name for part in results.study.splits] == ["training", "validation"]
    assert sum(part.n_images for part in results.study.splits) == results.detector.test.n_images == 36
    assert results.verdict.model == results.supported


def test_each_patient_is_held_out_once(nested: Chain) -> None:
    folds = nested.load("outer_folds")
    seen: Counter[str] = Counter()
    for fold in folds:
        held_out, rest = (set(part.images["patient_id"]) for part in (fold.held_out, fold.rest))
        assert held_out.isdisjoint(rest)
        seen.update(held_out)
    assert set(seen.values()) == {1}
    assert set(seen) == set(nested.load("cohort").images["patient_id"])


@pytest.mark.parametrize("treatment", ["ignore", "fp"])
@pytest.mark.parametrize("name", NAMES)
def test_figures_are_those_of_each_fold_at_its_own_threshold(
    nested: Chain, nested_run: Run, name: str, treatment: str
) -> None:
    """Counted fold by fold with raw scores and raw thresholds, without the common scale."""
    results = nested_run.results
    targets = results.fp_targets
    inner, scores = nested.load(f"tables/nested_{name}_inner.parquet"), nested.load("tables/scores.parquet")
    found, false, n_gts = np.zeros(len(targets)), np.zeros(len(targets)), 0
    for k, fold in enumerate(nested.load("outer_folds")):
        own = inner.loc[inner["fold"] == k, "score"].to_numpy()
        locking = fold.rest.matching.with_scores(own).with_counting(single_reader=treatment)
        thresholds = operating_points(locking, fp_targets=targets)["threshold"]
        raw = fold.held_out.candidates[KEYS].merge(scores, on=KEYS)[f"{name}_nested"].to_numpy()
        there = fold.held_out.matching.with_scores(raw).with_counting(single_reader=treatment)
        points = performance_at(there, thresholds)
        found += points["gt_sensitivity"].to_numpy() * there.n_gts
        false += points["fp_per_image"].to_numpy() * there.n_images
        n_gts += there.n_gts
    counted = next(one for one in results.model(name).counted if one.single_reader == treatment)
    locked = counted.locked[counted.locked["source"] == "out_of_fold"]
    by_measure = {measure: rows["estimate"].to_numpy() for measure, rows in locked.groupby("measure")}
    assert counted.test.n_gts == n_gts
    assert by_measure["gt_sensitivity"] == pytest.approx(found / n_gts)
    assert by_measure["fp_per_image"] == pytest.approx(false / 36)
    if treatment == "ignore":
        rows = results.table.models[NAMES.index(name)].rows[1]
        assert rows.gt_sensitivity.values == pytest.approx(found / n_gts)
        assert "nested" in rows.set_name


def test_the_table_of_the_paper_has_each_folds_own_threshold_in_sample(
    nested: Chain, nested_run: Run
) -> None:
    """The model of every fold is fitted again; raw scores and raw thresholds, as the paper counts."""
    targets = nested_run.results.fp_targets
    found, false, n_reached = np.zeros(len(targets)), np.zeros(len(targets)), 0
    for fold, told in zip(nested.load("outer_folds"), nested.load("tuning/soft_nested.json"), strict=True):
        model = MODELS["soft"].build(told["parameters"], nested.settings)
        MODELS["soft"].fit(model, fold.rest)
        locking, there = (
            split.matching.with_scores(MODELS["soft"].score(model, split.features)).with_counting(
                single_reader="fp", repeats="count"
            )
            for split in (fold.rest, fold.held_out)
        )
        points = performance_at(there, operating_points(locking, fp_targets=targets)["threshold"])
        found += points["gt_sensitivity"].to_numpy() * there.n_gts
        false += points["fp_per_image"].to_numpy() * there.n_images
        n_reached += there.gt_reached.sum()
    rows = nested_run.results.paper.of_reached.models[NAMES.index("soft")].rows[1]
    assert rows.fp_per_image == pytest.approx(false / 36)
    assert rows.gt_sensitivity.values == pytest.approx(found / n_reached)
    assert rows.n_gts == n_reached


def test_the_detector_is_in_each_fold_what_its_rest_supports(nested: Chain, nested_run: Run) -> None:
    chosen = []
    for k, fold in enumerate(nested.load("outer_folds")):
        inner = [nested.load(f"tables/nested_{name}_inner.parquet").query(f"fold == {k}") for name in NAMES]
        assert all(table[KEYS].reset_index(drop=True).equals(fold.rest.candidates[KEYS]) for table in inner)
        n_features = [nested.load(f"tuning/{name}_nested.json")[k]["n_features"] for name in NAMES]
        scores = [table["score"].to_numpy() for table in inner]
        chosen.append(NAMES[choose_model(fold.rest.matching, scores, n_features, nested.settings).position])
    assert nested_run.results.headline.chosen == chosen
    scores = nested.load("tables/scores.parquet")
    for k, fold in enumerate(nested.load("outer_folds")):
        own = scores["image_id"].isin(fold.held_out.images["image_id"])
        assert np.array_equal(scores.loc[own, "detector_nested"], scores.loc[own, f"{chosen[k]}_nested"])


def test_probabilities_are_of_the_folds_own_maps(nested: Chain, nested_run: Run) -> None:
    scores = nested.load("tables/scores.parquet")
    for k, fold in enumerate(nested.load("outer_folds")):
        own = scores[scores["image_id"].isin(fold.held_out.images["image_id"])]
        told = from_json(ScoreCalibration, nested.load("tuning/soft_nested.json")[k]["score_map"], "map")
        assert np.array_equal(told.apply(own["soft_nested"]), own["soft_nested_probability"])
    assert nested_run.results.model("soft").calibration.n_patients == 18


def test_folds_with_ranks_are_not_assessed_as_probabilities(nested: Chain) -> None:
    """Their places are left out; without any other there is no calibration, with or without a map."""
    scores, matched = nested.load("tables/scores.parquet"), nested.load("matched")
    held_out = nested.load("outer_folds")[0].held_out.images["image_id"]
    ranked = scores.assign(
        soft_nested_probability=scores["soft_nested_probability"].mask(scores["image_id"].isin(held_out))
    )
    known = from_json(ScoreCalibration, nested.load("tuning/soft_map.json"), "map")
    known = replace(known, method="sigmoid")

    def assess(table: pd.DataFrame, score_map: ScoreCalibration, **options: bool) -> Any:
        values = {"cohort": nested.load("cohort"), "matched": matched, "tables/scores.parquet": table}
        settings = nested.settings
        return assess_calibration(
            Inputs("test", tuple(values), values.__getitem__, settings), "soft", score_map, **options
        )

    whole, part = assess(scores, known), assess(ranked, known)
    others = scores.loc[~scores["image_id"].isin(held_out), "image_id"]
    shown = find_places(nested.load("cohort").unseen, np.asarray(matched["soft"].test.candidate_scores))
    assert whole.n_bags == len(shown.rows)
    assert part.n_bags == np.isin(shown.images, others).sum() < whole.n_bags
    assert assess(ranked, known, as_it_comes=True).n_bags == part.n_bags
    nothing = scores.assign(soft_nested_probability=np.nan)
    for as_it_comes in (False, True):
        assert assess(nothing, known, as_it_comes=as_it_comes) is None
        assert assess(scores, replace(known, method="rank"), as_it_comes=as_it_comes) is None


def test_what_is_shipped_is_fitted_to_all(nested: Chain) -> None:
    cohort = nested.load("cohort")
    bags = cohort.bags("soft")
    model = MODELS["soft"].build(nested.load("chosen/soft"), nested.settings)
    model.fit(bags, bags.labels)
    assert model.coef_ == pytest.approx(nested.load("models/soft.json").coef_, abs=1e-6)
    out_of_fold = nested.load("matched")["soft"].out_of_fold
    assert out_of_fold.n_images == 36


def change_held_out(nested: Chain, change: Any) -> list[Fold]:
    """Return the outer folds of a cohort in which something of the first fold's patients is changed."""
    cohort: Cohort = nested.load("cohort")
    folds = nested.load("outer_folds")
    ids = set(folds[0].held_out.images["image_id"])
    changed: Cohort = change(cohort, ids)
    return [
        Fold(*(changed.of_images(part.images["image_id"]) for part in (fold.held_out, fold.rest)))
        for fold in folds
    ]


def turn_labels(cohort: Cohort, ids: set[str]) -> Cohort:
    """Turn golden objects into others, and the other way round, in some images."""
    own = cohort.truth["image_id"].isin(ids)
    truth = cohort.truth.assign(
        golden=np.where(own, ~cohort.truth["golden"], cohort.truth["golden"]),
        probability=np.where(own, 1 - cohort.truth["probability"], cohort.truth["probability"]),
    )
    return replace(cohort, truth=truth)


def nest_all(nested: Chain, name: str, outer_folds: list[Fold]) -> Mapping[str, Any]:
    """Do the outer folds of a model with other folds, and put them together."""
    *folds, join = nested_stages(MODELS[name], len(outer_folds))
    made: dict[str, Any] = {}
    for stage in folds:
        made |= nested.call(stage.name, outer_folds=outer_folds)
    return call_alone(join, made, nested.settings)


@pytest.mark.parametrize("name", NAMES)
def test_scores_and_their_scale_do_not_know_the_labels_of_the_held_out(nested: Chain, name: str) -> None:
    made = nest_all(nested, name, change_held_out(nested, turn_labels))
    table, before = made[f"tables/nested_{name}.parquet"], nested.load(f"tables/nested_{name}.parquet")
    first = table["fold"] == 0
    pd.testing.assert_frame_equal(table[first], before[first], check_exact=True)
    told, known = made[f"tuning/{name}_nested.json"], nested.load(f"tuning/{name}_nested.json")
    assert told[0] == known[0]
    # The change is potent: the other folds, which learn from these patients, are others.
    assert not table[~first].equals(before[~first])


@pytest.mark.parametrize("name", NAMES)
def test_planted_patients_gain_nothing(nested: Chain, name: str) -> None:
    """Their candidates carry their label in a feature that tells nothing in anybody else."""
    without, planted = (
        nest_all(nested, name, change_held_out(nested, partial(plant_labels, value=value)))[
            f"tables/nested_{name}.parquet"
        ]
        for value in (0.0, 50.0)
    )
    first = planted["fold"] == 0
    pd.testing.assert_frame_equal(planted[first], without[first], check_exact=True)
    assert not planted[~first].equals(without[~first])


def test_with_a_test_set_nothing_is_nested(chain: Chain) -> None:
    assert not [name for name in chain.stages if name.startswith(("outer_", "nested_"))]
    assert not list(chain.folder.root.glob("*/*nested*"))
    assert not [name for name in chain.load("tables/scores.parquet") if "nested" in name]
    assert open_run(chain.folder.root).results.headline.kind == "test"


def test_a_stopped_run_loses_one_outer_fold_at_most(nested: Chain, tmp_path: Path) -> None:
    study = copied(nested.study, tmp_path / "study", run=True)
    (study / "runs/chain/stages/outer_2_soft.json").unlink()
    assert run_chain(study).done == ["outer_2_soft"]


@pytest.mark.parametrize("name", MODELS)
def test_an_outer_fold_depends_on_the_settings_of_all_that_it_does(name: str) -> None:
    """On those of the stages that choose and fit a model with a test set, and on the number of inner folds."""
    model = MODELS[name]
    done = [*tuning_stages(model, 2), fit_stage(model)]
    wanted = {setting for stage in done for setting in stage.settings} | {"models.folds"}
    *outer, _ = nested_stages(model, 2)
    assert [set(stage.settings) for stage in outer] == [wanted, wanted]


def test_outer_folds_are_no_more_than_patients_and_none_with_a_test_set() -> None:
    split = pd.DataFrame({"patient_id": ["a", "a", "b", "c"], "split": ["training"] * 3 + ["validation"]})
    assert [count_outer_folds(split, n) for n in (2, 3, 9)] == [2, 3, 3]
    assert count_outer_folds(split.assign(split=["training", "training", "validation", "test"]), 5) == 0


def test_folds_that_lost_their_patients_are_empty_and_leave_no_trace(nested: Chain) -> None:
    """Of four folds that were planned the images that are left give three."""
    *folds, join = nested_stages(MODELS["soft"], 4)
    empty = call_alone(folds[3], nested.values(folds[3]), nested.settings)
    assert [None if part is None else len(part) for part in empty.values()] == [0, 0, None]
    values = {name: nested.load(name) for stage in folds[:3] for name in stage.writes} | dict(empty)
    made = call_alone(join, values, nested.settings)
    for name in join.writes[:2]:
        pd.testing.assert_frame_equal(made[name], nested.load(name))
    assert made["tuning/soft_nested.json"] == nested.load("tuning/soft_nested.json")


def test_the_gallery_is_of_all_patients(nested_run: Run) -> None:
    results = nested_run.results
    gallery = results.gallery
    assert gallery.threshold == -gallery.fp_target
    assert len(gallery.hits) + len(gallery.misses) == results.detector.test.n_gts
    again = nested_run.gallery("soft", -gallery.fp_target)
    if set(results.headline.chosen) == {"soft"}:
        pd.testing.assert_frame_equal(again.hits, gallery.hits)


def measure_studies(n_studies: int, n_bootstrap: int, *, shuffled: bool) -> list[simulation.Figures]:
    population = simulation.draw_population(600, shuffled=shuffled)
    studies = [simulation.draw_study(population, 50, seed) for seed in range(n_studies)]
    return [
        simulation.measure_study(population, study, seed, n_bootstrap=n_bootstrap)
        for seed, study in enumerate(studies)
    ]


@pytest.mark.slow
def test_the_nested_figure_is_not_optimistic() -> None:
    """On average over simulated studies it is what the same detectors reach in many unseen patients."""
    found = measure_studies(8, 100, shuffled=False)
    difference = np.array([one.nested - one.unseen for one in found])
    error = difference.std(ddof=1) / np.sqrt(len(found))
    # Two standard errors: 1 in 20 if the figure is right. It has to be right from below as well.
    assert abs(difference.mean()) <= 2 * error < 0.08
    assert np.mean([one.unseen for one in found]) > 0.5
    assert np.mean([one.covers for one in found]) >= 0.75


def test_without_anything_to_learn_it_is_chance() -> None:
    """Shuffled features: the best of a grid looks good on the patients it was chosen on, not in a nested figure."""
    found = measure_studies(2, 1, shuffled=True)
    chance = simulation.tell_chance(simulation.draw_population(600, shuffled=True))
    # At 1 FP per image blind scores find what a share of all places is that is shown then.
    assert np.mean([one.nested for one in found]) <= chance + 0.05
