"""Results by kind of lesion (size, number of readers, any column of the truth table) and by group of images.

And the chance level of a hit rule: a generous rule and many candidates reach GTs that they know nothing of. Here every
image gets the candidates, with their scores, of another image of the study. The number of candidates, their places in
the chest, their scores and hence the number shown per image stay as they are; only the tie between candidate and GT is
cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread._terminal import count_steps
from overread._text import short_repr
from overread.errors import InvalidInputError, TableError
from overread.froc._bootstrap import Bootstrap, bootstrap
from overread.froc._counting import Counting
from overread.froc._curve import MEASURES, operating_points, performance_at
from overread.froc._defaults import CHANCE_SHIFTS, FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.froc._matching import Matching, candidate_scores, check_image_ids, image_codes, match_detections
from overread.tables import LengthUnit, find_radii, name_lengths, plain, unit_of


def sensitivity_by(
    matching: Matching,
    by: str | ArrayLike,
    *,
    fp_target: float | None = None,
    threshold: float | None = None,
    bins: ArrayLike | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    level: float = LEVEL,
    seed: int = 0,
) -> pd.DataFrame:
    """Sensitivity of the targets of each stratum at one operating point.

    False positives have no stratum: every stratum is judged at the same threshold, that of all false
    positives.

    Parameters
    ----------
    matching : Matching
        One model on one set of images.
    by : str or array-like
        Column of the truth table, or one value per target. ``lesion_sizes(matching)`` gives sizes.
    fp_target, threshold : float, optional
        The operating point, one of the two: FP per image with the threshold estimated again in each replicate,
        or a locked threshold.
    bins : array-like, optional
        Edges for a numeric ``by``; strata are ``[edge, next edge)``, and no target may lie outside.
    n_bootstrap, level, seed
        Replicates, level and seed of the bootstrap over patients.

    Returns
    -------
    DataFrame
        stratum, n_gts, n_reached, then for each of the four measures its value, ``_lower`` and ``_upper``.
    """
    if (fp_target is None) == (threshold is None):
        raise InvalidInputError("sensitivity_by: give either fp_target or threshold")
    labels = _stratum_labels(matching, by, bins)
    where = {"fp_targets": [fp_target]} if threshold is None else {"thresholds": [threshold]}
    rows = []
    for label in _sort_labels(labels):
        members = only_targets(matching, (labels == label).to_numpy())
        found = bootstrap(members, n_bootstrap=n_bootstrap, seed=seed, **where)
        counts = {"n_gts": members.n_gts, "n_reached": int(members.gt_reached.sum())}
        rows.append({"stratum": label, **counts, **_with_limits(found, MEASURES, level)})
    return pd.DataFrame(rows)


def _with_limits(found: Bootstrap, measures: Sequence[str], level: float) -> dict[str, float]:
    """Return each measure of a bootstrap at one point, its lower and its upper end."""
    row: dict[str, float] = {}
    for measure in measures:
        ends = found.interval_of(measure, level)
        row[measure] = found.points[measure].iloc[0]
        row[f"{measure}_lower"], row[f"{measure}_upper"] = (end[0] for end in ends)
    return row


def performance_by(
    matching: Matching,
    groups: ArrayLike,
    *,
    threshold: float,
    n_bootstrap: int = N_BOOTSTRAP,
    level: float = LEVEL,
    seed: int = 0,
) -> pd.DataFrame:
    """Sensitivity and false positives in each group of images at one locked threshold, with intervals.

    ``groups`` has one value per image, in the order of ``matching.image_ids``. The sensitivity of a group without
    targets is NaN.
    """
    labels = pd.Series(np.asarray(groups))
    if len(labels) != matching.n_images:
        raise InvalidInputError(f"groups: {len(labels)} values for {matching.n_images} images")
    rows = []
    for label in _sort_labels(labels):
        members = _only_images(matching, (labels == label).to_numpy())
        found = bootstrap(members, thresholds=[threshold], n_bootstrap=n_bootstrap, seed=seed)
        counts = {"n_images": members.n_images, "n_patients": members.n_patients, "n_gts": members.n_gts}
        limits = _with_limits(found, ("gt_sensitivity", "fp_per_image"), level)
        rows.append({"stratum": label, **counts, **limits})
    return pd.DataFrame(rows)


def lesion_sizes(matching: Matching) -> NDArray[np.float64]:
    """Equal-area diameter 2 sqrt(a b) of each target, in the unit of the tables."""
    unit = unit_of(matching.strata.columns, "truth") or "mm"
    objects, _ = plain(matching.strata, unit, "truth")
    missing = {"semi_major", "semi_minor"} - set(objects)
    if missing:
        raise TableError(f"truth: no column {', '.join(name_lengths(sorted(missing), unit))}")
    return 2.0 * find_radii(objects)


def only_targets(matching: Matching, members: NDArray[np.bool_]) -> Matching:
    """Return the same images and false positives with some of the targets."""
    columns = ("gt_scores", "gt_images", "gt_reached")
    return replace(
        matching,
        **{name: getattr(matching, name)[members] for name in columns},
        strata=matching.strata[members].reset_index(drop=True),
        geometry=None,
        candidate_scores=None,
    )


def _only_images(matching: Matching, members: NDArray[np.bool_]) -> Matching:
    """Return some of the images with their targets and false positives."""
    code = np.cumsum(members) - 1
    patients, patient_codes = np.unique(matching.patients[members], return_inverse=True)
    has_fp = members[matching.fp_images]
    kept = only_targets(matching, members[matching.gt_images])
    return replace(
        kept,
        image_ids=matching.image_ids[members],
        patients=patient_codes.astype(np.int64),
        patient_ids=None if matching.patient_ids is None else matching.patient_ids[patients],
        fp_scores=matching.fp_scores[has_fp],
        fp_images=code[matching.fp_images[has_fp]],
        gt_images=code[kept.gt_images],
    )


def _stratum_labels(matching: Matching, by: str | ArrayLike, bins: ArrayLike | None) -> pd.Series:
    """One label per target; missing values form a stratum."""
    if isinstance(by, str):
        if by not in matching.strata.columns:
            raise TableError(
                f"truth: no column {by!r}; it has {', '.join(map(str, matching.strata.columns))}"
            )
        values = matching.strata[by]
    else:
        values = pd.Series(np.asarray(by))
    if len(values) != matching.n_gts:
        raise InvalidInputError(f"by: {len(values)} values for {matching.n_gts} targets")
    values = values.reset_index(drop=True)
    if bins is None:
        return values.astype(object).where(values.notna(), "missing")
    edges = [float(edge) for edge in np.asarray(bins, dtype=np.float64)]
    names = [f"[{low:g}, {high:g})" for low, high in pairwise(edges)]
    cut = pd.Series(pd.cut(values.to_numpy(np.float64), edges, right=False, labels=names))
    outside = cut.isna() & values.notna()
    if outside.any():
        raise InvalidInputError(f"bins: {values[outside].iloc[0]} lies outside {edges[0]:g} to {edges[-1]:g}")
    return cut.astype(object).where(cut.notna(), "missing")


def _sort_labels(labels: pd.Series) -> list[object]:
    """Sort labels: numbers and intervals by value, then text, "missing" last."""

    def key(label: object) -> tuple[int, float, str]:
        text = str(label)
        try:
            number = float(text.strip("[)").split(",")[0])
        except ValueError:
            return (2 if text == "missing" else 1, 0.0, text)
        return (0, number, text)

    return sorted(labels.unique(), key=key)


@short_repr("reached", "chance_reached", "n_shifts", "exact", "points")
@dataclass(frozen=True, slots=True, eq=False)
class ChanceLevel:
    """Sensitivities, and those of candidates moved to other images, at the same thresholds.

    Reached is the share of targets that any candidate, and any moved candidate, hits. Exact: every GT met the
    candidates of every other image, in ``n_shifts`` pairings.
    """

    points: pd.DataFrame
    reached: float
    chance_reached: float
    n_shifts: int
    exact: bool


def chance_level(
    candidates: pd.DataFrame,
    truth: pd.DataFrame,
    images: pd.DataFrame,
    *,
    scores: str | ArrayLike | pd.DataFrame = "score",
    counting: Counting | None = None,
    fp_targets: ArrayLike = FP_TARGETS,
    n_shifts: int | None = CHANCE_SHIFTS,
    seed: int = 0,
    unit: LengthUnit | None = None,
) -> ChanceLevel:
    """Compute the expected sensitivity of the same candidates on other images.

    Images are put into a seeded random order; shift s gives image i the candidates of image i + s. The n - 1
    shifts of n images pair every two images once, so their mean is the exact expectation; fewer shifts,
    drawn without replacement, estimate it without bias. Coordinates are taken as they are, so the images
    should show the same region in about the same frame.

    Parameters
    ----------
    candidates, truth, images, scores, counting, unit
        As for :func:`~overread.froc.match_detections`.
    fp_targets : array-like, default=FP_TARGETS
        FP per image of the real candidates, which fix the thresholds.
    n_shifts : int, default=CHANCE_SHIFTS
        Number of shifts; None or more than n - 1: all of them.
    seed : int, default=0
        Seed of the order and of the choice of shifts.
    """
    image_ids = check_image_ids(images)
    if len(image_ids) < 2:
        raise InvalidInputError("chance_level: needs at least two images")
    if n_shifts is not None and n_shifts < 1:
        raise InvalidInputError(f"n_shifts={n_shifts}: need at least 1")
    values = candidate_scores(scores, candidates)
    real = match_detections(candidates, truth, images, scores=values, counting=counting, unit=unit)
    points = operating_points(real, fp_targets=fp_targets).drop(columns="set")
    codes = image_codes("candidates", candidates, pd.Index(image_ids))

    generator = np.random.default_rng(seed)
    order = generator.permutation(len(image_ids))
    place = np.argsort(order)
    all_shifts = np.arange(1, len(image_ids))
    exact = n_shifts is None or n_shifts >= len(all_shifts)
    shifts = all_shifts if exact else generator.choice(all_shifts, size=n_shifts, replace=False)

    both = ["gt_sensitivity", "image_sensitivity"]
    found, reached = np.zeros((len(points), 2)), 0.0
    for shift in count_steps("shifts of the candidates", shifts):
        hosts = image_ids[order[(place[codes] - shift) % len(order)]]
        moved = match_detections(
            candidates.assign(image_id=hosts), truth, images, scores=values, counting=counting, unit=unit
        )
        found += performance_at(moved, points["threshold"])[both].to_numpy()
        reached += _reached_share(moved)
    found /= len(shifts)
    return ChanceLevel(
        points=points[["fp_target", "threshold", *both]].assign(
            chance_gt_sensitivity=found[:, 0], chance_image_sensitivity=found[:, 1]
        ),
        reached=_reached_share(real),
        chance_reached=reached / len(shifts),
        n_shifts=len(shifts),
        exact=exact,
    )


def _reached_share(matching: Matching) -> float:
    """Share of targets that some candidate hits; NaN without targets."""
    return float(matching.gt_reached.mean()) if matching.n_gts else float("nan")
