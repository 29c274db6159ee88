"""B2: a mixture of one relevance vector machine per reader (paper, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models import BagClassifier, ReaderMixture
from overread.study._cohort import NoFeatures, Split
from overread.study.models.b1 import BaselineSettings, RelevanceVectorModel
from overread.study.models.base import Fold, Parameters

if TYPE_CHECKING:
    from overread.study._settings import Settings

# Set by judgement: each draw refits the mixture, and fewer give the ends of an interval no meaning.
LEAST_DRAWS = 20


class MixtureSettings(BaselineSettings):
    """B2, the mixture of readers: the settings of B1 and its own.

    Attributes
    ----------
    scores
        Scores from which the mixture learns: in_sample (as in the paper) or out_of_fold.
    min_positives
        Minimum number of marks near candidates; readers with fewer are left out.
    n_bootstrap
        Number of bootstrap samples for the intervals of the readers' weights, at least 20; 0: no intervals.
    """

    scores: Literal["in_sample", "out_of_fold"] = "in_sample"
    min_positives: Annotated[int, Field(ge=1)] = 10
    n_bootstrap: Annotated[int, Field(ge=0, le=100_000)] = 200

    @field_validator("n_bootstrap")
    @classmethod
    def _enough(cls, n_bootstrap: int) -> int:
        if 0 < n_bootstrap < LEAST_DRAWS:
            raise ValueError(f"must be 0 (no intervals) or at least {LEAST_DRAWS}")
        return n_bootstrap


class B2(RelevanceVectorModel):
    """The mixture of readers."""

    name = "b2"
    title = "B2"
    summary = "A mixture of one RVMMIL per reader; its features are those of all readers together."
    settings = MixtureSettings
    grid_settings = ("b2", "models.folds", "models.choice_fp_targets", "evaluation.level", "seed")
    build_settings = (
        *(f"b2.{key}" for key in ("screen", "max_iter", "scores", "min_positives", "n_bootstrap")),
        "models.folds",
        "evaluation.level",
        "seed",
    )
    check_settings = ("b2.min_positives",)

    def build(self, parameters: Parameters, settings: Settings) -> ReaderMixture:
        """Make the model of a prune bound and a start."""
        own = settings.b2
        return ReaderMixture(
            **parameters,
            screen=own.screen,
            max_iter=own.max_iter,
            scores=own.scores,
            cv=settings.models.folds,
            min_positives=own.min_positives,
            n_bootstrap=own.n_bootstrap,
            confidence=settings.evaluation.level,
            random_state=settings.seed,
        )

    def take_data(self, split: Split) -> dict[str, object]:
        """Return the readers' bags, and the consensus bags to which the mixture is fitted."""
        return {"X": self.take_bags(split), "reader_bags": split.reader_bags}

    def prepare_for_folds(self, model: BagClassifier) -> BagClassifier:
        """Skip the intervals of the readers' weights in the folds, where they are not shown."""
        return model.set_params(n_bootstrap=0)

    def check(self, training: Split, folds: Iterable[Fold], settings: Settings) -> None:
        """Refuse a study in which some set that B2 is fitted to has no reader to learn from."""
        needed = settings.b2.min_positives
        for split in chain([training], (fold.rest for fold in folds)):
            labelled = split.reader_bags.with_features(NoFeatures())
            counts = (_count_rarer(bags) for bags in labelled.values())
            fewest = max(counts, default=0)
            if fewest < needed:
                raise InvalidInputError(
                    f"no reader has {needed} marks near candidates in the {len(split.images)} images"
                    f" of a training set, the best has {fewest} (lower [b2] min_positives in study.toml, or take b2 out"
                    " of [models] wanted)"
                )


def _count_rarer(bags: Bags) -> int:
    """Count the positive bags or the negative ones, whichever are fewer."""
    positive = int(np.sum(np.asarray(bags.labels) > 0))
    return min(positive, len(bags) - positive)
