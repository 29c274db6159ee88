"""The settings of every model are chosen by one rule: cross-validation over patients of training + validation.

Every fold is a stage of its own, so that a run that was stopped goes on at the fold. The chosen setting's out-of-fold
scores are those that thresholds are locked on.

Every model of the study is checked before any of them takes its time, and fitted to training + validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import (
    FitError,
    FormatError,
    InvalidInputError,
    ModelFileError,
    NotConvergedError,
    TableError,
    TooLittleMemoryError,
)
from overread.files import to_json
from overread.froc import SettingChoice, choose_setting
from overread.study._cohort import KEYS, Split
from overread.study._settings import Settings
from overread.study.models.base import Fold, Parameters, StudyModel
from overread.study.models.soft import choose_by_paper
from overread.study.stages.cohort import make_folds
from overread.study.stages.stage import Inputs, Made, Stage


@contextmanager
def blame_model(name: str) -> Iterator[None]:
    """Turn a fit's refusal of the data into `FitError`; the run then goes on without the model.

    A damaged file, too little memory and errors that are not about the data end the run as ever.
    """
    try:
        yield
    except (FormatError, TableError, ModelFileError, TooLittleMemoryError):
        raise
    except (InvalidInputError, ArithmeticError, NotConvergedError, np.linalg.LinAlgError) as error:
        raise FitError(name, str(error) or type(error).__name__) from error


def tuning_stages(model: StudyModel, n_folds: int) -> list[Stage]:
    """Return the stages that choose a model's settings; the last one writes ``tuning/NAME.json``."""
    name = model.name
    files = [f"tuning/{name}_fold_{k}" for k in range(n_folds)]
    return [
        Stage(
            f"grid_{name}",
            reads=("cohort", *model.grid_reads),
            writes=(f"tuning/{name}_grid.json",),
            settings=model.grid_settings,
            make=partial(_list_settings, model=model),
        ),
        *(
            Stage(
                f"fold_{k + 1}_{name}",
                reads=("cohort", "folds", f"tuning/{name}_grid.json"),
                writes=(f"{file}.parquet", f"{file}.json"),
                settings=model.build_settings,
                make=partial(_try_on_fold, model=model, k=k),
            )
            for k, file in enumerate(files)
        ),
        Stage(
            f"tuning_{name}",
            reads=("cohort", f"tuning/{name}_grid.json", *(f"{file}{end}" for file in files for end in ENDS)),
            writes=(f"tuning/{name}.json", f"tables/out_of_fold_{name}.parquet"),
            settings=CHOICE_SETTINGS,
            make=partial(_choose_from_folds, model=model, files=files),
        ),
    ]


ENDS = (".parquet", ".json")
CHOICE_SETTINGS = ("models.choice_fp_targets", "models.standard_errors", "seed")


def _list_settings(inputs: Inputs, *, model: StudyModel) -> Made:
    """List the settings to choose from."""
    merged = inputs["cohort"].split("training", "validation")
    files = {name: inputs[name] for name in model.grid_reads}
    with blame_model(model.name):
        return {f"tuning/{model.name}_grid.json": model.take_grid(files, merged, inputs.settings)}


def _try_on_fold(inputs: Inputs, *, model: StudyModel, k: int) -> Made:
    """Try all settings on one fold; with fewer patients than folds the last ones have no images."""
    folds, grid = inputs["folds"], inputs[f"tuning/{model.name}_grid.json"]
    place = f"tuning/{model.name}_fold_{k}"
    fold = folds[k] if k < len(folds) else None
    if fold is None or fold.held_out.candidates.empty:
        empty = pd.DataFrame({name: pd.Series(dtype="str") for name in KEYS})
        return {f"{place}.parquet": empty, f"{place}.json": []}
    with blame_model(model.name):
        table, n_features = score_held_out(model, grid, fold, inputs.settings)
    return {f"{place}.parquet": table, f"{place}.json": n_features}


def score_held_out(
    model: StudyModel, grid: list[Parameters], fold: Fold, settings: Settings
) -> tuple[pd.DataFrame, list[int]]:
    """Score the held-out candidates of a fold, one column per setting, and count the features of each setting."""
    trial = model.try_settings(grid, fold, settings)
    names = [str(column) for column in range(len(grid))]
    keys = fold.held_out.candidates[KEYS]
    return pd.concat([keys, pd.DataFrame(trial.scores, columns=names)], axis=1), trial.n_features


def _choose_from_folds(inputs: Inputs, *, model: StudyModel, files: list[str]) -> Made:
    """Put the folds together, choose, and keep the chosen setting's scores."""
    merged = inputs["cohort"].split("training", "validation")
    grid = inputs[f"tuning/{model.name}_grid.json"]
    trials = [(inputs[f"{file}.parquet"], inputs[f"{file}.json"]) for file in files]
    choice, chosen = choose_from_trials(merged, trials, inputs.settings)
    return {
        f"tuning/{model.name}.json": {
            "parameters": grid[choice.position],
            "choice": _tell_choice(choice, grid),
            "fold_features": [n_features for _, n_features in trials if n_features],
        },
        f"tables/out_of_fold_{model.name}.parquet": chosen,
    }


def choose_from_trials(
    split: Split, trials: Sequence[tuple[pd.DataFrame, list[int]]], settings: Settings
) -> tuple[SettingChoice, pd.DataFrame]:
    """Choose by what `score_held_out` gave of each fold of a split; return the chosen setting's scores as well."""
    scores = FoldScores([table for table, _ in trials if len(table)], split)
    choice = choose_setting(
        split.matching,
        scores,
        np.mean([n_features for _, n_features in trials if n_features], axis=0),
        fp_targets=settings.models.choice_fp_targets,
        n_standard_errors=settings.models.standard_errors,
        seed=settings.seed,
    )
    return choice, split.candidates[KEYS].assign(score=scores.join(choice.position))


class FoldScores:
    """Scores of the candidates of a split (``shape``) in tables of its folds, put together setting by setting."""

    def __init__(self, tables: Sequence[pd.DataFrame], split: Split) -> None:
        self._tables = tables
        self._n_rows = len(split.candidates)
        keys = pd.MultiIndex.from_frame(split.candidates[KEYS])
        self._rows = [keys.get_indexer(pd.MultiIndex.from_frame(table[KEYS])) for table in tables]
        self.shape = (self._n_rows, tables[0].shape[1] - len(KEYS))

    def read_columns(self) -> Iterator[NDArray[np.float64]]:
        """Give the scores of one setting after the other."""
        return (self.join(place) for place in range(self.shape[1]))

    def join(self, place: int) -> NDArray[np.float64]:
        """Return the scores of one setting, in the order of the split's candidates."""
        scores = np.full(self._n_rows, np.nan)
        for rows, table in zip(self._rows, self._tables, strict=True):
            scores[rows] = table[str(place)].to_numpy()
        return scores


def _tell_choice(choice: SettingChoice, grid: list[Parameters]) -> dict[str, object]:
    """Return the choice as plain values, what differs between the settings in front of its table."""
    differing = [key for key in grid[0] if len({str(one[key]) for one in grid}) > 1]
    table = pd.concat([pd.DataFrame(grid)[differing], choice.table], axis=1)
    return {**to_json(choice), "table": to_json(table)}


def _choose_as_the_paper(inputs: Inputs) -> Made:
    """Choose the soft model's penalty by the paper's rule, for comparison with ours."""
    with blame_model("soft"):
        return {"tuning/paper.json": to_json(choose_by_paper(inputs["cohort"], inputs.settings))}


PAPER_CHOICE = Stage(
    "paper_choice",
    reads=("cohort",),
    writes=("tuning/paper.json",),
    settings=("soft", "seed", "evaluation.n_bootstrap", "models.standard_errors"),
    make=_choose_as_the_paper,
)


SKIPPED_FILE = "skipped.json"
"""Models that cannot be fitted to this study, and why, by name."""


def check_stage(models: Sequence[StudyModel]) -> Stage:
    """Return the stage that sees which models cannot be fitted, and why; the run goes on without them."""
    checked = [model for model in models if model.check_settings]

    def make(inputs: Inputs) -> Made:
        settings, skipped = inputs.settings, {}
        for model in checked:
            cohort = inputs["cohort"]
            training = cohort.split("training")
            # In a nested run the smallest sets that a model is fitted to are inner folds of outer ones.
            inner = (
                one
                for fold in (inputs["outer_folds"] if cohort.is_nested else ())
                for one in make_folds(fold.rest, settings.models.folds, settings.seed)
            )
            try:
                model.check(training, chain(inputs["folds"], inner), settings)
            except InvalidInputError as error:
                skipped[model.name] = str(error)
        if len(skipped) == len(models):
            raise InvalidInputError("; ".join(f"{name}: {why}" for name, why in skipped.items()))
        return {SKIPPED_FILE: skipped}

    return Stage(
        "check_models",
        reads=("cohort", "folds", "outer_folds") if checked else (),
        writes=(SKIPPED_FILE,),
        settings=(
            "models.wanted",
            "models.folds",
            "seed",
            *(key for one in checked for key in one.check_settings),
        ),
        make=make,
    )


def fit_stage(model: StudyModel) -> Stage:
    """Return the stage that fits what was chosen to training + validation."""

    def make(inputs: Inputs) -> Made:
        fitted = model.build(inputs[f"chosen/{model.name}"], inputs.settings)
        merged = inputs["cohort"].split("training", "validation")
        with blame_model(model.name):
            model.fit(fitted, merged)
        return {f"models/{model.name}.json": fitted}

    return Stage(
        model.name,
        reads=("cohort", f"chosen/{model.name}"),
        writes=(f"models/{model.name}.json",),
        settings=model.build_settings,
        make=make,
    )
