"""Settings are chosen on folds that share no patient, and nothing of a held-out patient gets into its scores."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread.files import from_json
from overread.froc import SettingChoice, choose_setting
from overread.study import KEYS, MODELS, Cohort, Fold, parse_settings
from overread.study._store import json_bytes
from overread.study.stages.cohort import COHORT
from overread.study.stages.fitting import tuning_stages
from study_chain import Chain, call_alone, plant_labels

NAMES = ["soft", "b1", "b2", "boosted"]


@pytest.mark.parametrize("name", NAMES)
def test_each_stage_alone_gives_what_the_run_has(chain: Chain, name: str) -> None:
    stages = [f"grid_{name}", "fold_1_" + name, "fold_2_" + name, f"tuning_{name}"]
    assert [stage.name for stage in tuning_stages(MODELS[name], 2)] == stages
    for stage in stages:
        for file, made in chain.call(stage).items():
            kept = chain.load(file)
            if isinstance(made, pd.DataFrame):
                pd.testing.assert_frame_equal(made, kept)
            else:
                assert json_bytes(made) == json_bytes(kept)


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
        expected = model.instance_decision_function(features)
        rows = table["image_id"].isin(fold.held_out.images["image_id"])
        # A path starts each penalty where the last one ended; a fit alone does not.
        assert table.loc[rows, "score"].to_numpy() == pytest.approx(expected, abs=1e-4)
        seen.append(rows.to_numpy())
    assert np.array_equal(np.sum(seen, axis=0), np.ones(len(table)))


@pytest.mark.parametrize("name", NAMES)
def test_the_choice_is_that_of_the_folds_put_together(chain: Chain, name: str) -> None:
    merged, grid = (
        chain.load("cohort").split("training", "validation"),
        chain.load(f"tuning/{name}_grid.json"),
    )
    parts = pd.concat([chain.load(f"tuning/{name}_fold_{k}.parquet") for k in range(2)])
    assert list(parts.columns) == [*KEYS, *(str(k) for k in range(len(grid)))]
    by_key = parts.set_index(KEYS)
    scores = by_key.loc[pd.MultiIndex.from_frame(merged.candidates[KEYS])]
    counts = [chain.load(f"tuning/{name}_fold_{k}.json") for k in range(2)]
    models = chain.settings.models
    choice = choose_setting(
        merged.matching, scores, np.mean(counts, axis=0), fp_targets=models.choice_fp_targets, seed=3
    )
    told = from_json(SettingChoice, chain.load(f"tuning/{name}.json")["choice"], name)
    assert (told.position, told.best) == (choice.position, choice.best)
    pd.testing.assert_frame_equal(told.table[choice.table.columns], choice.table, check_dtype=False)
    kept = chain.load(f"tables/out_of_fold_{name}.parquet")
    assert kept[KEYS].equals(merged.candidates[KEYS])
    assert np.array_equal(kept["score"], scores.iloc[:, choice.position])


def with_tables(chain: Chain, **tables: Any) -> tuple[Cohort, list[Fold]]:
    """Put the cohort together with other tables, and divide it into the same folds."""
    values = chain.values(COHORT) | {f"tables/{name}.parquet": table for name, table in tables.items()}
    cohort = call_alone(COHORT, values, chain.settings)
    return cohort, same_folds(chain, cohort)


def same_folds(chain: Chain, cohort: Cohort) -> list[Fold]:
    merged = cohort.split("training", "validation")
    return [
        Fold(*(merged.of_images(part.images["image_id"]) for part in (fold.held_out, fold.rest)))
        for fold in chain.load("folds")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_a_fold_do_not_know_its_labels(chain: Chain, name: str) -> None:
    """Without the truth and the marks of a held-out image its fold has the same scores; the other fold has not."""
    image_id = held_out_image(chain)
    without = {
        table: (rows := chain.load(f"tables/{table}.parquet"))[rows["image_id"] != image_id]
        for table in ("truth", "marks")
    }
    cohort, folds = with_tables(chain, **without)
    table, _ = chain.call(f"fold_1_{name}", cohort=cohort, folds=folds).values()
    pd.testing.assert_frame_equal(table, chain.load(f"tuning/{name}_fold_0.parquet"), check_exact=True)
    other, _ = chain.call(f"fold_2_{name}", cohort=cohort, folds=folds).values()
    assert not other.equals(chain.load(f"tuning/{name}_fold_1.parquet"))


def held_out_image(chain: Chain) -> str:
    """An image of the first fold that has a golden object which some candidate hits."""
    held_out = chain.load("folds")[0].held_out
    golden = held_out.truth["golden"].to_numpy()[held_out.hits["truth_row"]]
    return str(held_out.candidates["image_id"][held_out.hits["candidate_row"][golden].iloc[0]])


def plant(chain: Chain, patients: Any, value: float) -> tuple[Cohort, list[Fold]]:
    """A feature that is 0 in all but some patients, in whom it is the label of a candidate times a value."""
    cohort = chain.load("cohort")
    changed = plant_labels(
        cohort, cohort.images["image_id"][cohort.images["patient_id"].isin(patients)], value
    )
    return changed, same_folds(chain, changed)


@pytest.mark.parametrize(
    ("name", "whole_fold"), [("soft", False), ("b1", False), *((name, True) for name in NAMES)]
)
def test_planted_patients_are_scored_by_models_that_never_saw_them(
    chain: Chain, name: str, whole_fold: bool
) -> None:
    """Their candidates carry their label in a feature that tells nothing in anybody else."""
    held_out = chain.load("folds")[0].held_out.images
    patients = held_out["patient_id"]
    if not whole_fold:
        patients = patients[held_out["image_id"] == held_out_image(chain)]
    scores = {}
    for value in (0.0, 50.0):
        cohort, folds = plant(chain, patients, value)
        scores[value] = [
            chain.call(f"fold_{k + 1}_{name}", cohort=cohort, folds=folds)[f"tuning/{name}_fold_{k}.parquet"]
            for k in range(2)
        ]
    # Nobody in the rest of their fold has the feature: their scores are as if they had it not either.
    pd.testing.assert_frame_equal(scores[50.0][0], scores[0.0][0], check_exact=True)
    # The plant is potent: models of the other fold, which were fitted to them, are others.
    if whole_fold or name == "soft":
        assert not scores[50.0][1].equals(scores[0.0][1])


def test_the_test_set_has_no_say_in_any_choice(chain: Chain) -> None:
    test = set(chain.load("cohort").split("test").images["image_id"])
    truth = chain.load("tables/truth.parquet")
    turned = truth.assign(golden=np.where(truth["image_id"].isin(test), ~truth["golden"], truth["golden"]))
    cohort, folds = with_tables(chain, truth=turned)
    for name in NAMES:
        assert chain.call(f"grid_{name}", cohort=cohort) == chain.call(f"grid_{name}")
        changed = chain.call(f"tuning_{name}", cohort=cohort)
        assert json_bytes(changed[f"tuning/{name}.json"]) == json_bytes(chain.load(f"tuning/{name}.json"))
    table, _ = chain.call("fold_1_soft", cohort=cohort, folds=folds).values()
    assert table.equals(chain.load("tuning/soft_fold_0.parquet"))
    (paper,) = chain.call("paper_choice", cohort=cohort).values()
    assert json_bytes(paper) == json_bytes(chain.load("tuning/paper.json"))


def test_folds_without_images_do_no_harm(chain: Chain) -> None:
    """A study with fewer patients than folds has folds that are empty."""
    grid, _, _, third, choice = tuning_stages(MODELS["b1"], 3)
    values = chain.values(grid) | {
        name: chain.load(name)
        for name in (
            "folds",
            "tuning/b1_grid.json",
            *(f"tuning/b1_fold_{k}{e}" for k in (0, 1) for e in (".parquet", ".json")),
        )
    }
    empty = call_alone(third, values, chain.settings)
    table, counts = empty.values()
    assert len(table) == 0
    assert counts == []
    made = call_alone(choice, values | empty, chain.settings)
    assert json_bytes(made["tuning/b1.json"]) == json_bytes(chain.load("tuning/b1.json"))


def test_without_a_standard_error_the_best_is_taken(chain: Chain) -> None:
    stage = chain.stages["tuning_soft"]
    plain = chain.settings.to_plain()
    for errors, targets in ((0.0, [0.5]), (0.0, [2.0]), (10.0, [2.0])):
        plain["models"] |= {"standard_errors": errors, "choice_fp_targets": targets}
        made = call_alone(stage, chain.values(stage), parse_settings(plain))["tuning/soft.json"]
        choice = from_json(SettingChoice, made["choice"], "soft")
        assert (choice.n_standard_errors, choice.fp_targets) == (errors, tuple(targets))
        if errors:
            accepted = choice.table["accepted"]
            assert choice.table["n_features"][choice.position] == choice.table["n_features"][accepted].min()
        else:
            assert choice.position == choice.best


def test_what_differs_between_settings_stands_first_in_the_table(chain: Chain) -> None:
    first = {name: list(chain.load(f"tuning/{name}.json")["choice"]["table"]) for name in NAMES}
    assert first["soft"][:3] == ["lam", "normalization", "n_features"]
    assert first["b1"][:2] == ["prune_bound", "n_features"]
    assert first["b2"][0] == "n_features"
    assert first["boosted"][:2] == ["n_trees", "n_features"]
