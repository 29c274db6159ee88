"""The models of a scenario: the soft model, the same solver on other labels, B1, B2, and Raykar's complete model.

All are models of a study (`overread.study.models.base`), so that one rule chooses all settings. Labels are computed
again in every fold from the images that a model is fitted to, because those of the crowd models depend on all of them.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._sections import Section
from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models import DawidSkene, RaykarCrowd, Votes, votes_from_marks, votes_on_bags
from overread.study import MODELS, Fold, Soft, Split, StudyModel, Trial, make_path

Floats = NDArray[np.float64]

# Shares of the smallest penalty without any feature; half a decade apart, as a path of 30 costs EM 30 times.
CROWD_PENALTIES = (0.3, 0.1, 0.03)
# EM of a label stops when a round gains less than any figure shows; set by judgement.
CROWD_ROUNDS, CROWD_TOL = 60, 1e-5
# Votes contain no information on labels or skills without a second reading.
FEWEST_READINGS = 2


class Relabelled(Soft):
    """The soft model's solver and path, on labels of another rule."""

    by_default = False

    @abstractmethod
    def label(self, split: Split) -> Floats:
        """Return the label of each object of a split, from the votes of its readers."""

    def relabel(self, split: Split) -> Split:
        """Return the split with the labels of this rule."""
        return replace(split, truth=split.truth.assign(probability=self.label(split)))

    def grid(self, split: Split, settings: Any) -> list[dict[str, Any]]:
        """Penalties of the soft model, from the largest useful one for these labels."""
        return super().grid(self.relabel(split), settings)

    def fit(self, model: Any, split: Split) -> None:
        """Fit to the labels of this rule."""
        super().fit(model, self.relabel(split))

    def try_settings(self, grid: Sequence[dict[str, Any]], fold: Fold, settings: Any) -> Trial:
        """Fit paths to the labels of this rule, computed from the rest of the fold."""
        return super().try_settings(grid, Fold(fold.held_out, self.relabel(fold.rest)), settings)


def _label_one_reader(split: Split) -> Floats:
    """Return 1 where the first reading has a mark; the order of the readings is drawn by the design."""
    votes = votes_from_marks(split.truth, split.marks, split.readings)
    first = split.readings.drop_duplicates("image_id").set_index("image_id")["reader_id"]
    readers = votes.reader_ids.get_indexer(pd.Index(first[split.truth["image_id"]]))
    return np.asarray(votes.matrix[np.arange(len(readers)), readers], dtype=np.float64)


class Rule(Relabelled):
    """A rule that needs only the votes: its name, title and summary, and the labels of a split."""

    def __init__(self, name: str, title: str, said: str, find: Callable[[Split], Any]) -> None:
        self.name, self.title = name, title  # type: ignore[misc]
        self.summary = f"The same solver; the label is {said}."  # type: ignore[misc]
        self._find = find

    def label(self, split: Split) -> Floats:
        """Return the labels of the rule."""
        return np.asarray(self._find(split), dtype=np.float64)


# The share is without the paper's single-reader discount. For one reader, the other votes are not used: readings of an
# image are in a drawn order of their own; where whole readers are left out, in one order of readers.
RULES = (
    Rule("share", "Soft, plain share", "the share of readers who marked",
         lambda split: split.truth["n_readers"] / split.truth["n_readings"]),
    Rule("golden", "Hard: consensus", "1 where at least two readers marked (one, if there is a single reading)",
         lambda split: split.truth["golden"]),
    Rule("any", "Hard: any reader", "1 where any reader marked", lambda split: np.ones(len(split.truth))),
    Rule("majority", "Hard: majority", "1 where more than half of the readers marked",
         lambda split: 2 * split.truth["n_readers"] > split.truth["n_readings"]),
    Rule("one_reader", "Hard: one reader", "1 where one reader of the image marked, the first in the design's order",
         _label_one_reader),
)  # fmt: skip


class CrowdLabels(Relabelled):
    """Posteriors of a crowd model as labels."""

    @abstractmethod
    def fit_crowd(self, bags: Bags, votes: Votes) -> DawidSkene | RaykarCrowd:
        """Fit the crowd model."""

    def label(self, split: Split) -> Floats:
        """Return the posterior of each object; an object without a candidate has no bag and keeps its label."""
        bags = split.bags("soft")
        posterior = self.fit_crowd(bags, _vote(split, bags)).posterior_
        assert bags.bag_table is not None
        on_object = bags.bag_table["truth_id"].notna().to_numpy()
        found = pd.Series(
            posterior[on_object],
            index=pd.MultiIndex.from_frame(bags.bag_table.loc[on_object, ["image_id", "truth_id"]]),
        )
        keys = pd.MultiIndex.from_frame(split.truth[["image_id", "truth_id"]])
        own = found.reindex(keys).to_numpy(np.float64)
        return np.clip(np.where(np.isnan(own), split.truth["probability"], own), 0.0, 1.0)


class DawidSkeneLabels(CrowdLabels):
    """Posteriors of Dawid and Skene's model."""

    name = "dawid_skene"
    title = "Dawid-Skene labels"
    summary = "The same solver; the label is the posterior of Dawid and Skene's model of the votes."

    def fit_crowd(self, bags: Bags, votes: Votes) -> DawidSkene:
        """Fit skills and prevalence to the votes alone."""
        if np.isfinite(votes.matrix).sum(axis=1).max() < FEWEST_READINGS:
            raise InvalidInputError("Dawid and Skene's model needs images with at least two readings")
        return _fit_quietly(DawidSkene(), votes)


class RaykarLabels(CrowdLabels):
    """Posteriors of Raykar's model."""

    name = "raykar"
    title = "Raykar labels"
    summary = "The same solver; the label is the posterior of Raykar's model of votes and features."

    def fit_crowd(self, bags: Bags, votes: Votes) -> RaykarCrowd:
        """Fit skills and a model of the features together, with its fixed penalty."""
        return _fit_quietly(RaykarCrowd(max_rounds=CROWD_ROUNDS, round_tol=CROWD_TOL), bags, votes)


class WholeRaykar(StudyModel):
    """Raykar's complete model: its weights score the candidates."""

    name = "raykar_crowd"
    title = "Raykar's model"
    summary = "Raykar's model of votes and features, whose weights score the candidates."
    by_default = False
    settings: ClassVar[type[Section]] = Section
    labels = "soft"
    grid_settings = ()
    build_settings = ()

    def grid(self, split: Split, settings: Any) -> list[dict[str, Any]]:
        """Three shares of the smallest penalty without a feature, by the share of readers."""
        bags = CONTENDERS["share"].relabel(split).bags("soft")  # type: ignore[attr-defined]
        largest = float(make_path(split, settings, "bags", n_alphas=2).make_grid(bags, bags.labels)[0])
        return [{"lam": share * largest} for share in CROWD_PENALTIES]

    def build(self, parameters: Mapping[str, Any], settings: Any) -> RaykarCrowd:
        """Make the model of a penalty."""
        return RaykarCrowd(parameters["lam"], max_rounds=CROWD_ROUNDS, round_tol=CROWD_TOL)

    def fit(self, model: RaykarCrowd, split: Split) -> None:
        """Fit to the votes on bags."""
        bags = split.bags("soft")
        _fit_quietly(model, bags, _vote(split, bags))


def _vote(split: Split, bags: Bags) -> Votes:
    """Votes of the readers of a split on its bags."""
    return votes_on_bags(bags, split.truth, split.marks, split.readings)


def _fit_quietly(model: Any, *data: Any) -> Any:
    """Fit a crowd model without its warnings, which the point's figures show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def find_labels(model: StudyModel, split: Split) -> Floats | None:
    """Return the labels of the objects if the solver is the soft model's and they are cheap, else None.

    Contenders with equal labels are the same model, which is fitted only once.
    """
    if isinstance(model, CrowdLabels) or not isinstance(model, Soft):
        return None
    if isinstance(model, Relabelled):
        return model.label(split)
    return split.truth["probability"].to_numpy(np.float64)


def estimate_skills(model: StudyModel, fitted: Any, split: Split) -> list[dict[str, Any]]:
    """Return a contender's estimates of the readers, as rows of reader_id, sensitivity and specificity."""
    if isinstance(model, DawidSkeneLabels):
        bags = split.bags("soft")
        fitted = model.fit_crowd(bags, _vote(split, bags))
    elif not isinstance(model, WholeRaykar):
        return []
    rows: list[dict[str, Any]] = fitted.reader_skills_[["reader_id", "sensitivity", "specificity"]].to_dict(
        "records"
    )
    return rows


CONTENDERS: dict[str, StudyModel] = {
    model.name: model
    for model in (
        MODELS["soft"],
        *RULES,
        DawidSkeneLabels(),
        RaykarLabels(),
        WholeRaykar(),
        MODELS["b1"],
        MODELS["b2"],
    )
}
"""All contenders, in the order of the page."""


def title_of(model: object) -> str:
    """Return the title of a contender."""
    return CONTENDERS[str(model)].title


HARD_RULES = ("golden", "any", "majority", "one_reader")
# Contenders whose fit depends on who marked; for the others all readings of an image are equivalent.
KNOW_READERS = ("dawid_skene", "raykar", "raykar_crowd", "b2")
