"""What a study has to know of a model: one record, from which settings, stages, report and detector are made.

A model of a study is a file of this folder with one subclass of `StudyModel`, and a line in the registry
(`overread.study.MODELS`). docs/how-to/add_a_model.md walks through it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from overread._sections import Section
from overread._terminal import count_steps
from overread.bags import Bags, StoredInstances
from overread.errors import InvalidInputError
from overread.models import BagClassifier, count_features, linear_scores
from overread.study._cohort import Features, Split

if TYPE_CHECKING:
    from overread.study._settings import Settings

Floats = NDArray[np.float64]
Parameters: TypeAlias = dict[str, Any]
"""One setting of a model: plain values that `StudyModel.build` makes a model of."""


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
        Whether a study fits the model by default.
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
    fits_from_disk
        Whether it can be fitted to features that stay in their file.
    fits_on_cluster
        Whether the workers of a Dask cluster can read that file for it.
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
    fits_from_disk: ClassVar[bool] = False
    fits_on_cluster: ClassVar[bool] = False

    @abstractmethod
    def grid(self, split: Split, settings: Settings) -> list[Parameters]:
        """Return the settings to choose from: plain values that `build` makes a model of.

        The split is all that models will be fitted to.
        """

    def take_grid(self, files: Mapping[str, object], split: Split, settings: Settings) -> list[Parameters]:
        """Return the grid of the run itself, which may be in the files `grid_reads` already."""
        return self.grid(split, settings)

    @abstractmethod
    def build(self, parameters: Parameters, settings: Settings) -> BagClassifier:
        """Make the unfitted model of one setting."""

    def take_bags(self, split: Split) -> Bags:
        """Return the bags that the model learns from; `InvalidInputError` where they would have to stay on disk."""
        bags = split.bags(self.labels, spread=self.fits_on_cluster)
        if isinstance(bags.matrix, StoredInstances) and not self.fits_from_disk:
            raise InvalidInputError(
                f"{self.name}: needs its features in memory, and they take {bags.matrix.nbytes / 1e6:,.0f} MB twice,"
                f" beside what the run holds, of [execution] memory_mb = {split.features.memory_mb:.0f} (raise it, or"
                f" take {self.name} out of [models] wanted)"
            )
        return bags

    def take_data(self, split: Split) -> dict[str, object]:
        """Return what the model's `fit` takes of a split."""
        bags = self.take_bags(split)
        return {"X": bags, "y": bags.labels}

    def fit(self, model: BagClassifier, split: Split) -> None:
        """Fit a model to a split."""
        data = self.take_data(split)
        with bound_memory(model, split):
            model.fit(**data)

    def score(self, model: BagClassifier, features: Features) -> Floats:
        """Score candidates by a fitted model, block by block; only columns that it looks at are read."""
        blocks = features.read_blocks(model.support_)
        return np.concatenate(
            [np.empty(0), *(np.asarray(model.decision_on_support(block)) for block in blocks)]
        )

    def try_settings(self, grid: Sequence[Parameters], fold: Fold, settings: Settings) -> Trial:
        """Fit every setting to the rest of a fold, and score what is held out."""
        models = self.fit_grid(grid, fold.rest, settings)
        columns = [self.score(model, fold.held_out.features) for model in models]
        return Trial(np.column_stack(columns), [count_features(model) for model in models])

    def fit_grid(
        self, grid: Sequence[Parameters], split: Split, settings: Settings
    ) -> Sequence[BagClassifier]:
        """Fit every setting to a split, one by one; a model whose settings share work does it here."""
        models = [self.prepare_for_folds(self.build(parameters, settings)) for parameters in grid]
        for model in count_steps("settings", models):
            self.fit(model, split)
        return models

    def check(self, training: Split, folds: Iterable[Fold], settings: Settings) -> None:
        """Refuse a study that the model cannot be fitted to, by `InvalidInputError`; the run then skips the model."""
        return

    def weigh_features(self, model: BagClassifier, features: Features) -> list[tuple[str, float, float]]:
        """Return name, coefficient and importance of the features that a model reads.

        The importance is the coefficient times the deviation of the feature, unless `importance_is` says otherwise.
        """
        used = model.support_
        weight = np.asarray(model.coef_[0], dtype=np.float64)[used]
        return [
            (features.names[column], float(w), float(w * values.astype(np.float64).std()))
            for column, w, values in zip(used, weight, features.read_columns(used), strict=True)
        ]

    def prepare_for_folds(self, model: BagClassifier) -> BagClassifier:
        """Return the model as it is fitted to each fold."""
        return model


def score_linearly(coefficients: Floats, intercept: Floats | float, features: Features) -> Floats:
    """Score candidates by coefficients (d,), or by those of a path (d, L); unused columns are not read."""
    used = np.flatnonzero(np.atleast_2d(coefficients.T).any(axis=0))
    scores = np.empty((len(features.rows), *coefficients.shape[1:]))
    first = 0
    for block in features.read_blocks(used):
        scores[first : first + len(block)] = linear_scores(block, coefficients[used], intercept)
        first += len(block)
    return scores


@contextmanager
def bound_memory(model: BagClassifier, split: Split) -> Iterator[None]:
    """Let a model that can bound its memory fit a split with what there is.

    The amount is not part of the model: the model and the bytes of its file stay the same.
    """
    bounded = split.features.memory_mb is not None and "memory_mb" in model.get_params(deep=False)
    if bounded:
        model.set_params(memory_mb=split.features.memory_mb)
    yield
    if bounded:
        model.set_params(memory_mb=None)
