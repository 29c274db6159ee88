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
from numpy.typing import NDArray

from overread.models.prediction import linear_scores
from overread.models.tuning import count_features
from overread.progress import count_steps
from overread.study.cohort import Features, Split
from overread.study.sections import Section

__all__ = ["Fold", "StudyModel", "Trial", "score_linearly"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold of training + validation: the images held out, and the rest that a model is fitted to."""

    held_out: Split
    rest: Split


@dataclass(frozen=True, eq=False)
class Trial:
    """All settings of a model tried on one fold: scores (candidates, settings), and features of each setting."""

    scores: Floats
    n_features: list[int]


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
    grid_settings, build_settings, check_settings
        Settings that the grid, building and checking depend on; they see no others.
    grid_reads
        Files of earlier stages that the grid can take an answer from.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    by_default: ClassVar[bool] = True
    settings: ClassVar[type[Section]]
    labels: ClassVar[Literal["soft", "golden"]] = "golden"
    importance_is: ClassVar[str] = "weight per standard deviation"
    grid_settings: ClassVar[tuple[str, ...]]
    build_settings: ClassVar[tuple[str, ...]]
    check_settings: ClassVar[tuple[str, ...]] = ()
    grid_reads: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def grid(self, split: Split, settings: Any) -> list[dict[str, Any]]:
        """Return the settings to choose from: plain values that `build` makes a model of.

        The split is all that models will be fitted to.
        """

    def take_grid(self, files: Mapping[str, Any], split: Split, settings: Any) -> list[dict[str, Any]]:
        """Return the grid of the run itself, which may be in the files `grid_reads` already."""
        return self.grid(split, settings)

    @abstractmethod
    def build(self, parameters: Mapping[str, Any], settings: Any) -> Any:
        """Make the unfitted model of one setting."""

    def fit(self, model: Any, split: Split) -> None:
        """Fit a model to a split."""
        bags = split.bags(self.labels)
        model.fit(bags, bags.labels)

    def score(self, model: Any, features: Features) -> Floats:
        """Score candidates by a fitted model; only columns that it looks at are read."""
        return np.asarray(model.score_used(features.store.take(features.rows, model.used_columns_)))

    def try_settings(self, grid: Sequence[Mapping[str, Any]], fold: Fold, settings: Any) -> Trial:
        """Fit every setting to the rest of a fold, and score what is held out."""
        models = self.fit_grid(grid, fold.rest, settings)
        columns = [self.score(model, fold.held_out.features) for model in models]
        return Trial(np.column_stack(columns), [count_features(model) for model in models])

    def fit_grid(self, grid: Sequence[Mapping[str, Any]], split: Split, settings: Any) -> list[Any]:
        """Fit every setting to a split, one by one; a model whose settings share work does it here."""
        models = [self.prepare_for_folds(self.build(parameters, settings)) for parameters in grid]
        for model in count_steps("settings", models):
            self.fit(model, split)
        return models

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


def score_linearly(coefficients: Floats, intercept: Floats | float, features: Features) -> Floats:
    """Score candidates by coefficients (d,), or by those of a path (d, L); unused columns are not read."""
    used = np.flatnonzero(np.atleast_2d(coefficients.T).any(axis=0))
    matrix = features.store.take(features.rows, used)
    return linear_scores(matrix, coefficients[used], intercept)
