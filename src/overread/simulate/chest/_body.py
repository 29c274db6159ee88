"""Soft tissue of trunk, neck, arms and breasts; gas in the abdomen.

Bones: ribs, clavicles, breastbone, spine, shoulder blades, arm bones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from overread.simulate.chest._canvas import (
    CORTEX,
    MARROW,
    Canvas,
    chord,
    columns_within,
    fourth_power,
    smooth_step,
)
from overread.simulate.chest._exposure import power_law_noise
from overread.simulate.chest._patient import Patient, Projection, by_bands, stream
from overread.simulate.chest._thorax import BASE_Y_MM, N_RIBS, SPINE_Z_MM, Cage, Diaphragm

Scalar = TypeVar("Scalar", bound=np.floating)
Floats = NDArray[np.float32]

# Depths and heights of what is drawn here, set by judgement.
ARM_Z_MM = 5.0
SHOULDER_Y_MM = 40.0
BREAST_Z_MM = -100.0
STOMACH_Z_MM = -20.0


@dataclass(frozen=True)
class Arms:
    """Axis of each upper arm (image's left, image's right) in patient mm."""

    shoulder_x_mm: tuple[float, float]
    slope: tuple[float, float]

    def axis(self, y: NDArray[Scalar], side: int) -> NDArray[Scalar]:
        """Distance of the axis from the midline at height y; side -1 is the image's left."""
        k = int(side > 0)
        return y.dtype.type(self.shoulder_x_mm[k]) + y.dtype.type(self.slope[k]) * (
            y - y.dtype.type(SHOULDER_Y_MM)
        )


def make_arms(patient: Patient, *, seed: int) -> Arms:
    """Let the arms hang, turned out as far as the shoulder blades are."""
    rng = stream(seed, "arms")
    outwards = np.tan(np.radians(np.clip(rng.normal(11, 5, 2), 1, 24)))
    shoulder = 160 + 0.5 * patient.scapula_mm + rng.normal(0, 3, 2)
    return Arms((float(shoulder[0]), float(shoulder[1])), (float(outwards[0]), float(outwards[1])))


def soft_tissue(view: Projection, patient: Patient, cage: Cage, arms: Arms, *, seed: int) -> Floats:
    """Thickness of the body along each beam in mm, as if the lungs were solid.

    Trunk, shoulders, neck and arms run into each other: the fourth root of the sum of their fourth powers.
    """
    rng = stream(seed, "trunk")
    chin_y = -128 + rng.normal(0, 12)
    breasts = _place_breasts(patient, cage, rng)

    def thickness(x: Floats, y: Floats, front_x: Floats, front_y: Floats) -> Floats:
        body = fourth_power(_trunk(x, y, patient, cage))
        for part in (_shoulders(x, y, patient), _neck(x, y, patient, chin_y), _arms(x, y, patient, arms)):
            body += fourth_power(part)
        on_top = _pectorals(x, y, patient) + _beside_spine(x, y)
        for breast in breasts:
            on_top += _breast(front_x, front_y, patient, breast)
        return np.sqrt(np.sqrt(body)) + on_top

    return by_bands(thickness, *view.at(0.0), *view.at(BREAST_Z_MM))


def _trunk(x: Floats, y: Floats, patient: Patient, cage: Cage) -> Floats:
    chest = cage.half_width(np.minimum(y, BASE_Y_MM)) + (8 + 0.9 * patient.fat_mm)
    waist = (0.93 * cage.half_width_mm + 0.9 * patient.fat_mm) * smooth_step(y, 0, 90)
    half = np.maximum(chest, waist) * (1 - 0.02 * smooth_step(y, 200, 330))
    depth = cage.half_depth(np.maximum(y, 60)) + (13 + 0.55 * patient.fat_mm)
    return 2 * depth * np.sqrt(chord(1 - fourth_power(x / half))) * smooth_step(y, -70, 60)


def _shoulders(x: Floats, y: Floats, patient: Patient) -> Floats:
    """Trapezius and deltoid: from a slope between neck and shoulder down to the armpit."""
    reach = 212 + 0.5 * patient.fat_mm
    out = np.minimum(np.abs(x) / reach, 1)
    slope = -64 - 0.4 * patient.fat_mm + 60 * out * np.sqrt(out)
    below = chord(np.minimum((y - slope) / 55, 1))
    side = np.sqrt(chord(1 - fourth_power(x / reach)))
    return (135 + patient.fat_mm) * below * side * (1 - smooth_step(y, 60, 190))


def _neck(x: Floats, y: Floats, patient: Patient, chin_y: float) -> Floats:
    """Neck, and the chin above it where the plate is tall enough."""
    half = 48 + 0.2 * patient.fat_mm + 40 * smooth_step(y, -60, 20)
    neck = 128 * chord(1 - (x / half) ** 2) * (1 - smooth_step(y, -10, 60))
    chin = chord(1 - (x / 62) ** 2 - (np.maximum(y - chin_y, 0) / 24) ** 2)
    return neck + 110 * chin


def _arms(x: Floats, y: Floats, patient: Patient, arms: Arms) -> Floats:
    half = (43 + 0.5 * patient.fat_mm) * (1 - 0.2 * smooth_step(y, 40, 250))
    round_top = chord(np.minimum((y + 4) / 55, 1))
    left, right = (chord(1 - ((side * x - arms.axis(y, side)) / half) ** 2) for side in (-1, 1))
    return (86 + patient.fat_mm) * (left + right) * round_top


def _place_breasts(patient: Patient, cage: Cage, rng: np.random.Generator) -> list[tuple[int, float, float]]:
    """Side (-1 is the image's left), distance from the midline and height of each breast."""
    if patient.breast_mm == 0:
        return []
    y = 168 + 0.35 * patient.breast_mm + rng.normal(0, 6)
    return [(side, 0.62 * cage.half_width_mm + rng.normal(0, 4), y + rng.normal(0, 4)) for side in (-1, 1)]


def _breast(x: Floats, y: Floats, patient: Patient, breast: tuple[int, float, float]) -> Floats:
    """Thickness of a breast: a crisp lower border, running out smoothly above."""
    width = 48 + 0.45 * patient.breast_mm
    side, middle_x, middle_y = breast
    dy = y - middle_y
    height = np.where(dy > 0, 0.8 * width, 1.9 * width).astype(np.float32)
    ball = chord(1 - ((side * x - middle_x) / width) ** 2 - (dy / height) ** 2)
    crisp = smooth_step(dy, -20, 25)
    runs_out = 1 - 0.7 * smooth_step(-dy, 0, 1.9 * width)
    return patient.breast_mm * runs_out * (ball * crisp + ball * ball * ball * (1 - crisp))


def _pectorals(x: Floats, y: Floats, patient: Patient) -> Floats:
    """Pectoral muscles: a veil over the upper outer lung that ends along the fold of the armpit."""
    thickness = 12.0 if patient.breast_mm else 20.0
    out = np.abs(x)
    fold = smooth_step((out - 30) / 120 - (y - 60) / 110, -0.7, 0.6)
    return thickness * fold * smooth_step(y, -30, 70) * (1 - smooth_step(out, 110, 190))


def _beside_spine(x: Floats, y: Floats) -> Floats:
    """Muscles along the spine, which leave less room for the lung there."""
    return 34 * np.exp(-((x / 62) ** 2)) * smooth_step(y, -60, 60)


def abdominal_gas(view: Projection, diaphragm: Diaphragm, *, seed: int) -> Floats:
    """Air in stomach and bowel, in mm along the beam: a bubble under the left dome and irregular loops."""
    rng = stream(seed, "abdomen")
    rough = power_law_noise(view.shape, 4.2, rng, longest_px=40 / view.mm_per_px)
    dome = diaphragm.dome_y_mm[1]
    bubbles, loops = [], []
    if rng.random() < 0.6:
        cx, cy = rng.uniform(50, 90), dome + rng.uniform(20, 34)
        a, b = rng.uniform(12, 36), rng.uniform(7, 15)
        level_y = cy + rng.uniform(0.1, 0.9) * b
        bubbles.append((cx, cy, a, b, level_y, rng.uniform(18, 45)))
    for _ in range(int(rng.integers(0, 4))):
        cx, cy = rng.uniform(20, 125), dome + rng.uniform(45, 120)
        a, b = rng.uniform(12, 34), rng.uniform(10, 24)
        loops.append((cx, cy, a, b, rng.uniform(8, 22)))

    def air(x: Floats, y: Floats, rough: Floats) -> Floats:
        total = np.zeros_like(x)
        for cx, cy, a, b, level_y, depth in bubbles:
            level = smooth_step(level_y - y, -1.0, 1.0)
            bubble = chord(1 - ((x - cx) / a) ** 2 - ((y - cy) / b) ** 2 + 0.3 * rough)
            total += depth * bubble * level
        for cx, cy, a, b, depth in loops:
            total += depth * chord(0.5 - ((x - cx) / a) ** 2 - ((y - cy) / b) ** 2 + 0.8 * rough)
        return total

    return by_bands(air, *view.at(STOMACH_Z_MM), rough)


Masks = NDArray[np.bool_]
Points = NDArray[np.float64]

# Shapes and amounts of bone were set by judgement against NIH radiographs; see docs/explanation/phantom.md.
RIB_HALF_HEIGHT_MM = 7.2
RIB_HALF_THICKNESS_MM = 3.6
RIB_DEPTH_MM = 7.0
THIN_RIBS = {1: 0.75, 10: 0.8, 11: 0.6, 12: 0.5}
# Line integrals through the middle of each part of a vertebra, above soft tissue.
VERTEBRAL_BODY = 0.30
ENDPLATE = 0.06
PEDICLE = 0.06
SPINOUS = 0.18
TRANSVERSE = 0.08
SPINE_REACH_MM = 90.0
SCAPULA_Z_MM = 70.0
BLADE_MM = 1.6
N_ALONG = 40


@dataclass(frozen=True, eq=False)
class Skeleton:
    """What all bones add to the line integral, and where the named ones do."""

    amount: Floats
    posterior_ribs: Masks
    anterior_ribs: Masks
    clavicles: Masks

    @property
    def ribs(self) -> Masks:
        """All ribs."""
        return self.posterior_ribs | self.anterior_ribs


def draw_skeleton(view: Projection, patient: Patient, cage: Cage, arms: Arms, *, seed: int) -> Skeleton:
    """Draw all bones."""
    ribs, canvas = Canvas(view), Canvas(view)
    draw_ribs(ribs, cage, stream(seed, "ribs"))
    draw_clavicles(canvas, patient, stream(seed, "clavicles"))
    clavicles = canvas.marks > 0
    _draw_shoulders(canvas, patient, arms, stream(seed, "shoulders"))
    _breastbone(canvas)
    amount = ribs.amount + canvas.amount + _spine(view, cage, stream(seed, "spine"))
    return Skeleton(amount * patient.bone_contrast, (ribs.marks & 1) > 0, (ribs.marks & 2) > 0, clavicles)


def draw_ribs(canvas: Canvas, cage: Cage, rng: np.random.Generator) -> None:
    """Draw the ribs as flat curved tubes with a cortex; between spine and side bit 1 is marked, in front bit 2."""
    for number in range(1, N_RIBS + 1):
        height = RIB_HALF_HEIGHT_MM * rng.normal(1, 0.04)
        density = THIN_RIBS.get(number, 1.0) * rng.normal(1, 0.06)
        for side in (-1, 1):
            _rib(canvas, *cage.rib(number, side), height, density)


def _rib(canvas: Canvas, points: Points, angle: Points, height: float, density: float) -> None:
    """Draw a rib, longer along the beam where it runs along it."""
    steps = np.gradient(points, axis=0)
    in_plane = np.hypot(steps[:, 0], steps[:, 1])
    oblique = 1 / np.maximum(in_plane / np.linalg.norm(steps, axis=1), 0.42)
    upright = np.abs(steps[:, 1]) / in_plane
    front = np.clip((angle - np.pi / 2) / 0.5, 0, 1)
    radius = np.hypot(height * (1 + 0.12 * front) * np.sqrt(1 - upright**2), RIB_HALF_THICKNESS_MM * upright)
    neck = 0.75 + 0.25 * np.clip((angle - angle[0]) / 0.25, 0, 1)
    # The end turns into cartilage, which absorbs little more than muscle.
    cartilage = np.clip((angle[-1] - angle) / 0.12, 0, 1)
    canvas.tube(
        points,
        radius_mm=radius * neck,
        depth_mm=RIB_DEPTH_MM * density * oblique * cartilage * (1 - 0.5 * front),
        shell=CORTEX,
        core=MARROW,
        wall=0.13,
        split=int(np.searchsorted(angle, np.pi / 2)),
    )


def draw_clavicles(canvas: Canvas, patient: Patient, rng: np.random.Generator) -> None:
    """Draw both clavicles."""
    t = np.linspace(0, 1, 60)
    for side in (-1, 1):
        angle = np.radians(patient.clavicle_angle_deg + rng.normal(0, 2.5))
        length = 137 * rng.normal(1, 0.03)
        bow, arch = rng.normal(3.5, 2.5), rng.normal(4, 4)
        x = 14 + length * t * np.cos(angle)
        y = 58 - length * t * np.sin(angle) - bow * np.sin(2 * np.pi * t) - arch * np.sin(np.pi * t)
        canvas.tube(
            np.column_stack([side * x, y, -75 + 85 * t**1.3]),
            radius_mm=5.6 + 2.2 * np.exp(-t / 0.10) + 1.2 * np.clip((t - 0.75) / 0.25, 0, 1),
            depth_mm=12.0 - 4.0 * t,
            shell=CORTEX,
            core=MARROW,
            wall=0.2,
        )


def _breastbone(canvas: Canvas) -> None:
    y = np.linspace(56, 100, 20)
    canvas.tube(
        np.column_stack([np.zeros(20), y, np.full(20, -88.0)]),
        radius_mm=np.linspace(26, 15, 20),
        depth_mm=9.0,
        shell=0.5 * CORTEX,
        core=0.5 * MARROW,
        wall=0.08,
    )


def _spine(view: Projection, cage: Cage, rng: np.random.Generator) -> Floats:
    """Line integral that the spine adds to soft tissue.

    Each pixel gets the vertebra it is nearest to and two coordinates on it: across, 1 at the side of the body;
    along, -1 and 1 at the discs' middles.
    """
    x, y = view.at(SPINE_Z_MM)
    middle = columns_within(x, SPINE_REACH_MM)
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
    return (
        VERTEBRAL_BODY * chord(inside)
        + ENDPLATE * rim
        + PEDICLE * ring
        + SPINOUS * process
        + TRANSVERSE * wings
    )


def _ellipse(u: Floats, v: Floats, a: float, b: float) -> Floats:
    return (u / a) ** 2 + (v / b) ** 2


def _draw_shoulders(canvas: Canvas, patient: Patient, arms: Arms, rng: np.random.Generator) -> None:
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
    acromion = _curve(side, shift, (142, 12), (154, 7), (165, 12), (168, 20))
    coracoid = _curve(side, shift, (124, 36), (122, 28), (130, 24), (136, 28))
    glenoid = _curve(side, shift, (138, 34), (135, 45), (136, 57), (132, 66))
    for line, radius, depth, wall in (
        (lateral, slim, 5.5, 0.5),
        (medial, 1.4, 1.6, 0.5),
        (upper, 1.4, 1.6, 0.5),
        (spine, 3.8, 3.0, 0.5),
        (acromion, 6.5, 6.0, 0.2),
        (coracoid, 5.0, 8.0, 0.3),
        (glenoid, 3.6, 11.0, 0.35),
    ):
        canvas.tube(line, radius_mm=radius, depth_mm=depth, shell=0.7 * CORTEX, core=MARROW, wall=wall)
    _blade(canvas, np.vstack([lateral, medial[1:], upper[1:]]))


def _blade(canvas: Canvas, outline: Points) -> None:
    """Fill the outline with a thin plate."""
    where = canvas.view.project(*outline.T)
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
