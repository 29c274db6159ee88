"""The rib cage as a surface: how wide, how deep, where each rib starts and ends.

Heart, great vessels, trachea: what stands between the lungs.

Lung fields: the air along each beam, the diaphragm that cuts it, the exact masks, vessels and hila.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter1d

from overread.simulate.chest._canvas import (
    Canvas,
    attach_targets,
    chord,
    chord_between,
    columns_within,
    fourth_power,
    smooth_branch,
    smooth_step,
)
from overread.simulate.chest._patient import Patient, Projected, Projection, by_bands, row_bands, stream

Points = NDArray[np.float64]
AnyFloats = NDArray[np.floating]

N_RIBS = 12
# All lengths of the cage were set by judgement against NIH radiographs; see docs/explanation/phantom.md.
SPINE_Z_MM = 62.0
APEX_Y_MM = -10.0
BASE_Y_MM = 205.0
# How far each rib falls from the spine to its end, and how far from the midline it ends.
RIB_DROP_MM = np.array([46, 76, 98, 114, 124, 130, 134, 132, 124, 110, 75, 50], dtype=np.float64)
RIB_END_MM = np.array([30, 38, 46, 54, 62, 72, 86, 98, 108, 116, 124, 95], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Cage:
    """Rib cage of a patient of size 1, in mm."""

    half_width_mm: float
    half_depth_mm: float
    drop: float
    wobble: Points

    def half_width(self, y: AnyFloats) -> AnyFloats:
        """Half the width between the rib centres at height y."""
        below = np.clip((y - BASE_Y_MM) / 160.0, 0.0, 1.0)
        above = 1 - np.clip((y - APEX_Y_MM) / (BASE_Y_MM - APEX_Y_MM), 0.0, 1.0)
        rounded = np.sqrt(1 - above * above * np.sqrt(np.sqrt(above)))
        # The exponents 2.25 and 0.625 as square roots, which cost a fraction of a power.
        widening = rounded * np.sqrt(np.sqrt(rounded))
        return 30 + (self.half_width_mm - 30) * (widening - 0.12 * below * below * (3 - 2 * below))

    def half_depth(self, y: AnyFloats) -> AnyFloats:
        """Half the depth inside the cage at height y."""
        u = np.clip((y - APEX_Y_MM) / 190.0, 0.0, 1.0)
        return self.half_depth_mm * (0.38 + 0.62 * u * (2 - u))

    def vertebra_y(self, number: NDArray[np.int_] | int) -> Points:
        """Height of the middle of a vertebra; 1 is T1, 12 is T12, 0 is C7."""
        k = np.asarray(number, dtype=np.float64)
        return 20.4 * (k - 1) + 0.375 * (k - 1) * np.abs(k)

    def rib(self, number: int, side: int) -> tuple[Points, Points]:
        """Centre line of a rib (n x 3) and its angle, 0 at the spine, pi/2 at the side; side -1 is the image's left."""
        index = number - 1
        drop = RIB_DROP_MM[index] * self.drop
        start_y = float(self.vertebra_y(number)) - 6 + self.wobble[index, 0]
        lateral_y = start_y + 0.5 * drop
        a = float(self.half_width(np.array(lateral_y))) * (0.86 if number == 1 else 1.0)
        b = float(self.half_depth(np.array(lateral_y)))
        end = np.pi - np.arcsin(min(RIB_END_MM[index] / a, 0.98))
        if number > 10:
            end = 1.45 if number == 11 else 0.95
        angle = np.linspace(np.arcsin(min(18 / a, 0.9)), end, 90)
        rise = 0.075 * (1 - number / 14)
        fall = np.sin(angle / 2) ** 2 - rise * np.sin(2 * angle) * (angle < np.pi / 2)
        x = side * a * np.sin(angle)
        y = start_y + drop * fall + self.wobble[index, 1 + (side > 0)] * np.sin(angle)
        z = b * np.cos(angle) - 8 + 6 * np.sin(2 * angle)
        return np.column_stack([x, y, z]), angle


def make_cage(patient: Patient, *, seed: int) -> Cage:
    """Shape the rib cage of a patient."""
    rng = stream(seed, "cage")
    return Cage(
        half_width_mm=146.0 * patient.width,
        half_depth_mm=float(np.clip(rng.normal(92, 7), 76, 110)),
        drop=1.16 - 0.28 * patient.inspiration + float(rng.normal(0, 0.04)),
        wobble=rng.normal(0, 2.0, (N_RIBS, 3)),
    )


Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]

# Set by judgement against NIH radiographs; see docs/explanation/phantom.md.
HEART_Z_MM = -30.0
HEART_TOP_MM = 88.0
BORDER_SMOOTHING_MM = 5.0
AIRWAY_REACH_MM = 75.0


@dataclass(frozen=True, eq=False)
class Mediastinum:
    """Half chords between 0 and 1 of the cage's depth, air of the airways in mm, and where they are not zero."""

    share: Floats
    airway_mm: Floats
    heart: Masks


def make_mediastinum(
    view: Projection, patient: Patient, cage: Cage, *, dome_y: float, seed: int
) -> Mediastinum:
    """Place heart and great vessels; the heart sits on the diaphragm at height ``dome_y``."""
    rng = stream(seed, "mediastinum")
    heart = _heart(view, patient, cage, dome_y, rng)
    column, knob = _great_vessels(view, patient, rng)
    share = np.sqrt(np.sqrt(fourth_power(heart) + fourth_power(column) + fourth_power(knob)))
    return Mediastinum(np.minimum(share, 1), _airway(view, rng), heart > 0)


def _between(
    x: Floats, y: Floats, knots: NDArray[np.float64], right: NDArray[np.float64], left: NDArray[np.float64]
) -> Floats:
    """Half chord of a body with an elliptic section between two borders that change with height."""
    fine, step = np.linspace(knots[0], knots[-1], 600, retstep=True)
    smooth_right, smooth_left = (
        gaussian_filter1d(PchipInterpolator(knots, b)(fine), BORDER_SMOOTHING_MM / step, mode="nearest")
        for b in (right, left)
    )
    return chord_between(x, y, float(fine[0]), float(step), smooth_right, smooth_left)


def _heart(view: Projection, patient: Patient, cage: Cage, dome_y: float, rng: np.random.Generator) -> Floats:
    x, y = view.at(HEART_Z_MM)
    width = 2 * cage.half_width_mm * patient.heart_ratio
    share_right = rng.normal(0.345, 0.02)
    length = dome_y + 14 - HEART_TOP_MM
    levels = np.array([0.0, 0.12, 0.3, 0.5, 0.68, 0.82, 0.93, 1.04, 1.3])
    right = np.array([0.0, 0.4, 0.62, 0.86, 0.99, 1.0, 0.93, 0.8, 0.0]) * width * share_right
    left = np.array([0.0, 0.3, 0.47, 0.70, 0.90, 1.0, 0.99, 0.9, 0.0]) * width * (1 - share_right)
    left[1:-1] += rng.normal(0, 1.5, 7)
    right[1:-1] += rng.normal(0, 1.2, 7)
    inside = (y > HEART_TOP_MM) & (y < HEART_TOP_MM + 1.3 * length)
    knots = HEART_TOP_MM + levels * length
    return np.where(inside, _between(x, y, knots, right, left), 0).astype(np.float32)


def _great_vessels(view: Projection, patient: Patient, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Half chords of the upright vessels and of the aortic knob."""
    x, y = view.at(5.0)
    age = (patient.age_years - 50) / 40
    shift = rng.normal(0, 4)
    knots = np.array([-300, -45, -10, 14, 45, 85, 104, 125, 160, 230, 420], dtype=np.float64)
    left = np.array([44, 42, 33, 25, 24, 29, 35, 33, 28, 25, 25.0])
    right = np.array([44, 42, 33, 25, 24, 29, 31, 30, 27, 24, 24.0])
    left[2:] += rng.normal(0, 1.5, 9)
    right[2:] += rng.normal(0, 1.3, 9) + 2 * age
    column = _between(x, y, knots, right, left)
    radius = 15 + 2.5 * age + rng.normal(0, 1.2)
    off_x, off_y = x - (21 + 4 * age), (y - (66 + shift - 3 * age)) / 1.12
    knob = chord(1 - (off_x * off_x + off_y * off_y) / (radius * radius)) * 0.7
    return column, knob


def _airway(view: Projection, rng: np.random.Generator) -> Floats:
    """Air in the trachea and the main bronchi."""
    x, y = view.at(15.0)
    middle = columns_within(x, AIRWAY_REACH_MM)
    shift = rng.normal(-2, 2)
    carina = 92 + rng.normal(0, 4)

    def air(x: Floats, y: Floats) -> Floats:
        drift = shift * np.clip((y + 60) / 150, 0, 1)
        trachea = chord(1 - ((x - drift) / 9) ** 2) * 18 * (y < carina)
        below = np.maximum(y - carina + 6, 0)
        right = chord(1 - ((x - drift + below * 0.62) / 8) ** 2)
        left = chord(1 - ((x - drift - below * 0.95) / 8.5) ** 2)
        fade = np.clip(1 - below / 38, 0, 1) * (y >= carina - 6)
        return np.maximum(trachea, np.maximum(right, left) * 14 * fade)

    total = np.zeros(view.shape, dtype=np.float32)
    total[:, middle] = by_bands(air, x[:, middle], y[:, middle])
    return total


Indices = NDArray[np.int64]

# Set by judgement against NIH radiographs, like all shapes here; see docs/explanation/phantom.md.
PLEURA_MM = 6.0
# Share of the cage's depth that is lung before and behind the heart.
AIR_LEFT_BY_HEART = 0.27
LEAF_RADIUS_MM = 0.45
THICKEST_MM = 6.0
# Murray's law has the exponent 3; a smaller one makes the stems thicker. Set by judgement.
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


def make_lungs(view: Projection, cage: Cage, diaphragm: Diaphragm, mediastinum: Mediastinum) -> Lungs:
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


def draw_vessels(view: Projection, lungs: Lungs, *, seed: int) -> Floats:
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
    view: Projection, side: int, branches: tuple[tuple[tuple[int, int], ...], ...], rng: np.random.Generator
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


def _grow(view: Projection, lungs: Lungs, trunk: Tree, side: int, rng: np.random.Generator) -> Tree:
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
    where = Projected(columns, rows, np.ones_like(r))
    canvas.tube(where, radius_mm=drawn, depth_mm=2 * mm * r * r / drawn)


def hilar_haze(view: Projection, *, seed: int) -> Floats:
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
