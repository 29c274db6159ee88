"""The generic finder: bright or dark blobs (equal curvature in every direction) at several scales.

At scale s the response of a bright blob is the smaller of the two curvatures -s^2 k of the picture smoothed by a
Gaussian of s (for a dark one +s^2 k). A line, such as a vessel, is curved in one direction only: its smaller curvature
is near 0, where a difference of Gaussians answers to it as to a blob (on dark lesions of the retina the smaller
curvature reached .81 of the consensus objects with 150 candidates, the difference of Gaussians .38).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.domains._scale_space import candidate_table, find_blobs, keep_apart, second_derivatives
from overread.domains.picture._image import PictureImage, smooth
from overread.errors import InvalidInputError
from overread.features import EPSILON

Map = NDArray[np.float32]
Polarity = Literal["bright", "dark", "both"]

# Steps of the scales: the response of a blob falls by 4 % at most between two of them.
SCALE_STEP = sqrt(2.0)
# A response that counts as nothing, in deviations of the region.
FLOOR = 0.02
# Peaks of one scale that are considered, in units of the limit: without duplicates, far fewer are left.
PEAKS_PER_LIMIT = 4
# Centres nearer than this share of the larger radius are one place. Chosen by the recall of golden red lesions on the
# 28 training images of DIARETDB1, 250 candidates an image: .86 with 0.7, .89 with 1, .91 with 1.4.
APART_SHARE = 1.4


@dataclass(frozen=True)
class BlobFinder:
    """Finds blobs in a picture.

    Attributes
    ----------
    polarity : {'bright', 'dark', 'both'}, default='both'
        "bright", "dark" or "both".
    smallest, largest
        Radii that are sought.
    """

    polarity: Polarity = "both"
    smallest: float = 0.5
    largest: float = 1.4

    name = "blobs"
    version = "1"

    def __post_init__(self) -> None:
        if self.polarity not in ("bright", "dark", "both"):
            raise InvalidInputError(f"polarity {self.polarity!r} does not exist; use bright, dark or both")
        if not 0 < self.smallest <= self.largest < float("inf"):
            raise InvalidInputError(
                f"radii from {self.smallest} to {self.largest}: the smallest has to be above 0, the largest "
                "not below it"
            )

    @property
    def scales(self) -> list[float]:
        """Scales; a blob of radius r answers most at about r / sqrt(2)."""
        n_steps = int(np.ceil(np.log(self.largest / self.smallest) / np.log(SCALE_STEP)))
        return [self.smallest / sqrt(2) * SCALE_STEP**step for step in range(n_steps + 1)]

    def __call__(self, field: PictureImage, regions: Any = None, *, limit: int) -> pd.DataFrame:
        """Find at most `limit` candidates, by falling response; lengths are in the unit of the picture."""
        parts = [
            self._find_at(field, sigma, sign, limit)
            for sigma in self.scales
            for sign in {"bright": (-1.0,), "dark": (1.0,), "both": (-1.0, 1.0)}[self.polarity]
        ]
        x, y, radius, response = np.concatenate(parts, axis=1)
        order = np.lexsort((x, y, radius, -response))
        kept = keep_apart(x, y, APART_SHARE * radius, order, limit)
        return candidate_table(x[kept], y[kept], radius[kept], response[kept])

    def _find_at(self, field: PictureImage, sigma: float, sign: float, limit: int) -> NDArray[np.float64]:
        """Rows of x, y, radius and response of the blobs of one scale and polarity."""
        small, _ = measure_curvatures(field.even, sigma / field.mm_per_px, sign)
        # In units of what is usual at this scale, so that coarse structure does not outweigh small lesions.
        small /= np.float32(np.abs(small[field.region]).mean()) + np.float32(EPSILON)
        where = field.region & (small > FLOOR)
        return find_blobs(small, where, field.mm_per_px, sigma, limit=PEAKS_PER_LIMIT * limit)


def radii_from_marks(radii: NDArray[np.float64]) -> tuple[float, float]:
    """Return the radii to seek, from the readers' marks: the 10th to the 50th percentile.

    Larger marks are mostly rings around several lesions. On the training images of DIARETDB1 these are 0.5 to 1.3 mm
    for red lesions and 0.5 to 3.7 mm for hard exudates (at 0.1 mm a pixel); wider ranges reached fewer objects.
    """
    low, high = np.quantile(radii, [0.1, 0.5])
    return float(low), float(high)


def measure_curvatures(plane: Map, sigma_px: float, sign: float) -> tuple[Map, Map]:
    """Return the smaller and the larger curvature sign s^2 k of the smoothed plane; -1 makes bright blobs positive."""
    smoothed = smooth(plane, sigma_px)
    scale = sign * sigma_px * sigma_px
    xx, yy, xy = (scale * one for one in second_derivatives(smoothed, 0.25, border=cv2.BORDER_REFLECT))
    mean, gap = (xx + yy) / 2, np.sqrt(((xx - yy) / 2) ** 2 + xy**2)
    return np.asarray(mean - gap, dtype=np.float32), np.asarray(mean + gap, dtype=np.float32)
