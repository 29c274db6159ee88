"""Exact overlap of ellipses beside shapely's 64-gons: time and error."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks.rows import Row, compare
from overread.marks import overlap_areas

Floats = NDArray[np.float64]
CORNERS = 64


def run(*, quick: bool) -> list[Row]:
    n = 10_000 if quick else 100_000
    first, second = overlapping_pairs(n)
    overlap_areas(first[:10], second[:10])
    repeats = 3 if quick else 5
    turns = [
        (timed(lambda: overlap_areas(first, second)), timed(lambda: by_polygons(first, second)))
        for _ in range(repeats)
    ]
    ours, peer = (median(turn[side] for turn in turns) for side in (0, 1))
    exact, approximate = overlap_areas(first, second), by_polygons(first, second)
    larger = np.pi * np.maximum(first[:, 2] * first[:, 3], second[:, 2] * second[:, 3])
    worst = float(np.max(np.abs(exact - approximate) / larger))
    note = (
        f"shapely {shapely.__version__}, {CORNERS}-gons made and intersected, off by up to"
        f" {worst:.1g} of the larger area; target 15x"
    )
    return [compare(f"overlap of {n:,} pairs of ellipses that overlap in part", ours, peer, "s", note)]


def overlapping_pairs(n: int) -> tuple[Floats, Floats]:
    """Make marks of two readers on one lesion: near each other, of similar size."""
    rng = np.random.default_rng(0)

    def drawn(centres: Floats) -> Floats:
        major = np.exp(rng.normal(1.8, 0.3, n))
        return np.column_stack([centres, major, major * rng.uniform(0.5, 1.0, n), rng.uniform(0, 180, n)])

    places = rng.uniform(0, 300, (n, 2))
    return drawn(places), drawn(places + rng.normal(0, 2.0, (n, 2)))


def by_polygons(first: Floats, second: Floats) -> Floats:
    return np.asarray(shapely.area(shapely.intersection(polygons(first), polygons(second))))


def polygons(ellipses: Floats) -> NDArray[np.object_]:
    """Polygons with as many corners on the ellipse, grown to its area."""
    step = 2 * np.pi / CORNERS
    t = np.arange(CORNERS) * step
    grow = np.sqrt(step / np.sin(step))
    c, s = np.cos(np.radians(ellipses[:, 4:])), np.sin(np.radians(ellipses[:, 4:]))
    along, across = grow * ellipses[:, 2:3] * np.cos(t), grow * ellipses[:, 3:4] * np.sin(t)
    corners = np.stack(
        [ellipses[:, :1] + c * along - s * across, ellipses[:, 1:2] + s * along + c * across], axis=-1
    )
    return np.asarray(shapely.polygons(corners))


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
