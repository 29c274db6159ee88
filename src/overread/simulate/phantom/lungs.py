"""Lung fields: the air along each beam, the diaphragm that cuts it, the exact masks, vessels and hila."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom._kernels import attach_targets, smooth_branch
from overread.simulate.phantom.cage import APEX_Y_MM, Cage
from overread.simulate.phantom.canvas import Canvas, chord, fourth_power, smooth_step
from overread.simulate.phantom.mediastinum import Mediastinum
from overread.simulate.phantom.patient import Patient, stream
from overread.simulate.phantom.view import View, by_bands, row_bands

__all__ = ["Diaphragm", "Lungs", "draw_vessels", "hilar_haze", "make_diaphragm", "make_lungs"]

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
Points = NDArray[np.float64]
Indices = NDArray[np.int64]

# Set by eye against NIH radiographs, like all shapes here; see docs/explanation/phantom.md.
PLEURA_MM = 6.0
# Share of the cage's depth that is lung before and behind the heart.
AIR_LEFT_BY_HEART = 0.27
LEAF_RADIUS_MM = 0.45
THICKEST_MM = 6.0
# Murray's law has the exponent 3; a smaller one makes the stems thicker. Set by eye.
MURRAY = 2.35
TARGETS_PER_TREE = 260
# How much a short way from the root counts against a short branch, and how long a branch may be without a bend.
THRIFT = 0.45
STEP_MM = 18.0
SPREAD_ALONG_BEAM_MM = 22.0
# The hilum of the image's left (the patient's right) lies lower.
HILUM_Y_MM = (118.0, 112.0)
# First branches at the hilum, (distance from the midline, height below the hilum) in mm: down, then up.
ARTERY = (((34, 0), (42, 12), (47, 28), (51, 46), (56, 68)), ((42, -12), (47, -26)))
VEIN = (((30, 16), (44, 21), (58, 30)), ((40, 2), (44, -14)))


@dataclass(frozen=True)
class Diaphragm:
    """Heights of the two domes (image's left, image's right) and their shape."""

    dome_y_mm: tuple[float, float]
    peak: tuple[float, float]
    rise_mm: tuple[float, float]

    def edge(self, x: Floats, cage: Cage) -> Floats:
        """Height of the dome's silhouette above each x."""
        left, right = (
            self._side(side * x / (cage.half_width_mm - PLEURA_MM), k) for k, side in enumerate((-1, 1))
        )
        blend = smooth_step(x, -25, 35)
        return left * (1 - blend) + right * blend

    def _side(self, out: Floats, k: int) -> Floats:
        """Silhouette of one dome; ``out`` is 0 at the midline and 1 at the wall."""
        off = out - self.peak[k]
        outer, inner = np.maximum(off, 0) / (1.02 - self.peak[k]), np.maximum(-off, 0) / self.peak[k]
        fall = self.rise_mm[k] * (1 - chord(1 - outer**2 * np.sqrt(outer)))
        return self.dome_y_mm[k] + fall + 14 * inner**2


@dataclass(frozen=True, eq=False)
class Lungs:
    """Air along the beam in mm of lung, and the fields as they appear.

    A lung field is where lung lies behind the beam and neither mediastinum nor diaphragm covers it.
    ``heart`` and ``mediastinum`` cover lung above the diaphragm, ``below_dome`` is lung covered by the diaphragm.
    """

    lung_mm: Floats
    left: Masks
    right: Masks
    heart: Masks
    mediastinum: Masks
    below_dome: Masks
    inside_cage: Masks


def make_diaphragm(patient: Patient, *, seed: int) -> Diaphragm:
    """Place the domes: the right one (image's left) is the higher one in most."""
    rng = stream(seed, "diaphragm")
    level = 172 + 60 * patient.inspiration + float(rng.normal(0, 5))
    higher = float(rng.normal(12, 7))
    return Diaphragm(
        dome_y_mm=(level - higher / 2, level + higher / 2),
        peak=(float(rng.uniform(0.42, 0.58)), float(rng.uniform(0.45, 0.6))),
        rise_mm=(float(rng.normal(50, 7)), float(rng.normal(50, 7))),
    )


def make_lungs(view: View, cage: Cage, diaphragm: Diaphragm, mediastinum: Mediastinum) -> Lungs:
    """Air along each beam: the cage's chord less mediastinum, heart and what the diaphragm takes."""
    x, y = view.at(0.0)
    bands = [
        _in_band(x[rows], y[rows], cage, diaphragm, mediastinum.share[rows], mediastinum.heart[rows])
        for rows in row_bands(view.shape)
    ]
    return Lungs(**{f.name: np.concatenate([getattr(band, f.name) for band in bands]) for f in fields(Lungs)})


def _in_band(
    x: Floats, y: Floats, cage: Cage, diaphragm: Diaphragm, mediastinum: Floats, heart: Masks
) -> Lungs:
    """Lungs of some rows."""
    wall = cage.half_width(y) - PLEURA_MM
    depth = 2 * cage.half_depth(y)
    across = x / wall
    cap = APEX_Y_MM + 24 * ((np.abs(x) - 47) / 35) ** 2
    below_cap = y - cap
    side = 1 - fourth_power(across)
    inside = (side > 0) & (below_cap > 0)
    cage_mm = depth * chord(side) * np.minimum(chord(below_cap / 30), 1)
    free = cage_mm * (1 - (1 - AIR_LEFT_BY_HEART) * mediastinum)
    under = y - diaphragm.edge(x, cage)
    sulcus = 8 + 46 * smooth_step(np.abs(x), 25, 85)
    edge = smooth_step(under, -0.7, 0.7)
    solid = edge * (0.4 + 0.6 * np.minimum(chord(under / sulcus), 1))
    lung = np.where(inside, free * (1 - solid), 0).astype(np.float32)
    above = inside & (under <= 0)
    fields = above & ~(mediastinum > 0)
    return Lungs(
        lung_mm=lung,
        left=fields & (x < 0),
        right=fields & (x >= 0),
        heart=above & heart,
        mediastinum=above & (mediastinum > 0),
        below_dome=inside & (under > 0) & (lung > 0),
        inside_cage=inside,
    )


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
