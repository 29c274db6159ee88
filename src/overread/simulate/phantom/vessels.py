"""Pulmonary vessels: trees that branch and taper from the hila to the pleura."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom._kernels import attach_targets, smooth_branch
from overread.simulate.phantom.bands import by_bands
from overread.simulate.phantom.canvas import Canvas
from overread.simulate.phantom.lungs import Lungs
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import View

__all__ = ["draw_vessels", "hilar_haze"]

Floats = NDArray[np.float32]
Points = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAF_RADIUS_MM = 0.45
THICKEST_MM = 6.0
MURRAY = 2.35
TARGETS_PER_TREE = 260
THRIFT = 0.45
STEP_MM = 18.0
SPREAD_ALONG_BEAM_MM = 22.0
HILUM_Y_MM = (118.0, 112.0)
# First branches at the hilum, (distance from the midline, height below the hilum) in mm: down, then up.
ARTERY = (((34, 0), (42, 12), (47, 28), (51, 46), (56, 68)), ((42, -12), (47, -26)))
VEIN = (((30, 16), (44, 21), (58, 30)), ((40, 2), (44, -14)))


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes (n x 3: mm on the detector and a depth), the parent of each, its way from the root; node 0 is the root."""

    nodes: Points
    parents: Indices
    lengths: Points


def draw_vessels(view: View, lungs: Lungs, *, seed: int) -> Floats:
    """Blood along each beam in mm, above the mean that the lung has anyway."""
    canvas = Canvas(view)
    for side in (-1, 1):
        for kind, trunk in (("arteries", ARTERY), ("veins", VEIN)):
            rng = stream(seed, f"{kind}{side}")
            tree = _grow(view, lungs, _trunk(view, side, trunk, rng), side, rng)
            radius = _radii(tree.parents)
            for path in _paths(tree.parents, radius):
                _draw(canvas, tree.nodes[path], radius[path])
    return canvas.amount


def _trunk(
    view: View, side: int, branches: tuple[tuple[tuple[int, int], ...], ...], rng: np.random.Generator
) -> Tree:
    """Lay the first branches at the hilum."""
    y = HILUM_Y_MM[int(side > 0)] + rng.normal(0, 3)
    places = np.array([place for branch in branches for place in branch], dtype=np.float64)
    n = len(places)
    x = side * (places[:, 0] * rng.normal(1, 0.1) + rng.normal(0, 3.5, n))
    where = view.project(x, y + places[:, 1] * rng.normal(1, 0.15) + rng.normal(0, 3, n), np.zeros(n))
    nodes = np.column_stack([where.columns, where.rows, np.zeros(n)]) * view.mm_per_px
    parents = np.maximum(np.arange(n) - 1, 0)
    parents[len(branches[0])] = 0
    lengths = np.zeros(n)
    for k in range(1, n):
        lengths[k] = lengths[parents[k]] + 6.0
    return Tree(nodes, parents, lengths)


def _grow(view: View, lungs: Lungs, trunk: Tree, side: int, rng: np.random.Generator) -> Tree:
    """Let the trunk branch to random places of the lung, more of them below than above."""
    half = np.arange(view.shape[1])[None, :] * side > view.shape[1] / 2 * side
    rows, columns = np.nonzero((lungs.left if side < 0 else lungs.right) | (lungs.heart & half))
    if len(rows) == 0:
        return trunk
    blood = np.cumsum(lungs.lung_mm[rows, columns] * (0.35 + (rows - rows[0]) / (rows[-1] - rows[0] + 1)))
    pick = np.searchsorted(blood / blood[-1], rng.random(TARGETS_PER_TREE)).clip(0, len(rows) - 1)
    depth = rng.normal(0, SPREAD_ALONG_BEAM_MM, TARGETS_PER_TREE)
    targets = np.column_stack([columns[pick] * view.mm_per_px, rows[pick] * view.mm_per_px, depth])
    targets = targets[np.argsort(np.linalg.norm(targets - trunk.nodes[0], axis=1), kind="stable")]
    room, n = 3 * TARGETS_PER_TREE, len(trunk.parents)
    nodes = np.vstack([trunk.nodes, np.zeros((room, 3))])
    parents = np.concatenate([trunk.parents, np.zeros(room, dtype=np.int64)])
    lengths = np.concatenate([trunk.lengths, np.zeros(room)])
    offsets = rng.normal(0, 0.07, (TARGETS_PER_TREE, 3))
    n = attach_targets(nodes, parents, lengths, n, targets, offsets, THRIFT, STEP_MM)
    return Tree(nodes[:n], parents[:n], lengths[:n])


def _radii(parents: Indices) -> Points:
    """Murray's law: the radius to the power 2.35 is the sum over the children."""
    power = np.zeros(len(parents))
    for node in range(len(parents) - 1, 0, -1):
        if power[node] == 0:
            power[node] = LEAF_RADIUS_MM**MURRAY
        power[parents[node]] += power[node]
    return np.minimum(power ** (1 / MURRAY), THICKEST_MM)


def _paths(parents: Indices, radius: Points) -> list[Indices]:
    """Cut the tree into branches: each goes from a leaf up to where a thicker branch takes it in."""
    heir: dict[int, int] = {}
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


def _draw(canvas: Canvas, nodes: Points, radius: Points) -> None:
    """Draw a branch; what is thinner than a pixel is drawn wider and thinner along the beam."""
    mm = canvas.view.mm_per_px
    taper = radius.copy()
    taper[0] = min(taper[0], 1.15 * taper[1])
    taper[-1] *= 0.3
    columns, rows, r = smooth_branch(nodes, taper) / mm
    drawn = np.maximum(r, 0.75)
    canvas.tube_px(columns, rows, radius_px=drawn, depth_mm=2 * mm * r * r / drawn)


def hilar_haze(view: View, *, seed: int) -> Floats:
    """Soft tissue of the hila in mm: lymph nodes, bronchial walls and vessels too small to draw."""
    rng = stream(seed, "hila")
    hila = [(side, HILUM_Y_MM[int(side > 0)] + 8 + rng.normal(0, 4), rng.uniform(14, 26)) for side in (-1, 1)]

    def haze(x: Floats, y: Floats) -> Floats:
        total = np.zeros_like(x)
        for side, middle_y, strength in hila:
            dx, dy = side * x - 36, y - middle_y
            lean = (dx - 0.25 * dy) / 19
            total += strength * np.exp(-lean * lean - (dy / 34) ** 2)
        return total

    return by_bands(haze, *view.at(0.0))
