"""Ribs and clavicles (10 features). Without ribs or clavicles in the anatomy distances are 60 mm."""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, F64
from overread.features._family import Family, describe_features, ratio, stack_columns
from overread.features._outlines import at_least_two
from overread.features.context._context import Context
from overread.features.context._maps import at_nearest_pixel
from overread.features.context._rays import RAYS, RHO, area_mean, polar_grey, polar_mask

# Below this a pixel has no rib with a measurable direction. Set by judgement.
NO_RIB = 0.1

FEATURES = describe_features(
    "ribs",
    "The paper, section 5 (region label: falls in the rib region); Keserci and Yoshida 2002, "
    "doi:10.1016/S1361-8415(02)00064-6 (rib-edge features)",
    [
        ("at_centre", "1", "P at the centre", "probability of a rib at the centre"),
        ("label", "1", "1 if P > 1/2 at the centre, else 0", "whether the centre lies on a rib"),
        ("overlap", "1", "mean of P inside the outline", "share of the candidate on a rib"),
        ("difference", "1", "overlap - mean of P between 1.2 and 2 outline radii",
         "share of rib inside the candidate minus around it"),
        ("distance", "mm",
         "distance to the nearest pixel with P > 1/2; inside minus that to the nearest without; -60..60",
         "distance to the nearest rib"),
        ("alignment", "1", "P e cos 2(a - b) at the centre; e, a elongation and direction of the outline",
         "whether the candidate is elongated along the rib"),
        ("angle", "deg", "angle between outline and rib, 0..90; 45 where P < 0.1",
         "angle between the candidate's long axis and the rib"),
        ("crossing", "1", "1 - |sum P^2 exp(2 i b)| / sum P^2 over rho < 1.5; 0 without ribs, large where ribs cross",
         "whether ribs cross at the candidate"),
        ("clavicle_overlap", "1", "share of the outline on a clavicle", "share of the candidate on a clavicle"),
        ("clavicle_distance", "mm", "distance to the nearest clavicle pixel; inside minus that out; -60..60",
         "distance to the nearest clavicle"),
    ],
    symbols={"P": "P: rib likeness of a pixel, 0 to 1", "b": "b: direction of the local rib"},
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Place of each candidate among the bones."""
    maps, outlines = context.maps, context.outlines
    column, row = context.column, context.row
    rays = RAYS[::2]
    ribs = polar_grey(at_least_two(context.anatomy.ribs), column, row, context.radius_px, RHO, rays)
    at_centre = np.clip(at_nearest_pixel(context.anatomy.ribs, column, row).astype(np.float64), 0.0, 1.0)
    direction = np.radians(
        at_nearest_pixel(context.anatomy.rib_direction_deg, column, row).astype(np.float64)
    )
    turned = np.degrees(np.abs(np.angle(np.exp(2j * (outlines.direction - direction)))) / 2.0)
    radius = outlines.ray_radius[:, ::2, None]
    inside = context.inside[:, ::2]
    overlap = area_mean(ribs, inside)
    clavicles = polar_mask(context.anatomy.clavicles, column, row, context.radius_px, RHO, rays)
    values = {
        "at_centre": at_centre,
        "label": (at_centre > 0.5).astype(np.float64),
        "overlap": overlap,
        "difference": overlap - area_mean(ribs, (radius * 1.2 < RHO) & (radius * 2.0 > RHO)),
        "distance": maps.rib_border.signed_distance(column, row, mm_per_px=context.mm),
        "alignment": at_centre * outlines.elongation * np.cos(2.0 * (outlines.direction - direction)),
        "angle": np.where(at_centre < NO_RIB, 45.0, turned),
        "crossing": crossing(context, ribs),
        "clavicle_overlap": area_mean(clavicles.astype(np.float32), inside),
        "clavicle_distance": maps.clavicle_border.signed_distance(column, row, mm_per_px=context.mm),
    }
    return stack_columns(FEATURES, values, context.n_candidates)


def crossing(context: Context, ribs: F32) -> F64:
    """Disagreement of the rib directions around a candidate, at every other ray and radius."""
    rays, rho = RAYS[::2], RHO[:15:2]
    weight = ribs[:, :, :15:2].astype(np.float64) ** 2 * rho
    reach = context.radius_px[:, None, None] * rho
    x = context.column[:, None, None] + rays[:, :1] * reach
    y = context.row[:, None, None] + rays[:, 1:] * reach
    doubled = np.radians(2.0 * at_nearest_pixel(context.anatomy.rib_direction_deg, x, y))
    total = weight.sum(axis=(1, 2))
    cosine, sine = (weight * np.cos(doubled)).sum(axis=(1, 2)), (weight * np.sin(doubled)).sum(axis=(1, 2))
    return ratio(total - np.sqrt(cosine**2 + sine**2), total)


FAMILY = Family(FEATURES, _compute)
