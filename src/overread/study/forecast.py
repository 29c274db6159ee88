"""How long a run will take: a guess from measured rates, mended by what its stages took.

The cost of a run is, in this model, a time per image, shared by the workers, and for each model and for the
evaluation a time per candidate; every other stage takes about as long in any study. A stage that is done mends the
guess of those of its kind: after the first fold of a model, its other folds are taken to last as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["Forecast"]

# Seconds on one processor, of `overread demo` (120 images, 3,600 candidates, all features) on a common server,
# November 2026, with the compiling of kernels in them.
PER_IMAGE = 0.9
PER_THOUSAND_CANDIDATES = {"soft": 0.1, "b1": 0.3, "b2": 1.8, "results": 1.2}
"""For one fold of a model; by name of the stage otherwise. A model that is not listed counts as `OTHER_MODEL`."""
OTHER_MODEL = 1.0
SMALL_STAGE = 0.5

FOLD = re.compile(r"fold_\d+_(?P<model>\w+)")


class Forecast:
    """Expected seconds of the stages of a run.

    Parameters
    ----------
    stages
        Names, in order.
    models
        Names of the models; the stage that fits one to all folds has its name.
    n_images
        Images still to be worked on.
    n_candidates
        Of all images, about.
    workers
        Who share the images.
    """

    def __init__(
        self, stages: Sequence[str], models: Sequence[str], *, n_images: int, n_candidates: int, workers: int
    ) -> None:
        self._kinds = {name: kind_of(name) for name in stages}
        per_image = PER_IMAGE * n_images / max(workers, 1)
        self._guesses = {"images": per_image} | {
            kind: PER_THOUSAND_CANDIDATES.get(kind, OTHER_MODEL) * n_candidates / 1000
            for kind in (*models, "results")
        }
        self._place = {name: place for place, name in enumerate(stages)}

    def left(self, stage: str) -> float:
        """Return the seconds that a stage and those after it take."""
        return sum(
            self._guesses.get(self._kinds[name], SMALL_STAGE)
            for name, place in self._place.items()
            if place >= self._place[stage]
        )

    def learn(self, stage: str, seconds: float) -> None:
        """Take stages of the same kind to last as long as this one did."""
        if self._kinds[stage] in self._guesses:
            self._guesses[self._kinds[stage]] = seconds


def kind_of(stage: str) -> str:
    """Return what stages that last about as long share: the model of a fold, or the stage's own name."""
    fold = FOLD.fullmatch(stage)
    return fold["model"] if fold else stage
