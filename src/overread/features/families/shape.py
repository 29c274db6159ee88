"""Size and shape of the outline (20 features)."""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, F64
from overread.features._family import Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._shapes import Outlines

FEATURES = describe_features(
    "shape",
    "Hu 1962, doi:10.1109/TIT.1962.1057692; Russ, The Image Processing Handbook, chapter on shape",
    [
        ("area", "mm2", "N p^2, N pixels of side p inside the outline", "area of the outline"),
        ("equivalent_diameter", "mm", "2 sqrt(area / pi)", "diameter of the outline"),
        ("perimeter", "mm", "Crofton's formula with lines in 4 directions", "length of the outline's border"),
        ("major_axis", "mm", "4 sqrt(l1)", "length of the outline"),
        ("minor_axis", "mm", "4 sqrt(l2)", "width of the outline"),
        ("eccentricity", "1", "sqrt(1 - l2 / l1)", "how far the outline departs from a circle"),
        ("elongation", "1", "1 - minor_axis / major_axis", "how elongated the outline is"),
        ("compactness", "1", "4 pi area / perimeter^2", "how round and smooth the outline is"),
        ("solidity", "1", "area / area of the convex hull of the midpoints of the pixels' sides",
         "how free of dents the outline is"),
        ("convexity", "1", "perimeter of the convex hull / perimeter", "how free of dents the outline's border is"),
        ("largest_width", "mm", "largest distance between corners of the convex hull (maximum Feret diameter)",
         "largest width of the outline"),
        ("smallest_width", "mm", "smallest distance between parallel lines around the hull (minimum Feret diameter)",
         "smallest width of the outline"),
        ("hu1", "1", "eta20 + eta02, Hu's first invariant of the outline", "how spread out the outline's area is"),
        ("hu2_root", "1", "sqrt((eta20 - eta02)^2 + 4 eta11^2), root of Hu's second invariant",
         "how much longer than wide the outline's area is"),
        ("hu3_root", "1", "sqrt((eta30 - 3 eta12)^2 + (3 eta21 - eta03)^2), root of Hu's third invariant",
         "how triangular the outline is"),
        ("hu4_root", "1", "sqrt((eta30 + eta12)^2 + (eta21 + eta03)^2), root of Hu's fourth invariant",
         "how asymmetric the outline is"),
        ("radius_variation", "1", "sqrt(2 sum_{m=2..32} |c_m|^2) / c_0", "variation of the outline's radius"),
        ("roughness", "1", "sqrt(2 sum_{m=5..32} |c_m|^2) / c_0", "how rough the outline's border is"),
        ("radius_ratio", "1", "equivalent_diameter / 2 / R",
         "size of the outline relative to the size of the candidate"),
        ("candidate_radius", "mm", "R", "size of the candidate"),
    ],
    symbols={
        "l1": "l1 >= l2: variances of the outline's pixels, as squares, along its principal axes",
        "l2": "l1 >= l2: variances of the outline's pixels, as squares, along its principal axes",
        "c_m": "c_m: Fourier coefficients of the outline's radius over 64 rays",
        "R": "R: the radius given with the candidate, cut to 1.5..40 mm",
    },
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Shape of each outline."""
    outlines, mm = context.outlines, context.mm
    area = outlines.area * mm**2
    numbers, perimeter = outlines.numbers, outlines.numbers["perimeter"]
    equivalent = 2.0 * np.sqrt(area / np.pi)
    l1, l2 = outlines.variances.T
    candidate_radius = context.radius_px * mm
    values = {
        "area": area,
        "equivalent_diameter": equivalent,
        "perimeter": perimeter * mm,
        "major_axis": 4.0 * np.sqrt(l1) * mm,
        "minor_axis": 4.0 * np.sqrt(l2) * mm,
        "eccentricity": np.sqrt(1.0 - l2 / l1),
        "elongation": outlines.elongation,
        "compactness": 4.0 * np.pi * outlines.area / perimeter**2,
        "solidity": outlines.area / numbers["hull_area"],
        "convexity": numbers["hull_perimeter"] / perimeter,
        "largest_width": numbers["largest_width"] * mm,
        "smallest_width": numbers["smallest_width"] * mm,
        "radius_variation": _outline_harmonics(outlines, first=2),
        "roughness": _outline_harmonics(outlines, first=5),
        "radius_ratio": equivalent / 2.0 / candidate_radius,
        "candidate_radius": candidate_radius,
    } | _hu_invariants(outlines)
    return stack_columns(FEATURES, values, context.n_candidates)


def _hu_invariants(outlines: Outlines) -> dict[str, F64]:
    """First four of Hu's invariants, the later three as roots, so that all are of the order of moments."""
    numbers, area = outlines.numbers, outlines.area
    eta20, eta11, eta02 = (numbers[name] / area**2 for name in ("xx", "xy", "yy"))
    eta30, eta21, eta12, eta03 = (numbers[name] / area**2.5 for name in ("xxx", "xxy", "xyy", "yyy"))
    return {
        "hu1": eta20 + eta02,
        "hu2_root": np.sqrt((eta20 - eta02) ** 2 + 4.0 * eta11**2),
        "hu3_root": np.sqrt((eta30 - 3.0 * eta12) ** 2 + (3.0 * eta21 - eta03) ** 2),
        "hu4_root": np.sqrt((eta30 + eta12) ** 2 + (eta21 + eta03) ** 2),
    }


def _outline_harmonics(outlines: Outlines, *, first: int) -> F64:
    """Relative standard deviation of the outline's radius that harmonics from ``first`` on make up."""
    coefficients = np.abs(np.fft.rfft(outlines.ray_radius, axis=1))
    return np.sqrt(2.0 * (coefficients[:, first:] ** 2).sum(axis=1)) / coefficients[:, 0]


FAMILY = Family(FEATURES, _compute)
