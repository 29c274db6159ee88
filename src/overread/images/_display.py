"""Rendering of an image for display: the file's window or table, 8 bits. Never used for measuring.

The module also looks for letters in the corners, where names and dates are burned in.

A side marker is a letter or two; many small bright shapes on dark ground are a line of text. Text elsewhere, or grey
text, is not found.
"""

from __future__ import annotations

import itertools

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.images._source import LookupTable, SourceImage, VoiFunction, Window

LOW_PERCENT, HIGH_PERCENT = 0.5, 99.5
NARROWEST = 1e-6


def rendered(source: SourceImage) -> NDArray[np.float32]:
    """Grey from 0 (black) to 1 (white): modality transform, VOI transform, inversion; padding is black."""
    values = source.modality(source.stored)
    if isinstance(source.voi, LookupTable):
        grey = source.voi(values) / np.float32((1 << source.voi.bits) - 1)
    else:
        grey = _apply_window(values, source.voi or percentile_window(values, source.valid))
    np.clip(grey, 0.0, 1.0, out=grey)
    if source.inverted:
        grey = np.float32(1.0) - grey
    return grey if source.valid is None else np.where(source.valid, grey, np.float32(0.0))


def _apply_window(values: NDArray[np.float32], window: Window) -> NDArray[np.float32]:
    """Apply a window (PS3.3 C.11.2.1.2 and C.11.2.1.3); values outside are clipped later.

    LINEAR: (v - (c - 1/2)) / (w - 1) + 1/2. LINEAR_EXACT: (v - c) / w + 1/2. SIGMOID: 1 / (1 + exp(-4 (v - c) / w)).
    """
    if window.function is VoiFunction.SIGMOID:
        scaled = np.clip(-4.0 * (values - np.float32(window.center)) / np.float32(window.width), -80.0, 80.0)
        return np.float32(1.0) / (np.float32(1.0) + np.exp(scaled))
    exact = exact_window(window)
    return (values - np.float32(exact.center)) / np.float32(exact.width) + np.float32(0.5)


def exact_window(window: Window) -> Window:
    """Write a window as LINEAR_EXACT, from c - w / 2 to c + w / 2; a SIGMOID keeps its centre and width."""
    if window.function is not VoiFunction.LINEAR:
        return Window(window.center, window.width, VoiFunction.LINEAR_EXACT)
    return Window(window.center - 0.5, max(window.width - 1.0, NARROWEST), VoiFunction.LINEAR_EXACT)


def percentile_window(values: NDArray[np.float32], valid: NDArray[np.bool_] | None) -> Window:
    """Window from the 0.5th to the 99.5th percentile of the valid pixels."""
    inside = values if valid is None else values[valid]
    low, high = (float(v) for v in np.percentile(inside, (LOW_PERCENT, HIGH_PERCENT)))
    return Window((low + high) / 2.0, max(high - low, NARROWEST), VoiFunction.LINEAR_EXACT)


# More shapes than this in one corner count as text. Set by judgement; at most 6 in 281 NIH radiographs.
MOST_LETTERS = 8
# Share of the image's sides that a corner takes, and heights of letters as a share of the image's height.
CORNER = 0.25
HEIGHTS = (0.006, 0.04)


def count_letters(picture: NDArray[np.uint8]) -> int:
    """Largest number of letter-like shapes in one corner of a rendered picture (bone white)."""
    rows, columns = picture.shape
    down, across = max(1, round(rows * CORNER)), max(1, round(columns * CORNER))
    corners = itertools.product((slice(down), slice(-down, None)), (slice(across), slice(-across, None)))
    return max(_count_in_corner(picture[corner], rows) for corner in corners)


def _count_in_corner(corner: NDArray[np.uint8], rows: int) -> int:
    """White shapes of a letter's size on dark ground."""
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
