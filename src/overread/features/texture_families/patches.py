"""The patch around a candidate: what is fixed, and why.

A patch is 63 x 63 points, 0.7 mm apart (44 mm), around the pixel nearest to the candidate; on the default grid
the points are the pixels. The side is odd, so that a mirrored image gives the mirrored patch. It holds a nodule
of 30 mm with its surroundings, and pairs of pixels up to 24 points (17 mm) apart. Filters see a margin of 30
points more. Outside the image the nearest pixel is repeated. Values beyond +-1e6 are clipped: the 1st and 99th
percentile of a radiograph are 0 and 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.images.radiograph import GRID_MM, Radiograph

__all__ = ["PATCH_MM", "as_float32", "points_per_pixel"]

PATCH_MM = 63 * GRID_MM


def points_per_pixel(radiograph: Radiograph) -> float:
    """Distance of neighbouring points of a patch in pixels of the radiograph; 1 on the default grid."""
    step = GRID_MM / radiograph.mm_per_px
    return 1.0 if abs(step - 1.0) < 1e-9 else step


def as_float32(answers: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round to float32; what does not fit is clipped to the largest number that does."""
    limits = np.finfo(np.float32)
    return np.clip(answers, limits.min, limits.max).astype(np.float32)
