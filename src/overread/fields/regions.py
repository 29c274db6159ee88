"""Where a picture shows something: the field of view, a mask file, or all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.errors import ImageError, InvalidInputError
from overread.images import read_channels

__all__ = ["RegionKind", "find_region"]

Map = NDArray[np.float32]
Mask = NDArray[np.bool_]
RegionKind = Literal["field_of_view", "masks", "all"]

# What has half of this percentile of the picture is bright; a field of view fills at least a tenth of it.
BRIGHT_PERCENT = 95.0
# Share of the median of what is bright from which a pixel belongs to the field of view. Chosen by eye on fundus
# photographs: their dark frame has 2 to 4 % of it, their darkest retina 20 %.
DARK_SHARE = 0.12
# The frame of a field of view has a blurred edge; what lies on it looks like a lesion. Share of the picture's width.
EDGE_SHARE = 0.006
# A field of view that fills less than this is none: the picture is dark, or shows something else.
LEAST_SHARE = 0.05


def find_region(grey: Map, kind: RegionKind, *, mask: str | Path | None = None, name: str = "image") -> Mask:
    """Return the region of a picture.

    Parameters
    ----------
    grey
        Mean of its channels.
    kind
        How the region is found.
    mask
        File of the mask, for "masks".
    name
        Of the picture, for errors.

    Raises
    ------
    ImageError
        If no field of view is found, or the mask does not fit.
    """
    if kind == "all":
        return np.ones(grey.shape, dtype=np.bool_)
    if kind == "masks":
        if mask is None:
            raise InvalidInputError(f"{name}: the region is to come from masks, and none is named for it")
        return read_mask(mask, grey.shape)
    if kind == "field_of_view":
        return find_field_of_view(grey, name)
    raise InvalidInputError(f"no region {kind!r}; use field_of_view, masks or all")


def find_field_of_view(grey: Map, name: str) -> Mask:
    """Largest bright area, its holes filled, without a thin edge."""
    bright = grey[grey >= np.percentile(grey, BRIGHT_PERCENT) / 2]
    region = (grey > DARK_SHARE * float(np.median(bright))).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(region)
    if count < 2:
        raise ImageError(f'{name}: no field of view is found; use [region] kind = "all" or "masks"')
    largest = (labels == 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())).astype(np.uint8)
    outlines, _ = cv2.findContours(largest, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(largest, outlines, -1, 1, cv2.FILLED)
    edge = max(round(EDGE_SHARE * grey.shape[1]), 1)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * edge + 1, 2 * edge + 1))
    shrunk = cv2.erode(largest, kernel) > 0
    if shrunk.mean() < LEAST_SHARE:
        raise ImageError(
            f"{name}: the field of view fills {100 * shrunk.mean():.1f} % of the picture; "
            'use [region] kind = "all" or "masks"'
        )
    return np.asarray(shrunk)


def read_mask(path: str | Path, shape: tuple[int, ...]) -> Mask:
    """Read a mask file: what is not 0 belongs to the region."""
    mask = read_channels(path).max(axis=2) > 0
    if mask.shape != shape:
        size, wanted = (" x ".join(map(str, one[::-1])) for one in (mask.shape, shape))
        raise ImageError(f"{path}: the mask has {size} pixels and its picture {wanted}")
    if not mask.any():
        raise ImageError(f"{path}: the mask is empty")
    return np.asarray(mask)
