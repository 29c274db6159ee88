"""Operating points: thresholds from one set of images, carried to another, and locked in a file.

The paper fixes thresholds on training + validation at 0.5, 1, ..., 3 FP per image and carries them to the
test set, where they *induce* another FP per image (section 6.2, Table 1). Thresholds from scores of the
very cases that trained the model sit too low on unseen cases; pass out-of-fold scores of the same cases to
avoid that.
"""

from __future__ import annotations

import pandas as pd
from numpy.typing import ArrayLike

from overread.froc.curve import froc_curve, performance_at, sensitivity_at
from overread.froc.defaults import FP_TARGETS
from overread.froc.matching import Matching

__all__ = ["operating_points"]


def operating_points(
    source: Matching, carried_to: Matching | None = None, *, fp_targets: ArrayLike = FP_TARGETS
) -> pd.DataFrame:
    """Thresholds of ``source`` at FP targets, and what they give there and on another set.

    The threshold is the lowest score of ``source`` whose FP per image does not exceed the target. It is
    infinite, and nothing is shown, where even the best score exceeds it.

    Parameters
    ----------
    source
        The set that fixes the thresholds, with in-sample or out-of-fold scores.
    carried_to
        The set they are carried to.
    fp_targets
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
