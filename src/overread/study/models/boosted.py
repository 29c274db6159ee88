"""Boosted trees on the same features, for comparison with the linear models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from overread._sections import Positive, Section
from overread.models import BagClassifier, BoostedBags
from overread.study._cohort import Features, Split
from overread.study.models.base import Parameters, StudyModel

if TYPE_CHECKING:
    from overread.study._settings import Settings


class BoostedSettings(Section):
    """Boosted trees, which a study fits only on request: the settings to try.

    Attributes
    ----------
    n_trees
        Numbers of trees to try.
    learning_rate
        Factor for the contribution of each tree.
    max_leaves
        Maximum number of leaves per tree.
    min_instances
        Minimum number of candidates per leaf.
    """

    n_trees: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(min_length=1)] = Field(
        default_factory=lambda: [50, 100, 200]
    )
    learning_rate: Positive = 0.05
    max_leaves: Annotated[int, Field(ge=2, le=1000)] = 15
    min_instances: Annotated[int, Field(ge=1)] = 20


class Boosted(StudyModel):
    """scikit-learn's histogram gradient boosting on instances, bags by noisy-or."""

    name = "boosted"
    title = "Boosted"
    summary = "Gradient boosted trees on single candidates, combined to bags by noisy-or."
    by_default = False
    settings = BoostedSettings
    labels = "soft"
    importance_is = "share of the gain"
    grid_settings = ("boosted.n_trees",)
    build_settings = (*(f"boosted.{key}" for key in ("learning_rate", "max_leaves", "min_instances")), "seed")

    def grid(self, split: Split, settings: Settings) -> list[Parameters]:
        """Every number of trees."""
        return [{"n_trees": n_trees} for n_trees in settings.boosted.n_trees]

    def build(self, parameters: Parameters, settings: Settings) -> BoostedBags:
        """Make the model of a number of trees."""
        own = settings.boosted
        return BoostedBags(
            **parameters,
            learning_rate=own.learning_rate,
            max_leaves=own.max_leaves,
            min_instances=own.min_instances,
            random_state=settings.seed,
        )

    def weigh_features(self, model: BagClassifier, features: Features) -> list[tuple[str, float, float]]:
        """Return the features that the trees split on; there are no coefficients."""
        share = model.gains_ / model.gains_.sum()
        return [(features.names[column], float("nan"), float(share[column])) for column in model.support_]
