"""Random masked regions of the golden texture values, made the same in both environments."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Shape, number of levels, share of pixels kept, passes of smoothing.
CASES = {
    "whole": ((24, 30), 8, 1.0, 1),
    "holes": ((28, 22), 8, 0.8, 2),
    "sparse": ((20, 20), 6, 0.5, 1),
    "fine": ((40, 36), 32, 0.9, 3),
    "disc": ((32, 32), 16, 0.0, 2),
}


@dataclass(frozen=True, eq=False)
class Region:
    """Levels 1 to n in the mask, 0 outside."""

    levels: NDArray[np.int64]
    mask: NDArray[np.bool_]
    n_levels: int

    def checksum(self) -> str:
        """First digits of the hash of the levels."""
        return hashlib.sha256(self.levels.astype("<i8").tobytes()).hexdigest()[:16]


def make_region(name: str) -> Region:
    """Region of a case: whole-numbered noise, smoothed by sums of neighbours, cut into equal bins.

    Whole numbers only, so that every version of NumPy gives the same levels.
    """
    shape, n_levels, kept, passes = CASES[name]
    rng = np.random.default_rng(list(name.encode()))
    image = rng.integers(0, 1000, shape)
    for _ in range(passes):
        image = (
            2 * image
            + np.roll(image, 1, 0)
            + np.roll(image, -1, 0)
            + np.roll(image, 1, 1)
            + np.roll(image, -1, 1)
        )
    if kept:
        mask = rng.integers(0, 1000, shape) < 1000 * kept
    else:
        y, x = np.indices(shape) - 16
        mask = y * y + x * x <= 14 * 14
    inside = image[mask]
    low, high = int(inside.min()), int(inside.max())
    levels = np.minimum(n_levels * (image - low) // (high - low), n_levels - 1) + 1
    return Region(np.where(mask, levels, 0), mask, n_levels)
