"""Every model of the study is checked before any of them takes its time, and fitted to training + validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from overread.errors import InvalidInputError
from overread.study.models.plug import StudyModel
from overread.study.stages.cohort import make_folds
from overread.study.stages.stage import Inputs, Stage

__all__ = ["SKIPPED_FILE", "check_stage", "fit_stage"]

SKIPPED_FILE = "skipped.json"
"""Models that cannot be fitted to this study, and why, by name."""


def check_stage(models: Sequence[StudyModel]) -> Stage:
    """Return the stage that sees which models cannot be fitted, and why; the run goes on without them."""
    checked = [model for model in models if model.check_settings]

    def make(inputs: Inputs) -> Mapping[str, Any]:
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
