"""What a reader may take for a nodule: nipples, leads, calcifications, vessels end on, crossing ribs."""

from __future__ import annotations

from dataclasses import dataclass
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
    """What a distractor is."""

    NIPPLE = "nipple"
    LEAD = "lead"
    CALCIFICATION = "calcification"
    VESSEL_END_ON = "vessel end on"
    RIB_CROSSING = "rib crossing"


@dataclass(frozen=True)
class Distractor:
    """A row of the table: centre from the top-left corner of the image, diameter of a disc of the same area."""

    kind: DistractorKind
    x_mm: float
    y_mm: float
    diameter_mm: float


@dataclass(frozen=True, eq=False)
class Distractors:
    """What the distractors add to the line integral, where, and the table of them."""

    amount: Floats
    mask: Masks
    table: pd.DataFrame


def draw_distractors(
    view: Projection, patient: Patient, cage: Cage, lungs: Lungs, skeleton: Skeleton, *, seed: int
) -> Distractors:
    """Draw the distractors of a patient and list them with the crossings of ribs that are there anyway."""
    canvas = Canvas(view)
    marks = canvas.no_marks()
    rows = [
        *_nipples(canvas, marks, patient, cage, stream(seed, "nipples")),
        *_leads(canvas, marks, cage, stream(seed, "leads")),
        *_in_lung(canvas, marks, lungs, patient, stream(seed, "calcifications")),
        *_crossings(view, lungs, skeleton),
    ]
    table = pd.DataFrame(rows, columns=["kind", "x_mm", "y_mm", "diameter_mm"])
    return Distractors(canvas.amount, marks > 0, table.astype({"kind": "str"}))


def _ball(
    canvas: Canvas,
    marks: NDArray[np.uint8],
    kind: DistractorKind,
    centre: Points,
    *,
    diameter_mm: float,
    depth_mm: float,
    absorption: float,
) -> list[Distractor]:
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
        marks=marks,
    )
    return [Distractor(kind, (column + 0.5) * view.mm_per_px, (row + 0.5) * view.mm_per_px, diameter_mm)]


def _nipples(
    canvas: Canvas, marks: NDArray[np.uint8], patient: Patient, cage: Cage, rng: np.random.Generator
) -> list[Distractor]:
    rows = []
    visible = rng.random() < 0.4
    for side in (-1, 1):
        x = side * (0.62 * cage.half_width_mm + rng.normal(4, 5))
        y = (182 + 0.35 * patient.breast_mm if patient.breast_mm else 168) + rng.normal(0, 6)
        size = rng.uniform(7, 12)
        if visible and rng.random() < 0.75:
            rows += _ball(
                canvas,
                marks,
                DistractorKind.NIPPLE,
                np.array([x, y, -112.0]),
                diameter_mm=size,
                depth_mm=rng.uniform(3, 7),
                absorption=SOFT_ABSORPTION,
            )
    return rows


def _leads(
    canvas: Canvas, marks: NDArray[np.uint8], cage: Cage, rng: np.random.Generator
) -> list[Distractor]:
    if rng.random() > 0.12:
        return []
    rows = []
    places = [(-0.55, 30.0), (0.55, 26.0), (-0.7, 150.0), (0.75, 160.0)]
    neck = np.array([rng.uniform(-60, 60), -140.0, -115.0])
    for share, y in places[: int(rng.integers(2, 5))]:
        centre = np.array([share * cage.half_width_mm + rng.normal(0, 8), y + rng.normal(0, 8), -115.0])
        rows += _ball(
            canvas,
            marks,
            DistractorKind.LEAD,
            centre,
            diameter_mm=rng.uniform(7, 10),
            depth_mm=1.0,
            absorption=METAL_ABSORPTION,
        )
        t = np.linspace(0, 1, 40)[:, None]
        slack = rng.normal(0, 25)
        wire = centre + t * (neck - centre) + np.sin(np.pi * t) * np.array([slack, 0, 0])
        canvas.tube(wire, radius_mm=0.8, depth_mm=0.7, shell=METAL_ABSORPTION, marks=marks)
    return rows


def _in_lung(
    canvas: Canvas, marks: NDArray[np.uint8], lungs: Lungs, patient: Patient, rng: np.random.Generator
) -> list[Distractor]:
    """Calcified granulomas anywhere in the lungs, vessels end on in their inner parts."""
    rows: list[Distractor] = []
    view = canvas.view
    places = np.argwhere(lungs.left | lungs.right)
    if len(places) == 0:
        return rows
    x, y = view.at(0.0)
    for _ in range(int(rng.poisson(0.15 + 0.006 * patient.age_years))):
        r, c = places[rng.integers(len(places))]
        size = rng.uniform(2, 6)
        rows += _ball(
            canvas,
            marks,
            DistractorKind.CALCIFICATION,
            np.array([x[r, c], y[r, c], 0.0], dtype=np.float64),
            diameter_mm=size,
            depth_mm=0.6 * size,
            absorption=CALCIUM_ABSORPTION,
        )
    inner = places[np.abs(x[places[:, 0], places[:, 1]]) < 75]
    for _ in range(int(rng.poisson(2.0))):
        if len(inner) == 0:
            break
        r, c = inner[rng.integers(len(inner))]
        size = rng.uniform(3, 6.5)
        rows += _ball(
            canvas,
            marks,
            DistractorKind.VESSEL_END_ON,
            np.array([x[r, c], y[r, c], 0.0], dtype=np.float64),
            diameter_mm=size,
            depth_mm=rng.uniform(6, 12),
            absorption=SOFT_ABSORPTION,
        )
    return rows


def _crossings(view: Projection, lungs: Lungs, skeleton: Skeleton) -> list[Distractor]:
    """Patches inside the lungs where a posterior rib crosses an anterior one."""
    both = skeleton.posterior_ribs & skeleton.anterior_ribs & (lungs.left | lungs.right)
    count, _, stats, centres = cv2.connectedComponentsWithStats(both.astype(np.uint8), connectivity=4)
    rows = []
    for k in range(1, count):
        area = float(stats[k, cv2.CC_STAT_AREA]) * view.mm_per_px**2
        if area >= SMALLEST_CROSSING_MM2:
            x, y = ((float(value) + 0.5) * view.mm_per_px for value in centres[k])
            rows.append(Distractor(DistractorKind.RIB_CROSSING, x, y, 2 * float(np.sqrt(area / np.pi))))
    return rows
