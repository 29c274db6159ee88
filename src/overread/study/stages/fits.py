"""Every model of the study is checked before anything takes its time, and fitted to training + validation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

from overread.study.models.plug import StudyModel
from overread.study.stages.cohort import make_folds
from overread.study.stages.stage import Inputs, Stage

__all__ = ["check_stage", "fit_stage"]


def check_stage(model: StudyModel) -> Stage:
    """Return the stage that sees whether a model can be fitted at all."""

    def make(inputs: Inputs) -> Mapping[str, Any]:
        settings = inputs.settings
        # In a nested run the smallest sets that a model is fitted to are inner folds of outer ones.
        cohort = inputs["cohort"]
        inner = (
            one
            for fold in (inputs["outer_folds"] if cohort.is_nested else ())
            for one in make_folds(fold.rest, settings.models.folds, settings.seed)
        )
        model.check(cohort.split("training"), chain(inputs["folds"], inner), settings)
        return {}

    return Stage(
        f"check_{model.name}",
        reads=("cohort", "folds", "outer_folds"),
        writes=(),
        settings=(*model.check_settings, "models.folds", "seed"),
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
