"""Two models on the same cases: paired bootstrap of the difference, and a permutation test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.froc._kernels import permuted_differences
from overread.froc.curve import FP_TARGETS, MEASURES, checked_targets, froc_curve, sensitivity_at
from overread.froc.matching import Matching
from overread.froc.resampling import (
    CHUNK_DRAWS,
    SortedEvents,
    patient_counts,
    percentile_interval,
    replicate_sensitivities,
    stacked,
)

__all__ = ["Comparison", "compare"]

Floats = NDArray[np.float64]

PERMUTED = ("gt_sensitivity", "image_sensitivity")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Second model minus first, at each FP target.

    Attributes
    ----------
    first, second
        Estimates of the two models (:func:`~overread.froc.sensitivity_at`).
    differences
        Paired bootstrap replicates of each measure's difference, (n_bootstrap, n_targets).
    permuted
        Permutation replicates of the difference in GT and image sensitivity, (n_permutations, n_targets).
    """

    first: pd.DataFrame
    second: pd.DataFrame
    differences: dict[str, Floats]
    permuted: dict[str, Floats]

    def table(self, level: float = 0.95) -> pd.DataFrame:
        """One row per target and measure.

        Columns: fp_target, measure, first, second, difference, lower, upper, p_bootstrap, p_permutation (NaN for the
        denominators of reached GTs, whose test is that of all GTs).
        """
        rows = []
        for measure in MEASURES:
            difference = (self.second[measure] - self.first[measure]).to_numpy()
            lower, upper = percentile_interval(self.differences[measure], level)
            permuted = self.permuted.get(measure)
            rows.append(
                pd.DataFrame(
                    {
                        "fp_target": self.first["fp_target"],
                        "measure": measure,
                        "first": self.first[measure],
                        "second": self.second[measure],
                        "difference": difference,
                        "lower": lower,
                        "upper": upper,
                        "p_bootstrap": bootstrap_p_values(self.differences[measure]),
                        "p_permutation": np.nan if permuted is None else permutation_p_values(difference, permuted),
                    }
                )
            )
        return pd.concat(rows, ignore_index=True)


def compare(
    first: Matching,
    second: Matching,
    *,
    fp_targets: ArrayLike = FP_TARGETS,
    n_bootstrap: int = 1000,
    n_permutations: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two models' sensitivities at the same FP per image, on the same images and GTs.

    Bootstrap: both models see the same resampled patients, each with its own threshold, so what is hard for both
    cancels. Permutation: under the null hypothesis the two models are exchangeable, so their results are swapped in
    a random half of the patients. Scores of different models have no common scale, so each score is first replaced
    by its place in its own model's FROC curve, the number of false positives at or above it.

    Parameters
    ----------
    first, second
        The two models; ``second = first.with_scores(...)`` when they score the same candidates.
    fp_targets
        FP per image.
    n_bootstrap, n_permutations, seed
        Numbers of replicates, and the seed of both.
    """
    check_same_cases(first, second)
    targets = checked_targets(fp_targets)
    pair = [SortedEvents.of(model, float(targets.max())) for model in (first, second)]
    blocks = []
    for counts in patient_counts(first.n_patients, n_bootstrap, seed):
        one, two = (replicate_sensitivities(events, counts, targets) for events in pair)
        blocks.append({measure: two[measure] - one[measure] for measure in MEASURES})
    return Comparison(
        first=sensitivity_at(froc_curve(first), targets),
        second=sensitivity_at(froc_curve(second), targets),
        differences=stacked(blocks),
        permuted=permutations(first, second, targets, n_permutations, seed),
    )


def check_same_cases(first: Matching, second: Matching) -> None:
    """Refuse models on different images, patients, GTs or options."""
    same = (
        np.array_equal(first.image_ids, second.image_ids)
        and np.array_equal(first.patients, second.patients)
        and np.array_equal(first.gt_images, second.gt_images)
    )
    if not same:
        raise InvalidInputError(
            "compare: the two models do not have the same images, patients and GTs in the same order"
        )
    if first.rule != second.rule or first.options != second.options:
        raise InvalidInputError("compare: the two models were matched by different rules or options")


def permutations(
    first: Matching, second: Matching, targets: Floats, n_permutations: int, seed: int
) -> dict[str, Floats]:
    """Differences of GT and image sensitivity after swapping the models in random patients."""
    if n_permutations < 1:
        raise InvalidInputError(f"n_permutations={n_permutations}: need at least 1")
    order = np.argsort(targets, kind="stable")
    places = [FrocPlaces.of(model) for model in (first, second)]
    fp_positions = np.concatenate([place.fps for place in places])
    by_position = np.argsort(fp_positions, kind="stable")
    by_position = by_position[: most_needed(fp_positions, by_position, first.n_images, targets)]
    models = np.repeat(np.array([0, 1], dtype=np.uint8), [len(place.fps) for place in places])
    patients = first.patients.astype(np.int32)
    fp_patients = patients[np.concatenate([first.fp_images, second.fp_images])]
    images, _ = first.image_scores()
    item_positions = np.stack([np.concatenate([place.gts, place.images]) for place in places], axis=1)
    is_image = np.repeat(np.array([0, 1], dtype=np.uint8), [first.n_gts, len(images)])
    generator = np.random.default_rng(seed)
    blocks = []
    rows = max(1, CHUNK_DRAWS // first.n_patients)
    for start in range(0, n_permutations, rows):
        size = (min(rows, n_permutations - start), first.n_patients)
        out = np.empty((size[0], len(targets), 2), dtype=np.int64)
        permuted_differences(
            generator.integers(0, 2, size=size, dtype=np.uint8),
            first.n_images,
            fp_positions[by_position],
            models[by_position],
            fp_patients[by_position],
            item_positions,
            patients[np.concatenate([first.gt_images, images])],
            is_image,
            targets[order],
            out,
        )
        blocks.append(out)
    counts = np.empty((n_permutations, len(targets), 2))
    counts[:, order] = np.concatenate(blocks)
    with np.errstate(invalid="ignore"):
        return {name: counts[..., k] / total for k, (name, total) in enumerate(zip(PERMUTED, (first.n_gts, len(images)), strict=True))}


@dataclass(frozen=True, slots=True, eq=False)
class FrocPlaces:
    """Scores of one model as places on its own FROC curve: lower is better, missed is infinity.

    A false positive's place is the number of false positives at or above its score; a target's is half a step
    further than the last false positive above it, or the same place where the scores are equal.
    """

    fps: Floats
    gts: Floats
    images: Floats

    @classmethod
    def of(cls, matching: Matching) -> FrocPlaces:
        """Place every event of a matching."""
        ascending = np.sort(matching.fp_scores)

        def at_or_above(scores: Floats) -> Floats:
            return np.asarray(len(ascending) - np.searchsorted(ascending, scores, side="left"), dtype=np.float64)

        def placed(scores: Floats) -> Floats:
            above = len(ascending) - np.searchsorted(ascending, scores, side="right")
            equal = at_or_above(scores) > above
            places = at_or_above(scores) + np.where(equal, 0.0, 0.5)
            return np.where(scores > -np.inf, places, np.inf)

        _, image_scores = matching.image_scores()
        return cls(at_or_above(matching.fp_scores), placed(matching.gt_scores), placed(image_scores))


def most_needed(positions: Floats, order: NDArray[np.int64], n_images: int, targets: Floats) -> int:
    """Number of leading false positives that any swap can need: each patient's are split, so all up to a margin."""
    del positions, n_images, targets
    return len(order)


def bootstrap_p_values(differences: Floats) -> Floats:
    """Two-sided p-value of "no difference": twice the smaller tail of the replicates, zeros counted half."""
    defined = differences[~np.isnan(differences).any(axis=1)]
    if not len(defined):
        return np.full(differences.shape[1], np.nan)
    below = (defined < 0).sum(axis=0) + 0.5 * (defined == 0).sum(axis=0)
    tail = np.minimum(below, len(defined) - below)
    return np.minimum(1.0, 2.0 * (tail + 1.0) / (len(defined) + 1.0))


def permutation_p_values(difference: Floats, permuted: Floats) -> Floats:
    """Two-sided p-value: share of permutations at least as far from zero, the observed one included."""
    if np.isnan(permuted).any():
        return np.full(len(difference), np.nan)
    as_far = np.abs(permuted) >= np.abs(difference) - 1e-12
    return np.asarray((as_far.sum(axis=0) + 1.0) / (len(permuted) + 1.0))
