"""The settings of every model are chosen by one rule: cross-validation over patients of training + validation.

Every fold is a stage of its own, so that a run that was stopped goes on at the fold. The chosen setting's out-of-fold
scores are those that thresholds are locked on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from overread.files.records import to_json
from overread.froc import SettingChoice, choose_setting
from overread.study.cohort import KEYS
from overread.study.models.plug import StudyModel
from overread.study.models.soft import choose_by_paper
from overread.study.stages.stage import Inputs, Stage

__all__ = ["PAPER_CHOICE", "tuning_stages"]


def tuning_stages(model: StudyModel, n_folds: int) -> list[Stage]:
    """Return the stages that choose a model's settings; the last one writes ``tuning/NAME.json``."""
    name = model.name
    files = [f"tuning/{name}_fold_{k}" for k in range(n_folds)]
    return [
        Stage(
            f"grid_{name}",
            reads=("cohort",),
            writes=(f"tuning/{name}_grid.json",),
            settings=model.grid_settings,
            make=partial(list_settings, model=model),
        ),
        *(
            Stage(
                f"fold_{k + 1}_{name}",
                reads=("cohort", "folds", f"tuning/{name}_grid.json"),
                writes=(f"{file}.parquet", f"{file}.json"),
                settings=model.build_settings,
                make=partial(try_on_fold, model=model, k=k),
            )
            for k, file in enumerate(files)
        ),
        Stage(
            f"tuning_{name}",
            reads=("cohort", f"tuning/{name}_grid.json", *(f"{file}{end}" for file in files for end in ENDS)),
            writes=(f"tuning/{name}.json", f"tables/out_of_fold_{name}.parquet"),
            settings=("models.choice_fp_targets", "models.standard_errors", "seed"),
            make=partial(choose_from_folds, model=model, files=files),
        ),
    ]


ENDS = (".parquet", ".json")


def list_settings(inputs: Inputs, *, model: StudyModel) -> Mapping[str, Any]:
    """List the settings to choose from."""
    merged = inputs["cohort"].split("training", "validation")
    return {f"tuning/{model.name}_grid.json": model.grid(merged, inputs.settings)}


def try_on_fold(inputs: Inputs, *, model: StudyModel, k: int) -> Mapping[str, Any]:
    """Try all settings on one fold; with fewer patients than folds the last ones have no images."""
    folds, grid = inputs["folds"], inputs[f"tuning/{model.name}_grid.json"]
    place = f"tuning/{model.name}_fold_{k}"
    if k >= len(folds) or folds[k].held_out.candidates.empty:
        empty = pd.DataFrame({name: pd.Series(dtype="str") for name in KEYS})
        return {f"{place}.parquet": empty, f"{place}.json": []}
    trial = model.try_settings(grid, folds[k], inputs.settings)
    names = [str(column) for column in range(len(grid))]
    keys = folds[k].held_out.candidates[KEYS]
    table = pd.concat([keys, pd.DataFrame(trial.scores, columns=names)], axis=1)
    return {f"{place}.parquet": table, f"{place}.json": trial.n_features}


def choose_from_folds(inputs: Inputs, *, model: StudyModel, files: list[str]) -> Mapping[str, Any]:
    """Put the folds together, choose, and keep the chosen setting's scores."""
    merged, settings = inputs["cohort"].split("training", "validation"), inputs.settings
    grid = inputs[f"tuning/{model.name}_grid.json"]
    tables = [table for file in files if len(table := inputs[f"{file}.parquet"])]
    scores = merged.candidates[KEYS].merge(pd.concat(tables), on=KEYS, how="left", validate="one_to_one")
    counts = [counted for file in files if (counted := inputs[f"{file}.json"])]
    matrix = scores.drop(columns=KEYS).to_numpy()
    choice = choose_setting(
        merged.matching,
        matrix,
        np.mean(counts, axis=0),
        fp_targets=settings.models.choice_fp_targets,
        n_standard_errors=settings.models.standard_errors,
        seed=settings.seed,
    )
    chosen = scores[KEYS].assign(score=matrix[:, choice.position])
    return {
        f"tuning/{model.name}.json": {
            "parameters": grid[choice.position],
            "choice": tell_choice(choice, grid),
        },
        f"tables/out_of_fold_{model.name}.parquet": chosen,
    }


def tell_choice(choice: SettingChoice, grid: list[dict[str, Any]]) -> Any:
    """Return the choice as plain values, what differs between the settings in front of its table."""
    differing = [key for key in grid[0] if len({str(one[key]) for one in grid}) > 1]
    table = pd.concat([pd.DataFrame(grid)[differing], choice.table], axis=1)
    return {**to_json(choice), "table": to_json(table)}


def choose_as_the_paper(inputs: Inputs) -> Mapping[str, Any]:
    """Choose the soft model's penalty by the paper's rule, to be shown beside ours."""
    return {"tuning/paper.json": to_json(choose_by_paper(inputs["cohort"], inputs.settings))}


PAPER_CHOICE = Stage(
    "paper_choice",
    reads=("cohort",),
    writes=("tuning/paper.json",),
    settings=("soft", "seed", "evaluation.n_bootstrap"),
    make=choose_as_the_paper,
)
