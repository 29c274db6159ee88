"""One case of a cohort: a background, its nodules and distractors, and what its readers mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.simulate.distractors import Blob, strongest_blobs
from overread.simulate.insertion import image_blur_mm, insert_nodules, with_conspicuity
from overread.simulate.nodules import Nodule, NoduleLaw
from overread.simulate.readers import DrawnMark, ReaderModel, SeenObject, marks_of_image, panel
from overread.simulate.varied import VariedLaw, draw_by_law

__all__ = ["Background", "Case", "CaseLaw", "draw_case", "pixels_with_nodules"]

# Bright spots of an image that may distract; the law says how many do.
BLOBS = 15
# Noise and distractors keep this far from the border of the lung (docs/explanation/simulate.md, frozen benchmarks).
BORDER_MM = 4.0
LEVELS = 65535


@dataclass(frozen=True, eq=False)
class Background:
    """A radiograph to put nodules in.

    Parameters
    ----------
    pixels
        What absorbs more is brighter; from `black` to `white`.
    mm_per_px
        Side of a pixel.
    lungs
        Where nodules and false marks may lie.
    black, white
        Values that become 0 and 65535; no radiation passes at white.
    heart
        Where nodules may lie behind the heart; None where that is not known.
    known_blobs
        What is known to distract readers, beside the bright spots that are found.
    """

    pixels: NDArray[np.float64]
    mm_per_px: float
    lungs: NDArray[np.bool_]
    black: float
    white: float
    heart: NDArray[np.bool_] | None = None
    known_blobs: tuple[Blob, ...] = ()

    @cached_property
    def blur_mm(self) -> float:
        """Blur that a nodule must have here."""
        return image_blur_mm(self.pixels, self.mm_per_px)

    @cached_property
    def quiet(self) -> NDArray[np.bool_]:
        """Where noise is measured: lung (or heart) 4 mm inside its border, whose edge is no noise."""
        inside = self.lungs if self.heart is None else self.lungs | self.heart
        size = 2 * round(BORDER_MM / self.mm_per_px) + 1
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
        return np.asarray(cv2.erode(inside.astype(np.uint8), kernel) > 0)

    @cached_property
    def blobs(self) -> list[Blob]:
        """What may distract readers: what is known, and the strongest bright spots."""
        return [*self.known_blobs, *strongest_blobs(self.pixels, self.quiet, self.mm_per_px, n=BLOBS)]


@dataclass(frozen=True)
class CaseLaw:
    """Laws of nodules and readers, and the mean number of distractors in an image."""

    nodules: NoduleLaw | VariedLaw = field(default_factory=NoduleLaw)
    readers: ReaderModel = field(default_factory=lambda: ReaderModel(panel(8)))
    distractors: float = 0.6


@dataclass(frozen=True, eq=False)
class Case:
    """What is in an image and what was marked."""

    nodules: tuple[Nodule, ...]
    distractors: tuple[SeenObject, ...]
    marks: tuple[DrawnMark, ...]


def draw_case(
    background: Background,
    reader_ids: Sequence[str],
    law: CaseLaw,
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
            model.nodule_level(n.conspicuity, n.diameter_mm, random),
        )
        for i, n in enumerate(nodules)
    ]
    places = np.flatnonzero(lungs) if lungs.any() else np.arange(lungs.size)

    def place(generator: np.random.Generator) -> tuple[float, float]:
        row, column = divmod(int(places[generator.integers(len(places))]), lungs.shape[1])
        return (column + generator.random()) * mm, (row + generator.random()) * mm

    marks = marks_of_image([*seen, *distractors], reader_ids, model, place, random)
    inside = (keep_inside(mark, lungs.shape, mm) for mark in marks)
    return Case(tuple(nodules), tuple(distractors), tuple(inside))


def keep_inside(mark: DrawnMark, shape: tuple[int, ...], mm_per_px: float) -> DrawnMark:
    """Return the mark with its centre in the image: nobody draws around a point beyond its border.

    What is marked may lie at the border, where the error of the hand would carry the centre out.
    """
    rows, columns = shape
    return replace(
        mark,
        x_mm=min(max(mark.x_mm, 0.0), round(columns * mm_per_px, 3)),
        y_mm=min(max(mark.y_mm, 0.0), round(rows * mm_per_px, 3)),
    )


def draw_distractors(
    background: Background, nodules: Sequence[Nodule], law: CaseLaw, random: np.random.Generator
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
