"""One mark per place: a detection that lies on a stronger one is a repeat of it.

Two detections lie on each other when their centres are closer than the larger of their radii. The strongest of an
image is shown; of the others, from strong to weak, each that lies on none that is shown already.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.froc._kernels import mark_strongest

__all__ = ["find_strongest"]


def find_strongest(
    images: ArrayLike, x_mm: ArrayLike, y_mm: ArrayLike, radius_mm: ArrayLike, scores: ArrayLike
) -> NDArray[np.bool_]:
    """Tell detections that stand alone from those that lie on a stronger one of their image.

    Parameters
    ----------
    images
        Number of the image of each detection.
    x_mm, y_mm, radius_mm
        Places and sizes.
    scores
        Strengths; of equal ones the first row counts as the stronger.

    Returns
    -------
    ndarray of bool
        False for repeats.
    """
    codes = np.asarray(images, dtype=np.int64)
    values = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((np.arange(len(values)), -values, codes))
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = np.diff(codes[order]) != 0
    places = np.column_stack([x_mm, y_mm, radius_mm]).astype(np.float64)
    return mark_strongest(places, order, np.append(np.flatnonzero(begins), len(order)))
