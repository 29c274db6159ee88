"""A small normalized sketch of an image, nearly equal for two versions of the same image.

A flipped bit, noise, compression, another size or brightness change `pixel_fingerprint`, but the sketch only slightly.
"""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn
from scipy.ndimage import gaussian_filter

SKETCH_VERSION = "1"
"""Increased when the same image would give another sketch."""

# Of 24 combinations tried on NIH images, the one with the widest gap between two patients and copies of one image;
# benchmarks.near_copies measures it.
SIDE, MARGIN = 64, 4
DETAIL, SURROUNDINGS = 2.0, 8.0
WAVES = 24
# Deviations below this share of the picture's range are noise and are not amplified.
LEAST_CONTRAST = 0.02
DARKEST, BRIGHTEST = 1.0, 99.0


def sketch(values: NDArray[np.float32]) -> str:
    """Text with the sketch of finite values; empty without contrast.

    The picture is averaged to 64 x 64 squares; brightness and contrast are normalized by subtracting the mean around
    each square and dividing by the deviation around it. The 24 x 24 lowest frequencies (discrete cosine transform) are
    kept, one byte each: finer detail does not survive a crop by one per cent.
    """
    small = _average(values.shape[0]) @ values @ _average(values.shape[1]).T
    low, high = np.percentile(small, [DARKEST, BRIGHTEST])
    if high <= low:
        return ""
    grey = np.clip((small - low) / (high - low), 0, 1)
    detail = grey - gaussian_filter(grey, DETAIL)
    detail /= np.sqrt(gaussian_filter(detail * detail, SURROUNDINGS) + LEAST_CONTRAST**2)
    waves = dctn(detail[MARGIN:-MARGIN, MARGIN:-MARGIN])[:WAVES, :WAVES]
    largest = np.abs(waves).max()
    if not largest > 0:
        return ""
    return base64.b64encode(np.round(waves * (127 / largest)).astype(np.int8).tobytes()).decode("ascii")


def decode_sketch(text: str) -> NDArray[np.float32]:
    """Return the frequencies of a sketch as a vector of length 1."""
    waves = np.frombuffer(base64.b64decode(text), np.int8).astype(np.float32)
    return np.asarray(waves / np.linalg.norm(waves), dtype=np.float32)


def _average(length: int) -> NDArray[np.float32]:
    """Weights that average `length` pixels to `SIDE` squares of equal size, with parts of pixels."""
    ends = np.linspace(0, length, SIDE + 1)
    pixels = np.arange(length)
    shares = np.minimum(ends[1:, None], pixels + 1) - np.maximum(ends[:-1, None], pixels)
    return (np.clip(shares, 0, None) * (SIDE / length)).astype(np.float32)
