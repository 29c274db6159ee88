"""Figures of all patients where there are too few for a test set: every choice is made again inside outer folds.

In each outer fold everything that a run does with training + validation is done with the rest: the grid, the settings
by inner folds, the fit with its normalization, the score map, the thresholds, and which model is supported. The
held-out patients are scored by that alone. Their scores are put on one scale (`overread.froc.to_fp_scale`), on
which the thresholds that each fold locked are common to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from overread.files import to_json
from overread.froc import to_fp_scale
from overread.models import count_features
from overread.study._cohort import KEYS
from overread.study._settings import Settings
from overread.study.models.base import Fold, StudyModel
from overread.study.stages.calibration import choose_model, fit_place_map
from overread.study.stages.cohort import make_folds
from overread.study.stages.fitting import CHOICE_SETTINGS, blame_model, choose_from_trials, score_held_out
from overread.study.stages.scores import DETECTOR, SCALES, name_scale, options_of_scale
from overread.study.stages.stage import Inputs, Made, Stage, View

COLUMNS = (*KEYS, "score", "probability", *(name_scale(*scale) for scale in SCALES))
INNER_COLUMNS = (*KEYS, "score")
PARTS = (".parquet", "_inner.parquet", ".json")


def count_outer_folds(split: pd.DataFrame, n_wanted: int) -> int:
    """Count the outer folds of a study by the parts of its images: none if there is a test set."""
    return 0 if (split["split"] == "test").any() else min(n_wanted, split["patient_id"].nunique())


OUTER_FOLDS = View(
    "outer_folds",
    reads=("cohort",),
    settings=("evaluation.outer_folds", "seed"),
    make=lambda inputs: make_folds(
        inputs["cohort"].unseen, inputs.settings.evaluation.outer_folds, inputs.settings.seed
    ),
)


def nested_stages(model: StudyModel, n_folds: int) -> list[Stage]:
    """Return the stages that score all patients by models of one kind that never saw them.

    Every outer fold is a stage of its own, so that a run that was stopped goes on at the fold; the last stage puts them
    together.
    """
    name = model.name
    files = [f"tuning/{name}_outer_{k}" for k in range(n_folds)]
    return [
        *(
            Stage(
                f"outer_{k + 1}_{name}",
                reads=("outer_folds",),
                writes=tuple(f"{file}{end}" for end in PARTS),
                settings=(*model.grid_settings, *model.build_settings, *CHOICE_SETTINGS, "models.folds"),
                make=partial(_nest_fold, model=model, k=k, file=file),
            )
            for k, file in enumerate(files)
        ),
        Stage(
            f"nested_{name}",
            reads=tuple(f"{file}{end}" for file in files for end in PARTS),
            writes=(
                f"tables/nested_{name}.parquet",
                f"tables/nested_{name}_inner.parquet",
                f"tuning/{name}_nested.json",
            ),
            make=partial(_join_outer_folds, name=name, files=files),
        ),
    ]


def _nest_fold(inputs: Inputs, *, model: StudyModel, k: int, file: str) -> Made:
    """Do one outer fold; where skipped images leave fewer patients than folds, the last ones are empty."""
    folds = inputs["outer_folds"]
    if k >= len(folds):
        made: tuple[object, ...] = (_make_empty(COLUMNS), _make_empty(INNER_COLUMNS), None)
    else:
        made = do_outer_fold(folds[k], model, inputs.settings)
    return {f"{file}{end}": part for end, part in zip(PARTS, made, strict=True)}


def _make_empty(columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of scores without rows."""
    types = {name: "str" if name in KEYS else "float64" for name in columns}
    return pd.DataFrame(columns=list(columns)).astype(types)


def _join_outer_folds(inputs: Inputs, *, name: str, files: Sequence[str]) -> Made:
    """Put the outer folds of a model together; the column fold names that of each row."""
    outside, inside = (
        pd.concat(
            [inputs[f"{file}{end}"].assign(fold=float(k)) for k, file in enumerate(files)], ignore_index=True
        )
        for end in PARTS[:2]
    )
    told = [inputs[f"{file}.json"] for file in files]
    return {
        f"tables/nested_{name}.parquet": outside,
        f"tables/nested_{name}_inner.parquet": inside,
        f"tuning/{name}_nested.json": [record for record in told if record is not None],
    }


def do_outer_fold(
    fold: Fold, model: StudyModel, settings: Settings
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, object]]:
    """Choose and fit on the rest of a fold, score what it holds out; return also the rest's out-of-fold scores."""
    rest, held_out = fold.rest, fold.held_out
    folds = make_folds(rest, settings.models.folds, settings.seed)
    with blame_model(model.name):
        grid = model.grid(rest, settings)
        trials = [score_held_out(model, grid, one, settings) for one in folds if len(one.held_out.candidates)]
    choice, out_of_fold = choose_from_trials(rest, trials, settings)
    fitted = model.prepare_for_folds(model.build(grid[choice.position], settings))
    with blame_model(model.name):
        model.fit(fitted, rest)
    own = {"in_sample": model.score(fitted, rest.features), "out_of_fold": out_of_fold["score"].to_numpy()}
    score_map = fit_place_map(rest, own["out_of_fold"], folds)
    scores = model.score(fitted, held_out.features) if len(held_out.candidates) else np.empty(0)
    # A fold with too little to calibrate has no probabilities.
    probabilities = score_map.apply(scores) if score_map.is_probability else np.nan
    table = held_out.candidates[KEYS].assign(score=scores, probability=probabilities)
    table = table.astype({"score": "float64", "probability": "float64"})
    for source, counting in SCALES:
        locking = rest.matching.with_scores(own[source]).with_counting(**options_of_scale(counting))
        table[name_scale(source, counting)] = to_fp_scale(locking, scores)
    record = {
        "parameters": grid[choice.position],
        "n_features": count_features(fitted),
        "score_map": to_json(score_map),
    }
    return table, out_of_fold, record


def nested_detector_stage(wanted: Sequence[str]) -> Stage:
    """Return the stage that finds for each outer fold the model that its out-of-fold scores support."""
    return Stage(
        "nested_detector",
        reads=(
            "outer_folds",
            *(f"tables/nested_{name}{end}.parquet" for name in wanted for end in ("", "_inner")),
            *(f"tuning/{name}_nested.json" for name in wanted),
        ),
        writes=("tables/nested_detector.parquet", "tuning/nested_detector.json"),
        settings=("models.wanted", *CHOICE_SETTINGS),
        make=partial(_choose_in_each_fold, names=wanted),
    )


def _choose_in_each_fold(inputs: Inputs, *, names: Sequence[str]) -> Made:
    """Take from each outer fold the scores of the model that is supported there."""
    chosen, tables = [], []
    for k, fold in enumerate(inputs["outer_folds"]):
        inner = [_of_fold(inputs[f"tables/nested_{name}_inner.parquet"], k) for name in names]
        choice = choose_model(
            fold.rest.matching,
            [table["score"].to_numpy() for table in inner],
            [inputs[f"tuning/{name}_nested.json"][k]["n_features"] for name in names],
            inputs.settings,
        )
        chosen.append(names[choice.position])
        tables.append(_of_fold(inputs[f"tables/nested_{chosen[-1]}.parquet"], k))
    return {
        f"tables/nested_{DETECTOR}.parquet": pd.concat(tables, ignore_index=True),
        f"tuning/nested_{DETECTOR}.json": chosen,
    }


def _of_fold(table: pd.DataFrame, k: int) -> pd.DataFrame:
    """Return the rows of an outer fold."""
    return table[table["fold"] == k]
