"""Where candidates are sought: the lung fields and a little around them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.anatomy import Anatomy, Quality
from overread.anatomy.lung_pixels import COARSE_MM
from overread.anatomy.lungs import LungFields, enlarge_mask, find_lungs, reflect_lung
from overread.anatomy.structures import Map, Mask
from overread.images import Radiograph

__all__ = ["fill_padding", "lies_on_image", "search_region"]

# Chosen by the recall of the default finder on nih-240x3 (docs/reference/candidates.md).
DENT_MM = 40.0
MARGIN_MM = 2.0


def search_region(radiograph: Radiograph, anatomy: Anatomy | None) -> Mask:
    """Lung fields with dents narrower than `DENT_MM` filled, widened by `MARGIN_MM`, without padding.

    A bright nodule at the border of a lung makes a dent in its field; it must not hide itself. A doubtful lung may
    be half of one: the mirror image of the other lung is searched as well.

    Parameters
    ----------
    radiograph
        The image.
    anatomy
        Its anatomy, if it is known; else the lung fields are found here.
    """
    if anatomy is None:
        fields = find_lungs(radiograph)
    else:
        qualities = anatomy.quality["left_lung"], anatomy.quality["right_lung"]
        fields = LungFields(anatomy.left_lung, anatomy.right_lung, *qualities)
    filled = fill_dents(fields, radiograph.mm_per_px)
    kernel = make_disc(2 * round(MARGIN_MM / radiograph.mm_per_px) + 1)
    return np.asarray((cv2.dilate(filled.astype(np.uint8), kernel) > 0) & radiograph.valid)


def fill_padding(radiograph: Radiograph) -> Map:
    """Pixels of a radiograph with padding set to 0, the 1st percentile of the image."""
    return np.where(radiograph.valid, radiograph.pixels, np.float32(0)).astype(np.float32)


def lies_on_image(
    radiograph: Radiograph, x_mm: NDArray[np.float64], y_mm: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell places in the image from those in padding or beyond it."""
    rows, columns = radiograph.shape
    row, column = ((length / radiograph.mm_per_px).astype(np.intp) for length in (y_mm, x_mm))
    inside = (row < rows) & (column < columns)
    valid = radiograph.valid[np.minimum(row, rows - 1), np.minimum(column, columns - 1)]
    return np.asarray(inside & valid)


def fill_dents(fields: LungFields, mm_per_px: float) -> Mask:
    """Close the lungs by a disc of `DENT_MM`, on a coarse grid; never less than the lungs themselves."""
    rows, columns = fields.left.shape
    scale = mm_per_px / COARSE_MM
    size = max(round(columns * scale), 1), max(round(rows * scale), 1)
    left, right = (
        cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.5
        for mask in (fields.left, fields.right)
    )
    coarse = left | right
    if fields.left_quality is Quality.DOUBTFUL and right.any():
        coarse |= reflect_lung(right[:, ::-1])[:, ::-1]
    if fields.right_quality is Quality.DOUBTFUL and left.any():
        coarse |= reflect_lung(left)
    width = 2 * round(DENT_MM / COARSE_MM / 2) + 1
    closed = cv2.morphologyEx(np.pad(coarse.astype(np.uint8), width), cv2.MORPH_CLOSE, make_disc(width))
    return enlarge_mask(closed[width:-width, width:-width] > 0, (columns, rows)) | fields.left | fields.right


def make_disc(size: int) -> NDArray[np.uint8]:
    """Disc as a structuring element."""
    disc: NDArray[np.uint8] = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return disc
