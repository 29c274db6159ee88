"""The Gaussian blur of all maps here, and the length of a vector, each in one way."""

from __future__ import annotations

import cv2
import numpy as np

from overread.anatomy.structures import Map

__all__ = ["blur", "magnitude"]

# A cache line: as much as any vector instruction asks for.
ALIGNMENT_BYTES = 64


def blur(image: Map, sigma_px: float, *, border: int = cv2.BORDER_REPLICATE) -> Map:
    """Gaussian blur; the border is repeated outwards, unless another of OpenCV's ways to go on is given."""
    smooth: Map = cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=border)
    return smooth


def magnitude(x: Map, y: Map) -> Map:
    """Square root of x^2 + y^2.

    The last bit of OpenCV's answer depends on where in memory it is written. It is written to the start of a cache
    line, so that the same image gives the same bits in every run.
    """
    room = np.empty(x.size + ALIGNMENT_BYTES // 4, dtype=np.float32)
    first = -room.ctypes.data % ALIGNMENT_BYTES // 4
    length: Map = cv2.magnitude(x, y, room[first : first + x.size].reshape(x.shape))
    return length
