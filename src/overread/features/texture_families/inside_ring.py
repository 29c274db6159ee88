"""First order inside a candidate's outline minus the ring around it: 18 features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family, Feature
from overread.features.texture.first_order import FIRST_ORDER
from overread.features.texture_families._kernels import inside_minus_ring
from overread.features.texture_families.matrices import first_order_formula, first_order_unit
from overread.features.texture_families.patches import as_float32

__all__ = ["INSIDE_MINUS_RING"]


def contrast_feature(name: str) -> Feature:
    """Difference of one first-order statistic."""
    formula = "mean x^2" if name == "energy" else first_order_formula(name)
    return Feature(
        name=f"inside_minus_ring_{name}.original",
        kind="texture",
        family="inside_minus_ring",
        unit=first_order_unit(name),
        formula=f"{formula}: inside the outline minus in the disc of 2 R + 2 pixels without it",
        reference="Wei et al. 1997",
    )


def compute_inside_minus_ring(context: Context) -> NDArray[np.float32]:
    """Compute the 18 differences of each candidate."""
    out = np.zeros((len(context.row), len(INSIDE_MINUS_RING.features)))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    inside_minus_ring(
        pixels, context.row, context.column, context.radius_px, np.ascontiguousarray(context.outline), out
    )
    return as_float32(out)


INSIDE_MINUS_RING = Family(tuple(contrast_feature(name) for name in FIRST_ORDER), compute_inside_minus_ring)
