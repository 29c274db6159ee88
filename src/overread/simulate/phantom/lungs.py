"""Lung fields: the air along each beam, the diaphragm that cuts it, the exact masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.cage import APEX_Y_MM, Cage
from overread.simulate.phantom.canvas import chord, smooth_step
from overread.simulate.phantom.mediastinum import Mediastinum
from overread.simulate.phantom.patient import Patient
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import View

__all__ = ["Diaphragm", "Lungs", "make_diaphragm", "make_lungs"]

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]

PLEURA_MM = 6.0
AIR_LEFT_BY_HEART = 0.27


@dataclass(frozen=True)
class Diaphragm:
    """Heights of the two domes (image's left, image's right) and their shape."""

    dome_y_mm: tuple[float, float]
    peak: tuple[float, float]
    rise_mm: tuple[float, float]

    def edge(self, x: Floats, cage: Cage) -> Floats:
        """Height of the dome's silhouette above each x."""
        sides = []
        for side, sign in enumerate((-1, 1)):
            wall = np.float32(cage.half_width_mm - PLEURA_MM)
            out = np.float32(sign) * x / wall
            off = out - np.float32(self.peak[side])
            outer = np.maximum(off, 0) / np.float32(1.02 - self.peak[side])
            inner = np.maximum(-off, 0) / np.float32(self.peak[side])
            fall = np.float32(self.rise_mm[side]) * (1 - np.sqrt(np.maximum(1 - outer**2.4, 0)))
            sides.append(np.float32(self.dome_y_mm[side]) + fall + np.float32(14) * inner**2)
        blend = smooth_step(x, -25, 35)
        return sides[0] * (1 - blend) + sides[1] * blend


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
    level = 172 + 60 * patient.inspiration + rng.normal(0, 5)
    higher = rng.normal(12, 7)
    return Diaphragm(
        dome_y_mm=(level - higher / 2, level + higher / 2),
        peak=(float(rng.uniform(0.42, 0.58)), float(rng.uniform(0.45, 0.6))),
        rise_mm=(float(rng.normal(50, 7)), float(rng.normal(50, 7))),
    )


def make_lungs(view: View, cage: Cage, diaphragm: Diaphragm, mediastinum: Mediastinum) -> Lungs:
    """Air along each beam: the cage's chord less mediastinum, heart and what the diaphragm takes."""
    x, y = view.at(0.0)
    wall = cage.half_width(y[:, :]).astype(np.float32) - np.float32(PLEURA_MM)
    depth = np.float32(2) * cage.half_depth(y).astype(np.float32)
    across = x / wall
    cap = np.float32(APEX_Y_MM) + np.float32(24) * ((np.abs(x) - np.float32(47)) / np.float32(35)) ** 2
    below_cap = y - cap
    side = 1 - (across * across) ** np.float32(1.9)
    inside = (side > 0) & (below_cap > 0)
    cage_mm = depth * chord(side) * np.minimum(chord(below_cap / np.float32(30)), 1)
    free = cage_mm * (1 - np.float32(1 - AIR_LEFT_BY_HEART) * mediastinum.share)
    under = y - diaphragm.edge(x, cage)
    sulcus = np.float32(8) + np.float32(46) * smooth_step(np.abs(x), 25, 85)
    edge = smooth_step(under, -0.7, 0.7)
    solid = edge * (np.float32(0.4) + np.float32(0.6) * np.minimum(chord(under / sulcus), 1))
    lung = np.where(inside, free * (1 - solid), 0).astype(np.float32)
    above = inside & (under <= 0)
    fields = above & ~(mediastinum.share > 0)
    return Lungs(
        lung_mm=lung,
        left=fields & (x < 0),
        right=fields & (x >= 0),
        heart=above & mediastinum.heart,
        mediastinum=above & (mediastinum.share > 0),
        below_dome=inside & (under > 0) & (lung > 0),
        inside_cage=inside,
    )
