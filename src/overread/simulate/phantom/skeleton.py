"""Bones: ribs, clavicles, breastbone; shoulders and spine have files of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.arms import Arms
from overread.simulate.phantom.cage import N_RIBS, Cage, RibCurve
from overread.simulate.phantom.canvas import CORTEX, MARROW, Canvas
from overread.simulate.phantom.patient import Patient
from overread.simulate.phantom.shoulders import draw_shoulders
from overread.simulate.phantom.spine import spine_amount
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import View

__all__ = ["Ribs", "Skeleton", "draw_clavicles", "draw_ribs", "draw_skeleton"]

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
Points = NDArray[np.float64]

RIB_HALF_HEIGHT_MM = 7.2
RIB_HALF_THICKNESS_MM = 3.6
RIB_DEPTH_MM = 7.0
THIN_RIBS = {1: 0.75, 10: 0.8, 11: 0.6, 12: 0.5}


@dataclass(frozen=True, eq=False)
class Ribs:
    """What the ribs add, and where: between spine and side of the chest, and from there to the front."""

    amount: Floats
    posterior: Masks
    anterior: Masks


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


def draw_skeleton(view: View, patient: Patient, cage: Cage, arms: Arms, *, seed: int) -> Skeleton:
    """Draw all bones."""
    ribs = draw_ribs(Canvas(view), cage, stream(seed, "ribs"))
    canvas = Canvas(view)
    clavicles = draw_clavicles(canvas, patient, stream(seed, "clavicles"))
    draw_shoulders(canvas, patient, arms, stream(seed, "shoulders"))
    _breastbone(canvas)
    amount = ribs.amount + canvas.amount + spine_amount(view, cage, stream(seed, "spine"))
    return Skeleton(amount * patient.bone_contrast, ribs.posterior, ribs.anterior, clavicles)


def draw_ribs(canvas: Canvas, cage: Cage, rng: np.random.Generator) -> Ribs:
    """Draw the ribs as flat curved tubes with a cortex, longer along the beam where they run along it."""
    marks = canvas.no_marks()
    for number in range(1, N_RIBS + 1):
        height = RIB_HALF_HEIGHT_MM * rng.normal(1, 0.04)
        density = THIN_RIBS.get(number, 1.0) * rng.normal(1, 0.06)
        for side in (-1, 1):
            _rib(canvas, cage.rib(number, side), height, density, marks)
    return Ribs(canvas.amount, (marks & 1) > 0, (marks & 2) > 0)


def _rib(canvas: Canvas, rib: RibCurve, height: float, density: float, marks: NDArray[np.uint8]) -> None:
    steps = np.gradient(rib.points, axis=0)
    in_plane = np.hypot(steps[:, 0], steps[:, 1])
    oblique = 1 / np.maximum(in_plane / np.linalg.norm(steps, axis=1), 0.42)
    upright = np.abs(steps[:, 1]) / in_plane
    front = np.clip((rib.angle - np.pi / 2) / 0.5, 0, 1)
    radius = np.hypot(height * (1 + 0.12 * front) * np.sqrt(1 - upright**2), RIB_HALF_THICKNESS_MM * upright)
    neck = 0.75 + 0.25 * np.clip((rib.angle - rib.angle[0]) / 0.25, 0, 1)
    # The end turns into cartilage, which absorbs hardly more than muscle.
    cartilage = np.clip((rib.angle[-1] - rib.angle) / 0.12, 0, 1)
    canvas.tube(
        rib.points,
        radius_mm=radius * neck,
        depth_mm=RIB_DEPTH_MM * density * oblique * cartilage * (1 - 0.5 * front),
        shell=CORTEX,
        core=MARROW,
        wall=0.13,
        split=int(np.searchsorted(rib.angle, np.pi / 2)),
        marks=marks,
    )


def draw_clavicles(canvas: Canvas, patient: Patient, rng: np.random.Generator) -> Masks:
    """Draw both clavicles and say where they are."""
    marks = canvas.no_marks()
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
            marks=marks,
        )
    return marks > 0


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
