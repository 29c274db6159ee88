"""First order inside a candidate's outline minus the ring around it."""

from __future__ import annotations

import math

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64, Mask
from overread.features._family import Family, Feature, to_columns
from overread.features.context._context import Context
from overread.features.context._patches import LARGEST
from overread.features.families.first_order import UNITS, WORDS, bound_ratios, bounded_formula
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES, first_order

ENERGY = list(FIRST_ORDER).index("energy")


def _describe_difference(name: str) -> Feature:
    """Describe the difference of one first-order statistic."""
    formula = "mean x^2" if name == "energy" else bounded_formula(name)
    return Feature(
        name=f"inside_minus_ring_{name}.original",
        kind="texture",
        family="inside_minus_ring",
        unit=UNITS[name],
        formula=f"{formula}: inside the outline minus in the disc of 2 R + 2 pixels without it",
        reference="Wei et al. 1997",
        words=f"{WORDS[name]}, inside the candidate minus around it",
    )


def _compute(context: Context) -> F32:
    """Differences of each candidate."""
    n = len(context.row)
    statistics, percentiles = np.zeros((n, 2, len(FIRST_ORDER))), np.zeros((n, 2, RANKED_SHARES.size))
    pixels = np.ascontiguousarray(context.radiograph.pixels, np.float32)
    outline = np.ascontiguousarray(context.outline)
    _describe_sides(pixels, context.row, context.column, context.radius_px, outline, statistics, percentiles)
    inside, ring = np.moveaxis(bound_ratios(statistics, percentiles), 1, 0)
    return to_columns(inside - ring)


@kernel
def _describe_sides(
    pixels: F32, row: F64, column: F64, radius: F64, outline: Mask, statistics: F64, percentiles: F64
) -> None:
    """Fill first order inside each outline and in the ring around it: (candidate, side, statistic); energy per pixel.

    The ring is the disc of twice the radius plus 2 pixels without the outline. An empty outline is replaced by
    the disc of the radius; where the ring is empty, both stay 0.
    """
    rows, columns = pixels.shape
    side = outline.shape[1]
    longest = max(side, 2 * int(2.0 * radius.max() + 2.0) + 3) if radius.size else side
    inside = np.empty(longest * longest)
    ring = np.empty(longest * longest)
    for k in range(row.size):
        top = math.floor(row[k] + 0.5)
        left = math.floor(column[k] + 0.5)
        drawn = outline[k].any()
        far = 2.0 * radius[k] + 2.0
        reach = max(side // 2, int(far) + 1)
        n_inside = n_ring = 0
        for i in range(-reach, reach + 1):
            y = min(max(top + i, 0), rows - 1)
            for j in range(-reach, reach + 1):
                square = float(i * i + j * j)
                member = square <= radius[k] * radius[k]
                if drawn:
                    member = (
                        abs(i) <= side // 2
                        and abs(j) <= side // 2
                        and outline[k, i + side // 2, j + side // 2]
                    )
                value = min(max(pixels[y, min(max(left + j, 0), columns - 1)], -LARGEST), LARGEST)
                if member:
                    inside[n_inside] = value
                    n_inside += 1
                elif square <= far * far:
                    ring[n_ring] = value
                    n_ring += 1
        if n_inside > 0 and n_ring > 0:
            first_order(inside[:n_inside], percentiles[k, 0], statistics[k, 0])
            first_order(ring[:n_ring], percentiles[k, 1], statistics[k, 1])
            statistics[k, 0, ENERGY] /= n_inside
            statistics[k, 1, ENERGY] /= n_ring


FAMILY = Family(tuple(_describe_difference(name) for name in FIRST_ORDER), _compute)
