"""The FROC curve: sensitivity against false positives per image, over all thresholds.

At threshold t a candidate is shown when its score >= t. Equal scores are one step: no order among them is
invented. Sensitivities are 0/0 = NaN where there is no target.

The paper fixes thresholds on training + validation at 0.5, 1, ..., 3 FP per image and carries them to the
test set, where they *induce* another FP per image (section 6.2, Table 1). Thresholds from scores of the
very cases that trained the model sit too low on unseen cases; pass out-of-fold scores of the same cases to
avoid that.

In cross-validation every fold has a model of its own, whose scores cannot be compared with those of another. What can
be compared is where each model's locked thresholds lie. With s a score of a model, and c(t) the false positives per
image at threshold t on the set that locks its thresholds, the scale is

    -c(s'), s' the largest score of that set that is not above s.

The threshold locked for f false positives per image is the lowest score t of that set with c(t) <= f; so a score is
at or above it just when its place on the scale is at or above -f, for every model and every f. Scores of all folds
together, cut at -f, are therefore each fold cut at its own locked threshold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._defaults import FP_TARGETS
from overread.froc._matching import Matching

Floats = NDArray[np.float64]

MEASURES = ("gt_sensitivity", "image_sensitivity", "gt_sensitivity_reached", "image_sensitivity_reached")
"""Sensitivity of GTs and of images, over all targets and over those that some candidate reaches."""


@short_repr("n_images", "n_gts", "n_gts_reached", "n_positive_images", "thresholds")
@dataclass(frozen=True, slots=True, eq=False)
class FrocCurve:
    """Operating points in the order of falling thresholds; the first, at infinity, accepts nothing.

    Every distinct score of a false positive or of a target's best candidate is one. The sensitivities are found over
    all targets (images with a target), and over those that are reached (:class:`~overread.froc._matching.Sought`).
    """

    thresholds: Floats
    fp_per_image: Floats
    gt_sensitivity: Floats
    image_sensitivity: Floats
    gt_sensitivity_reached: Floats
    image_sensitivity_reached: Floats
    n_images: int
    n_gts: int
    n_gts_reached: int
    n_positive_images: int
    n_positive_images_reached: int

    def to_frame(self) -> pd.DataFrame:
        """Return the points as a table."""
        columns = ("fp_per_image", *MEASURES)
        return pd.DataFrame({"threshold": self.thresholds} | {name: getattr(self, name) for name in columns})


def froc_curve(matching: Matching) -> FrocCurve:
    """Compute every operating point of one model, with both denominators.

    For the other treatment of single-reader GTs:
    ``froc_curve(matching.with_counting(single_reader="fp"))``.
    """
    targets = matching.targets()
    scores = np.concatenate([matching.fp_scores, targets.scores[targets.findable]])
    thresholds = np.concatenate([[np.inf], np.unique(scores)[::-1]])
    return _curve_at(matching, thresholds)


def performance_at(matching: Matching, thresholds: ArrayLike) -> pd.DataFrame:
    """FP per image and sensitivities at given thresholds, one row each in the order given."""
    values = np.asarray(thresholds, dtype=np.float64).ravel()
    if np.isnan(values).any():
        raise InvalidInputError("thresholds: NaN is not a threshold")
    return _curve_at(matching, values).to_frame()


def _curve_at(matching: Matching, thresholds: Floats) -> FrocCurve:
    """Count events at or above each threshold."""
    gts, images = matching.targets(), matching.positive_images()
    n_gts, n_reached = len(gts.scores), int(gts.reached.sum())
    n_positive, n_positive_reached = len(images.scores), int(images.reached.sum())
    found_gts = _count_at(gts.scores[gts.findable], thresholds)
    found_images = _count_at(images.scores[images.findable], thresholds)
    return FrocCurve(
        thresholds=thresholds,
        fp_per_image=_count_at(matching.fp_scores, thresholds) / matching.n_images,
        gt_sensitivity=ratio(found_gts, n_gts),
        image_sensitivity=ratio(found_images, n_positive),
        gt_sensitivity_reached=ratio(found_gts, n_reached),
        image_sensitivity_reached=ratio(found_images, n_positive_reached),
        n_images=matching.n_images,
        n_gts=n_gts,
        n_gts_reached=n_reached,
        n_positive_images=n_positive,
        n_positive_images_reached=n_positive_reached,
    )


def nearest_to(fp: float, fp_targets: Iterable[float]) -> float:
    """Return the FP target that is nearest to a number of false positives per image; of two the smaller."""
    return float(min(fp_targets, key=lambda target: (abs(target - fp), target)))


def sensitivity_at(
    curve: FrocCurve, fp_targets: ArrayLike = FP_TARGETS, *, interpolation: Literal["step", "linear"] = "step"
) -> pd.DataFrame:
    """Sensitivities at given numbers of false positives per image.

    ``"step"`` takes the lowest threshold whose FP per image does not exceed the target, a point that exists.
    ``"linear"`` follows the straight line from that point to the next one. The two differ only where a
    target's score equals a false positive's, since every other piece of the curve is horizontal or
    vertical. Past the last point both give the last point.

    Returns
    -------
    DataFrame
        fp_target, threshold, fp_per_image, then the four :data:`MEASURES`. With ``"linear"`` the threshold
        is that of the step, since no threshold gives the interpolated point.
    """
    targets = check_targets(fp_targets)
    if interpolation not in ("step", "linear"):
        raise InvalidInputError(f"interpolation={interpolation!r}: use 'step' or 'linear'")
    chosen = np.searchsorted(curve.fp_per_image, targets, side="right") - 1
    columns = {
        "fp_target": targets,
        "threshold": curve.thresholds[chosen],
        "fp_per_image": curve.fp_per_image[chosen],
    }
    for name in MEASURES:
        columns[name] = getattr(curve, name)[chosen]
    if interpolation == "linear":
        following = np.minimum(chosen + 1, len(curve.thresholds) - 1)
        step = curve.fp_per_image[following] - curve.fp_per_image[chosen]
        share = np.divide(
            targets - curve.fp_per_image[chosen], step, out=np.zeros_like(targets), where=step > 0
        )
        columns["fp_per_image"] = curve.fp_per_image[chosen] + share * step
        for name in MEASURES:
            values = getattr(curve, name)
            columns[name] = values[chosen] + share * (values[following] - values[chosen])
    return pd.DataFrame(columns)


def check_targets(fp_targets: ArrayLike) -> Floats:
    """Finite targets of FP per image, none negative."""
    targets = np.atleast_1d(np.asarray(fp_targets, dtype=np.float64))
    if targets.ndim != 1 or not len(targets) or not (np.isfinite(targets) & (targets >= 0)).all():
        raise InvalidInputError(f"fp_targets: need finite numbers >= 0, got {fp_targets!r}")
    return targets


def _count_at(scores: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """Count scores at or above each threshold."""
    return np.asarray(len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left"), dtype=np.int64)


def ratio(counts: NDArray[np.int64], total: int) -> Floats:
    """Divide counts by a total; NaN if there is nothing to find."""
    return counts / total if total else np.full(len(counts), np.nan)


def operating_points(
    source: Matching, carried_to: Matching | None = None, *, fp_targets: ArrayLike = FP_TARGETS
) -> pd.DataFrame:
    """Thresholds of ``source`` at FP targets, and what they give there and on another set.

    The threshold is the lowest score of ``source`` whose FP per image does not exceed the target. It is
    infinite, and nothing is shown, where even the best score exceeds it.

    Parameters
    ----------
    source : Matching
        The set that fixes the thresholds, with in-sample or out-of-fold scores.
    carried_to : Matching, optional
        The set they are carried to.
    fp_targets : array-like, default=FP_TARGETS
        FP per image on ``source``.

    Returns
    -------
    DataFrame
        set ("source" or "carried"), fp_target, threshold, fp_per_image (on "carried" rows: the induced one)
        and the four :data:`~overread.froc.MEASURES`.
    """
    points = sensitivity_at(froc_curve(source), fp_targets)
    points.insert(0, "set", "source")
    if carried_to is None:
        return points
    induced = performance_at(carried_to, points["threshold"])
    induced.insert(0, "set", "carried")
    induced.insert(1, "fp_target", points["fp_target"].to_numpy())
    return pd.concat([points, induced], ignore_index=True)


# Below every score of the set that locks thresholds nothing is shown, however many false positives are allowed.
NEVER_SHOWN = 1e3
# Steps of the scale are 1 / images; this spreads equal places by their scores and is far below any step.
SPREAD = 1e-8


def to_fp_scale(source: Matching, scores: ArrayLike) -> NDArray[np.float64]:
    """Minus the false positives per image at which each score begins to be shown; order and ties are kept.

    ``source`` locks thresholds, scored by the same model or by models of the same making (out of fold).
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidInputError("scores: need a row of finite numbers")
    curve = froc_curve(source)
    fp_per_image = np.concatenate([[curve.fp_per_image[-1] + NEVER_SHOWN], curve.fp_per_image[::-1]])
    places = -fp_per_image[np.searchsorted(curve.thresholds[::-1], values, side="right")]
    return places + SPREAD * rankdata(values, method="dense") / max(len(values), 1)
