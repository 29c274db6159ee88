"""What a study has to know of a model: one record, from which settings, stages, report and detector are made.

A model of a study is a file of this folder with one subclass of `StudyModel`, and a line in the registry
(`overread.study.models.MODELS`). docs/how_to_add_a_model.md walks through it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.files.records import to_json
from overread.froc import froc_curve, sensitivity_at
from overread.models import tune
from overread.models.prediction import linear_scores
from overread.study.cohort import Features, Split
from overread.study.sections import Section
from overread.study.stages.stage import Inputs, Stage

__all__ = ["Fold", "GridTuned", "StudyModel", "Tuned", "score_linearly"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tuned:
    """What tuning chose.

    Attributes
    ----------
    parameters
        Plain values that `StudyModel.build` makes the model of.
    table
        One row a setting that was tried, with what it was judged by.
    details
        Anything else that the report shows of the choice; plain values.
    """

    parameters: Mapping[str, Any]
    table: pd.DataFrame
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold of training + validation: the images held out, and the rest that a model is fitted to."""

    held_out: Split
    rest: Split


class StudyModel(ABC):
    """A kind of model that a study can fit.

    Attributes
    ----------
    name
        In files, columns and settings: ``"soft"``.
    title, summary
        In print: a short name, and what it is in one sentence.
    by_default
        Whether a study fits it unless told otherwise.
    settings
        Its section of ``study.toml``, under its name.
    labels
        Labels of the bags that it learns from.
    importance_is
        What the importance of a feature means in this model.
    tune_settings, build_settings, check_settings
        Settings that tuning, building and checking depend on; they see no others.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    by_default: ClassVar[bool] = True
    settings: ClassVar[type[Section]]
    labels: ClassVar[Literal["soft", "golden"]] = "golden"
    importance_is: ClassVar[str] = "weight per standard deviation"
    tune_settings: ClassVar[tuple[str, ...]]
    build_settings: ClassVar[tuple[str, ...]]
    check_settings: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def tune(self, training: Split, validation: Split, settings: Any) -> Tuned:
        """Choose the settings by what they give on validation."""

    @abstractmethod
    def build(self, parameters: Mapping[str, Any], settings: Any) -> Any:
        """Make the unfitted model of what tuning chose."""

    def fit(self, model: Any, split: Split) -> None:
        """Fit a model to a split."""
        bags = split.bags(self.labels)
        model.fit(bags, bags.labels)

    def score(self, model: Any, features: Features) -> Floats:
        """Score candidates by a fitted model; only columns that it looks at are read."""
        return np.asarray(model.score_used(features.store.take(features.rows, model.used_columns_)))

    def check(self, training: Split, folds: Sequence[Fold], settings: Any) -> None:
        """Refuse a study that the model cannot be fitted to, before others take their time."""
        return

    def weigh_features(self, model: Any, features: Features) -> list[tuple[str, float, float]]:
        """Return name, coefficient and importance of the features that a model reads.

        The importance is the coefficient times the deviation of the feature, unless `importance_is` says otherwise.
        """
        used = model.used_columns_
        weight = np.asarray(model.coef_[0], dtype=np.float64)[used]
        deviation = features.store.take(features.rows, used).astype(np.float64).std(axis=0)
        return [
            (features.names[column], float(w), float(w * d))
            for column, w, d in zip(used, weight, deviation, strict=True)
        ]

    def prepare_for_folds(self, model: Any) -> Any:
        """Return the model as it is fitted to each fold."""
        return model

    def stages(self, settings: Any) -> list[Stage]:
        """Stages that tune the model; the last one writes ``tuning/NAME.json``."""
        return [
            Stage(
                f"tuning_{self.name}",
                reads=("cohort",),
                writes=(f"tuning/{self.name}.json",),
                settings=self.tune_settings,
                make=self._tune_stage,
            )
        ]

    def _tune_stage(self, inputs: Inputs) -> Mapping[str, Any]:
        cohort = inputs["cohort"]
        tuned = self.tune(cohort.split("training"), cohort.split("validation"), inputs.settings)
        return self.write_tuned(tuned)

    def write_tuned(self, tuned: Tuned) -> Mapping[str, Any]:
        """Give the file that the last tuning stage writes."""
        return {f"tuning/{self.name}.json": to_json(tuned)}


class GridTuned(StudyModel):
    """A model that is tuned over a list of settings: the sparsest within tolerance of the best is taken.

    Its section has the key ``tolerance``.
    """

    @abstractmethod
    def grid(self, own: Any) -> list[dict[str, Any]]:
        """Return parameters of all settings, from the model's own section."""

    def tune(self, training: Split, validation: Split, settings: Any) -> Tuned:
        """Judge every setting by its mean GT sensitivity on validation."""
        own = getattr(settings, self.name)
        grid = self.grid(own)

        def judge(model: Any, split: Split) -> float:
            matching = split.matching.with_scores(self.score(model, split.features))
            found = sensitivity_at(froc_curve(matching), settings.soft.choice_fp_targets)
            return float(found["gt_sensitivity"].mean())

        chosen = tune(
            [self.build(parameters, settings) for parameters in grid],
            training=training,
            validation=validation,
            tolerance=own.tolerance,
            fit=self.fit,
            score=judge,
        )
        return Tuned(grid[chosen.position], chosen.table)


def score_linearly(coefficients: Floats, intercept: Floats | float, features: Features) -> Floats:
    """Score candidates by coefficients (d,), or by those of a path (d, L); unused columns are not read."""
    used = np.flatnonzero(np.atleast_2d(coefficients.T).any(axis=0))
    matrix = features.store.take(features.rows, used)
    return linear_scores(matrix, coefficients[used], intercept)
