"""Compiled quantization."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel


@kernel
def quantize_into(
    image: NDArray[np.floating],
    mask: NDArray[np.bool_],
    low: float,
    high: float,
    n_bins: int,
    levels: NDArray[np.uint16],
) -> None:
    """Write levels 1 to n_bins of equal width from low to high, clipped, into a bordered array; 0 outside."""
    rows, columns = image.shape
    width = high - low if high > low else 1.0
    top = n_bins - 1.0
    for y in range(rows):
        for x in range(columns):
            level = min(max(n_bins * ((image[y, x] - low) / width), 0.0), top)
            levels[y + 1, x + 1] = np.int32(level) + np.int32(1) if mask[y, x] else np.int32(0)
