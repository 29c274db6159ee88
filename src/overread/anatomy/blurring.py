"""The Gaussian blur of all maps here."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["blur"]

Map = NDArray[np.float32]


def blur(image: Map, sigma_px: float, *, border: int = cv2.BORDER_REPLICATE) -> Map:
    """Gaussian blur; the border is repeated outwards, unless another of OpenCV's ways to go on is given."""
    smooth: Map = cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=border)
    return smooth
