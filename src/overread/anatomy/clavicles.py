"""Clavicles: one bright band at the top of each lung that rises towards the shoulder.

Of all courses from the inner to the outer edge of the lung, the one with the largest total curvature across it is
found by dynamic programming. Ribs behind it fall towards the side, so the allowed slopes tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.anatomy.lungs import LungFields, enlarge_mask
from overread.anatomy.ribs import RIB_GRID_MM, Ridges, shrink_to_grid
from overread.anatomy.structures import Map, Mask, Quality
from overread.images import Radiograph

__all__ = ["Clavicles", "find_best_course", "find_clavicles"]

# Chosen by eye on NIH radiographs: no outlines of clavicles were at hand. Window of the search around the top of a
# lung: above it, below it, and outwards.
ABOVE_MM = 12.0
BELOW_MM = 70.0
BEYOND_MM = 12.0
HALF_WIDTH_MM = 5.5
# The curvature is taken across this direction, 20 degrees; a course may rise by this many rows a column.
USUAL_SLOPE_RAD = 0.35
STEEPEST_RISE = 2
# Mean curvature of the course over that of the window which counts as found.
SURE_STRENGTH = 1.5
# Curvature that counts as nothing, in units of the normalized image.
FLOOR = 2e-3


@dataclass(frozen=True, eq=False)
class Clavicles:
    """Mask of both clavicles on the grid of the radiograph, and its quality."""

    mask: Mask
    quality: Quality


def find_clavicles(radiograph: Radiograph, ridges: Ridges, fields: LungFields) -> Clavicles:
    """Look for a clavicle across the top of each lung."""
    left, right = (
        shrink_to_grid(lung.astype(np.float32), radiograph.mm_per_px) > 0.5
        for lung in (fields.left, fields.right)
    )
    curvature = np.maximum(ridges.across(USUAL_SLOPE_RAD), 0), np.maximum(ridges.across(-USUAL_SLOPE_RAD), 0)
    near, found = find_clavicle(curvature[0], left)
    far, also = find_clavicle(np.ascontiguousarray(curvature[1][:, ::-1]), right[:, ::-1])
    rows, columns = radiograph.shape
    mask = enlarge_mask(near | far[:, ::-1], (columns, rows))
    if not mask.any():
        return Clavicles(mask, Quality.FALLBACK)
    lungs_known = fields.left_quality is fields.right_quality is Quality.FOUND
    return Clavicles(mask, Quality.FOUND if found and also and lungs_known else Quality.DOUBTFUL)


def find_clavicle(curvature: Map, lung: Mask) -> tuple[Mask, bool]:
    """Band across the top of a left lung, and whether it stands out; nothing for a lung too small to have one."""
    mask = np.zeros(lung.shape, dtype=np.uint8)
    rows = np.flatnonzero(lung.any(axis=1))
    if len(rows) * RIB_GRID_MM < BELOW_MM:
        return mask > 0, False
    top = max(int(rows[0] - ABOVE_MM / RIB_GRID_MM), 0)
    bottom = min(int(rows[0] + BELOW_MM / RIB_GRID_MM), len(lung))
    columns = np.flatnonzero(lung[:bottom].any(axis=0))
    first = max(int(columns[0] - BEYOND_MM / RIB_GRID_MM), 0)
    window = curvature[top:bottom, first : int(columns[-1]) + 1]
    if min(window.shape) < 4:
        return mask > 0, False
    course = find_best_course(window)
    strength = window[course, np.arange(window.shape[1])].mean() / (window.mean() + FLOOR)
    points = np.column_stack([np.arange(window.shape[1]) + first, course + top]).astype(np.int32)
    thickness = 2 * round(HALF_WIDTH_MM / RIB_GRID_MM) + 1
    cv2.polylines(mask, [points], isClosed=False, color=1, thickness=thickness)
    return mask > 0, bool(strength >= SURE_STRENGTH)


def find_best_course(gain: Map) -> NDArray[np.intp]:
    """Row in each column with the largest total gain; each step right goes down by 0 to `STEEPEST_RISE` rows."""
    rows, columns = gain.shape
    total = gain[:, 0].astype(np.float64)
    came_from = np.zeros((columns, rows), dtype=np.intp)
    for column in range(1, columns):
        steps = np.stack(
            [np.r_[np.full(step, -np.inf), total[: rows - step]] for step in range(STEEPEST_RISE + 1)]
        )
        choice = np.argmax(steps, axis=0)
        came_from[column] = np.arange(rows) - choice
        total = steps[choice, np.arange(rows)] + gain[:, column]
    course = np.empty(columns, dtype=np.intp)
    course[-1] = int(np.argmax(total))
    for column in range(columns - 1, 0, -1):
        course[column - 1] = came_from[column, course[column]]
    return course
