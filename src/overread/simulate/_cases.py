"""One case of a cohort: a background, its nodules and distractors, and what its readers mark.

Put nodules into a radiograph so that only the nodule itself reveals them.

On the transmitted side a nodule multiplies by ``1 - contrast * field``: with T = white - pixels, smoothed by 1 mm,

    pixels' = pixels + contrast * field * T,

so it is faint over bone and heart and has no seam. T is smoothed because a factor on the noise itself shows: the
same classifier finds an AUC of 0.63 with it and of 0.52 without (docs/explanation/simulate.md). Its contrast comes from
its conspicuity: mean of pixels' - pixels inside the outline over the deviation of the ring from 1.1 to 2.5 radii, of
the lung pixels only and after a quadratic trend.

Distractors: places of the clean image that readers share a weakness for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from overread.simulate._nodules import (
    InsertWindow,
    Nodule,
    NoduleDistribution,
    VariedDistribution,
    contrast_field,
    draw_by_law,
    nodule_mask,
    relative_radius,
    window_around,
)
from overread.simulate._readers import DrawnMark, ReaderModel, SeenObject, marks_of_image, reader_panel

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Part of the definition of conspicuity, in radii; with fewer pixels its deviation says nothing.
RING = (1.1, 2.5)
FEWEST_RING_PIXELS = 30
LARGEST_CONTRAST = 0.85
# Without this smoothing a classifier recognizes inserted nodules (docs/explanation/simulate.md: AUC 0.63 against 0.52).
SMOOTHING_MM = 1.0
# What is measured is clipped to it; set by judgement.
BLUR_RANGE_MM = (0.4, 1.5)


def insert_nodules(
    pixels: FloatArray, nodules: Sequence[Nodule], mm_per_px: float, *, white: float
) -> FloatArray:
    """Radiograph with the nodules."""
    result = np.array(pixels, dtype=np.float64)
    for nodule in nodules:
        window = window_around(nodule.x_mm, nodule.y_mm, nodule.reach_mm, result.shape, mm_per_px)
        part = result[window.rows, window.columns]
        part += _nodule_contribution(nodule, part, window, mm_per_px, white)
    return result


def _nodule_contribution(
    nodule: Nodule, part: FloatArray, window: InsertWindow, mm_per_px: float, white: float
) -> FloatArray:
    """Give what a nodule adds to the pixels of a window that holds its reach."""
    transmitted = np.maximum(white - gaussian_filter(part, SMOOTHING_MM / mm_per_px), 0.0)
    return np.asarray(nodule.contrast * contrast_field(nodule, window, mm_per_px) * transmitted)


def with_conspicuity(
    nodule: Nodule, pixels: FloatArray, lungs: BoolArray, mm_per_px: float, *, white: float
) -> Nodule:
    """Nodule with the contrast that gives it its conspicuity here; where that is too much, with what can be had."""
    unit = mean_contrast(replace(nodule, contrast=1.0), pixels, mm_per_px, white=white)
    noise = ring_noise(nodule, pixels, lungs, mm_per_px)
    wanted = nodule.conspicuity * noise / unit if unit > 0 else LARGEST_CONTRAST
    return replace(nodule, contrast=round(min(wanted, LARGEST_CONTRAST), 6))


def mean_contrast(nodule: Nodule, pixels: FloatArray, mm_per_px: float, *, white: float) -> float:
    """Mean of what the nodule adds inside its outline."""
    window = window_around(nodule.x_mm, nodule.y_mm, nodule.reach_mm, pixels.shape, mm_per_px)
    x, y = window.mm(mm_per_px)
    inside = relative_radius(nodule, x, y)[0] < 1.0
    added = _nodule_contribution(nodule, pixels[window.rows, window.columns], window, mm_per_px, white)
    return float(added[inside].mean())


def ring_noise(nodule: Nodule, pixels: FloatArray, lungs: BoolArray, mm_per_px: float) -> float:
    """Deviation of the clean image around a nodule, in the lung, about a quadratic surface."""
    reach = RING[1] * nodule.radius_mm + mm_per_px
    window = window_around(nodule.x_mm, nodule.y_mm, reach, pixels.shape, mm_per_px)
    x, y = window.mm(mm_per_px)
    dx, dy = np.broadcast_arrays((x - nodule.x_mm) / nodule.radius_mm, (y - nodule.y_mm) / nodule.radius_mm)
    distance = np.hypot(dx, dy)
    ring = (distance >= RING[0]) & (distance <= RING[1])
    in_lung = ring & lungs[window.rows, window.columns]
    if np.count_nonzero(in_lung) >= FEWEST_RING_PIXELS:
        ring = in_lung
    dx, dy, values = dx[ring], dy[ring], pixels[window.rows, window.columns][ring]
    surface = np.column_stack([np.ones_like(dx), dx, dy, dx * dx, dx * dy, dy * dy])
    fitted = surface @ np.linalg.lstsq(surface, values, rcond=None)[0]
    return float(np.sqrt(np.sum((values - fitted) ** 2) / max(len(values) - 6, 1)))


def image_blur_mm(pixels: FloatArray, mm_per_px: float) -> float:
    """Blur of an image, from its sharpest edges.

    A step blurred by s has the slope A / sqrt(2 pi (s^2 + t^2)) in the image smoothed by t; a difference over two
    pixels smooths by another 1/3 px^2. The two slopes at t = 1 and 2 pixels, each the highest in a thousand, give s;
    it is kept between 0.4 and 1.5 mm.
    """
    slopes, squares = [], []
    for smoothing in (1.0, 2.0):
        smooth = gaussian_filter(np.asarray(pixels, dtype=np.float64), smoothing)
        vertical, horizontal = np.gradient(smooth)
        slopes.append(np.quantile(np.hypot(vertical, horizontal), 0.999))
        squares.append(smoothing**2 + 1 / 3)
    ratio = (slopes[0] / slopes[1]) ** 2 if slopes[1] > 0 else 1.0
    squared = (squares[1] - ratio * squares[0]) / (ratio - 1.0) if ratio > 1.0 else np.inf
    return float(np.clip(np.sqrt(max(squared, 0.0)) * mm_per_px, *BLUR_RANGE_MM))


# Spots of 7 to 20 mm (2 sqrt(2) s); set by judgement.
SCALES_MM = (2.5, 3.5, 5.0, 7.0)
APART_MM = 8.0


@dataclass(frozen=True)
class Blob:
    """A bright spot: its place, the diameter of the disc that its scale fits, its response."""

    x_mm: float
    y_mm: float
    diameter_mm: float
    response: float


def strongest_blobs(
    pixels: NDArray[np.floating], lungs: NDArray[np.bool_], mm_per_px: float, *, n: int = 15
) -> list[Blob]:
    """Find the strongest maxima of -s^2 LoG(s) over scales in the lung, at least 8 mm apart; diameter 2 sqrt(2) s."""
    values = np.asarray(pixels, dtype=np.float32)
    stack = np.stack([-((s / mm_per_px) ** 2) * _laplacian(values, s / mm_per_px) for s in SCALES_MM])
    best = np.where(lungs, stack.max(axis=0), np.float32(0.0))
    peak = (best == cv2.dilate(best, np.ones((5, 5), np.uint8))) & (best > 0)
    rows, columns = np.nonzero(peak)
    order = np.argsort(-best[rows, columns], kind="stable")
    kept: list[Blob] = []
    for i in order:
        row, column = int(rows[i]), int(columns[i])
        x, y = (column + 0.5) * mm_per_px, (row + 0.5) * mm_per_px
        if all(np.hypot(x - b.x_mm, y - b.y_mm) >= APART_MM for b in kept):
            scale = SCALES_MM[int(stack[:, row, column].argmax())]
            kept.append(Blob(x, y, 2 * np.sqrt(2) * scale, float(best[row, column])))
        if len(kept) == n:
            break
    return kept


def _laplacian(values: NDArray[np.float32], sigma_px: float) -> NDArray[np.float32]:
    """Laplacian of the image smoothed by a Gaussian."""
    smooth = cv2.GaussianBlur(values, (0, 0), sigma_px, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.Laplacian(smooth, cv2.CV_32F, borderType=cv2.BORDER_REPLICATE))


# Bright spots of an image that may distract; the law says how many do.
BLOBS = 15
# Noise and distractors keep this far from the border of the lung (docs/explanation/simulate.md, frozen benchmarks).
BORDER_MM = 4.0
LEVELS = 65535


@dataclass(frozen=True, eq=False)
class Background:
    """A radiograph to put nodules in."""

    pixels: NDArray[np.float64]  # What absorbs more is brighter; from `black` to `white`
    mm_per_px: float  # Side of a pixel
    lungs: NDArray[np.bool_]  # Where nodules and false marks may lie
    # Values that become 0 and 65535; no radiation passes at white.
    black: float
    white: float
    # Where nodules may lie behind the heart; None where that is not known.
    heart: NDArray[np.bool_] | None = None
    # Where ribs and clavicles hide nodules from readers; None where that is not known.
    bones: NDArray[np.bool_] | None = None
    # What is known to distract readers, beside the bright spots that are found.
    known_blobs: tuple[Blob, ...] = ()

    @cached_property
    def blur_mm(self) -> float:
        """Blur that a nodule must have here."""
        return image_blur_mm(self.pixels, self.mm_per_px)

    @cached_property
    def quiet(self) -> NDArray[np.bool_]:
        """Where noise is measured: lung (or heart) 4 mm inside its border, whose edge is not noise."""
        inside = self.lungs if self.heart is None else self.lungs | self.heart
        size = 2 * round(BORDER_MM / self.mm_per_px) + 1
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
        return np.asarray(cv2.erode(inside.astype(np.uint8), kernel) > 0)

    @cached_property
    def blobs(self) -> list[Blob]:
        """What may distract readers: what is known, and the strongest bright spots."""
        return [*self.known_blobs, *strongest_blobs(self.pixels, self.quiet, self.mm_per_px, n=BLOBS)]


@dataclass(frozen=True)
class CaseDistribution:
    """Distributions of nodules and readers, mean number of distractors per image, and a limit to breasts."""

    nodules: NoduleDistribution | VariedDistribution = field(default_factory=NoduleDistribution)
    readers: ReaderModel = field(default_factory=lambda: ReaderModel(reader_panel(8)))
    distractors: float = 0.6
    # No phantom's breasts are thicker (`draw_patient`).
    thickest_breast_mm: float = 85.0


@dataclass(frozen=True, eq=False)
class Case:
    """What is in an image and what was marked."""

    nodules: tuple[Nodule, ...]
    distractors: tuple[SeenObject, ...]
    marks: tuple[DrawnMark, ...]


def draw_case(
    background: Background,
    reader_ids: Sequence[str],
    law: CaseDistribution,
    random: np.random.Generator,
    *,
    n_nodules: int | None = None,
) -> Case:
    """Draw nodules, distractors and marks for a background; `n_nodules` None draws their number."""
    pixels, lungs, mm = background.pixels, background.lungs, background.mm_per_px
    if n_nodules is None:
        n_nodules = int(random.choice(len(law.nodules.counts), p=law.nodules.counts))
    blur, heart = background.blur_mm, background.heart
    drawn = draw_by_law(n_nodules, lungs, mm, law=law.nodules, blur_mm=blur, random=random, heart=heart)
    nodules = [with_conspicuity(n, pixels, background.quiet, mm, white=background.white) for n in drawn]
    distractors = draw_distractors(background, nodules, law, random)
    model = law.readers
    seen = [
        SeenObject(
            f"N{i + 1}",
            n.x_mm,
            n.y_mm,
            n.diameter_mm,
            model.nodule_level(
                n.conspicuity, n.diameter_mm, random, behind_bone=share_behind_bone(background, n)
            ),
        )
        for i, n in enumerate(nodules)
    ]
    places = np.flatnonzero(lungs) if lungs.any() else np.arange(lungs.size)

    def place(generator: np.random.Generator) -> tuple[float, float]:
        row, column = divmod(int(places[generator.integers(len(places))]), lungs.shape[1])
        return (column + generator.random()) * mm, (row + generator.random()) * mm

    marks = marks_of_image([*seen, *distractors], reader_ids, model, place, random)
    inside = (_keep_inside(mark, lungs.shape, mm) for mark in marks)
    return Case(tuple(nodules), tuple(distractors), tuple(inside))


def share_behind_bone(background: Background, nodule: Nodule) -> float:
    """Share of a nodule's outline that lies behind ribs or clavicles; 0 where the bones are not known."""
    if background.bones is None:
        return 0.0
    covered = background.bones[nodule_mask(nodule, background.bones.shape, background.mm_per_px)]
    return float(covered.mean()) if covered.size else 0.0


def _keep_inside(mark: DrawnMark, shape: tuple[int, ...], mm_per_px: float) -> DrawnMark:
    """Return the mark with its centre in the image: no reader draws around a point beyond its border.

    What is marked may lie at the border, where the error of the hand would carry the centre out.
    """
    rows, columns = shape
    return replace(
        mark,
        x_mm=min(max(mark.x_mm, 0.0), round(columns * mm_per_px, 3)),
        y_mm=min(max(mark.y_mm, 0.0), round(rows * mm_per_px, 3)),
    )


def draw_distractors(
    background: Background, nodules: Sequence[Nodule], law: CaseDistribution, random: np.random.Generator
) -> list[SeenObject]:
    """Poisson number of the strongest blobs of the clean image, none on a nodule, none twice."""
    free = [
        blob
        for blob in background.blobs
        if all(np.hypot(blob.x_mm - n.x_mm, blob.y_mm - n.y_mm) > n.radius_mm + 5.0 for n in nodules)
    ]
    n = min(int(random.poisson(law.distractors)), len(free))
    chosen = [free[i] for i in random.choice(len(free), n, replace=False)] if n else []
    return [
        SeenObject(
            f"D{i + 1}",
            round(blob.x_mm, 3),
            round(blob.y_mm, 3),
            round(blob.diameter_mm, 3),
            round(law.readers.draw_distractor_level(random), 4),
        )
        for i, blob in enumerate(chosen)
    ]


def pixels_with_nodules(background: Background, nodules: Sequence[Nodule]) -> NDArray[np.uint16]:
    """Pixels with the nodules, 16 bits: black is 0, white is 65535."""
    pixels = insert_nodules(background.pixels, nodules, background.mm_per_px, white=background.white)
    scaled = (pixels - background.black) * (LEVELS / (background.white - background.black))
    return np.rint(np.clip(scaled, 0, LEVELS)).astype(np.uint16)
