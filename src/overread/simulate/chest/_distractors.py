"""What a reader may take for a nodule: nipples, leads, calcifications, vessels end on, crossing ribs."""

from __future__ import annotations

from enum import StrEnum

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.simulate.chest._body import Skeleton
from overread.simulate.chest._canvas import SOFT_ABSORPTION, Canvas
from overread.simulate.chest._patient import Patient, Projection, stream
from overread.simulate.chest._thorax import Cage, Lungs

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
Points = NDArray[np.float64]

# A mm, set by judgement: calcium near the cortex of bone, metal so that a lead is nearly white.
CALCIUM_ABSORPTION = 0.07
METAL_ABSORPTION = 0.35
# The area of a disc of 7 mm; smaller crossings are not listed. Set by judgement.
SMALLEST_CROSSING_MM2 = 40.0


class DistractorKind(StrEnum):
    """Type of a distractor."""

    NIPPLE = "nipple"
    LEAD = "lead"
    CALCIFICATION = "calcification"
    VESSEL_END_ON = "vessel end on"
    RIB_CROSSING = "rib crossing"


# A row of the table: kind, centre from the top-left corner of the image, diameter of a disc of the same area.
Row = tuple[DistractorKind, float, float, float]


def draw_distractors(
    view: Projection, patient: Patient, cage: Cage, lungs: Lungs, skeleton: Skeleton, *, seed: int
) -> tuple[Canvas, pd.DataFrame]:
    """Draw the distractors of a patient; list them with the crossings of ribs."""
    canvas = Canvas(view)
    rows = [
        *_nipples(canvas, patient, cage, stream(seed, "nipples")),
        *_leads(canvas, cage, stream(seed, "leads")),
        *_in_lung(canvas, lungs, patient, stream(seed, "calcifications")),
        *_crossings(view, lungs, skeleton),
    ]
    table = pd.DataFrame(rows, columns=["kind", "x_mm", "y_mm", "diameter_mm"])
    return canvas, table.astype({"kind": "str"})


def _ball(
    canvas: Canvas,
    kind: DistractorKind,
    centre: Points,
    diameter_mm: float,
    depth_mm: float,
    absorption: float,
) -> list[Row]:
    """Draw a ball at a patient's point; nothing if it does not lie wholly inside the image."""
    view = canvas.view
    where = view.project(*(centre[axis : axis + 1] for axis in range(3)))
    radius_px = 0.5 * diameter_mm / view.mm_per_px
    column, row = float(where.columns[0]), float(where.rows[0])
    height, width = view.shape
    if not (radius_px < column < width - 1 - radius_px and radius_px < row < height - 1 - radius_px):
        return []
    canvas.tube(
        np.vstack([centre, centre]),
        radius_mm=0.5 * diameter_mm / (where.px_per_mm[0] * view.mm_per_px),
        depth_mm=depth_mm,
        shell=absorption,
    )
    return [(kind, (column + 0.5) * view.mm_per_px, (row + 0.5) * view.mm_per_px, diameter_mm)]


def _nipples(canvas: Canvas, patient: Patient, cage: Cage, rng: np.random.Generator) -> list[Row]:
    rows = []
    visible = rng.random() < 0.4
    for side in (-1, 1):
        x = side * (0.62 * cage.half_width_mm + rng.normal(4, 5))
        y = (182 + 0.35 * patient.breast_mm if patient.breast_mm else 168) + rng.normal(0, 6)
        size, centre = rng.uniform(7, 12), np.array([x, y, -112.0])
        if visible and rng.random() < 0.75:
            rows += _ball(canvas, DistractorKind.NIPPLE, centre, size, rng.uniform(3, 7), SOFT_ABSORPTION)
    return rows


def _leads(canvas: Canvas, cage: Cage, rng: np.random.Generator) -> list[Row]:
    if rng.random() > 0.12:
        return []
    rows = []
    places = [(-0.55, 30.0), (0.55, 26.0), (-0.7, 150.0), (0.75, 160.0)]
    neck = np.array([rng.uniform(-60, 60), -140.0, -115.0])
    for share, y in places[: int(rng.integers(2, 5))]:
        centre = np.array([share * cage.half_width_mm + rng.normal(0, 8), y + rng.normal(0, 8), -115.0])
        rows += _ball(canvas, DistractorKind.LEAD, centre, rng.uniform(7, 10), 1.0, METAL_ABSORPTION)
        t = np.linspace(0, 1, 40)[:, None]
        slack = rng.normal(0, 25)
        wire = centre + t * (neck - centre) + np.sin(np.pi * t) * np.array([slack, 0, 0])
        canvas.tube(wire, radius_mm=0.8, depth_mm=0.7, shell=METAL_ABSORPTION)
    return rows


def _in_lung(canvas: Canvas, lungs: Lungs, patient: Patient, rng: np.random.Generator) -> list[Row]:
    """Calcified granulomas anywhere in the lungs, vessels end on in their inner parts."""
    x, y = canvas.view.at(0.0)
    places = np.argwhere(lungs.left | lungs.right)
    inner = places[np.abs(x[places[:, 0], places[:, 1]]) < 75]
    rows: list[Row] = []
    for kind, own, mean, sizes, absorption in (
        (DistractorKind.CALCIFICATION, places, 0.15 + 0.006 * patient.age_years, (2, 6), CALCIUM_ABSORPTION),
        (DistractorKind.VESSEL_END_ON, inner, 2.0, (3, 6.5), SOFT_ABSORPTION),
    ):
        for _ in range(int(rng.poisson(mean)) if len(own) else 0):
            r, c = own[rng.integers(len(own))]
            size = rng.uniform(*sizes)
            depth = 0.6 * size if kind is DistractorKind.CALCIFICATION else rng.uniform(6, 12)
            centre = np.array([x[r, c], y[r, c], 0.0], dtype=np.float64)
            rows += _ball(canvas, kind, centre, size, depth, absorption)
    return rows


def _crossings(view: Projection, lungs: Lungs, skeleton: Skeleton) -> list[Row]:
    """Patches inside the lungs where a posterior rib crosses an anterior one."""
    both = skeleton.posterior_ribs & skeleton.anterior_ribs & (lungs.left | lungs.right)
    count, _, stats, centres = cv2.connectedComponentsWithStats(both.astype(np.uint8), connectivity=4)
    rows = []
    for k in range(1, count):
        area = float(stats[k, cv2.CC_STAT_AREA]) * view.mm_per_px**2
        if area >= SMALLEST_CROSSING_MM2:
            x, y = ((float(value) + 0.5) * view.mm_per_px for value in centres[k])
            rows.append((DistractorKind.RIB_CROSSING, x, y, 2 * float(np.sqrt(area / np.pi))))
    return rows
