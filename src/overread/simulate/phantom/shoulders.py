"""Shoulder blades and upper arms."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from overread.simulate.phantom.arms import ARM_Z_MM, Arms
from overread.simulate.phantom.canvas import CORTEX, MARROW, Canvas
from overread.simulate.phantom.patient import Patient

__all__ = ["draw_shoulders"]

Points = NDArray[np.float64]

SCAPULA_Z_MM = 70.0
BLADE_MM = 1.6
N_ALONG = 40


def draw_shoulders(canvas: Canvas, patient: Patient, arms: Arms, rng: np.random.Generator) -> None:
    """Draw both shoulder blades and both arm bones."""
    for side in (-1, 1):
        _scapula(canvas, side, patient.scapula_mm + rng.normal(0, 3), rng)
        _humerus(canvas, side, arms)


def _curve(side: int, shift: float, *knots: tuple[float, float]) -> Points:
    """Smooth curve through knots given for the image's right side."""
    t = np.linspace(0, 1, len(knots))
    xy = CubicSpline(t, np.array(knots, dtype=np.float64))(np.linspace(0, 1, N_ALONG))
    return np.column_stack([side * (xy[:, 0] + shift), xy[:, 1], np.full(N_ALONG, SCAPULA_Z_MM)])


def _scapula(canvas: Canvas, side: int, shift: float, rng: np.random.Generator) -> None:
    tip_x, tip_y = 116 + rng.normal(0, 5), 152 + rng.normal(0, 8)
    top_x = 94 + rng.normal(0, 3)
    lateral = _curve(side, shift, (136, 46), (131, 74), (124 + rng.normal(0, 2), 112), (tip_x, tip_y))
    medial = _curve(side, shift, (tip_x, tip_y), (97 + rng.normal(0, 2), 116), (88, 64), (top_x, 26))
    upper = _curve(side, shift, (top_x, 26), (112, 20), (126, 28), (138, 40))
    spine = _curve(side, shift, (90, 56), (104, 37), (128, 18), (150, 8))
    slim = np.linspace(3.4, 1.2, N_ALONG)
    for line, radius, depth in (
        (lateral, slim, 5.5),
        (medial, 1.4, 1.6),
        (upper, 1.4, 1.6),
        (spine, 3.8, 3.0),
    ):
        canvas.tube(line, radius_mm=radius, depth_mm=depth, shell=0.7 * CORTEX, core=MARROW, wall=0.5)
    acromion = _curve(side, shift, (142, 12), (154, 7), (165, 12), (168, 20))
    coracoid = _curve(side, shift, (124, 36), (122, 28), (130, 24), (136, 28))
    glenoid = _curve(side, shift, (138, 34), (135, 45), (136, 57), (132, 66))
    for line, radius, depth, wall in (
        (acromion, 6.5, 6.0, 0.2),
        (coracoid, 5.0, 8.0, 0.3),
        (glenoid, 3.6, 11.0, 0.35),
    ):
        canvas.tube(line, radius_mm=radius, depth_mm=depth, shell=0.7 * CORTEX, core=MARROW, wall=wall)
    _blade(canvas, np.vstack([lateral, medial[1:], upper[1:]]))


def _blade(canvas: Canvas, outline: Points) -> None:
    """Fill the outline with a thin plate."""
    where = canvas.view.project(outline[:, 0], outline[:, 1], outline[:, 2])
    plate = np.zeros(canvas.view.shape, dtype=np.uint8)
    corners = np.round(np.column_stack([where.columns, where.rows]) * 16).astype(np.int32)
    cv2.fillPoly(plate, [corners], 255, lineType=cv2.LINE_AA, shift=4)
    canvas.amount += plate.astype(np.float32) * (BLADE_MM * 0.6 * CORTEX / 255)


def _humerus(canvas: Canvas, side: int, arms: Arms) -> None:
    y = np.linspace(36, 430, 80)
    x = arms.axis(y, side) + 5 - 12 * np.exp(-(((y - 44) / 24) ** 2))
    points = np.column_stack([side * x, y, np.full(80, ARM_Z_MM)])
    radius = 11.5 + 11 * np.exp(-(((y - 44) / 26) ** 2))
    canvas.tube(
        points, radius_mm=radius, depth_mm=1.8 * radius, shell=0.5 * CORTEX, core=0.3 * MARROW, wall=0.22
    )
