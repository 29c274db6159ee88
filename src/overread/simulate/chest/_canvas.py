"""Drawing into maps of line integrals.

Compiled drawing of curved tubes, and of bodies between two borders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.simulate.chest._patient import Projected, Projection

Floats = NDArray[np.float32]


@kernel
def _draw_tube(
    out: Floats,
    marks: NDArray[np.uint8],
    nearest: Floats,
    local_depth: Floats,
    local_part: NDArray[np.uint8],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    radius: NDArray[np.float64],
    depth: NDArray[np.float64],
    split: int,
    wall: float,
    shell: float,
    core: float,
) -> None:
    """Add the line integral through a tube with a wall along a polyline.

    With rho the distance from the axis over the radius and D the depth, the amount is
    D (shell (o - i) + core i), o = sqrt(1 - rho^2), i = sqrt((1 - wall)^2 - rho^2) or 0.
    What lies nearest to a segment before ``split`` gets bit 1 in ``marks``, the rest bit 2.
    ``nearest`` is 2 everywhere before and after.
    """
    height, width = out.shape
    top, bottom, left, right = height, -1, width, -1
    for k in range(columns.size - 1):
        reach = max(radius[k], radius[k + 1])
        r0 = max(0, int(np.floor(min(rows[k], rows[k + 1]) - reach)))
        r1 = min(height - 1, int(np.ceil(max(rows[k], rows[k + 1]) + reach)))
        c0 = max(0, int(np.floor(min(columns[k], columns[k + 1]) - reach)))
        c1 = min(width - 1, int(np.ceil(max(columns[k], columns[k + 1]) + reach)))
        if r0 > r1 or c0 > c1:
            continue
        top, bottom, left, right = min(top, r0), max(bottom, r1), min(left, c0), max(right, c1)
        dx, dy = columns[k + 1] - columns[k], rows[k + 1] - rows[k]
        length2 = dx * dx + dy * dy
        for r in range(r0, r1 + 1):
            for c in range(c0, c1 + 1):
                px, py = c - columns[k], r - rows[k]
                t = 0.0 if length2 == 0.0 else min(1.0, max(0.0, (px * dx + py * dy) / length2))
                ex, ey = px - t * dx, py - t * dy
                here = radius[k] + t * (radius[k + 1] - radius[k])
                rho = np.sqrt(ex * ex + ey * ey) / max(here, 1e-6)
                if rho < nearest[r, c]:
                    nearest[r, c] = rho
                    local_depth[r, c] = depth[k] + t * (depth[k + 1] - depth[k])
                    local_part[r, c] = 1 if k < split else 2
    inner2 = (1.0 - wall) * (1.0 - wall)
    for r in range(top, bottom + 1):
        for c in range(left, right + 1):
            rho2 = nearest[r, c] * nearest[r, c]
            if rho2 < 1.0 and local_depth[r, c] > 0.0:
                outer = np.sqrt(1.0 - rho2)
                inner = np.sqrt(inner2 - rho2) if rho2 < inner2 else 0.0
                out[r, c] += local_depth[r, c] * (shell * (outer - inner) + core * inner)
                marks[r, c] |= local_part[r, c]
            nearest[r, c] = 2.0


@kernel
def attach_targets(
    nodes: NDArray[np.float64],
    parents: NDArray[np.int64],
    lengths: NDArray[np.float64],
    n_nodes: int,
    targets: NDArray[np.float64],
    offsets: NDArray[np.float64],
    thrift: float,
    step_mm: float,
) -> int:
    """Grow a tree to targets in turn: each joins the node with the least distance + thrift * way from the root.

    A long branch gets up to two nodes on its way, off the straight line by its offset. Returns the number of
    nodes; ``nodes``, ``parents`` and ``lengths`` have room for three a target.
    """
    for k in range(targets.shape[0]):
        best, least, reach = 0, np.inf, 0.0
        for j in range(n_nodes):
            dx, dy = targets[k, 0] - nodes[j, 0], targets[k, 1] - nodes[j, 1]
            dz = targets[k, 2] - nodes[j, 2]
            distance = np.sqrt(dx * dx + dy * dy + dz * dz)
            if distance + thrift * lengths[j] < least:
                best, least, reach = j, distance + thrift * lengths[j], distance
        n_parts = 1 + (1 if reach > step_mm else 0) + (1 if reach > 2 * step_mm else 0)
        previous = best
        for part in range(1, n_parts + 1):
            t = part / n_parts
            for axis in range(3):
                straight = nodes[best, axis] + t * (targets[k, axis] - nodes[best, axis])
                nodes[n_nodes, axis] = straight + np.sin(np.pi * t) * offsets[k, axis] * reach
            parents[n_nodes] = previous
            lengths[n_nodes] = lengths[previous] + reach / n_parts
            previous = n_nodes
            n_nodes += 1
    return n_nodes


@kernel
def smooth_branch(nodes: NDArray[np.float64], radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """Four points a node along a branch, as (3, n): columns and rows averaged over five of them, and the radius."""
    n, n_fine = nodes.shape[0], 4 * nodes.shape[0]
    straight, fine = np.empty((2, n_fine)), np.empty((3, n_fine))
    for i in range(n_fine):
        t = i * (n - 1) / (n_fine - 1)
        k = min(int(t), n - 2)
        share = t - k
        for axis in range(2):
            straight[axis, i] = nodes[k, axis] + share * (nodes[k + 1, axis] - nodes[k, axis])
        fine[2, i] = radius[k] + share * (radius[k + 1] - radius[k])
    for i in range(n_fine):
        for axis in range(2):
            total = 0.0
            for j in range(i - 2, i + 3):
                total += straight[axis, min(max(j, 0), n_fine - 1)]
            fine[axis, i] = total / 5
    return fine


@kernel
def chord_between(
    x: Floats, y: Floats, first: float, step: float, right: NDArray[np.float64], left: NDArray[np.float64]
) -> Floats:
    """Half chord of a body with an elliptic section that reaches from -right to left, given every ``step`` of y."""
    out = np.zeros(x.shape, dtype=np.float32)
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            t = min(max((y[r, c] - first) / step, 0.0), right.size - 1.0)
            k = min(int(t), right.size - 2)
            from_right = right[k] + (t - k) * (right[k + 1] - right[k])
            to_left = left[k] + (t - k) * (left[k + 1] - left[k])
            middle, half = (to_left - from_right) / 2, max((to_left + from_right) / 2, 1e-3)
            rho = (x[r, c] - middle) / half
            if rho * rho < 1.0:
                out[r, c] = np.sqrt(1.0 - rho * rho)
    return out


Points = NDArray[np.float64]

# Absorption a mm. Soft tissue lies between NIST's values for ICRU-44 tissue at 80 keV (0.0193) and 100 keV (0.0179).
SOFT_ABSORPTION = 0.0185
# Of bone above soft tissue, judged against NIH radiographs; NIST's cortical bone has 0.024 at 80 keV, 0.057 at 50.
CORTEX = 0.075
MARROW = 0.024


def chord(value: NDArray[np.floating]) -> Floats:
    """Half chord of a unit ball at squared distance 1 - value: sqrt(value), 0 outside."""
    return np.sqrt(np.maximum(value, 0))


def fourth_power(value: Floats) -> Floats:
    """Value to the fourth, as two squares: a power of float32 costs ten times as much."""
    square = value * value
    return square * square


def smooth_step(value: NDArray[np.floating], low: float, high: float) -> Floats:
    """Cubic step from 0 at low to 1 at high."""
    t: Floats = np.clip((value - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def columns_within(x: Floats, reach_mm: float) -> slice:
    """Columns of an image that hold every pixel with abs(x) below the reach."""
    near = np.flatnonzero((np.abs(x) < reach_mm).any(axis=0))
    return slice(int(near[0]), int(near[-1]) + 1) if len(near) else slice(0, 0)


class Canvas:
    """A map of line integrals of one kind of structure, and where it was drawn."""

    def __init__(self, view: Projection) -> None:
        self.view = view
        self.amount: Floats = np.zeros(view.shape, dtype=np.float32)
        self.marks = np.zeros(view.shape, dtype=np.uint8)

    def tube(
        self,
        points: Points | Projected,
        *,
        radius_mm: Points | float,
        depth_mm: Points | float,
        shell: float = 1.0,
        core: float | None = None,
        wall: float = 1.0,
        split: int | None = None,
    ) -> None:
        """Add a tube along points (n x 3, patient mm; or projected) and mark it: bit 1, from point ``split`` on bit 2.

        ``shell`` and ``core`` are absorption a mm above what is there; a wall of 1 is a solid tube.
        """
        where = points if isinstance(points, Projected) else self.view.project(*points.T)
        n = len(where.columns)
        _draw_tube(
            self.amount,
            self.marks,
            *self.view.scratch,
            where.columns,
            where.rows,
            np.broadcast_to(radius_mm, n) * where.px_per_mm,
            np.broadcast_to(depth_mm, n).astype(np.float64),
            n if split is None else split,
            wall,
            shell,
            shell if core is None else core,
        )
