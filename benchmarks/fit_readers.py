"""Fit nodules and readers to the counts of a study, through the real merge.

Three numbers are fitted: nodules an image, private false marks a reading, and how unevenly false marks spread over
the images. Three counts fix them: golden objects, marks, images with a mark. Pixels play no part; places are drawn in
two ellipses of the size of lungs, and distractors have the sizes that those of phantoms have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.simulate import CaseDistribution, SeenObject, marks_of_image
from overread.simulate._laws import law_with, nodule_counts
from overread.simulate._nodules import draw_by_law
from overread.simulate._readers import draw_readings
from overread.truth import merge_marks

# The fit draws no pixels: a coarse grid of 360 mm is enough to place objects in the lungs.
MM_PER_PX = 4.0
SIZE_PX = 90
# deciles of the diameters of what distracts readers in 200 phantoms, measured through `Background.blobs`
DISTRACTOR_MM = (6.0, 7.1, 9.9, 12.8, 14.1, 15.7, 18.0, 19.8, 19.8, 23.1, 35.0)


@dataclass(frozen=True)
class Counts:
    """What a study counts (paper, section 5.2)."""

    n_images: int
    marks: float
    marked_images: float
    golden: float


PAPER_COUNTS = Counts(n_images=1978, marks=2364, marked_images=1072, golden=322)


@cache
def _lung_ellipses() -> NDArray[np.bool_]:
    """Two ellipses of 110 x 220 mm in a square of 360 mm."""
    y, x = (np.mgrid[:SIZE_PX, :SIZE_PX] + 0.5) * MM_PER_PX
    return np.asarray(np.minimum(((x - 110) / 55) ** 2, ((x - 250) / 55) ** 2) + ((y - 170) / 110) ** 2 < 1)


def simulate_counts(law: CaseDistribution, n_images: int, seed: int) -> Counts:
    """Draw a cohort without pixels and count it."""
    random = np.random.default_rng([seed, 2])
    ids = [f"i{i}" for i in range(n_images)]
    readings = draw_readings(ids, law.readers, random)
    readers = readings.groupby("image_id", sort=False)["reader_id"].agg(list)
    rows = [
        {"image_id": image_id, "mark_id": f"{image_id}-{j}", **asdict(mark)}
        for image_id, n in zip(ids, nodule_counts(n_images, law.nodules, seed), strict=True)
        for j, mark in enumerate(
            marks_of_image(
                _seen_objects(law, int(n), random), readers[image_id], law.readers, _lung_place, random
            )
        )
    ]
    marks = pd.DataFrame(rows).drop(columns="object_id")
    truth = merge_marks(marks, readings)
    return Counts(n_images, len(marks), marks["image_id"].nunique(), int(truth["golden"].sum()))


def _seen_objects(law: CaseDistribution, n_nodules: int, random: np.random.Generator) -> list[SeenObject]:
    """Nodules and distractors of an image without pixels."""
    nodules = draw_by_law(n_nodules, _lung_ellipses(), MM_PER_PX, law=law.nodules, blur_mm=0.5, random=random)
    model = law.readers
    seen = [
        SeenObject(
            "N", n.x_mm, n.y_mm, n.diameter_mm, model.nodule_level(n.conspicuity, n.diameter_mm, random)
        )
        for n in nodules
    ]
    for _ in range(random.poisson(law.distractors)):
        x, y = _lung_place(random)
        seen.append(SeenObject("D", x, y, _distractor_mm(random), model.draw_distractor_level(random)))
    return seen


def _distractor_mm(random: np.random.Generator) -> float:
    """Diameter of a distractor of a phantom, drawn."""
    return float(np.interp(random.random(), np.linspace(0, 1, len(DISTRACTOR_MM)), DISTRACTOR_MM))


def _lung_place(random: np.random.Generator) -> tuple[float, float]:
    """Place in the two ellipses."""
    places = np.flatnonzero(_lung_ellipses())
    row, column = divmod(int(places[random.integers(len(places))]), SIZE_PX)
    return (column + random.random()) * MM_PER_PX, (row + random.random()) * MM_PER_PX


def _mean_counts(law: CaseDistribution, n_images: int, seeds: Sequence[int]) -> Counts:
    """Means over seeds."""
    drawn = [simulate_counts(law, n_images, seed) for seed in seeds]
    return Counts(
        n_images,
        *(float(np.mean([getattr(c, k) for c in drawn])) for k in ("marks", "marked_images", "golden")),
    )


def fit_law(
    counts: Counts,
    *,
    seeds: Sequence[int],
    rounds: int,
    start: tuple[float, float, float] = (0.25, 0.15, 0.8),
) -> tuple[float, float, float]:
    """Nodules an image, false marks a reading and image variance that give these counts in the mean over seeds.

    Each round scales every number towards its count, by a power of what is missing; more unevenness means
    fewer marked images.
    """
    nodules, false_marks, variance = start
    for _ in range(rounds):
        got = _mean_counts(law_with(nodules, false_marks, variance), counts.n_images, seeds)
        nodules *= (counts.golden / got.golden) ** 0.7
        false_marks *= (counts.marks / got.marks) ** 0.9
        variance *= (got.marked_images / counts.marked_images) ** 2.5
    return nodules, false_marks, variance
