"""B1: one relevance vector machine on bags of consensus objects (paper, section 5)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from overread._sections import Positive, Section
from overread.froc import choose_setting
from overread.models import RVMMIL, BagClassifier, count_features
from overread.study._cohort import Split
from overread.study.models.base import Parameters, StudyModel, bound_memory

if TYPE_CHECKING:
    from overread.study._settings import Settings


class BaselineSettings(Section):
    """B1: the settings to try, every prune bound with every start.

    Attributes
    ----------
    prune_bounds
        Prior precisions above which a feature is dropped.
    alpha_inits
        Prior precisions to start from.
    screen
        Maximum number of features that may enter. Not set: all.
    max_iter
        Maximum number of iterations.
    rule
        cross_validation, or in_sample (as in the paper): choose the setting with the highest sensitivity on the images
        that it is fitted to.
    """

    prune_bounds: Annotated[list[Positive], Field(min_length=1)] = Field(
        default_factory=lambda: [1e1, 1e2, 1e4]
    )
    alpha_inits: Annotated[list[Positive], Field(min_length=1)] = Field(default_factory=lambda: [1.0])
    screen: Annotated[int, Field(ge=1)] | None = Field(default=None, examples=[400])
    max_iter: Annotated[int, Field(ge=1)] = 1000
    rule: Literal["cross_validation", "in_sample"] = "cross_validation"


class RelevanceVectorModel(StudyModel):
    """A model of relevance vector machines, tuned over prune bounds and starts."""

    fits_from_disk = True

    def grid(self, split: Split, settings: Settings) -> list[Parameters]:
        """Every prune bound with every start; or the one of them that finds most in sample (paper, section 6.2)."""
        own: BaselineSettings = getattr(settings, self.name)
        grid = [
            {"prune_bound": bound, "alpha_init": alpha}
            for bound, alpha in itertools.product(own.prune_bounds, own.alpha_inits)
        ]
        if own.rule == "cross_validation":
            return grid
        models = self.fit_grid(grid, split, settings)
        choice = choose_setting(
            split.matching,
            np.column_stack([self.score(one, split.features) for one in models]),
            [count_features(one) for one in models],
            fp_targets=settings.models.choice_fp_targets,
            n_standard_errors=0,
            n_bootstrap=1,
        )
        return [grid[choice.position]]

    def fit_grid(
        self, grid: Sequence[Parameters], split: Split, settings: Settings
    ) -> Sequence[BagClassifier]:
        """Fit every setting, the bounds of a start together."""
        data, places = self.take_data(split), defaultdict(list)
        for place, parameters in enumerate(grid):
            places[parameters["alpha_init"]].append(place)
        fitted: dict[int, BagClassifier] = {}
        for chosen in places.values():
            model = self.prepare_for_folds(self.build(grid[chosen[0]], settings))
            with bound_memory(model, split):
                bounds = [grid[place]["prune_bound"] for place in chosen]
                fitted.update(zip(chosen, model.fit_each(**data, prune_bounds=bounds), strict=True))
        return [fitted[place] for place in range(len(grid))]


class B1(RelevanceVectorModel):
    """The binary classifier."""

    name = "b1"
    title = "B1"
    summary = (
        "Relevance vector machine on bags (RVMMIL), trained on consensus objects against all other bags."
    )
    settings = BaselineSettings
    grid_settings = ("b1", "models.choice_fp_targets")
    build_settings = ("b1.screen", "b1.max_iter")

    def build(self, parameters: Parameters, settings: Settings) -> RVMMIL:
        """Make the model of a prune bound and a start."""
        own = settings.b1
        return RVMMIL(**parameters, screen=own.screen, max_iter=own.max_iter)
