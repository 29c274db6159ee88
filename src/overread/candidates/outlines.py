"""The outline of a candidate: the closed curve around its centre along which the grey level falls most.

The radiograph, smoothed by a Gaussian of 1 mm, is sampled along 64 rays from the candidate's centre, 16 steps a
radius R. A node at radius r on ray k costs

    -fall(k, r) / rms(fall) + 0.6 (ln(r / R) / ln 1.5)^2 + [outside the lungs though the centre is inside],

where fall is the mean grey level over the three steps inside r minus that over the three steps outside. The
outline is the cheapest closed path through one node a ray, 3/8 R <= r <= 29/16 R, with 1/4 for each step that r
changes from ray to ray, at most two (dynamic programming in polar coordinates, after Timp and Karssemeijer 2004,
doi:10.1118/1.1688039). On a constant patch only the second term is left, and the outline is the circle of radius R.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.anatomy.filters import blur
from overread.anatomy.structures import Anatomy
from overread.candidates._outlines import LAST_NODE, STEPS_PER_RADIUS, fill_outlines
from overread.images import Radiograph

__all__ = ["at_least_two", "draw_outlines", "patch_side", "segment"]

# No measurement behind it is on record.
SMOOTHING_MM = 1.0
LARGEST_OUTLINE = LAST_NODE / STEPS_PER_RADIUS


def segment(radiograph: Radiograph, candidates: pd.DataFrame, anatomy: Anatomy) -> NDArray[np.bool_]:
    """Outline every candidate.

    Parameters
    ----------
    radiograph
        Image on the isotropic grid.
    candidates
        Columns x_mm, y_mm, radius_mm.
    anatomy
        The outline of a candidate inside the lungs avoids leaving them.

    Returns
    -------
    Boolean patches (candidates, side, side), each centred on the pixel nearest to its candidate; side is odd and
    the same for all. The centre pixel is always set, pixels beyond the image never.
    """
    smooth = blur(radiograph.pixels, SMOOTHING_MM / radiograph.mm_per_px)
    column, row = (radiograph.to_pixels(candidates[name].to_numpy(np.float64)) for name in ("x_mm", "y_mm"))
    radius = candidates["radius_mm"].to_numpy(np.float64) / radiograph.mm_per_px
    return draw_outlines(smooth, anatomy.lungs, column, row, radius, side=patch_side(radius))


def patch_side(radius_px: NDArray[np.float64]) -> int:
    """Side of a patch that holds the largest possible outline of each candidate."""
    largest = float(radius_px.max()) if radius_px.size else 1.0
    return 2 * int(np.ceil(LARGEST_OUTLINE * largest + 1.0)) + 1


def at_least_two(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Repeat the only row or column of an image, so that there are two to interpolate between."""
    rows, columns = image.shape
    missing = ((0, max(2 - rows, 0)), (0, max(2 - columns, 0)))
    return np.ascontiguousarray(np.pad(image, missing, mode="edge") if min(image.shape) < 2 else image)


def draw_outlines(
    smooth: NDArray[np.float32],
    lungs: NDArray[np.bool_],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius_px: NDArray[np.float64],
    *,
    side: int,
) -> NDArray[np.bool_]:
    """Outline candidates on an image that is already smoothed; positions and radii in pixels."""
    return fill_outlines(
        at_least_two(smooth),
        np.ascontiguousarray(lungs),
        column,
        row,
        radius_px,
        side,
    )
