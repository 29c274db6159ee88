"""B1: one relevance vector machine on bags of golden objects (paper, section 5)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import numpy as np
from pydantic import Field

from overread._sections import Positive, Section
from overread.froc import choose_setting
from overread.models import RVMMIL, count_features
from overread.study._cohort import Split
from overread.study.models.base import Parameters, StudyModel, bound_memory

if TYPE_CHECKING:
    from overread.study._settings import Settings


Model = TypeVar("Model")


class BaselineSettings(Section):
    """B1: settings among which it is tuned, every prune bound with every alpha.

    Attributes
    ----------
    prune_bounds
        Prior precision above which a feature is dropped.
    alpha_inits
        Prior precision to start from.
    screen
        Let only so many features enter; not set: all.
    max_iter
        Rounds allowed.
    rule
        cross_validation, or in_sample, as the paper: take the setting with the highest sensitivity on the images that
        it is fitted to.
    """

    prune_bounds: Annotated[list[Positive], Field(min_length=1)] = Field(
        default_factory=lambda: [1e1, 1e2, 1e4]
    )
    alpha_inits: Annotated[list[Positive], Field(min_length=1)] = Field(default_factory=lambda: [1.0])
    screen: Annotated[int, Field(ge=1)] | None = Field(default=None, examples=[400])
    max_iter: Annotated[int, Field(ge=1)] = 1000
    rule: Literal["cross_validation", "in_sample"] = "cross_validation"


class B1(StudyModel):
    """The binary classifier."""

    name = "b1"
    title = "B1"
    summary = "Relevance vector machine on bags (RVMMIL), trained on golden objects against everything else."
    settings = BaselineSettings
    grid_settings = ("b1", "models.choice_fp_targets")
    build_settings = ("b1.screen", "b1.max_iter")
    fits_from_disk = True

    def grid(self, split: Split, settings: Settings) -> list[Parameters]:
        """Every prune bound with every start; or the best of them in sample."""
        grid = rvm_grid(settings.b1)
        return keep_best_in_sample(self, grid, split, settings) if settings.b1.rule == "in_sample" else grid

    def build(self, parameters: Parameters, settings: Settings) -> RVMMIL:
        """Make the model of a prune bound and a start."""
        own = settings.b1
        return RVMMIL(**parameters, screen=own.screen, max_iter=own.max_iter)

    def fit_grid(self, grid: Sequence[Parameters], split: Split, settings: Settings) -> list[RVMMIL]:
        """Fit every setting, the bounds of a start together."""
        bags = self.take_bags(split)

        def fit_bounds(parameters: Parameters, bounds: Sequence[float]) -> list[RVMMIL]:
            model = self.build(parameters, settings)
            with bound_memory(model, split):
                return model.fit_each(bags, bags.labels, prune_bounds=bounds)

        return fit_bounds_together(grid, fit_bounds)


def fit_bounds_together(
    grid: Sequence[Parameters], fit_bounds: Callable[[Parameters, Sequence[float]], list[Model]]
) -> list[Model]:
    """Fit the settings of a grid, in calls that get all prune bounds of a start; return the models in its order."""
    places: dict[float, list[int]] = defaultdict(list)
    for place, parameters in enumerate(grid):
        places[parameters["alpha_init"]].append(place)
    fitted: dict[int, Model] = {}
    for chosen in places.values():
        bounds = [grid[place]["prune_bound"] for place in chosen]
        fitted.update(zip(chosen, fit_bounds(grid[chosen[0]], bounds), strict=True))
    return [fitted[place] for place in range(len(grid))]


def keep_best_in_sample(
    model: StudyModel, grid: Sequence[Parameters], split: Split, settings: Settings
) -> list[Parameters]:
    """Return a grid of the one setting that finds most on the split that it is fitted to (paper, section 6.2)."""
    models = model.fit_grid(grid, split, settings)
    choice = choose_setting(
        split.matching,
        np.column_stack([model.score(one, split.features) for one in models]),
        [count_features(one) for one in models],
        fp_targets=settings.models.choice_fp_targets,
        n_standard_errors=0,
        n_bootstrap=1,
    )
    return [grid[choice.position]]


def rvm_grid(own: BaselineSettings) -> list[Parameters]:
    """Every prune bound with every start of a relevance vector machine."""
    return [
        {"prune_bound": bound, "alpha_init": alpha}
        for bound, alpha in itertools.product(own.prune_bounds, own.alpha_inits)
    ]
