"""Two models on the same cases: paired bootstrap of the difference, and a permutation test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread._terminal import count_steps
from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import (
    CHUNK_DRAWS,
    ROUNDING,
    SortedEvents,
    StandardInterval,
    best_false_positives,
    estimates_at,
    needed_fps,
    patient_counts,
    patients_of_measures,
    replicate_sensitivities,
    stack_blocks,
    standard_interval,
)
from overread.froc._curve import MEASURES, check_targets
from overread.froc._defaults import FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.froc._kernels import permuted_differences
from overread.froc._matching import Matching
from overread.marks import ELLIPSE_COLUMNS
from overread.tables import ENDINGS

Floats = NDArray[np.float64]

TRUTH_COLUMNS = ("image_id", "truth_id", *ELLIPSE_COLUMNS)


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """A difference in the mean over the FP targets, with its interval and p-value; NaN where the data cannot say."""

    difference: float
    lower: float
    upper: float
    p_value: float


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Second model minus first, at each FP target: estimates, paired bootstrap and permutation replicates.

    `n_units` are the patients with something to find, of each measure; of reached GTs that of the model with fewer.
    """

    first: pd.DataFrame
    second: pd.DataFrame
    differences: dict[str, Floats]
    permuted: dict[str, Floats]
    n_units: dict[str, int]

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Interval and p-values per target and measure; the denominators of reached GTs have no test of their own."""
        rows = []
        for measure in MEASURES:
            table = self.first[["fp_target"]].assign(
                measure=measure,
                first=self.first[measure],
                second=self.second[measure],
                difference=self.difference(measure),
            )
            table["lower"], table["upper"], table["p_bootstrap"] = self.interval_of(measure, level)
            rows.append(table.assign(p_permutation=self.permutation_p_values(measure)))
        return pd.concat(rows, ignore_index=True)

    def mean_difference(self, measure: str, level: float = LEVEL) -> MeanDifference:
        """Second minus first in the mean over the targets."""
        estimate, replicates = self.difference(measure).mean(), self.differences[measure].mean(axis=1)
        interval = standard_interval(np.array([estimate]), replicates[:, None], self.n_units[measure], level)
        return MeanDifference(float(estimate), *(float(one[0]) for one in interval))

    def difference(self, measure: str) -> Floats:
        """Second minus first, one per target."""
        return self.second[measure].to_numpy() - self.first[measure].to_numpy()

    def interval_of(self, measure: str, level: float = LEVEL) -> StandardInterval:
        """Interval and p-value of the difference, one per target; NaN where the data cannot say."""
        differences, n_units = self.differences[measure], self.n_units[measure]
        return standard_interval(self.difference(measure), differences, n_units, level)

    def permutation_p_values(self, measure: str) -> Floats:
        """Share of permutations at least as far from zero as the data, the data included."""
        difference = self.difference(measure)
        permuted = self.permuted.get(measure)
        if permuted is None or np.isnan(permuted).any():
            return np.full(len(difference), np.nan)
        as_far = np.abs(permuted) >= np.abs(difference) - ROUNDING
        return np.asarray((as_far.sum(axis=0) + 1.0) / (len(permuted) + 1.0))


def compare_models(
    first: Matching,
    second: Matching,
    *,
    fp_targets: ArrayLike = FP_TARGETS,
    n_bootstrap: int = N_BOOTSTRAP,
    n_permutations: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Comparison:
    """Compare two models' sensitivities at the same FP per image, on the same images and GTs.

    Bootstrap: both models see the same resampled patients, each with its own threshold, so what is hard for
    both cancels. The interval is the difference +- z times the standard deviation of its replicates, and
    ``p_bootstrap`` belongs to it. Permutation: under the null hypothesis the two models are exchangeable, so
    their results are swapped in a random half of the patients. Scores of different models have no common
    scale, so each score is first replaced by its place in its own model's FROC curve, the number of false
    positives at or above it. The permutation test stays below its level where few lesions separate the models
    apart.

    Parameters
    ----------
    first, second : Matching
        The two models; ``second = first.with_scores(...)`` when they score the same candidates.
    fp_targets : array-like, default=FP_TARGETS
        FP per image.
    n_bootstrap, n_permutations, seed
        Numbers of replicates, and the seed of both.
    """
    check_same_cases(first, second)
    targets = check_targets(fp_targets)
    pair = [SortedEvents.of(model, needed_fps(model, targets)) for model in (first, second)]
    blocks = []
    for counts in patient_counts(first.n_patients, n_bootstrap, seed):
        one, two = (replicate_sensitivities(events, counts, targets) for events in pair)
        blocks.append({measure: two[measure] - one[measure] for measure in MEASURES})
    units = [patients_of_measures(model) for model in (first, second)]
    return Comparison(
        first=estimates_at(first, targets),
        second=estimates_at(second, targets),
        differences=stack_blocks(blocks),
        permuted=_permute(first, second, targets, n_permutations, seed),
        n_units={measure: min(part[measure] for part in units) for measure in MEASURES},
    )


def check_same_cases(first: Matching, second: Matching) -> None:
    """Refuse models on different images, patients, GTs or options."""
    same = (
        np.array_equal(first.image_ids, second.image_ids)
        and np.array_equal(first.patients, second.patients)
        and np.array_equal(first.gt_images, second.gt_images)
        and _same_truth(first, second)
    )
    if not same:
        raise InvalidInputError(
            "compare: the two models do not have the same images, patients and GTs in the same order"
        )
    if first.counting != second.counting:
        raise InvalidInputError("compare: the two models were matched by different rules or options")


def _same_truth(first: Matching, second: Matching) -> bool:
    """Whether ids and ellipses of the GTs agree, as far as both matchings know them; all GTs, or the targets."""
    if first.geometry is not None and second.geometry is not None:
        one, two = first.geometry.truth, second.geometry.truth
        if not np.array_equal(first.geometry.truth_golden, second.geometry.truth_golden):
            return False
    else:
        one, two = first.strata, second.strata
    known = [
        name for name in one.columns if name in two.columns and ENDINGS.get(name, (name,))[0] in TRUTH_COLUMNS
    ]
    return all(np.array_equal(one[name].to_numpy(), two[name].to_numpy()) for name in known)


def _permute(
    first: Matching, second: Matching, targets: Floats, n_permutations: int, seed: int
) -> dict[str, Floats]:
    """Differences of GT and image sensitivity after swapping the models in random patients."""
    if n_permutations < 1:
        raise InvalidInputError(f"n_permutations={n_permutations}: need at least 1")
    order = np.argsort(targets, kind="stable")
    events = PairedPlaces.of(first, second, needed_fps(first, targets))
    n_fps = len(first.fp_scores) + len(second.fp_scores)
    generator = np.random.default_rng(seed)
    counts = np.empty((n_permutations, len(targets), 2), dtype=np.int64)
    rows = max(1, CHUNK_DRAWS // first.n_patients)
    blocks = [counts[start : start + rows] for start in range(0, n_permutations, rows)]
    for block in count_steps("permutations", blocks, n_permutations, steps=len):
        swaps = generator.integers(0, 2, size=(len(block), first.n_patients), dtype=np.uint8)
        exhausted = permuted_differences(swaps, first.n_images, *events, targets[order], block)
        if exhausted and len(events.fp_places) < n_fps:
            events = PairedPlaces.of(first, second, None)
            permuted_differences(swaps, first.n_images, *events, targets[order], block)
    restored = np.empty_like(counts)
    restored[:, order] = counts
    return {
        "gt_sensitivity": restored[..., 0] / (first.n_gts or np.nan),
        "image_sensitivity": restored[..., 1] / (len(np.unique(first.gt_images)) or np.nan),
    }


class PairedPlaces(NamedTuple):
    """Both models' events on one scale, as ``permuted_differences`` walks them."""

    fp_places: Floats
    fp_models: NDArray[np.uint8]
    fp_patients: NDArray[np.int32]
    item_places: Floats
    item_patients: NDArray[np.int32]
    item_is_image: NDArray[np.uint8]

    @classmethod
    def of(cls, first: Matching, second: Matching, n_best: int | None) -> PairedPlaces:
        """Place the events of both models, of the false positives only the ``n_best`` of each."""
        pair = [FrocPlaces.of(model, n_best) for model in (first, second)]
        places = np.concatenate([model.fps for model in pair])
        fp_images = np.concatenate([model.fp_images for model in pair])
        order = np.argsort(places, kind="stable")
        patients = first.patients.astype(np.int32)
        images = first.positive_images().images
        return cls(
            fp_places=places[order],
            fp_models=_number_parts(*(model.fps for model in pair))[order],
            fp_patients=patients[fp_images[order]],
            item_places=np.stack([np.concatenate([model.gts, model.images]) for model in pair], axis=1),
            item_patients=patients[np.concatenate([first.gt_images, images])],
            item_is_image=_number_parts(first.gt_images, images),
        )


def _number_parts(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.uint8]:
    """Zeros for the rows of the first array, then ones for those of the second."""
    return np.repeat(np.array([0, 1], dtype=np.uint8), [len(first), len(second)])


class FrocPlaces(NamedTuple):
    """Scores of one model as places on its own FROC curve; lower is better.

    A false positive's place is the number of false positives at or above its score. A target's place is
    half a step past the last false positive above it, or that of the false positives with the same score, or
    infinity when it is missed.
    """

    fps: Floats
    fp_images: NDArray[np.int64]
    gts: Floats
    images: Floats

    @classmethod
    def of(cls, matching: Matching, n_best: int | None) -> FrocPlaces:
        """Place the targets and the ``n_best`` false positives of a matching."""
        best = best_false_positives(matching, n_best)
        ascending = matching.fp_scores[best][::-1]

        def place(scores: Floats) -> Floats:
            above = len(ascending) - np.searchsorted(ascending, scores, side="right")
            at_or_above = len(ascending) - np.searchsorted(ascending, scores, side="left")
            return np.where(at_or_above > above, at_or_above, above + 0.5)

        gts, images = (
            np.where(item.findable, place(item.scores), np.inf)
            for item in (matching.targets(), matching.positive_images())
        )
        return cls(place(ascending[::-1]), matching.fp_images[best], gts, images)
