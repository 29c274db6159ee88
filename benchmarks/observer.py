"""A Hotelling observer that is told, at every place, which nodule to look for (Barrett and Myers 2004, chapter 13).

At a place the observer sees the image g on 25 x 25 points within 2.5 radii of the nodule in question, without the
quadratic surface of its surroundings and in units of their deviation, and knows what the nodule s would add there. Its
answer is

    s' K^-1 (g - m) - s' K^-1 s / 2,

the log-likelihood ratio if what is seen there without a nodule were Gaussian with mean m and covariance K. Both are
measured on the places without nodule of other patients, for several sizes of nodules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.ndimage import map_coordinates

from overread.simulate import Nodule
from overread.simulate._cases import Background, insert_nodules, ring_noise, with_conspicuity
from overread.simulate._nodules import window_around

__all__ = ["View", "answer", "look_for", "move_nodule"]

FloatArray = NDArray[np.float64]

POINTS = 25
REACH = 2.5
# Surroundings, as in the definition of conspicuity.
INNER = 1.1
# Edges of the sizes for which the noise is measured, in mm: fifths of the benchmark's log-uniform law.
SIZES_MM = (0.0, 8.3, 11.4, 15.8, 21.7, np.inf)
# Added to the covariance, as a share of its mean variance: thousands of places for 625 points. Set by judgement.
SHRINKAGE = 0.01
# In grey levels of 255: where the image is flat.
LEAST_NOISE = 1e-3


@dataclass(frozen=True, eq=False)
class View:
    """What the observer sees at one place, and what it looks for, both in deviations of the surroundings.

    Parameters
    ----------
    seen, signal
        625 numbers each, without the trend of the surroundings.
    diameter_mm
        Of the nodule that is looked for.
    """

    seen: NDArray[np.float32]
    signal: NDArray[np.float32]
    diameter_mm: float


def make_trend_remover() -> FloatArray:
    """Make the matrix that takes away the quadratic surface fitted to the surroundings."""
    axis = np.linspace(-REACH, REACH, POINTS)
    y, x = (part.ravel() for part in np.meshgrid(axis, axis, indexing="ij"))
    surface = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    distance = np.hypot(x, y)
    ring = (distance >= INNER) & (distance <= REACH)
    fit = np.zeros((surface.shape[1], x.size))
    fit[:, ring] = np.linalg.pinv(surface[ring])
    return np.eye(x.size) - surface @ fit


REMOVE_TREND = make_trend_remover()


def move_nodule(
    nodule: Nodule, x_mm: float, y_mm: float, background: Background, pixels: FloatArray
) -> Nodule:
    """Give the nodule that has the same size, form and conspicuity at another place of an image."""
    moved = replace(nodule, x_mm=x_mm, y_mm=y_mm, blur_mm=background.blur_mm)
    return with_conspicuity(moved, pixels, background.quiet, background.mm_per_px, white=background.white)


def look_for(nodule: Nodule, pixels: FloatArray, background: Background) -> View:
    """Look for a nodule where it lies, in an image of the background with or without it.

    Noise and signal are those of the clean background: the observer knows both.
    """
    noise = max(ring_noise(nodule, background.pixels, background.quiet, background.mm_per_px), LEAST_NOISE)
    seen = sample(pixels, nodule, background.mm_per_px)
    part, moved = crop_around(nodule, background)
    added = insert_nodules(part, [moved], background.mm_per_px, white=background.white) - part
    signal = sample(added, moved, background.mm_per_px)
    return View(
        *((REMOVE_TREND @ values / noise).astype(np.float32) for values in (seen, signal)), nodule.diameter_mm
    )


def crop_around(nodule: Nodule, background: Background) -> tuple[FloatArray, Nodule]:
    """Crop the background to what the nodule reaches and is sampled on, and the nodule as it lies in that part."""
    mm, pixels = background.mm_per_px, background.pixels
    reach = max(nodule.reach_mm, REACH * nodule.radius_mm * np.sqrt(2.0)) + 2 * mm
    window = window_around(nodule.x_mm, nodule.y_mm, reach, (pixels.shape[0], pixels.shape[1]), mm)
    x, y = nodule.x_mm - window.columns.start * mm, nodule.y_mm - window.rows.start * mm
    return pixels[window.rows, window.columns], replace(nodule, x_mm=x, y_mm=y)


def sample(image: FloatArray, nodule: Nodule, mm_per_px: float) -> FloatArray:
    """Sample the image on the points around a nodule."""
    axis = np.linspace(-REACH, REACH, POINTS) * nodule.radius_mm
    rows, columns = ((axis + centre) / mm_per_px - 0.5 for centre in (nodule.y_mm, nodule.x_mm))
    grid = np.meshgrid(rows, columns, indexing="ij")
    return np.asarray(map_coordinates(image, grid, order=1, mode="nearest")).ravel()


def answer(views: Sequence[View], group: NDArray[np.int64], without: NDArray[np.bool_]) -> FloatArray:
    """Answer at every place; the noise is measured on the places of other groups that are without nodule."""
    size = np.digitize([view.diameter_mm for view in views], SIZES_MM[1:-1])
    seen, signal = (
        np.array([getattr(view, name) for view in views], dtype=np.float64) for name in ("seen", "signal")
    )
    answers = np.empty(len(views))
    for held_out in np.unique(group):
        for one_size in np.unique(size):
            rows = (group == held_out) & (size == one_size)
            noise = seen[(group != held_out) & (size == one_size) & without]
            mean, covariance = noise.mean(axis=0), np.cov(noise.T)
            covariance[np.diag_indices_from(covariance)] += SHRINKAGE * np.trace(covariance) / len(covariance)
            weights = cho_solve(cho_factor(covariance), signal[rows].T).T
            answers[rows] = np.einsum("np,np->n", weights, seen[rows] - mean - signal[rows] / 2)
    return answers
