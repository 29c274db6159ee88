"""Bones: ribs, clavicles, spine, breastbone, shoulder blades and upper arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.cage import N_RIBS, SPINE_Z_MM, Cage
from overread.simulate.phantom.canvas import Canvas, chord, smooth_step
from overread.simulate.phantom.patient import Patient
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import View

__all__ = ["Skeleton", "draw_skeleton"]

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
Points = NDArray[np.float64]

CORTEX = 0.046
MARROW = 0.009


@dataclass(frozen=True, eq=False)
class Skeleton:
    """What all bones add to the line integral, and where each kind lies."""

    amount: Floats
    ribs: Masks
    posterior_ribs: Masks
    anterior_ribs: Masks
    clavicles: Masks
    spine: Masks


def draw_skeleton(view: View, patient: Patient, cage: Cage, *, seed: int) -> Skeleton:
    """Draw all bones."""
    canvas = Canvas(view)
    posterior, anterior = _ribs(canvas, cage, patient, stream(seed, "ribs"))
    clavicles = _clavicles(canvas, patient, stream(seed, "clavicles"))
    _shoulders(canvas, patient, cage, stream(seed, "shoulders"))
    spine, spine_amount = _spine(view, cage, stream(seed, "spine"))
    _breastbone(canvas)
    amount = (canvas.amount + spine_amount) * np.float32(patient.bone_contrast)
    return Skeleton(amount, posterior | anterior, posterior, anterior, clavicles, spine)


def _ribs(canvas: Canvas, cage: Cage, patient: Patient, rng: np.random.Generator) -> tuple[Masks, Masks]:
    marks = canvas.no_marks()
    for number in range(1, N_RIBS + 1):
        height = (6.6 if number > 1 else 7.5) * rng.normal(1, 0.04)
        for side in (-1, 1):
            rib = cage.rib(number, side)
            steps = np.gradient(rib.points, axis=0)
            in_plane = np.hypot(steps[:, 0], steps[:, 1]) / np.linalg.norm(steps, axis=1)
            oblique = 1 / np.maximum(in_plane, 0.42)
            front = np.clip((rib.angle - np.pi / 2) / 0.5, 0, 1)
            upright = np.abs(steps[:, 1]) / np.hypot(steps[:, 0], steps[:, 1])
            radius = np.hypot(height * (1 + 0.12 * front) * np.sqrt(1 - upright**2), 3.6 * upright)
            radius = radius * (0.75 + 0.25 * np.clip((rib.angle - rib.angle[0]) / 0.25, 0, 1))
            fade = np.clip((rib.angle[-1] - rib.angle) / 0.12, 0, 1)
            canvas.tube(
                rib.points,
                radius_mm=radius,
                depth_mm=7.0 * oblique * fade * (1 - 0.2 * front),
                shell=CORTEX,
                core=MARROW,
                wall=0.17,
                split=int(np.searchsorted(rib.angle, np.pi / 2)),
                marks=marks,
            )
    return (marks & 1) > 0, (marks & 2) > 0


def _clavicles(canvas: Canvas, patient: Patient, rng: np.random.Generator) -> Masks:
    marks = canvas.no_marks()
    t = np.linspace(0, 1, 60)
    for side in (-1, 1):
        angle = np.radians(patient.clavicle_angle_deg + rng.normal(0, 2.5))
        length = 137 * rng.normal(1, 0.03)
        bow = rng.normal(7, 1.5)
        x = 14 + length * t * np.cos(angle)
        y = 58 - length * t * np.sin(angle) - bow * np.sin(2 * np.pi * t) * 0.9 - 6 * np.sin(np.pi * t)
        z = -75 + 85 * t**1.3
        radius = 5.6 + 3.2 * np.exp(-t / 0.10) + 1.2 * np.clip((t - 0.75) / 0.25, 0, 1)
        depth = 13.0 - 3.0 * t
        canvas.tube(
            np.column_stack([side * x, y, z]),
            radius_mm=radius,
            depth_mm=depth,
            shell=CORTEX,
            core=MARROW * 1.4,
            wall=0.2,
            marks=marks,
        )
    return marks > 0


def _shoulders(canvas: Canvas, patient: Patient, cage: Cage, rng: np.random.Generator) -> None:
    for side in (-1, 1):
        shift = patient.scapula_mm + rng.normal(0, 3)
        _scapula(canvas, side, shift, rng)
        _humerus(canvas, side, shift, rng)


def _scapula(canvas: Canvas, side: int, shift: float, rng: np.random.Generator) -> None:
    def along(*corners: tuple[float, float], n: int = 40) -> Points:
        knots = np.array(corners, dtype=np.float64)
        t = np.linspace(0, 1, len(knots))
        fine = np.linspace(0, 1, n)
        smooth = [_spline(t, knots[:, axis], fine) for axis in (0, 1)]
        return np.column_stack([side * (smooth[0] + shift - 36), smooth[1], np.full(n, 70.0)])

    tip = 150 + rng.normal(0, 6)
    lateral = along((172, 42), (158, 78), (138, 118), (126, tip))
    medial = along((126, tip), (112, 110), (112, 62), (128, 26))
    upper = along((128, 26), (146, 18), (164, 26), (174, 38))
    spine = along((114, 56), (138, 34), (166, 14), (186, 6))
    taper = np.sin(np.linspace(0.05, np.pi - 0.05, 40)) ** 0.5
    for line, radius, depth in (
        (lateral, 3.4, 9.0),
        (medial, 1.6, 4.0),
        (upper, 1.6, 3.5),
        (spine, 4.5, 6.0),
    ):
        canvas.tube(line, radius_mm=radius, depth_mm=depth * taper, shell=CORTEX * 0.6, core=MARROW, wall=0.5)
    acromion = along((178, 10), (190, 5), (202, 10), (204, 18))
    coracoid = along((160, 34), (158, 26), (166, 22), (172, 26))
    canvas.tube(acromion, radius_mm=7.0, depth_mm=8.0, shell=CORTEX, core=MARROW, wall=0.16)
    canvas.tube(coracoid, radius_mm=5.5, depth_mm=9.0, shell=CORTEX, core=MARROW, wall=0.25)
    glenoid = along((174, 32), (171, 44), (172, 58), (168, 66))
    canvas.tube(glenoid, radius_mm=4.0, depth_mm=14.0, shell=CORTEX, core=MARROW, wall=0.3)
    _blade(canvas, np.vstack([lateral, medial[1:], upper[1:]]))


def _blade(canvas: Canvas, outline: Points) -> None:
    import cv2

    where = canvas.view.project(outline[:, 0], outline[:, 1], outline[:, 2])
    plate = np.zeros(canvas.view.shape, dtype=np.uint8)
    corners = np.column_stack([where.columns, where.rows])
    cv2.fillPoly(plate, [np.round(corners * 16).astype(np.int32)], 1, lineType=cv2.LINE_8, shift=4)
    canvas.amount += plate.astype(np.float32) * np.float32(0.045)


def _humerus(canvas: Canvas, side: int, shift: float, rng: np.random.Generator) -> None:
    out = rng.normal(8, 4)
    y = np.linspace(36, 330, 60)
    x = 158 + 0.6 * shift + (y - 40) * np.tan(np.radians(out)) + 6 * (1 - np.exp(-(y - 36) / 40))
    points = np.column_stack([side * x, y, np.full(60, 25.0)])
    radius = 11.5 + 11 * np.exp(-(((y - 44) / 26) ** 2))
    canvas.tube(points, radius_mm=radius, depth_mm=radius * 1.9, shell=CORTEX * 0.7, core=MARROW, wall=0.22)


def _spine(view: View, cage: Cage, rng: np.random.Generator) -> tuple[Masks, Floats]:
    x, y = view.at(SPINE_Z_MM)
    numbers = np.arange(-7, 21)
    level = np.interp(y[:, :], cage.vertebra_y(numbers), numbers).astype(np.float32)
    nearest = np.rint(level)
    along = (level - nearest) * np.float32(2)
    width = np.float32(12.5) + np.clip(nearest + 5, 0, 25) * np.float32(0.58)
    bow = rng.normal(0, 2.5) * np.sin(y / np.float32(90) + np.float32(rng.uniform(0, 6)))
    x = x - bow.astype(np.float32)
    waist = width * (np.float32(1) - np.float32(0.1) * (1 - along * along))
    across = x / waist
    inside = 1 - across**4 - (along / np.float32(0.86)) ** 8
    body = chord(inside) * np.float32(30 * 0.0048)
    plate = smooth_step(inside, 0.0, 0.12) * (1 - smooth_step(inside, 0.12, 0.5)) * np.float32(0.05)
    pedicle = ((np.abs(across) - np.float32(0.62)) / np.float32(0.2)) ** 2 + (
        (along + np.float32(0.25)) / np.float32(0.33)
    ) ** 2
    ring = np.exp(-(((pedicle - 1) / np.float32(0.55)) ** 2)) * np.float32(0.05)
    process = (across / np.float32(0.16)) ** 2 + ((along - np.float32(0.45)) / np.float32(0.4)) ** 2
    spinous = chord(1 - process) * np.float32(0.16)
    transverse = ((np.abs(across) - np.float32(1.25)) / np.float32(0.55)) ** 2 + (
        (along + np.float32(0.3)) / np.float32(0.3)
    ) ** 2
    wings = chord(1 - transverse) * np.float32(0.08)
    amount = body + plate + ring + spinous + wings
    return inside > 0, amount.astype(np.float32)


def _breastbone(canvas: Canvas) -> None:
    y = np.linspace(56, 100, 20)
    points = np.column_stack([np.zeros(20), y, np.full(20, -88.0)])
    canvas.tube(
        points, radius_mm=np.linspace(26, 15, 20), depth_mm=9.0, shell=CORTEX * 0.6, core=MARROW, wall=0.08
    )


def _spline(t: Points, values: Points, fine: Points) -> Points:
    """Natural-looking curve through a few knots: a cubic polynomial through four of them."""
    return np.polyval(np.polyfit(t, values, len(t) - 1), fine)
