"""Drawing into maps of line integrals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom._kernels import draw_tube
from overread.simulate.phantom.view import View

__all__ = ["Canvas", "chord", "smooth_step"]

Floats = NDArray[np.float32]
Marks = NDArray[np.uint8]
Points = NDArray[np.float64]


def chord(value: Floats) -> Floats:
    """Half chord of a unit ball at squared distance 1 - value: sqrt(value), 0 outside."""
    return np.sqrt(np.maximum(value, np.float32(0)))


def smooth_step(value: Floats, low: float, high: float) -> Floats:
    """Cubic step from 0 at low to 1 at high."""
    t = np.clip((value - np.float32(low)) / np.float32(high - low), np.float32(0), np.float32(1))
    return t * t * (np.float32(3) - np.float32(2) * t)


class Canvas:
    """A map of line integrals (mu t) of one kind of structure, and where it is not zero."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.amount: Floats = np.zeros(view.shape, dtype=np.float32)
        self._nearest: Floats = np.full(view.shape, 2, dtype=np.float32)
        self._depth: Floats = np.zeros(view.shape, dtype=np.float32)
        self._part: Marks = np.zeros(view.shape, dtype=np.uint8)

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
    ) -> Marks:
        """Add a tube along points (n x 3, patient mm) and mark it: bit 1, from point ``split`` on bit 2.

        ``shell`` and ``core`` are absorption a mm above what is there; a wall of 1 is a solid tube.
        """
        where = self.view.project(points[:, 0], points[:, 1], points[:, 2])
        n = len(points)
        marked = self.no_marks() if marks is None else marks
        draw_tube(
            self.amount,
            marked,
            self._nearest,
            self._depth,
            self._part,
            where.columns,
            where.rows,
            np.broadcast_to(np.asarray(radius_mm, dtype=np.float64), n) * where.px_per_mm,
            np.ascontiguousarray(np.broadcast_to(np.asarray(depth_mm, dtype=np.float64), n)),
            n if split is None else split,
            wall,
            shell,
            shell if core is None else core,
        )
        return marked
