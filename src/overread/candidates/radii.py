"""Radius of a candidate: that of the disc which stands out most from the ring around it.

With d(r) the mean of the disc of radius r, m(r) and s(r) mean and deviation of the ring from 1.1 r to 1.8 r, the
disc that maximizes (d - m) / (s + 0.01) is sought. A nodule fades towards its border and drowns in what is around
it, so its radius is larger than that of the disc: `NODULE_PER_DISC` is the median ratio of 238 nodules of contrast
to noise 1.2 to 3.4 inserted into real radiographs; without noise it is nearer to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.candidates._kernels import sample_polar
from overread.candidates.pyramid import blur_reflecting

__all__ = ["measure_radii"]

FloatArray = NDArray[np.float64]

# Only `NODULE_PER_DISC` was fitted, as said above; no measurement behind discs and rings is on record.
DISCS_MM = np.geomspace(1.5, 22.0, 24)
RING = (1.1, 1.8)
LARGEST_DISC_MM = 12.0
N_DIRECTIONS = 32
SMOOTHING_MM = 0.7
SPREAD_FLOOR = 0.01
NODULE_PER_DISC = 1.42


def measure_radii(
    pixels: NDArray[np.float32], x_mm: FloatArray, y_mm: FloatArray, mm_per_px: float
) -> FloatArray:
    """Measure the radii in mm of the candidates at these places.

    Parameters
    ----------
    pixels
        The radiograph.
    x_mm, y_mm
        Centres.
    mm_per_px
        Side of a pixel.
    """
    image = blur_reflecting(pixels, SMOOTHING_MM / mm_per_px)
    samples = np.empty((len(x_mm), N_DIRECTIONS, len(DISCS_MM)))
    sample_polar(image, x_mm / mm_per_px - 0.5, y_mm / mm_per_px - 0.5, DISCS_MM / mm_per_px, samples)
    profile, area = samples.mean(axis=1), DISCS_MM**2
    disc = np.cumsum(profile * area, axis=1) / np.cumsum(area)
    contrast = np.full(profile.shape, -np.inf)
    for k, radius in enumerate(DISCS_MM):
        ring = (radius * RING[0] < DISCS_MM) & (radius * RING[1] >= DISCS_MM)
        if radius <= LARGEST_DISC_MM:
            spread = samples[:, :, ring].std(axis=(1, 2)) + SPREAD_FLOOR
            contrast[:, k] = (disc[:, k] - profile[:, ring].mean(axis=1)) / spread
    return np.asarray(NODULE_PER_DISC * DISCS_MM[contrast.argmax(axis=1)])
