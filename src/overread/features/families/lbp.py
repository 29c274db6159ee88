"""Local binary patterns, rotation-invariant and uniform."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.features.context import Context
from overread.features.context.patches import SIDE
from overread.features.family import Family, Feature, to_columns
from overread.kernel import kernel

__all__ = ["PATTERNS"]

# Those of Ojala, Pietikäinen and Mäenpää 2002, with 8 points for each point of radius.
RADII = np.array([1, 2, 3])


def list_features() -> Iterator[Feature]:
    """Yield the shares of uniform patterns at each radius."""
    for radius in RADII:
        points = 8 * radius
        for pattern in range(points + 2):
            meaning = f"uniform with {pattern} of {points} bits set" if pattern <= points else "not uniform"
            yield Feature(
                name=f"lbp.r{radius}_p{points}.pattern{pattern}",
                kind="texture",
                family="lbp",
                unit="1",
                formula=f"share of points whose pattern is {meaning}; bit: neighbour at {radius} points >= centre",
                reference="Ojala, Pietikäinen, Mäenpää 2002 (riu2)",
            )


def compute(context: Context) -> NDArray[np.float32]:
    """Shares of the patterns of each candidate, radius by radius."""
    out = np.zeros((len(context.row), len(PATTERNS.features)))
    describe_patches(context.patches, out)
    return to_columns(out)


@kernel
def circle_points(
    radius: int,
    edge: int,
    down: NDArray[np.uintp],
    right: NDArray[np.uintp],
    weight: NDArray[np.float32],
) -> None:
    """Upper left pixels and bilinear weights of 8 radius points on a circle, from the corner of the patch."""
    for p in range(down.size):
        angle = 2.0 * math.pi * p / down.size
        # Rounded, so that points on an axis are pixels.
        y = round(-radius * math.sin(angle), 5)
        x = round(radius * math.cos(angle), 5)
        down[p] = edge + math.floor(y)
        right[p] = edge + math.floor(x)
        fy = y - math.floor(y)
        fx = x - math.floor(x)
        weight[p, 0] = (1.0 - fy) * (1.0 - fx)
        weight[p, 1] = (1.0 - fy) * fx
        weight[p, 2] = fy * (1.0 - fx)
        weight[p, 3] = fy * fx


@kernel
def local_binary_patterns(patch: NDArray[np.float32], radius: int, out: NDArray[np.float64]) -> None:
    """Shares of the 8 radius + 2 rotation-invariant uniform patterns in the middle of a patch."""
    n_points = 8 * radius
    edge = (patch.shape[0] - SIDE) // 2
    down = np.empty(n_points, np.uintp)
    right = np.empty(n_points, np.uintp)
    weight = np.empty((n_points, 4), np.float32)
    circle_points(radius, edge, down, right, weight)
    e, one = np.uintp(edge), np.uintp(1)
    counts = np.zeros(n_points + 2, np.int64)
    ones = np.empty(SIDE, np.int32)
    changes = np.empty(SIDE, np.int32)
    before = np.empty(SIDE, np.int32)
    for y in range(np.uintp(SIDE)):
        ones[:] = 0
        changes[:] = 0
        # The last point goes first once more: it is the one before point 0.
        for turn in range(-1, n_points):
            p = turn % n_points
            row, start = y + down[p], right[p]
            w0, w1, w2, w3 = weight[p, 0], weight[p, 1], weight[p, 2], weight[p, 3]
            for x in range(np.uintp(SIDE)):
                # Differences first: equal pixels give exactly 0.
                v = patch[y + e, x + e]
                difference = (
                    w0 * (patch[row, x + start] - v)
                    + w1 * (patch[row, x + start + one] - v)
                    + w2 * (patch[row + one, x + start] - v)
                    + w3 * (patch[row + one, x + start + one] - v)
                )
                bit = np.int32(1) if difference >= np.float32(0.0) else np.int32(0)
                ones[x] += bit
                changes[x] += bit ^ before[x]
                before[x] = bit
            if turn < 0:
                ones[:] = 0
                changes[:] = 0
        for x in range(SIDE):
            counts[ones[x] if changes[x] <= 2 else n_points + 1] += 1
    for k in range(n_points + 2):
        out[k] = counts[k] / (SIDE * SIDE)


@kernel
def describe_patches(patches: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    """Fill the shares of each patch: 8 radius + 2 of them at each radius."""
    for k in range(len(patches)):
        start = 0
        for radius in RADII:
            end = start + 8 * radius + 2
            local_binary_patterns(patches[k], radius, out[k, start:end])
            start = end


PATTERNS = Family(tuple(list_features()), compute)
