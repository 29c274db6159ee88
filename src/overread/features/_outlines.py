"""The outline of a candidate: the closed curve around its centre along which the grey level falls most.

The radiograph, smoothed by a Gaussian of 1 mm, is sampled along 64 rays from the candidate's centre, 16 steps a
radius R. A node at radius r on ray k costs

    -fall(k, r) / rms(fall) + 0.6 (ln(r / R) / ln 1.5)^2 + [outside the lungs though the centre is inside],

where fall is the mean grey level over the three steps inside r minus that over the three steps outside. The
outline is the cheapest closed path through one node a ray, 3/8 R <= r <= 29/16 R, with 1/4 for each step that r
changes from ray to ray, at most two (dynamic programming in polar coordinates, after Timp and Karssemeijer 2004,
doi:10.1118/1.1688039). On a constant patch only the second term is left, and the outline is the circle of radius R.

Compiled parts of `outlines`: polar sampling, the best closed path, filling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._arrays import F32, F64, Mask

# No measurement behind these and the costs below is on record; tests/features/test_outlines.py has the shapes that
# they find.
ANGLES = 64
STEPS_PER_RADIUS = 16
# Nodes of the path: radii from 6/16 to 29/16 of the candidate's.
FIRST_NODE = 6
LAST_NODE = 29
# Half the length over which the grey level inside and outside a node is averaged, in steps.
EDGE_STEPS = 3
# A node's radius may change by this many steps from one ray to the next.
LARGEST_TURN = 2
TURN_COST = 0.25
RADIUS_COST = 0.6
OUTSIDE_COST = 1.0


@kernel
def sample(image: F32, x: float, y: float) -> np.float32:
    """Bilinear value at column x, row y; beyond the border that of the nearest border point.

    The image must have at least two rows and columns: nothing is checked. Unsigned indices spare a test each.
    """
    rows, columns = image.shape
    x = min(max(x, 0.0), columns - 1.0 - 1e-6)
    y = min(max(y, 0.0), rows - 1.0 - 1e-6)
    j, i = np.uint32(x), np.uint32(y)
    right, below = j + np.uint32(1), i + np.uint32(1)
    u, v = np.float32(x - j), np.float32(y - i)
    top = image[i, j] + (image[i, right] - image[i, j]) * u
    bottom = image[below, j] + (image[below, right] - image[below, j]) * u
    return top + (bottom - top) * v


@kernel
def _node_costs(image: F32, lungs: Mask, x: float, y: float, radius: float, cosines: F64, sines: F64) -> F64:
    """Cost of each node (ray, radius): low where the grey level falls outwards, near the given radius."""
    n_angles = cosines.size
    n_nodes = LAST_NODE - FIRST_NODE + 1
    grey = np.empty(LAST_NODE + EDGE_STEPS + 1)
    costs = np.empty((n_angles, n_nodes))
    rows, columns = lungs.shape
    squares = 0.0
    step = radius / STEPS_PER_RADIUS
    centre_in_lung = lungs[
        min(max(int(np.floor(y + 0.5)), 0), rows - 1), min(max(int(np.floor(x + 0.5)), 0), columns - 1)
    ]
    for k in range(n_angles):
        for j in range(grey.size):
            grey[j] = sample(image, x + cosines[k] * step * j, y + sines[k] * step * j)
        for node in range(n_nodes):
            j = FIRST_NODE + node
            fall = 0.0
            for d in range(1, EDGE_STEPS + 1):
                fall += grey[j - d] - grey[j + d]
            costs[k, node] = -fall
            squares += fall * fall
    scale = 1.0 / (np.sqrt(squares / (n_angles * n_nodes)) + 1e-9)
    for node in range(n_nodes):
        log_ratio = np.log((FIRST_NODE + node) / STEPS_PER_RADIUS) / np.log(1.5)
        prior = RADIUS_COST * log_ratio * log_ratio
        for k in range(n_angles):
            costs[k, node] = costs[k, node] * scale + prior
            if centre_in_lung:
                r = step * (FIRST_NODE + node)
                i = min(max(int(np.floor(y + sines[k] * r + 0.5)), 0), rows - 1)
                j = min(max(int(np.floor(x + cosines[k] * r + 0.5)), 0), columns - 1)
                if not lungs[i, j]:
                    costs[k, node] += OUTSIDE_COST
    return costs


@kernel
def best_closed_path(costs: F64) -> NDArray[np.int64]:
    """Cheapest path around the circle: the middle one of three turns, where its start no longer matters."""
    n_angles, n_nodes = costs.shape
    total = costs[0].copy()
    following = np.empty(n_nodes)
    came_from = np.empty((3 * n_angles, n_nodes), dtype=np.int8)
    for turn in range(1, 3 * n_angles):
        k = turn % n_angles
        for node in range(n_nodes):
            best = total[node]
            move = 0
            for d in range(1, LARGEST_TURN + 1):
                if node >= d and total[node - d] + TURN_COST * d < best:
                    best = total[node - d] + TURN_COST * d
                    move = -d
                if node + d < n_nodes and total[node + d] + TURN_COST * d < best:
                    best = total[node + d] + TURN_COST * d
                    move = d
            following[node] = best + costs[k, node]
            came_from[turn, node] = move
        total[:] = following
    path = np.empty(n_angles, dtype=np.int64)
    node = int(np.argmin(total))
    for turn in range(3 * n_angles - 1, n_angles - 1, -1):
        if turn < 2 * n_angles:
            path[turn - n_angles] = node
        node += came_from[turn, node]
    return path


@kernel
def fill_polygon(xs: F64, ys: F64, mask: Mask) -> None:
    """Set the pixels whose centres lie inside the polygon (even-odd rule), centres at whole numbers."""
    rows, columns = mask.shape
    parity = np.zeros((rows, columns + 1), dtype=np.uint8)
    n = xs.size
    for a in range(n):
        b = (a + 1) % n
        low, high = min(ys[a], ys[b]), max(ys[a], ys[b])
        for i in range(max(int(np.ceil(low)), 0), min(int(np.ceil(high)), rows)):
            crossing = xs[a] + (i - ys[a]) * (xs[b] - xs[a]) / (ys[b] - ys[a])
            parity[i, min(max(int(np.ceil(crossing)), 0), columns)] ^= 1
    for i in range(rows):
        odd = 0
        for j in range(columns):
            odd ^= parity[i, j]
            mask[i, j] = odd == 1


@kernel
def fill_outlines(image: F32, lungs: Mask, column: F64, row: F64, radius: F64, side: int) -> Mask:
    """Fill the best outline of each candidate into a patch around its nearest pixel."""
    angles = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
    cosines, sines = np.cos(angles), np.sin(angles)
    stack = np.zeros((column.size, side, side), dtype=np.bool_)
    rows, columns = image.shape
    half = side // 2
    for c in range(column.size):
        costs = _node_costs(image, lungs, column[c], row[c], radius[c], cosines, sines)
        length = radius[c] / STEPS_PER_RADIUS * (best_closed_path(costs) + FIRST_NODE)
        left = int(np.floor(column[c] + 0.5)) - half
        top = int(np.floor(row[c] + 0.5)) - half
        fill_polygon(column[c] - left + length * cosines, row[c] - top + length * sines, stack[c])
        stack[c, : max(-top, 0)] = False
        stack[c, :, : max(-left, 0)] = False
        stack[c, max(rows - top, 0) :] = False
        stack[c, :, max(columns - left, 0) :] = False
        stack[c, half, half] = True
    return stack


LARGEST_OUTLINE = LAST_NODE / STEPS_PER_RADIUS


def patch_side(radius_px: F64) -> int:
    """Side of a patch that holds the largest possible outline of each candidate."""
    largest = float(radius_px.max()) if radius_px.size else 1.0
    return 2 * int(np.ceil(LARGEST_OUTLINE * largest + 1.0)) + 1


def at_least_two(image: F32) -> F32:
    """Repeat the only row or column of an image, so that there are two to interpolate between."""
    rows, columns = image.shape
    missing = ((0, max(2 - rows, 0)), (0, max(2 - columns, 0)))
    return np.ascontiguousarray(np.pad(image, missing, mode="edge") if min(image.shape) < 2 else image)


def draw_outlines(smooth: F32, lungs: Mask, column: F64, row: F64, radius_px: F64, *, side: int) -> Mask:
    """Outline candidates on an image that is already smoothed; positions and radii in pixels."""
    return fill_outlines(at_least_two(smooth), np.ascontiguousarray(lungs), column, row, radius_px, side)
