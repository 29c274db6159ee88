"""Every model of the study is checked, tuned, fitted to training + validation, and fitted again without each fold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from overread.study.cohort import KEYS
from overread.study.models.plug import StudyModel
from overread.study.stages.stage import Inputs, Stage

__all__ = ["check_stage", "fit_stage", "out_of_fold_stage"]


def check_stage(model: StudyModel) -> Stage:
    """Return the stage that sees whether a model can be fitted at all."""

    def make(inputs: Inputs) -> Mapping[str, Any]:
        model.check(inputs["cohort"].split("training"), inputs["folds"], inputs.settings)
        return {}

    return Stage(
        f"check_{model.name}",
        reads=("cohort", "folds"),
        writes=(),
        settings=model.check_settings,
        make=make,
    )


def fit_stage(model: StudyModel) -> Stage:
    """Return the stage that fits what was chosen to training + validation."""
    return Stage(
        model.name,
        reads=("cohort", f"chosen/{model.name}"),
        writes=(f"models/{model.name}.json",),
        settings=model.build_settings,
        make=partial(fit_chosen, model=model),
    )


def fit_chosen(inputs: Inputs, *, model: StudyModel) -> Mapping[str, Any]:
    """Fit the chosen setting."""
    fitted = model.build(inputs[f"chosen/{model.name}"], inputs.settings)
    model.fit(fitted, inputs["cohort"].split("training", "validation"))
    return {f"models/{model.name}.json": fitted}


def out_of_fold_stage(model: StudyModel) -> Stage:
    """Return the stage that scores training + validation by models that did not see the patient."""
    return Stage(
        f"out_of_fold_{model.name}",
        reads=("cohort", "folds", f"chosen/{model.name}"),
        writes=(f"tables/out_of_fold_{model.name}.parquet",),
        settings=model.build_settings,
        make=partial(score_out_of_fold, model=model),
    )


def score_out_of_fold(inputs: Inputs, *, model: StudyModel) -> Mapping[str, Any]:
    """Score each fold's candidates by the model of the rest."""
    merged = inputs["cohort"].split("training", "validation")
    scores = pd.Series(np.nan, index=range(len(merged.candidates)))
    for fold in inputs["folds"]:
        held_out = merged.candidates["image_id"].isin(fold.held_out.images["image_id"]).to_numpy()
        if not held_out.any():
            continue
        fresh = model.prepare_for_folds(model.build(inputs[f"chosen/{model.name}"], inputs.settings))
        model.fit(fresh, fold.rest)
        scores[held_out] = model.score(fresh, fold.held_out.features)
    table = merged.candidates[KEYS].assign(score=scores.to_numpy())
    return {f"tables/out_of_fold_{model.name}.parquet": table}
