"""How long a run will take: a guess from measured rates, mended by a sample of its images and by what its stages took.

The cost of a run is, in this model, a time per image, shared by the workers, for each model a time per candidate and
feature, and for the evaluation a time per candidate beside a fixed one; every other stage takes about as long in any
study. An outer fold of a nested run does what the run does with all patients: every inner fold and a fit. A stage
that is done mends the guess of those of its kind: after the first fold of a model, its other folds are taken to last
as long, and its outer folds to follow it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from overread.features import CATALOGUE

# Seconds on one processor, of `overread demo` (120 images, 3,600 candidates, all features) on a common server,
# November 2026, with the compiling of kernels in them.
PER_IMAGE = 0.9
PER_THOUSAND_CANDIDATES = {"soft": 0.1, "b1": 0.3, "b2": 1.8}
"""For one fold of a model with all features. A model that is not listed counts as `OTHER_MODEL`."""
RESULTS_SECONDS = 4.0
# Evaluation took 26.5 s for 200,000 candidates (`benchmarks.study_memory large`, 10,000 images x 20). An upper bound:
# calibration, which is in it, has become faster since.
RESULTS_PER_THOUSAND = 0.11
OTHER_MODEL = 1.0
SMALL_STAGE = 0.5

FOLD = re.compile(r"(?P<kind>fold|outer)_\d+_(?P<model>\w+)")


class Forecast:
    """Expected seconds of the stages of a run.

    Parameters
    ----------
    stages
        Names, in order.
    models
        Names of the models; the stage that fits one to all folds has its name.
    n_folds
        Folds of the choice of settings.
    n_images
        Images still to be worked on.
    n_candidates
        Of all images, about.
    workers
        Who share the images.
    n_features
        Of each candidate; None: all that there are.
    """

    def __init__(
        self,
        stages: Sequence[str],
        models: Sequence[str],
        *,
        n_folds: int,
        n_images: int,
        n_candidates: int,
        workers: int,
        n_features: int | None = None,
    ) -> None:
        self._kinds = {name: _kind_of(name) for name in stages}
        self._models = tuple(models)
        self._feature_share = 1.0 if n_features is None else n_features / len(CATALOGUE)
        self._guesses: dict[str, float] = {}
        self.learn_images(PER_IMAGE * n_images / max(workers, 1), n_candidates)
        # Measured in the demo with 5 folds: an outer fold takes 6.0 (soft) and 5.7 (b1) times what a fold takes.
        self._fits_per_outer_fold = n_folds + 1
        self._learned: dict[str, float] = {}
        self._place = {name: place for place, name in enumerate(stages)}

    def keep(self, stages: Sequence[str]) -> None:
        """Leave out the stages that are not among these."""
        self._place = {name: place for place, name in enumerate(stages)}

    def left(self, stage: str) -> float:
        """Return the seconds that a stage and those after it take."""
        return sum(
            self._expect(self._kinds[name])
            for name, place in self._place.items()
            if place >= self._place[stage]
        )

    def learn_images(self, seconds: float, n_candidates: float) -> None:
        """Take the work on all images to last so long, and to find so many candidates, which models are fitted to."""
        thousands = n_candidates / 1000
        self._guesses = {"images": seconds, "results": RESULTS_SECONDS + RESULTS_PER_THOUSAND * thousands} | {
            model: PER_THOUSAND_CANDIDATES.get(model, OTHER_MODEL) * self._feature_share * thousands
            for model in self._models
        }

    def learn(self, stage: str, seconds: float) -> None:
        """Take stages of the same kind to last as long as this one did."""
        self._learned[self._kinds[stage]] = seconds

    def _expect(self, kind: str) -> float:
        """Return the seconds of a stage: as learned, else guessed."""
        if kind in self._learned:
            return self._learned[kind]
        outer, _, model = kind.partition(" ")
        if outer == "outer":
            return self._fits_per_outer_fold * self._expect(model)
        return self._guesses.get(kind, SMALL_STAGE)


def _kind_of(stage: str) -> str:
    """Return what stages that last about as long share: the model of a fold, or the stage's own name."""
    fold = FOLD.fullmatch(stage)
    if fold is None:
        return stage
    return fold["model"] if fold["kind"] == "fold" else f"outer {fold['model']}"
