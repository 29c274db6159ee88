"""The table that every candidate finder returns."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["candidate_table"]

FloatArray = NDArray[np.float64]

# Micrometres: far below a pixel.
LENGTH_DIGITS = 3
RESPONSE_DIGITS = 6


def candidate_table(
    x_mm: FloatArray, y_mm: FloatArray, radius_mm: FloatArray, response: FloatArray
) -> pd.DataFrame:
    """Make the table of one image's candidates, numbered in the order in which they are given.

    Parameters
    ----------
    x_mm, y_mm
        Centres, from the top-left corner of the image.
    radius_mm
        Radii.
    response
        How suspicious each is; it must not rise from row to row.
    """
    return pd.DataFrame(
        {
            "candidate_id": pd.array([f"{number:04d}" for number in range(1, len(x_mm) + 1)], dtype="str"),
            "x_mm": x_mm.round(LENGTH_DIGITS),
            "y_mm": y_mm.round(LENGTH_DIGITS),
            "radius_mm": radius_mm.round(LENGTH_DIGITS),
            "response": response.round(RESPONSE_DIGITS),
        }
    )
