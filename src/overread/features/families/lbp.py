"""Local binary patterns, rotation-invariant and uniform."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import Family, Feature, to_columns
from overread.features.context._context import Context
from overread.features.context._patches import PADDED, SIDE

# Those of Ojala, Pietikäinen and Mäenpää 2002, with 8 points for each point of radius.
RADII = np.array([1, 2, 3])


def _say_pattern(radius: int, pattern: int) -> str:
    """Describe the neighbours of the pixels of a pattern."""
    around, count = f"at a distance of {radius} {'pixel' if radius == 1 else 'pixels'}", 8 * radius
    if pattern > count:
        return f"with an irregular pattern of neighbours {around}"
    if pattern == 0:
        return f"brighter than all neighbours {around}"
    if pattern == count:
        return f"no brighter than any neighbour {around}"
    return f"with {pattern} adjacent neighbours of {count} at least as bright, {around}"


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
                words=f"share of pixels {_say_pattern(int(radius), pattern)}",
            )


def _compute(context: Context) -> F32:
    """Shares of the patterns of each candidate, radius by radius."""
    out = np.zeros((len(context.row), len(FAMILY.features)))
    _describe_patches(context.patches, out)
    return to_columns(out)


@kernel
def _circle_points(
    radius: int, edge: int, down: NDArray[np.uintp], right: NDArray[np.uintp], weight: F32
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
def _compare_row(
    patch: F32,
    y: int,
    down: np.uintp,
    right: np.uintp,
    w0: np.float32,
    w1: np.float32,
    w2: np.float32,
    w3: np.float32,
    bits: NDArray[np.uint8],
) -> None:
    """Set the bits of a row: whether one point of the circle is at least the centre."""
    edge, one = np.uintp((patch.shape[0] - SIDE) // 2), np.uintp(1)
    centre, upper, lower = patch[y + edge], patch[y + down], patch[y + down + one]
    for x in range(np.uintp(PADDED)):
        # Differences first: equal pixels give exactly 0.
        v = centre[x + edge]
        difference = (
            w0 * (upper[x + right] - v)
            + w1 * (upper[x + right + one] - v)
            + w2 * (lower[x + right] - v)
            + w3 * (lower[x + right + one] - v)
        )
        bits[x] = difference >= np.float32(0.0)


@kernel
def _local_binary_patterns(
    patch: F32, down: NDArray[np.uintp], right: NDArray[np.uintp], weight: F32, out: F64
) -> None:
    """Shares of the rotation-invariant uniform patterns of a circle's points in the middle of a patch."""
    n_points = down.size
    counts = np.zeros(n_points + 2, np.int64)
    bits = np.empty((n_points, PADDED), np.uint8)
    ones = np.empty(PADDED, np.uint8)
    changes = np.empty(PADDED, np.uint8)
    not_uniform = np.uint8(n_points + 1)
    for y in range(np.uintp(SIDE)):
        for p in range(n_points):
            w0, w1, w2, w3 = weight[p, 0], weight[p, 1], weight[p, 2], weight[p, 3]
            _compare_row(patch, y, down[p], right[p], w0, w1, w2, w3, bits[p])
        ones[:] = 0
        changes[:] = 0
        for p in range(n_points):
            here, before = bits[p], bits[p - 1]
            for x in range(np.uintp(PADDED)):
                ones[x] += here[x]
                changes[x] += here[x] ^ before[x]
        for x in range(np.uintp(PADDED)):
            ones[x] = ones[x] if changes[x] <= np.uint8(2) else not_uniform
        for x in range(np.uintp(SIDE)):
            counts[np.uintp(ones[x])] += 1
    for k in range(n_points + 2):
        out[k] = counts[k] / (SIDE * SIDE)


@kernel
def _describe_patches(patches: F32, out: F64) -> None:
    """Fill the shares of each patch: 8 radius + 2 of them at each radius."""
    edge = (patches.shape[1] - SIDE) // 2
    start = 0
    for radius in RADII:
        n_points = 8 * radius
        end = start + n_points + 2
        down = np.empty(n_points, np.uintp)
        right = np.empty(n_points, np.uintp)
        weight = np.empty((n_points, 4), np.float32)
        _circle_points(radius, edge, down, right, weight)
        for k in range(len(patches)):
            _local_binary_patterns(patches[k], down, right, weight, out[k, start:end])
        start = end


FAMILY = Family(tuple(list_features()), _compute)
