"""Place in the lung (12 features).

A candidate belongs to the lung field it lies in, else to the one on its side of the midline. The lung's frame is
the box of its field; where a field is missing, the thorax's half, then the image's half, stands in.
"""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, Mask
from overread.features._family import Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._maps import at_nearest_pixel
from overread.features.context._rays import area_mean

# The hilum lies at the medial border, a little above half of the lung's height. These places are set by judgement.
HILUM_HEIGHT = 0.45
# Nipples: about three quarters down, a little lateral of the middle.
NIPPLE_HEIGHT = 0.75
NIPPLE_SIDE = 0.55
NIPPLE_SPREAD = 0.15
POSITION_LIMITS = (-0.5, 1.5)

FEATURES = describe_features(
    "lung",
    "Shiraishi et al. 2006, doi:10.1118/1.2208739 (position in the lung); van Ginneken et al. 2001, "
    "doi:10.1109/42.974918 (anatomy in chest radiographs)",
    [
        ("inside", "1", "share of the outline inside the lung fields", "share of the candidate inside the lungs"),
        ("depth", "mm", "distance to the lungs' border, positive inside, -60..60",
         "distance to the border of the lung"),
        ("relative_depth", "1", "depth / sqrt(area of the lung / pi)",
         "distance to the border of the lung, relative to the size of the lung"),
        ("height", "1", "0 at the lung's top, 1 at its bottom, cut to -0.5..1.5",
         "height in the lung, from apex to base"),
        ("laterality", "1", "0 at the lung's medial side, 1 at its lateral side, cut to -0.5..1.5",
         "position in the lung, from medial to lateral"),
        ("side", "1", "-1 in the left lung field of the image, +1 in the right one", "left or right lung"),
        ("mediastinum_distance", "mm", "distance to the mediastinum, negative inside, -60..60",
         "distance to the mediastinum"),
        ("hilum_distance", "1", "distance to the point at 0.45 of the lung's height on its medial side / height",
         "distance to the hilum"),
        ("apex_distance", "mm", "rows below the lung's top", "distance below the apex of the lung"),
        ("base_distance", "mm", "rows above the lung's bottom", "distance above the base of the lung"),
        ("midline_distance", "mm", "columns from the midline between the lungs", "distance to the midline"),
        ("nipple_zone", "1",
         "exp(-((height - 0.75)^2 + (laterality - 0.55)^2) / (2 * 0.15^2)), where nipples project",
         "likelihood of a nipple shadow, from the position"),
    ],
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Place of each candidate."""
    maps, mm = context.maps, context.mm
    column, row = context.column, context.row
    right = _in_right_lung(context)
    frame = {
        name: np.where(right, getattr(maps.lung_frames[1], name), getattr(maps.lung_frames[0], name))
        for name in ("top", "bottom", "medial", "lateral", "area", "height", "width")
    }
    depth = -maps.lung_border.signed_distance(column, row, mm_per_px=mm)
    height = np.clip((row - frame["top"]) / frame["height"], *POSITION_LIMITS)
    outwards = np.where(right, 1.0, -1.0)
    laterality = np.clip((column - frame["medial"]) * outwards / frame["width"], *POSITION_LIMITS)
    hilum_row = frame["top"] + HILUM_HEIGHT * frame["height"]
    off_nipple = (height - NIPPLE_HEIGHT) ** 2 + (laterality - NIPPLE_SIDE) ** 2
    values = {
        "inside": area_mean(context.in_lung.astype(np.float32), context.inside),
        "depth": depth,
        "relative_depth": depth / (np.sqrt(frame["area"] / np.pi) * mm),
        "height": height,
        "laterality": laterality,
        "side": outwards,
        "mediastinum_distance": maps.mediastinum_border.signed_distance(column, row, mm_per_px=mm),
        "hilum_distance": np.hypot(column - frame["medial"], row - hilum_row) / frame["height"],
        "apex_distance": (row - frame["top"]) * mm,
        "base_distance": (frame["bottom"] - row) * mm,
        "midline_distance": np.abs(column - maps.midline) * mm,
        "nipple_zone": np.exp(-off_nipple / (2.0 * NIPPLE_SPREAD**2)),
    }
    return stack_columns(FEATURES, values, context.n_candidates)


def _in_right_lung(context: Context) -> Mask:
    """Whether a candidate belongs to the lung field on the right of the image."""
    anatomy, column, row = context.anatomy, context.column, context.row
    left = at_nearest_pixel(anatomy.left_lung, column, row)
    right = at_nearest_pixel(anatomy.right_lung, column, row)
    decided: Mask = np.where(left == right, column > context.maps.midline, right)
    return decided


FAMILY = Family(FEATURES, _compute)
