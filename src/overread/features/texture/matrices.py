"""The way from levels to the features of one matrix family."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.features.texture._kernels import matrix_features, n_log_n_table
from overread.features.texture.levels import bordered

# Where the five families stand in the 79 numbers of the kernel.
PARTS = {"glcm": (0, 25), "glrlm": (25, 41), "glszm": (41, 57), "ngldm": (57, 74), "ngtdm": (74, 79)}


def features_of(
    family: str, formulas: Mapping[str, str], levels: ArrayLike, n_levels: int | None, distance: int = 1
) -> dict[str, float]:
    """Compute one family on levels."""
    padded, n_pixels, n_levels = bordered(levels, n_levels)
    if not 1 <= distance < max(padded.shape):
        raise InvalidInputError(f"distance: {distance}; give 1 to the longer side of the image.")
    wanted = np.array([name == family for name in PARTS])
    out: NDArray[np.float64] = np.zeros(79)
    table = n_log_n_table(min(4096, 2 * padded.size))
    matrix_features(padded, n_pixels, n_levels, distance, table, wanted, out)
    start, end = PARTS[family]
    return dict(zip(formulas, out[start:end].tolist(), strict=True))
