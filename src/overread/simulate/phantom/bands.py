"""Work on an image band by band of rows, so that what is computed on the way stays in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["by_bands", "row_bands"]

Floats = NDArray[np.float32]

BAND_PIXELS = 32768


def row_bands(shape: tuple[int, ...]) -> list[slice]:
    """Bands of rows that cover an image."""
    n_rows = max(1, BAND_PIXELS // max(1, shape[1]))
    return [slice(start, start + n_rows) for start in range(0, shape[0], n_rows)]


def by_bands(pointwise: Callable[..., NDArray[np.floating]], *images: Floats) -> Floats:
    """Apply to images of one shape a function that treats every pixel by itself."""
    out = np.empty(images[0].shape, dtype=np.float32)
    for rows in row_bands(out.shape):
        out[rows] = pointwise(*(image[rows] for image in images))
    return out
