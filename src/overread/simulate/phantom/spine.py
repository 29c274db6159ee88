"""The spine: bodies of the vertebrae, discs between them, pedicles, processes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.bands import by_bands
from overread.simulate.phantom.cage import SPINE_Z_MM, Cage
from overread.simulate.phantom.canvas import chord, columns_within, fourth_power, smooth_step
from overread.simulate.phantom.view import View

__all__ = ["spine_amount"]

Floats = NDArray[np.float32]

BODY = 0.30
ENDPLATE = 0.06
PEDICLE = 0.06
SPINOUS = 0.18
TRANSVERSE = 0.08
REACH_MM = 90.0


def spine_amount(view: View, cage: Cage, rng: np.random.Generator) -> Floats:
    """Line integral that the spine adds to soft tissue.

    Each pixel gets the vertebra it is nearest to and two coordinates on it: across, 1 at the side of the body;
    along, -1 and 1 at the discs' middles.
    """
    x, y = view.at(SPINE_Z_MM)
    middle = columns_within(x, REACH_MM)
    total = np.zeros(view.shape, dtype=np.float32)
    bow, start = rng.normal(0, 2.5), rng.uniform(0, 6)
    total[:, middle] = by_bands(
        lambda x, y: _vertebrae(x - bow * np.sin(y / 90 + start), y, cage), x[:, middle], y[:, middle]
    )
    return total


def _vertebrae(x: Floats, y: Floats, cage: Cage) -> Floats:
    numbers = np.arange(-7, 21)
    level = np.interp(y, cage.vertebra_y(numbers), numbers).astype(np.float32)
    number = np.rint(level)
    along = (level - number) * 2
    half = 12.5 + np.clip(number + 5, 0, 25) * 0.58
    across = x / (half * (0.9 + 0.1 * along * along))
    inside = 1 - fourth_power(across) - fourth_power((along / 0.86) ** 2)
    rim = smooth_step(inside, 0.0, 0.12) * (1 - smooth_step(inside, 0.12, 0.5))
    side = np.abs(across)
    pedicle = _ellipse(side - 0.62, along + 0.25, 0.2, 0.33)
    ring = np.exp(-(((pedicle - 1) / 0.55) ** 2))
    process = chord(1 - _ellipse(across, along - 0.45, 0.16, 0.4))
    wings = chord(1 - _ellipse(side - 1.25, along + 0.3, 0.55, 0.3))
    return BODY * chord(inside) + ENDPLATE * rim + PEDICLE * ring + SPINOUS * process + TRANSVERSE * wings


def _ellipse(u: Floats, v: Floats, a: float, b: float) -> Floats:
    return (u / a) ** 2 + (v / b) ** 2
