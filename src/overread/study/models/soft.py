"""Soft: the paper's model, its penalty chosen along a path for each normalization (paper, sections 4 and 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from overread.files.records import to_json
from overread.froc import LambdaChoice, LambdaRule, PathModels, ScoredSplit, choose_lambda
from overread.froc.defaults import LAMBDA_FP_TARGETS
from overread.models import SoftMILLogisticRegression, SoftMILPath
from overread.study.cohort import Split
from overread.study.models.plug import StudyModel, Tuned, score_linearly
from overread.study.sections import FpTargets, Fraction, Section
from overread.study.stages.stage import Inputs, Stage

__all__ = ["Soft", "choose_penalty", "fit_path"]

Normalization = Literal["none", "bags", "class"]
PATHS: tuple[Normalization, ...] = ("bags", "class")


class SoftSettings(Section):
    """The soft model: its path of penalties, and the rule that chooses one (paper, section 6.1).

    Attributes
    ----------
    normalizations
        Any of none, bags, class; the rule chooses.
    n_lambdas
        Penalties on the path.
    min_ratio
        The smallest penalty, as a share of the largest that matters.
    divide_by_features
        Whether the penalty is divided by the number of features.
    choice_fp_targets
        False positives per image at which the settings of every model are judged.
    tolerance
        Accepted loss of sensitivity against the best penalty.
    max_gap
        Accepted difference between training and validation.
    pick
        Among the accepted: sparsest or best.
    n_init
        Starts of the last fit.
    """

    normalizations: Annotated[list[Normalization], Field(min_length=1)] = Field(
        default_factory=lambda: list(PATHS)
    )
    n_lambdas: Annotated[int, Field(ge=1, le=1000)] = 30
    min_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.02
    divide_by_features: bool = False
    choice_fp_targets: FpTargets = Field(default_factory=lambda: [*LAMBDA_FP_TARGETS])
    tolerance: Fraction = 0.02
    max_gap: Fraction = 0.05
    pick: Literal["sparsest", "best"] = "sparsest"
    n_init: Annotated[int, Field(ge=1, le=100)] = 1


class Soft(StudyModel):
    """The soft multiple-instance logistic regression with L1."""

    name = "soft"
    title = "Soft"
    summary = "Logistic regression on bags of candidates with an L1 penalty, trained on the soft labels."
    settings = SoftSettings
    labels = "soft"
    tune_settings = ("soft", "seed", "evaluation.n_bootstrap")
    build_settings = ("soft.divide_by_features", "soft.n_init", "seed")

    def stages(self, settings: Any) -> list[Stage]:
        """Fit a path for each normalization, then choose."""
        names = settings.soft.normalizations
        grid = ("soft.n_lambdas", "soft.min_ratio", "soft.divide_by_features", "seed")
        paths = [
            Stage(
                f"path_{name}",
                reads=("cohort",),
                writes=(f"models/path_{name}.json",),
                settings=grid,
                make=partial(_fit_path_stage, normalization=name),
            )
            for name in names
        ]
        choice = Stage(
            "tuning_soft",
            reads=("cohort", *(f"models/path_{name}.json" for name in names)),
            writes=("tuning/soft.json",),
            settings=self.tune_settings,
            make=self._choose_stage,
        )
        return [*paths, choice]

    def tune(self, training: Split, validation: Split, settings: Any) -> Tuned:
        """Fit the paths and choose."""
        names = settings.soft.normalizations
        paths = {name: fit_path(training, settings, name) for name in names}
        return self._tuned(choose_penalty(paths, training, validation, settings))

    def build(self, parameters: Mapping[str, Any], settings: Any) -> SoftMILLogisticRegression:
        """Make the model of a penalty and a normalization."""
        return SoftMILLogisticRegression(
            parameters["lam"],
            normalization=parameters["normalization"],
            divide_by_features=settings.soft.divide_by_features,
            n_init=settings.soft.n_init,
            random_state=settings.seed,
        )

    def _choose_stage(self, inputs: Inputs) -> Mapping[str, Any]:
        cohort, names = inputs["cohort"], inputs.settings.soft.normalizations
        paths = {name: inputs[f"models/path_{name}.json"] for name in names}
        choice = choose_penalty(paths, cohort.split("training"), cohort.split("validation"), inputs.settings)
        return self.write_tuned(self._tuned(choice))

    def _tuned(self, choice: LambdaChoice) -> Tuned:
        parameters = {"lam": choice.lam, "normalization": choice.normalization}
        return Tuned(parameters, choice.table, to_json(choice))


def _fit_path_stage(inputs: Inputs, *, normalization: Normalization) -> Mapping[str, Any]:
    path = fit_path(inputs["cohort"].split("training"), inputs.settings, normalization)
    return {f"models/path_{normalization}.json": path}


def fit_path(training: Split, settings: Any, normalization: Any) -> SoftMILPath:
    """Fit the soft model for every penalty of the grid, on training."""
    bags = training.bags("soft")
    path = SoftMILPath(
        n_lambdas=settings.soft.n_lambdas,
        min_ratio=settings.soft.min_ratio,
        normalization=normalization,
        divide_by_features=settings.soft.divide_by_features,
        random_state=settings.seed,
    )
    return path.fit(bags, bags.labels)


def choose_penalty(
    paths: Mapping[str, SoftMILPath], training: Split, validation: Split, settings: Any
) -> LambdaChoice:
    """Choose penalty and normalization by the paper's rule (section 6.1)."""
    training_scores, validation_scores = (
        ScoredSplit(
            split.matching,
            np.column_stack(
                [score_linearly(path.coefs_.T, path.intercepts_, split.features) for path in paths.values()]
            ),
        )
        for split in (training, validation)
    )
    soft = settings.soft
    rule = LambdaRule(
        fp_targets=soft.choice_fp_targets, tolerance=soft.tolerance, max_gap=soft.max_gap, pick=soft.pick
    )
    return choose_lambda(
        PathModels.of_paths(paths),
        training_scores,
        validation_scores,
        rule,
        n_bootstrap=settings.evaluation.n_bootstrap,
        seed=settings.seed,
    )
