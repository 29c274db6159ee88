"""All structures of one radiograph: thorax and mediastinum from the lung fields, ribs and clavicles.

Ribs: how much a pixel looks like rib, and which way the rib runs.

A rib is a bright band about 8 to 14 mm wide. At that scale its curvature across is large and along it small. The
direction is found from the curvature tensor, averaged along a neighbourhood in the doubled angle, so that a gap
or a crossing vessel does not turn it; the strength is the curvature across that direction.

Clavicles: one bright band at the top of each lung that rises towards the shoulder.

Of all courses from the inner to the outer edge of the lung, the one with the largest total curvature across it is
found by dynamic programming. Ribs behind it fall towards the side, so the allowed slopes separate them.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.domains._scale_space import second_derivatives
from overread.domains.chest._lungs import LungFields, enlarge_mask, find_lungs, make_disc
from overread.features import Anatomy, Map, Mask, Quality
from overread.images import Radiograph, blur, magnitude

# Set by judgement on NIH radiographs, as all of this module: no outlines of ribs were at hand.
RIB_GRID_MM = 2.1
RIB_SIGMA_MM = 4.0
DIRECTION_MM = 9.0
STRENGTH_MM = 40.0
AROUND_LUNGS_MM = 15.0
STEEPEST_DEG = 75.0
SHARPNESS = 2.5
MIDDLE = 0.8
FULL_COHERENCE = 0.6
# Curvature that counts as nothing, in units of the normalized image.
RIB_FLOOR = 2e-3
# The mean coherence, and the share of the lungs that looks like rib, which count as found.
SURE_COHERENCE = 0.45
SURE_SHARE = (0.10, 0.60)


@dataclass(frozen=True, eq=False)
class Ridges:
    """Second derivatives on the grid of `RIB_GRID_MM`, times minus sigma squared: positive across a bright ridge."""

    xx: Map
    yy: Map
    xy: Map
    direction: Map  # along the ridge, radians clockwise on screen from +x, in [0, pi)
    coherence: Map  # how far the neighbourhood agrees on the direction, 0 to 1

    def across(self, direction: Map | float) -> Map:
        """Curvature across a direction."""
        c, s = np.cos(direction), np.sin(direction)
        return np.asarray(s * s * self.xx + c * c * self.yy - 2 * s * c * self.xy, dtype=np.float32)


def find_ridges(radiograph: Radiograph) -> Ridges:
    """Bright bands of the width of a rib."""
    image = shrink_to_grid(np.where(radiograph.valid, radiograph.pixels, 0), radiograph.mm_per_px)
    sigma = RIB_SIGMA_MM / RIB_GRID_MM
    smooth = blur(image, sigma)
    xx, yy, xy = second_derivatives(smooth, -sigma * sigma / 4)
    strength = np.maximum((xx + yy) / 2 + magnitude((xx - yy) / 2, xy), 0)
    normal = np.arctan2(2 * xy, xx - yy)
    window = DIRECTION_MM / RIB_GRID_MM
    c, s = (blur(strength * part(normal), window) for part in (np.cos, np.sin))
    coherence = magnitude(c, s) / (blur(strength, window) + RIB_FLOOR)
    direction = np.mod((np.arctan2(s, c) + np.pi) / 2, np.pi)
    return Ridges(xx, yy, xy, direction.astype(np.float32), np.minimum(coherence, 1))


def find_ribs(radiograph: Radiograph, ridges: Ridges, lungs: Mask) -> tuple[Map, Map, Quality]:
    """Likeness to rib, direction in degrees and quality, in the lung fields and `AROUND_LUNGS_MM` around them.

    With k the curvature across the local direction, k0 its mean within `STRENGTH_MM`, and c the coherence, the
    value is min(1, k / k0) min(1, c / FULL_COHERENCE) / (1 + exp(-SHARPNESS (k / k0 - MIDDLE))): a rank of rib
    likeness from 0 to 1, not calibrated. Directions steeper than `STEEPEST_DEG` are vessels, heart or lung border
    rather than rib.
    """
    region = shrink_to_grid(lungs.astype(np.float32), radiograph.mm_per_px) > 0.5
    size = 2 * round(AROUND_LUNGS_MM / RIB_GRID_MM) + 1
    near = cv2.dilate(region.astype(np.uint8), make_disc(size)).astype(np.float32)
    curvature = np.maximum(ridges.across(ridges.direction), 0)
    window = STRENGTH_MM / RIB_GRID_MM
    typical = blur(curvature * near, window) / np.maximum(blur(near, window), 0.05) + RIB_FLOOR
    steep = np.abs(np.sin(ridges.direction)) > np.sin(np.radians(STEEPEST_DEG))
    logistic = 1 / (1 + np.exp(-SHARPNESS * np.clip(curvature / typical - MIDDLE, -20, 20)))
    rising = np.clip(curvature / typical, 0, 1)
    agreed = np.minimum(ridges.coherence / FULL_COHERENCE, 1)
    probability = (logistic * rising * agreed * near * ~steep).astype(np.float32)
    rows, columns = radiograph.shape
    fine = cv2.resize(probability, (columns, rows), interpolation=cv2.INTER_LINEAR)
    return (
        np.asarray(np.clip(fine, 0, 1), dtype=np.float32),
        enlarge_directions(ridges.direction, radiograph.shape),
        _judge_ribs(probability, ridges.coherence, region),
    )


def _judge_ribs(probability: Map, coherence: Map, lungs: Mask) -> Quality:
    """FOUND where a usual share of the lungs looks like rib and its directions agree with each other."""
    rib = (probability > 0.5) & lungs
    if not rib.any():
        return Quality.FALLBACK
    share = float(rib.sum() / lungs.sum())
    sure = SURE_SHARE[0] <= share <= SURE_SHARE[1] and float(coherence[rib].mean()) >= SURE_COHERENCE
    return Quality.FOUND if sure else Quality.DOUBTFUL


def shrink_to_grid(image: Map, mm_per_px: float) -> Map:
    """Average a map on the grid of `RIB_GRID_MM`."""
    rows, columns = image.shape
    size = max(round(columns * mm_per_px / RIB_GRID_MM), 2), max(round(rows * mm_per_px / RIB_GRID_MM), 2)
    coarse: Map = cv2.resize(np.asarray(image, dtype=np.float32), size, interpolation=cv2.INTER_AREA)
    return coarse


def enlarge_directions(direction: Map, shape: tuple[int, int]) -> Map:
    """Interpolate directions on the grid of the radiograph, in the doubled angle; degrees."""
    size = shape[1], shape[0]
    c, s = (
        cv2.resize(part(2 * direction), size, interpolation=cv2.INTER_LINEAR) for part in (np.cos, np.sin)
    )
    angle = np.mod(cv2.phase(c, s, angleInDegrees=True) / 2, 180)
    return np.asarray(angle, dtype=np.float32)


# Set by judgement on NIH radiographs: no outlines of clavicles were at hand. Window of the search around the top of a
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
CLAVICLE_FLOOR = 2e-3


def find_clavicles(radiograph: Radiograph, ridges: Ridges, fields: LungFields) -> tuple[Mask, Quality]:
    """Look for a clavicle across the top of each lung; the mask of both, and its quality."""
    left, right = (
        shrink_to_grid(lung.astype(np.float32), radiograph.mm_per_px) > 0.5
        for lung in (fields.left, fields.right)
    )
    curvature = np.maximum(ridges.across(USUAL_SLOPE_RAD), 0), np.maximum(ridges.across(-USUAL_SLOPE_RAD), 0)
    near, found = _find_clavicle(curvature[0], left)
    far, also = _find_clavicle(np.ascontiguousarray(curvature[1][:, ::-1]), right[:, ::-1])
    rows, columns = radiograph.shape
    mask = enlarge_mask(near | far[:, ::-1], (columns, rows))
    if not mask.any():
        return mask, Quality.FALLBACK
    lungs_known = fields.left_quality is fields.right_quality is Quality.FOUND
    return mask, Quality.FOUND if found and also and lungs_known else Quality.DOUBTFUL


def _find_clavicle(curvature: Map, lung: Mask) -> tuple[Mask, bool]:
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
    strength = window[course, np.arange(window.shape[1])].mean() / (window.mean() + CLAVICLE_FLOOR)
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


# Set by judgement.
WALL_MM = 5.0


def find_thorax(fields: LungFields, mm_per_px: float) -> Mask:
    """Convex hull of both lungs, widened by `WALL_MM`; the whole image if no lung was found."""
    lungs = (fields.left | fields.right).astype(np.uint8)
    points = cv2.findNonZero(lungs)
    if points is None:
        return np.ones(lungs.shape, dtype=bool)
    hull = cv2.fillConvexPoly(np.zeros_like(lungs), cv2.convexHull(points), 1)
    size = 2 * round(WALL_MM / mm_per_px) + 1
    return np.asarray(cv2.dilate(hull, make_disc(size)) > 0)


def find_mediastinum(fields: LungFields, inside: Mask) -> Mask:
    """Part of the thorax between the lungs: right of all left lung and left of all right lung in its row.

    In a row without one of the lungs, the edge of its next row below counts, and below all of it that of its last row.
    """
    columns = np.arange(inside.shape[1])
    left_edge = _last_column(fields.left)
    right_edge = inside.shape[1] - 1 - _last_column(fields.right[:, ::-1])
    between = (columns > left_edge[:, None]) & (columns < right_edge[:, None])
    return np.asarray(between & inside & ~fields.left & ~fields.right)


def _last_column(mask: Mask) -> NDArray[np.intp]:
    """Last column of the mask in each row; a row without takes the next one below that has it, else the last."""
    rows = np.flatnonzero(mask.any(axis=1))
    if len(rows) == 0:
        return np.zeros(len(mask), dtype=np.intp)
    last = mask.shape[1] - 1 - np.argmax(mask[rows, ::-1], axis=1)
    following = np.clip(np.searchsorted(rows, np.arange(len(mask))), 0, len(rows) - 1)
    return np.asarray(last[following])


def judge_mediastinum(fields: LungFields) -> Quality:
    """As good as the worse of the two lungs."""
    order = [Quality.FOUND, Quality.DOUBTFUL, Quality.FALLBACK]
    return order[max(order.index(fields.left_quality), order.index(fields.right_quality))]


def find_anatomy(radiograph: Radiograph) -> Anatomy:
    """Find lungs, thorax, mediastinum, ribs and clavicles as far as the image allows.

    Every mask and map is finite and on the grid of the radiograph, whatever the image shows; ``quality`` says how
    far to trust it. A lung that is not found is replaced by its half of the thorax.
    """
    fields = find_lungs(radiograph)
    ridges = find_ridges(radiograph)
    ribs, rib_direction, rib_quality = find_ribs(radiograph, ridges, fields.left | fields.right)
    clavicles, clavicle_quality = find_clavicles(radiograph, ridges, fields)
    inside = find_thorax(fields, radiograph.mm_per_px)
    return Anatomy(
        left_lung=fields.left,
        right_lung=fields.right,
        thorax=inside,
        mediastinum=find_mediastinum(fields, inside),
        ribs=ribs,
        rib_direction_deg=rib_direction,
        clavicles=clavicles,
        quality={
            "left_lung": fields.left_quality,
            "right_lung": fields.right_quality,
            "mediastinum": judge_mediastinum(fields),
            "ribs": rib_quality,
            "clavicles": clavicle_quality,
        },
    )
