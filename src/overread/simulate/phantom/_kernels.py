"""Compiled drawing of curved tubes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

Floats = NDArray[np.float32]


@kernel
def draw_tube(
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
            dx, dy, dz = (
                targets[k, 0] - nodes[j, 0],
                targets[k, 1] - nodes[j, 1],
                targets[k, 2] - nodes[j, 2],
            )
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
