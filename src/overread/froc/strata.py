"""Results by kind of lesion (size, number of readers, any column of the truth table) and by group of images."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError, TableError
from overread.froc.bootstraps import bootstrap
from overread.froc.curve import MEASURES
from overread.froc.defaults import LEVEL, N_BOOTSTRAP
from overread.froc.matching import Matching

__all__ = ["lesion_sizes_mm", "only_targets", "performance_by", "sensitivity_by"]


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
    matching
        One model on one set of images.
    by
        Column of the truth table, or one value per target. ``lesion_sizes_mm(matching)`` gives sizes.
    fp_target, threshold
        The operating point, one of the two: FP per image with the threshold estimated anew in each replicate,
        or a locked threshold.
    bins
        Edges for a numeric ``by``; strata are ``[edge, next edge)``, and no target may lie outside.
    n_bootstrap, level, seed
        Of the bootstrap over patients.

    Returns
    -------
    DataFrame
        stratum, n_gts, n_reached, then for each of the four measures its value, ``_lower`` and ``_upper``.
    """
    if (fp_target is None) == (threshold is None):
        raise InvalidInputError("sensitivity_by: give either fp_target or threshold")
    labels = stratum_labels(matching, by, bins)
    rows = []
    for label in sort_labels(labels):
        members = only_targets(matching, (labels == label).to_numpy())
        replicates = bootstrap(
            members,
            fp_targets=[0.0 if fp_target is None else fp_target],
            thresholds=None if threshold is None else [threshold],
            n_bootstrap=n_bootstrap,
            seed=seed,
        )
        row = {"stratum": label, "n_gts": members.n_gts, "n_reached": int(members.gt_reached.sum())}
        intervals = replicates.intervals(level).set_index("measure")
        for measure in MEASURES:
            row[measure] = intervals.loc[measure, "estimate"]
            row[f"{measure}_lower"] = intervals.loc[measure, "lower"]
            row[f"{measure}_upper"] = intervals.loc[measure, "upper"]
        rows.append(row)
    return pd.DataFrame(rows)


def performance_by(
    matching: Matching,
    groups: ArrayLike,
    *,
    threshold: float,
    n_bootstrap: int = N_BOOTSTRAP,
    level: float = LEVEL,
    seed: int = 0,
) -> pd.DataFrame:
    """Sensitivity and false positives in each group of images at one locked threshold.

    Parameters
    ----------
    matching
        One model on one set of images.
    groups
        One value per image, in the order of ``matching.image_ids``.
    threshold
        The same for all groups, as a detector has one.
    n_bootstrap, level, seed
        Of the bootstrap over the patients of each group.

    Returns
    -------
    DataFrame
        stratum, n_images, n_patients, n_gts, then gt_sensitivity and fp_per_image, each with ``_lower`` and
        ``_upper``; NaN for the sensitivity of a group without targets.
    """
    labels = pd.Series(np.asarray(groups))
    if len(labels) != matching.n_images:
        raise InvalidInputError(f"groups: {len(labels)} values for {matching.n_images} images")
    rows = []
    for label in sort_labels(labels):
        members = only_images(matching, (labels == label).to_numpy())
        found = bootstrap(members, thresholds=[threshold], n_bootstrap=n_bootstrap, seed=seed)
        counts = {"n_images": members.n_images, "n_patients": members.n_patients, "n_gts": members.n_gts}
        row: dict[str, object] = {"stratum": label, **counts}
        intervals = found.intervals(level).set_index("measure")
        for measure in ("gt_sensitivity", "fp_per_image"):
            row[measure] = intervals.loc[measure, "estimate"]
            row[f"{measure}_lower"] = intervals.loc[measure, "lower"]
            row[f"{measure}_upper"] = intervals.loc[measure, "upper"]
        rows.append(row)
    return pd.DataFrame(rows)


def lesion_sizes_mm(matching: Matching) -> NDArray[np.float64]:
    """Equal-area diameter 2 sqrt(a b) of each target, in mm."""
    missing = {"semi_major_mm", "semi_minor_mm"} - set(matching.strata.columns)
    if missing:
        raise TableError(f"truth: no column {', '.join(sorted(missing))}")
    return 2.0 * np.sqrt((matching.strata["semi_major_mm"] * matching.strata["semi_minor_mm"]).to_numpy())


def only_targets(matching: Matching, members: NDArray[np.bool_]) -> Matching:
    """Return the same images and false positives with some of the targets."""
    return replace(
        matching,
        gt_scores=matching.gt_scores[members],
        gt_images=matching.gt_images[members],
        gt_reached=matching.gt_reached[members],
        strata=matching.strata[members].reset_index(drop=True),
        geometry=None,
        candidate_scores=None,
    )


def only_images(matching: Matching, members: NDArray[np.bool_]) -> Matching:
    """Return some of the images with their targets and false positives."""
    code = np.cumsum(members) - 1
    patients, patient_codes = np.unique(matching.patients[members], return_inverse=True)
    has_fp, has_gt = members[matching.fp_images], members[matching.gt_images]
    return replace(
        matching,
        image_ids=matching.image_ids[members],
        patients=patient_codes.astype(np.int64),
        patient_ids=None if matching.patient_ids is None else matching.patient_ids[patients],
        fp_scores=matching.fp_scores[has_fp],
        fp_images=code[matching.fp_images[has_fp]],
        gt_scores=matching.gt_scores[has_gt],
        gt_images=code[matching.gt_images[has_gt]],
        gt_reached=matching.gt_reached[has_gt],
        strata=matching.strata[has_gt].reset_index(drop=True),
        geometry=None,
        candidate_scores=None,
    )


def stratum_labels(matching: Matching, by: str | ArrayLike, bins: ArrayLike | None) -> pd.Series:
    """One label per target; missing values are a stratum of their own."""
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


def sort_labels(labels: pd.Series) -> list[object]:
    """Sort labels: numbers and intervals by value, then text, "missing" last."""

    def key(label: object) -> tuple[int, float, str]:
        text = str(label)
        try:
            number = float(text.strip("[)").split(",")[0])
        except ValueError:
            return (2 if text == "missing" else 1, 0.0, text)
        return (0, number, text)

    return sorted(labels.unique(), key=key)
