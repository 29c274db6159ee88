"""One scale for the scores of several models: the false positives per image at which a candidate begins to be shown.

In cross-validation every fold has a model of its own, whose scores cannot be compared with those of another. What can
be compared is where each model's locked thresholds lie. With s a score of a model, and c(t) the false positives per
image at threshold t on the set that locks its thresholds, the scale is

    -c(s'), s' the largest score of that set that is not above s.

The threshold locked for f false positives per image is the lowest score t of that set with c(t) <= f; so a score is
at or above it just when its place on the scale is at or above -f, for every model and every f. Scores of all folds
together, cut at -f, are therefore each fold cut at its own locked threshold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from overread.errors import InvalidInputError
from overread.froc.curve import froc_curve
from overread.froc.matching import Matching

__all__ = ["place_on_fp_scale"]

# Below every score of the set that locks thresholds nothing is shown, however many false positives are allowed.
NEVER_SHOWN = 1e3
# Steps of the scale are 1 / images; this spreads equal places by their scores and is far below any step.
SPREAD = 1e-8


def place_on_fp_scale(source: Matching, scores: ArrayLike) -> NDArray[np.float64]:
    """Minus the false positives per image at which each score begins to be shown.

    Parameters
    ----------
    source
        The set that locks thresholds, scored by the same model or by models of the same making (out of fold).
    scores
        Of other candidates. Their order is kept, equal ones stay equal.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidInputError("scores: need a row of finite numbers")
    curve = froc_curve(source)
    fp_per_image = np.concatenate([[curve.fp_per_image[-1] + NEVER_SHOWN], curve.fp_per_image[::-1]])
    places = -fp_per_image[np.searchsorted(curve.thresholds[::-1], values, side="right")]
    return places + SPREAD * rankdata(values, method="dense") / max(len(values), 1)
