"""Drawing into maps of line integrals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom._kernels import draw_tube
from overread.simulate.phantom.view import View

__all__ = [
    "CORTEX",
    "MARROW",
    "SOFT_ABSORPTION",
    "Canvas",
    "chord",
    "columns_within",
    "fourth_power",
    "smooth_step",
]

Floats = NDArray[np.float32]
Marks = NDArray[np.uint8]
Points = NDArray[np.float64]

# Absorption a mm. Soft tissue lies between NIST's values for ICRU-44 tissue at 80 keV (0.0193) and 100 keV (0.0179).
SOFT_ABSORPTION = 0.0185
# Of bone above soft tissue, set by eye against NIH radiographs; NIST's cortical bone has 0.024 at 80 keV, 0.057 at 50.
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
    """A map of line integrals of one kind of structure."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.amount: Floats = np.zeros(view.shape, dtype=np.float32)
        self._nearest, self._depth, self._part, self._unread = view.scratch

    def no_marks(self) -> Marks:
        """Map of bits with nothing in it."""
        return np.zeros(self.view.shape, dtype=np.uint8)

    def tube(
        self,
        points: Points,
        *,
        radius_mm: Points | float,
        depth_mm: Points | float,
        shell: float,
        core: float | None = None,
        wall: float = 1.0,
        split: int | None = None,
        marks: Marks | None = None,
    ) -> None:
        """Add a tube along points (n x 3, patient mm) and mark where it adds: bit 1, from point ``split`` on bit 2.

        ``shell`` and ``core`` are absorption a mm above what is there; a wall of 1 is a solid tube.
        """
        where = self.view.project(points[:, 0], points[:, 1], points[:, 2])
        radius_px = np.broadcast_to(radius_mm, len(points)) * where.px_per_mm
        self.tube_px(
            where.columns,
            where.rows,
            radius_px=radius_px,
            depth_mm=np.broadcast_to(depth_mm, len(points)).astype(np.float64),
            shell=shell,
            core=core,
            wall=wall,
            split=split,
            marks=marks,
        )

    def tube_px(
        self,
        columns: Points,
        rows: Points,
        *,
        radius_px: Points,
        depth_mm: Points,
        shell: float = 1.0,
        core: float | None = None,
        wall: float = 1.0,
        split: int | None = None,
        marks: Marks | None = None,
    ) -> None:
        """Add a tube given in pixels; otherwise as `tube`."""
        draw_tube(
            self.amount,
            self._unread if marks is None else marks,
            self._nearest,
            self._depth,
            self._part,
            columns,
            rows,
            radius_px,
            depth_mm,
            len(columns) if split is None else split,
            wall,
            shell,
            shell if core is None else core,
        )
