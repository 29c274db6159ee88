"""Letters in the corners of a picture, where names and dates are burned in.

A side marker is a letter or two; many small bright shapes on dark ground are a line of text. This is a hint, not a
proof: text elsewhere, or grey text, is not found.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_LETTERS", "count_letters"]

# More shapes than this in one corner are said to be text. Chosen by eye; at most 6 in 281 NIH radiographs.
MOST_LETTERS = 8
# Share of the image's sides that a corner takes, and heights of letters as a share of the image's height.
CORNER = 0.25
HEIGHTS = (0.006, 0.04)


def count_letters(picture: NDArray[np.uint8]) -> int:
    """Most letter-like shapes in one corner of a rendered picture (bone white)."""
    rows, columns = picture.shape
    down, across = max(1, round(rows * CORNER)), max(1, round(columns * CORNER))
    corners = (
        picture[:down, :across],
        picture[:down, -across:],
        picture[-down:, :across],
        picture[-down:, -across:],
    )
    return max(count_in_corner(corner, rows) for corner in corners)


def count_in_corner(corner: NDArray[np.uint8], rows: int) -> int:
    """Shapes as white as any, of a letter's size, with dark ground around them."""
    white = (corner >= 250).astype(np.uint8)
    number, _, boxes, _ = cv2.connectedComponentsWithStats(white, connectivity=8)
    low, high = (max(3.0, share * rows) for share in HEIGHTS)
    letters = 0
    for box in boxes[1:number]:
        x, y, width, height, area = (int(value) for value in box)
        if not (low <= height <= high and width <= 1.5 * height and area <= 0.8 * width * height + 1):
            continue
        ring = corner[max(0, y - 2) : y + height + 2, max(0, x - 2) : x + width + 2]
        letters += bool(np.percentile(ring, 25) < 128)
    return letters
