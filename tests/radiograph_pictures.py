"""Constructed radiographs: bright things on a ramp."""

import numpy as np

from overread.features import Anatomy, Quality
from overread.images import Radiograph, SpacingSource

MM = 0.7
SHAPE = (320, 280)


def ramp(shape=SHAPE):
    y, x = np.mgrid[: shape[0], : shape[1]]
    noise = np.random.default_rng(0).normal(0, 0.005, shape)
    return (0.3 + 0.0006 * x + 0.0004 * y + noise).astype(np.float32)


def disc(x_mm, y_mm, radius_mm, height=0.15, shape=SHAPE):
    y, x = np.mgrid[: shape[0], : shape[1]]
    rho = np.hypot((x + 0.5) * MM - x_mm, (y + 0.5) * MM - y_mm) / radius_mm
    return (height * np.maximum(1 - rho**2, 0)).astype(np.float32)


def rod(y_mm, half_width_mm, angle_deg=0.0, height=0.3, shape=SHAPE):
    y, x = np.mgrid[: shape[0], : shape[1]]
    angle = np.radians(angle_deg)
    across = ((y + 0.5) * MM - y_mm) * np.cos(angle) - ((x + 0.5) * MM - shape[1] * MM / 2) * np.sin(angle)
    return (height * np.maximum(1 - (across / half_width_mm) ** 2, 0)).astype(np.float32)


def radiograph(pixels, valid=None, mm=MM):
    pixels = np.asarray(pixels, dtype=np.float32)
    valid = np.ones(pixels.shape, dtype=bool) if valid is None else valid
    return Radiograph(pixels, mm, valid, SpacingSource.GIVEN, (mm, mm), pixels.shape)


def all_lung(shape=SHAPE):
    """Anatomy whose lungs are all of the image but its border."""
    inside = np.zeros(shape, dtype=bool)
    inside[10:-10, 10:-10] = True
    left, right = inside.copy(), inside.copy()
    left[:, shape[1] // 2 :] = False
    right[:, : shape[1] // 2] = False
    nothing = np.zeros(shape, dtype=bool)
    flat = np.zeros(shape, dtype=np.float32)
    names = ("left_lung", "right_lung", "ribs", "clavicles", "mediastinum")
    return Anatomy(left, right, inside, nothing, flat, flat, nothing, dict.fromkeys(names, Quality.FOUND))
