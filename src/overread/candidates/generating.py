"""Suspicious regions of one radiograph."""

from __future__ import annotations

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.anatomy.lung_pixels import COARSE_MM
from overread.anatomy.lungs import LungFields, enlarged, lung_fields, reflected
from overread.anatomy.structures import Anatomy, Quality
from overread.candidates._kernels import centred, softly_suppressed
from overread.candidates.curvature import SCALES_MM
from overread.candidates.radii import standing_out
from overread.candidates.ranking import ranking
from overread.candidates.responses import find_places
from overread.errors import UsageError
from overread.images import Radiograph

__all__ = ["CANDIDATE_VERSION", "generate", "search_region"]

# To be raised whenever reading, anatomy or the search may give other candidates for the same file.
CANDIDATE_VERSION = "3"

PLACES_PER_SCALE = 180
DENT_MM = 40.0
MARGIN_MM = 2.0
SAME_MM = 4.0
NEAR_MM = 12.0
PENALTY = 0.7
N_FINED = 60
CENTRED_PER_SIGMA = 2.0
LENGTH_DIGITS = 3
RESPONSE_DIGITS = 6


def generate(radiograph: Radiograph, *, anatomy: Anatomy | None = None, limit: int = 100) -> pd.DataFrame:
    """Find the regions of a radiograph that look most like nodules.

    Local maxima of the smaller curvature at seven scales, in the lung fields and a little around them
    (`search_region`), are scored by a small network from what several detectors say and what lies around them
    (`responses`, `surroundings`, `ranking`). The best is taken, then the best of the rest, and so on: places within
    `SAME_MM` of one taken are dropped, places within `NEAR_MM` lose `PENALTY` until `N_FINED` are taken. The centre
    is the mean of the places around, weighted by their odds; the radius is that of the disc that stands out most
    (`radii`).

    Parameters
    ----------
    radiograph
        The image.
    anatomy
        Its anatomy, if it is known; else the lung fields are found here.
    limit
        Most candidates to return.

    Returns
    -------
    DataFrame
        candidate_id ("0001", ...), x_mm, y_mm, radius_mm and response (higher is more suspicious), by falling
        response. It is empty where nothing is brighter than its surroundings.
    """
    if limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    region = search_region(radiograph, anatomy)
    image = np.where(radiograph.valid, radiograph.pixels, np.float32(0)).astype(np.float32)
    places = find_places(image, region, radiograph.mm_per_px, per_scale=PLACES_PER_SCALE)
    places = places.only(on_image(radiograph, places.x_mm, places.y_mm))
    score = ranking().score(places)
    chosen, response = softly_suppressed(
        places.x_mm, places.y_mm, score, SAME_MM, NEAR_MM, PENALTY, N_FINED, limit
    )
    reach = np.maximum(SAME_MM, CENTRED_PER_SIGMA * np.asarray(SCALES_MM)[places.scale[chosen]])
    x_mm, y_mm = centred(places.x_mm, places.y_mm, score, chosen, reach)
    inside = on_image(radiograph, x_mm, y_mm)
    x_mm, y_mm = np.where(inside, (x_mm, y_mm), (places.x_mm[chosen], places.y_mm[chosen]))
    radius = standing_out(image, x_mm, y_mm, radiograph.mm_per_px)
    return pd.DataFrame(
        {
            "candidate_id": pd.array([f"{number:04d}" for number in range(1, len(chosen) + 1)], dtype="str"),
            "x_mm": x_mm.round(LENGTH_DIGITS),
            "y_mm": y_mm.round(LENGTH_DIGITS),
            "radius_mm": radius.round(LENGTH_DIGITS),
            "response": response.round(RESPONSE_DIGITS),
        }
    )


def search_region(radiograph: Radiograph, anatomy: Anatomy | None) -> NDArray[np.bool_]:
    """Lung fields with dents narrower than `DENT_MM` filled, widened by `MARGIN_MM`, without padding.

    A bright nodule at the border of a lung makes a dent in its field; it must not hide itself. A doubtful lung may
    be half of one: the mirror image of the other lung is searched as well.
    """
    if anatomy is None:
        fields = lung_fields(radiograph)
    else:
        qualities = anatomy.quality["left_lung"], anatomy.quality["right_lung"]
        fields = LungFields(anatomy.left_lung, anatomy.right_lung, *qualities)
    filled = without_dents(fields, radiograph.mm_per_px)
    kernel = ellipse(2 * round(MARGIN_MM / radiograph.mm_per_px) + 1)
    return np.asarray((cv2.dilate(filled.astype(np.uint8), kernel) > 0) & radiograph.valid)


def on_image(
    radiograph: Radiograph, x_mm: NDArray[np.float64], y_mm: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell places in the image from those in padding or beyond it."""
    rows, columns = radiograph.shape
    row, column = ((length / radiograph.mm_per_px).astype(np.intp) for length in (y_mm, x_mm))
    inside = (row < rows) & (column < columns)
    valid = radiograph.valid[np.minimum(row, rows - 1), np.minimum(column, columns - 1)]
    return np.asarray(inside & valid)


def without_dents(fields: LungFields, mm_per_px: float) -> NDArray[np.bool_]:
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
        coarse |= reflected(right[:, ::-1])[:, ::-1]
    if fields.right_quality is Quality.DOUBTFUL and left.any():
        coarse |= reflected(left)
    width = 2 * round(DENT_MM / COARSE_MM / 2) + 1
    closed = cv2.morphologyEx(np.pad(coarse.astype(np.uint8), width), cv2.MORPH_CLOSE, ellipse(width))
    return enlarged(closed[width:-width, width:-width] > 0, (columns, rows)) | fields.left | fields.right


def ellipse(size: int) -> NDArray[np.uint8]:
    """Disc as a structuring element."""
    disc: NDArray[np.uint8] = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return disc
