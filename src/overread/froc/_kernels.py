"""Compiled loops of the resampling: one pass over sorted events, stopped at the largest FP target; one over bags.

Conventions: false positives are sorted by falling score. A target's rank is the number of false positives
with a score >= its own, so a threshold just above false positive k finds exactly the targets of rank <= k; what
no threshold finds has rank ``NEVER``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel

Bytes = NDArray[np.uint8]
Ints32 = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEVER = 2**62


@kernel
def count_draws(draws: NDArray[np.uint32], counts: Bytes) -> None:
    """Add to ``counts[replicate, patient]`` how often each patient was drawn."""
    for replicate in range(draws.shape[0]):
        row = counts[replicate]
        for k in range(draws.shape[1]):
            row[draws[replicate, k]] += 1


@kernel
def _allowed_fps(target: float, n_images: int) -> int:
    """Return the largest number of false positives over ``n_images`` that does not exceed the target."""
    allowed = int(np.floor(target * n_images))
    while allowed / n_images > target:
        allowed -= 1
    while (allowed + 1) / n_images <= target:
        allowed += 1
    return allowed


@kernel
def sensitivity_replicates(
    counts: Bytes,
    images_of_patient: Ints32,
    fp_scores: Floats,
    fp_patients: Ints32,
    item_ranks: Ints,
    item_patients: Ints32,
    item_is_image: Bytes,
    item_reached: Bytes,
    fp_targets: Floats,
    shown: Ints,
    totals: Ints,
    excluded: Ints,
) -> None:
    """Count, for each replicate and ascending FP target, what the lowest admissible threshold shows.

    ``shown[replicate, target]`` = (GTs found, images found, false positives); ``totals[replicate]`` = (GTs,
    images with a GT, the same two reached, images); ``excluded[replicate, target]`` is the index of the
    first false positive that does not fit. GTs and images with a GT are both *items*, sorted by rank.
    """
    n_fps, n_items = len(fp_scores), len(item_ranks)
    found = np.zeros(2, dtype=np.int64)
    for replicate in range(counts.shape[0]):
        weight = counts[replicate]
        n_images = 0
        for patient in range(len(weight)):
            n_images += weight[patient] * images_of_patient[patient]
        total = totals[replicate]
        total[:] = 0
        total[4] = n_images
        k, n_shown, item = 0, 0, 0
        found[:] = 0
        for t in range(len(fp_targets)):
            allowed = _allowed_fps(fp_targets[t], n_images)
            while k < n_fps:
                next_shown = n_shown + weight[fp_patients[k]]
                if next_shown > allowed:
                    break
                n_shown = next_shown
                k += 1
            while item < n_items and item_ranks[item] <= k:
                found[item_is_image[item]] += weight[item_patients[item]]
                item += 1
            # False positives that tie with the excluded one fall with it.
            without_ties, tie = n_shown, k
            while k < n_fps and tie > 0 and fp_scores[tie - 1] == fp_scores[k]:
                tie -= 1
                without_ties -= weight[fp_patients[tie]]
            shown[replicate, t, 0] = found[0]
            shown[replicate, t, 1] = found[1]
            shown[replicate, t, 2] = without_ties
            excluded[replicate, t] = k
        for item in range(n_items):
            times = weight[item_patients[item]]
            total[item_is_image[item]] += times
            total[2 + item_is_image[item]] += times * item_reached[item]


@kernel
def _pass_targets(model: int, n_shown: int, place: float, allowed: Ints, limits: Floats, n_met: Ints) -> int:
    """Note ``place`` as the limit of every target that ``n_shown`` exceeds; return what the next one allows."""
    while n_met[model] < len(allowed) and n_shown > allowed[n_met[model]]:
        limits[model, n_met[model]] = place
        n_met[model] += 1
    return allowed[n_met[model]] if n_met[model] < len(allowed) else NEVER


@kernel
def permuted_differences(
    swaps: Bytes,
    n_images: int,
    fp_places: Floats,
    fp_models: Bytes,
    fp_patients: Ints32,
    item_places: Floats,
    item_patients: Ints32,
    item_is_image: Bytes,
    fp_targets: Floats,
    out: Ints,
) -> int:
    """Swap the two models in whole patients and count second minus first, GTs and images found.

    ``fp_places`` of both models together ascend; ``item_places[item, model]`` is on the same scale.
    ``out[permutation, target]`` = (GTs, images). Returns how many permutations used up all false positives.
    """
    n_targets = len(fp_targets)
    allowed = np.empty(n_targets, dtype=np.int64)
    for t in range(n_targets):
        allowed[t] = _allowed_fps(fp_targets[t], n_images)
    limits = np.empty((2, n_targets))
    n_met = np.empty(2, dtype=np.int64)
    exhausted = 0
    for permutation in range(swaps.shape[0]):
        swap = swaps[permutation]
        # Every place but that of a missed target (infinity) lies below a limit that no false positive sets.
        limits[:] = np.finfo(np.float64).max
        n_met[:] = 0
        n_second = 0
        next_first, next_second = allowed[0], allowed[0]
        for k in range(len(fp_places)):
            n_second += fp_models[k] ^ swap[fp_patients[k]]
            n_first = k + 1 - n_second
            if n_first > next_first:
                next_first = _pass_targets(0, n_first, fp_places[k], allowed, limits, n_met)
            elif n_second > next_second:
                next_second = _pass_targets(1, n_second, fp_places[k], allowed, limits, n_met)
            else:
                continue
            if n_met[0] == n_targets and n_met[1] == n_targets:
                break
        exhausted += n_met[0] < n_targets or n_met[1] < n_targets
        out[permutation] = 0
        for item in range(len(item_patients)):
            swapped = swap[item_patients[item]]
            first = item_places[item, swapped]
            second = item_places[item, 1 - swapped]
            for t in range(n_targets):
                found = int(second < limits[1, t]) - int(first < limits[0, t])
                out[permutation, t, item_is_image[item]] += found
    return exhausted


@kernel
def mark_strongest(places: Floats, order: Ints, starts: Ints) -> NDArray[np.bool_]:
    """Whether each detection lies on no stronger one that is shown.

    ``places`` are x, y and radius; ``order`` lists the detections image by image, the strongest first, and image m
    has ``order[starts[m] : starts[m + 1]]``.
    """
    shown = np.zeros(len(places), dtype=np.bool_)
    for m in range(len(starts) - 1):
        for i in range(starts[m], starts[m + 1]):
            one = order[i]
            alone = True
            for k in range(starts[m], i):
                other = order[k]
                if shown[other]:
                    dx, dy = places[one, 0] - places[other, 0], places[one, 1] - places[other, 1]
                    reach = max(places[one, 2], places[other, 2])
                    if dx * dx + dy * dy < reach * reach:
                        alone = False
                        break
            shown[one] = alone
    return shown


@kernel
def sum_cross_entropy(z: Floats, y: Floats, weight: Floats, intercept: float, slope: float) -> Floats:
    """Sum over bags the weighted soft cross-entropy of intercept + slope z, its gradient (2) and curvature (3)."""
    loss, first, second, flat, mixed, steep = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(z)):
        w = weight[i]
        # A third of the patients are not in a bootstrap's replicate.
        if w == 0.0:
            continue
        margin = intercept + slope * z[i]
        small = np.exp(-abs(margin))
        fitted = 1.0 / (1.0 + small) if margin >= 0.0 else small / (1.0 + small)
        loss += w * (max(margin, 0.0) + np.log1p(small) - y[i] * margin)
        error, bend = w * (fitted - y[i]), w * small / ((1.0 + small) * (1.0 + small))
        first += error
        second += error * z[i]
        flat += bend
        mixed += bend * z[i]
        steep += bend * z[i] * z[i]
    return np.array([loss, first, second, flat, mixed, steep])


@kernel
def sum_fitted(z: Floats, weight: Floats, offset: float) -> tuple[float, float]:
    """Sum over bags the weighted sigma(offset + z), and its derivative by the offset."""
    total, rise = 0.0, 0.0
    for i in range(len(z)):
        w = weight[i]
        if w == 0.0:
            continue
        small = np.exp(-abs(offset + z[i]))
        total += w * (1.0 if offset + z[i] >= 0.0 else small) / (1.0 + small)
        rise += w * small / ((1.0 + small) * (1.0 + small))
    return total, rise
