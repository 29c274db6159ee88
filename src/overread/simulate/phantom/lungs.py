"""Lung fields: the air along each beam, the diaphragm that cuts it, the exact masks."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.bands import row_bands
from overread.simulate.phantom.cage import APEX_Y_MM, Cage
from overread.simulate.phantom.canvas import chord, fourth_power, smooth_step
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
