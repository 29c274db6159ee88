"""Gaussian smoothing of planes, wide ones on a coarse grid, and inside a region only."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["smooth", "smooth_inside"]

Map = NDArray[np.float32]

# Wider Gaussians are computed on a grid on which they have this width: the error stays below 1 % of an edge (the
# Gaussian has lost all but exp(-2 pi^2 4^2 / 4) of what such a grid cannot carry).
COARSE_SIGMA = 4.0
# Share of the Gaussian that has to lie in the region; below it the mean of so few pixels is noise.
LEAST_SHARE = 1e-3


def smooth(plane: Map, sigma_px: float) -> Map:
    """Smooth by a Gaussian, reflected at the border."""
    factor = max(int(sigma_px / COARSE_SIGMA), 1)
    rows, columns = plane.shape
    if factor == 1 or min(rows, columns) < 8 * factor:
        return blur(plane, sigma_px)
    size = -(-columns // factor), -(-rows // factor)
    coarse = cv2.resize(plane, size, interpolation=cv2.INTER_AREA)
    scale = size[0] / columns
    wide = blur(coarse, sigma_px * scale)
    return np.asarray(cv2.resize(wide, (columns, rows), interpolation=cv2.INTER_CUBIC), dtype=np.float32)


def blur(plane: Map, sigma_px: float) -> Map:
    """Smooth on the plane's own grid."""
    return np.asarray(
        cv2.GaussianBlur(plane, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT), dtype=np.float32
    )


def smooth_inside(plane: Map, region: NDArray[np.bool_], sigma_px: float) -> Map:
    """Mean of the plane over the region, weighted by a Gaussian around each pixel; the plane where none is near."""
    inside = region.astype(np.float32)
    share = smooth(inside, sigma_px)
    total = smooth(np.where(region, plane, 0).astype(np.float32), sigma_px)
    return np.divide(total, share, out=plane.copy(), where=share > LEAST_SHARE)
