"""Pulmonary vessels: trees that branch and taper from the hila to the pleura."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom._kernels import draw_tube
from overread.simulate.phantom.lungs import Lungs
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import View

__all__ = ["draw_vessels"]

Floats = NDArray[np.float32]
Points = NDArray[np.float64]

LEAF_RADIUS_MM = 0.42
MURRAY = 2.75
TARGETS_PER_TREE = 150
HILUM_Y_MM = (118.0, 112.0)


def draw_vessels(view: View, lungs: Lungs, *, seed: int) -> Floats:
    """Blood along each beam in mm, above the mean that the lung has anyway."""
    out = np.zeros(view.shape, dtype=np.float32)
    scratch = (
        np.zeros(view.shape, dtype=np.uint8),
        np.full(view.shape, 2, dtype=np.float32),
        np.zeros(view.shape, dtype=np.float32),
        np.zeros(view.shape, dtype=np.uint8),
    )
    for side in (-1, 1):
        for kind in ("arteries", "veins"):
            rng = stream(seed, f"{kind}{side}")
            nodes, parents = _grow(view, lungs, side, kind, rng)
            radius = _radii(parents)
            for path in _paths(parents, radius):
                _draw(out, scratch, view, nodes[path], radius[path], rng)
    return out


def _grow(
    view: View, lungs: Lungs, side: int, kind: str, rng: np.random.Generator
) -> tuple[Points, NDArray[np.int_]]:
    """Nodes (n x 3: mm on the detector and a pseudo depth) and the parent of each; node 0 is the root."""
    field = (lungs.left if side < 0 else lungs.right) | (
        lungs.heart & (lungs.lung_mm > 12) & (np.arange(view.shape[1]) * side > view.shape[1] / 2 * side)
    )
    rows, columns = np.nonzero(field)
    if len(rows) == 0:
        return np.zeros((1, 3)), np.zeros(1, dtype=np.int_)
    hilum_y = HILUM_Y_MM[side > 0] + (14 if kind == "veins" else 0)
    root = view.project(np.array([side * 34.0]), np.array([hilum_y]), np.array([0.0]))
    start = np.array([root.columns[0] * view.mm_per_px, root.rows[0] * view.mm_per_px, 0.0])
    pick = rng.integers(0, len(rows), TARGETS_PER_TREE)
    targets = np.column_stack(
        [columns[pick] * view.mm_per_px, rows[pick] * view.mm_per_px, rng.normal(0, 22, TARGETS_PER_TREE)]
    )
    away = np.linalg.norm(targets - start, axis=1)
    order = np.argsort(away)
    targets, away = targets[order], away[order]
    nodes, parents, lengths = [start], [0], [0.0]
    for target in targets:
        tree = np.array(nodes)
        step = np.linalg.norm(tree - target, axis=1)
        cost = step + 0.45 * np.array(lengths)
        best = int(np.argmin(cost))
        n_parts = 1 + int(step[best] > 18) + int(step[best] > 36)
        previous = best
        offset = rng.normal(0, 0.07, 3) * step[best]
        for part in range(1, n_parts + 1):
            t = part / n_parts
            point = tree[best] + t * (target - tree[best]) + np.sin(np.pi * t) * offset
            nodes.append(point)
            parents.append(previous)
            lengths.append(lengths[previous] + step[best] / n_parts)
            previous = len(nodes) - 1
    return np.array(nodes), np.array(parents)


def _radii(parents: NDArray[np.int_]) -> Points:
    """Murray's law: the radius to the power 2.75 is the sum over the children."""
    power = np.zeros(len(parents))
    for node in range(len(parents) - 1, 0, -1):
        if power[node] == 0:
            power[node] = LEAF_RADIUS_MM**MURRAY
        power[parents[node]] += power[node]
    return np.minimum(power ** (1 / MURRAY), 6.5)


def _paths(parents: NDArray[np.int_], radius: Points) -> list[NDArray[np.int_]]:
    """Cut the tree into branches: each goes from a leaf up to where a thicker branch takes it in."""
    heir = {}
    for node in range(1, len(parents)):
        parent = int(parents[node])
        if parent not in heir or radius[node] > radius[heir[parent]]:
            heir[parent] = node
    paths = []
    for node in range(1, len(parents)):
        parent = int(parents[node])
        if heir[parent] == node and parent != 0:
            continue
        path = [parent, node]
        while path[-1] in heir:
            path.append(heir[path[-1]])
        paths.append(np.array(path))
    return paths


def _draw(
    out: Floats,
    scratch: tuple[NDArray[np.uint8], Floats, Floats, NDArray[np.uint8]],
    view: View,
    nodes: Points,
    radius: Points,
    rng: np.random.Generator,
) -> None:
    radius = radius.copy()
    radius[0] = min(radius[0], radius[1] * 1.15)
    t = np.arange(len(nodes), dtype=np.float64)
    fine = np.linspace(0, t[-1], 4 * len(nodes))
    columns = _smooth(np.interp(fine, t, nodes[:, 0])) / view.mm_per_px
    rows = _smooth(np.interp(fine, t, nodes[:, 1])) / view.mm_per_px
    r = np.interp(fine, t, radius)
    r[-4:] *= np.linspace(1, 0.3, min(4, len(r)))
    drawn = np.maximum(r / view.mm_per_px, 0.75)
    depth = 2 * r * (r / view.mm_per_px) / drawn
    draw_tube(out, *scratch, columns, rows, drawn, depth, len(r), 1.0, 1.0, 1.0)


def _smooth(values: Points) -> Points:
    inner = values.copy()
    inner[1:-1] = (values[:-2] + 2 * values[1:-1] + values[2:]) / 4
    inner[2:-2] = (inner[:-4] + inner[1:-3] + inner[2:-2] + inner[3:-1] + inner[4:]) / 5
    return inner
