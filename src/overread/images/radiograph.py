"""The radiograph that every later stage works on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from overread.one_line import print_as_one_line

__all__ = ["GRID_MM", "Radiograph", "SpacingSource"]

GRID_MM = 0.7
"""Pixel of the grid on which the stages work, in mm."""


class SpacingSource(StrEnum):
    """Where the size of a pixel was read."""

    PIXEL_SPACING = "PixelSpacing"
    IMAGER_PIXEL_SPACING = "ImagerPixelSpacing"
    IMAGER_OVER_MAGNIFICATION = "ImagerPixelSpacing / EstimatedRadiographicMagnificationFactor"
    GIVEN = "given"


@print_as_one_line("pixels", "mm_per_px", "spacing_source", "source_shape")
@dataclass(frozen=True, eq=False)
class Radiograph:
    """Pixels on an isotropic grid, ready to be measured.

    The centre of pixel (row, column) lies at x = (column + 1/2) mm_per_px, y = (row + 1/2) mm_per_px from the
    top-left corner of the image.

    Parameters
    ----------
    pixels
        Rows x columns, float32, finite; what absorbs more is brighter. The 1st and 99th percentile of the valid
        pixels are 0 and 1; values beyond are kept.
    mm_per_px
        Side of a pixel of the grid.
    valid
        False where the file has padding or the image does not reach; same shape as the pixels.
    spacing_source
        Where the size of a pixel was read.
    source_mm_per_px
        Size of a pixel in the file, (x, y).
    source_shape
        Rows and columns in the file.
    pixel_hash
        `pixel_fingerprint` of the file that was read; None for a radiograph that was not read from one.
    sketch
        `overread.images.sketch.sketch` of that file, or None.
    """

    pixels: NDArray[np.float32]
    mm_per_px: float
    valid: NDArray[np.bool_]
    spacing_source: SpacingSource
    source_mm_per_px: tuple[float, float]
    source_shape: tuple[int, int]
    pixel_hash: str | None = None
    sketch: str | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the grid."""
        rows, columns = self.pixels.shape
        return rows, columns

    @property
    def size_mm(self) -> tuple[float, float]:
        """Width and height."""
        rows, columns = self.shape
        return columns * self.mm_per_px, rows * self.mm_per_px

    def to_pixels(self, length_mm: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn positions in mm into array indices, pixel centres at whole numbers."""
        return length_mm / self.mm_per_px - 0.5
