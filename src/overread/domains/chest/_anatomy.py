"""All structures of one radiograph together.

Thorax and mediastinum, from the lung fields.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.domains.chest._bones import find_clavicles, find_ribs, find_ridges
from overread.domains.chest._lungs import LungFields, find_lungs
from overread.features import Anatomy, Mask, Quality
from overread.images import Radiograph

# Chosen by eye.
WALL_MM = 5.0


def find_thorax(fields: LungFields, mm_per_px: float) -> Mask:
    """Convex hull of both lungs, widened by `WALL_MM`; the whole image where there is no lung at all."""
    lungs = (fields.left | fields.right).astype(np.uint8)
    points = cv2.findNonZero(lungs)
    if points is None:
        return np.ones(lungs.shape, dtype=bool)
    hull = cv2.fillConvexPoly(np.zeros_like(lungs), cv2.convexHull(points), 1)
    size = 2 * round(WALL_MM / mm_per_px) + 1
    wide = cv2.dilate(hull, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    return np.asarray(wide > 0)


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
    ribs = find_ribs(radiograph, ridges, fields.left | fields.right)
    clavicles = find_clavicles(radiograph, ridges, fields)
    inside = find_thorax(fields, radiograph.mm_per_px)
    return Anatomy(
        left_lung=fields.left,
        right_lung=fields.right,
        thorax=inside,
        mediastinum=find_mediastinum(fields, inside),
        ribs=ribs.probability,
        rib_direction_deg=ribs.direction_deg,
        clavicles=clavicles.mask,
        quality={
            "left_lung": fields.left_quality,
            "right_lung": fields.right_quality,
            "mediastinum": judge_mediastinum(fields),
            "ribs": ribs.quality,
            "clavicles": clavicles.quality,
        },
    )
