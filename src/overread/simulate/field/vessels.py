"""A tree of vessels: arcs that leave the disc, bend, thin out and branch.

At a branching of a vessel of radius r into r1 and r2 Murray's law holds: r^3 = r1^3 + r2^3 (C. D. Murray, 1926).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_vessels"]

# Everything below is chosen by eye, in shares of the field's radius where it is a length.
ROOT_RADIUS = 0.016
LEAST_RADIUS = 0.0028
STEP = 0.025
BEND_DEG = 7.0
BRANCH_CHANCE = 0.085
BRANCH_DEG = (25.0, 55.0)
# The thinner branch carries this share of the flow.
THIN_FLOW = (0.15, 0.45)
# A vessel loses this share of its radius with each step, in side branches too thin to be drawn.
TAPER = 0.006
# Main vessels leave the disc up and down, and bend towards the middle of the field.
ROOTS_DEG = (-115.0, -68.0, 66.0, 112.0)
HOMING = 0.055
# Subpixels of a pixel, as a power of two: lines are drawn on a finer grid, so that thin ones have their true width.
SHIFT = 4
SUPERSAMPLING = 2


@dataclass(frozen=True)
class Tip:
    """The growing end of a vessel, in shares of the field's radius; the angle is clockwise on screen from +x."""

    x: float
    y: float
    angle: float
    radius: float


def draw_vessels(
    shape: tuple[int, int],
    centre: tuple[float, float],
    field_radius: float,
    disc: tuple[float, float],
    random: np.random.Generator,
) -> NDArray[np.float32]:
    """Draw how much blood each pixel shows: 0 without a vessel, its thickness over that of a root in one.

    Parameters
    ----------
    shape
        Rows and columns.
    centre, field_radius
        The round field, in pixels (x, y).
    disc
        Where the vessels come from, in pixels.
    random
        Source of randomness.
    """
    fine = np.zeros((shape[0] * SUPERSAMPLING, shape[1] * SUPERSAMPLING), dtype=np.float32)
    x, y = ((disc[k] - centre[k]) / field_radius for k in (0, 1))
    side = 1.0 if x <= 0 else -1.0
    tips = []
    for angle in ROOTS_DEG:
        turned = np.radians(angle + random.normal(0, 8.0))
        towards = np.arctan2(np.sin(turned), side * np.cos(turned))
        tips.append(Tip(x, y, float(towards), ROOT_RADIUS * float(random.uniform(0.75, 1.1))))
    while tips:
        tip = tips.pop()
        while tip.radius >= LEAST_RADIUS and np.hypot(tip.x, tip.y) < 1.05:
            ahead = grow(tip, random)
            paint(fine, tip, ahead, centre, field_radius)
            tip = ahead
            if random.random() < BRANCH_CHANCE:
                thick, thin = branch(tip, random)
                tips.append(thin)
                tip = thick
    rows, columns = shape
    return np.asarray(cv2.resize(fine, (columns, rows), interpolation=cv2.INTER_AREA), dtype=np.float32)


def grow(tip: Tip, random: np.random.Generator) -> Tip:
    """Go a step on: bend at random, thick vessels also towards the middle of the field."""
    home = np.arctan2(-tip.y, -tip.x)
    off = float(np.angle(np.exp(1j * (home - tip.angle))))
    pull = HOMING * tip.radius / ROOT_RADIUS * np.sign(off) * (np.hypot(tip.x, tip.y) > 0.35)
    angle = tip.angle + float(pull) + float(np.radians(random.normal(0, BEND_DEG)))
    x, y = tip.x + STEP * float(np.cos(angle)), tip.y + STEP * float(np.sin(angle))
    return Tip(x, y, angle, tip.radius * (1 - TAPER))


def branch(tip: Tip, random: np.random.Generator) -> tuple[Tip, Tip]:
    """Divide a vessel in two by Murray's law; the thinner one turns farther away."""
    flow = random.uniform(*THIN_FLOW)
    side = random.choice((-1.0, 1.0))
    turn = np.radians(random.uniform(*BRANCH_DEG))
    thick = Tip(
        tip.x, tip.y, tip.angle - float(side * turn * flow), tip.radius * float((1 - flow) ** (1 / 3))
    )
    thin = Tip(tip.x, tip.y, tip.angle + float(side * turn), tip.radius * float(flow ** (1 / 3)))
    return thick, thin


def paint(
    fine: NDArray[np.float32], start: Tip, end: Tip, centre: tuple[float, float], field_radius: float
) -> None:
    """Draw a piece of a vessel; where vessels cross, the thicker one is seen."""
    scale = field_radius * SUPERSAMPLING
    ends = [
        tuple(
            round((centre[k] * SUPERSAMPLING + place * scale) * 2**SHIFT)
            for k, place in enumerate((tip.x, tip.y))
        )
        for tip in (start, end)
    ]
    # OpenCV draws thick lines a pixel wider than it is told.
    width = max(round(2 * end.radius * scale) - 1, 1)
    low = [max(min(one[k] for one in ends) // 2**SHIFT - width, 0) for k in (0, 1)]
    high = [max(one[k] for one in ends) // 2**SHIFT + width + 1 for k in (0, 1)]
    part = fine[low[1] : high[1], low[0] : high[0]]
    if not part.size:
        return
    line = np.zeros(part.shape, dtype=np.float32)
    first, second = ([one[k] - low[k] * 2**SHIFT for k in (0, 1)] for one in ends)
    cv2.line(line, first, second, end.radius / ROOT_RADIUS, width, cv2.LINE_8, SHIFT)
    np.maximum(part, line, out=part)
