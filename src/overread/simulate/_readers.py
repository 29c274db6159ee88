"""Readers who disagree: which images they read, which objects they see, and which ellipses they draw.

Reader r marks object o with probability Phi(level_o + skill_r - threshold_r). The level is shared by all readers:

    nodule:      2.08 ln(c / 1.5) + 0.5 ln(D / 14) - bone_slope * b + N(0, 0.4),   c its conspicuity, D its diameter
                 in mm, b the share of it that lies behind ribs or clavicles
    distractor:  -1.2 + N(0, 0.6), to which skill says nothing more than to a nodule

and each reading has private false marks, Poisson with mean ``false_marks * exp(-threshold_r) * g``, g a factor of the
image, Gamma with mean 1 and variance ``image_variance``: some images look suspicious to everybody.
A reader who splits draws a large object as several small ellipses (the paper's figure 1).

Readers of fields, of two habits: some draw a ring around a cluster, others mark each lesion in it.

A cluster that is ringed is seen as its clearest lesion is. With each mark goes a confidence in three steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from overread.errors import InvalidInputError
from overread.simulate._nodules import Nodule
from overread.simulate.picture._lesions import Cluster, Label

Place = Callable[[np.random.Generator], tuple[float, float]]

# Diameters of private false marks, uniform; chosen: the paper gives no sizes.
FALSE_MARK_MM = (8.0, 25.0)


@dataclass(frozen=True)
class Reader:
    """Parameters of one simulated reader."""

    reader_id: str
    skill: float = 0.0  # Added to the level of every object: what this reader sees that others miss
    # Taken from the level of every object; also scales private false marks by exp(-threshold).
    threshold: float = 0.0
    size: float = 1.0  # Factor of the diameters this reader draws
    splits: float = 0.0  # Probability of drawing a large object as several small ones


@dataclass(frozen=True)
class ReaderModel:
    """Simulated readers: responses and precision of drawing; see the module for the formulas."""

    readers: tuple[Reader, ...]
    # Number of readings of an image, and how often.
    readings: dict[int, float] = field(default_factory=lambda: {4: 0.47, 5: 0.47, 6: 0.06})
    # Level of a nodule.
    conspicuity_slope: float = 2.08
    conspicuity_half: float = 1.5
    size_slope: float = 0.5
    size_half_mm: float = 14.0
    bone_slope: float = 0.0
    nodule_spread: float = 0.4
    # Level of a distractor.
    distractor_level: float = -1.2
    distractor_spread: float = 0.6
    # Private false marks of a reading.
    false_marks: float = 0.08
    image_variance: float = 0.0
    # Deviations of a drawn ellipse: centre, in radii; log of the size; log of the axis ratio's root.
    place_jitter: float = 0.08
    size_jitter: float = 0.08
    shape_jitter: float = 0.06
    split_from_mm: float = 14.0  # Smallest diameter that is split

    def __post_init__(self) -> None:
        if not self.readers or not self.readings:
            raise InvalidInputError("a reader model needs at least one reader and one number of readings")

    def nodule_level(
        self,
        conspicuity: float,
        diameter_mm: float,
        random: np.random.Generator,
        *,
        behind_bone: float = 0.0,
    ) -> float:
        """Level of a nodule, drawn."""
        shared = self.conspicuity_slope * np.log(conspicuity / self.conspicuity_half)
        size = self.size_slope * np.log(diameter_mm / self.size_half_mm)
        hidden = self.bone_slope * behind_bone
        return float(shared + size - hidden + random.normal(0, self.nodule_spread))

    def draw_distractor_level(self, random: np.random.Generator) -> float:
        """Level of a distractor, drawn."""
        return float(self.distractor_level + random.normal(0, self.distractor_spread))


@dataclass(frozen=True)
class SeenObject:
    """An object that readers may mark: id, position, size, and the level that all readers share."""

    object_id: str
    x_mm: float
    y_mm: float
    diameter_mm: float
    level: float


@dataclass(frozen=True)
class DrawnMark:
    """One mark; `object_id` says what the reader meant, "" where there is nothing."""

    reader_id: str
    object_id: str
    x_mm: float
    y_mm: float
    semi_major_mm: float
    semi_minor_mm: float
    angle_deg: float


def reader_panel(
    n_readers: int,
    *,
    skills: tuple[float, float] = (-0.4, 0.4),
    thresholds: tuple[float, float] = (0.0, 0.0),
    sizes: tuple[float, float] = (0.97, 1.03),
    splits: tuple[float, float] = (0.0, 0.15),
) -> tuple[Reader, ...]:
    """Readers R1, R2, ... spread evenly over each range; the ranges run in different orders.

    Skill rises with the number; the three others are spread so that none of them follows another.
    """
    if n_readers < 1:
        raise InvalidInputError(f"n_readers must be at least 1, not {n_readers}")
    order, spans = np.arange(n_readers), (skills, thresholds, sizes, splits)
    orders = (order, 3 * order + 1, 5 * order + 2, order + n_readers // 2)
    columns = [
        np.linspace(*span, n_readers)[places % n_readers].tolist()
        for span, places in zip(spans, orders, strict=True)
    ]
    return tuple(Reader(f"R{number}", *own) for number, own in enumerate(zip(*columns, strict=True), start=1))


def draw_readings(image_ids: Sequence[str], model: ReaderModel, random: np.random.Generator) -> pd.DataFrame:
    """Table of readings: for each image, which of the readers read it."""
    names = [reader.reader_id for reader in model.readers]
    counts = random.choice(list(model.readings), len(image_ids), p=list(model.readings.values()))
    rows = [
        (image_id, names[reader])
        for image_id, count in zip(image_ids, np.minimum(counts, len(names)), strict=True)
        for reader in np.sort(random.choice(len(names), count, replace=False))
    ]
    return pd.DataFrame(rows, columns=["image_id", "reader_id"])


def marks_of_image(
    objects: Sequence[SeenObject],
    reader_ids: Sequence[str],
    model: ReaderModel,
    place: Place,
    random: np.random.Generator,
) -> list[DrawnMark]:
    """Draw the marks of one image, reader by reader.

    Parameters
    ----------
    objects : sequence of SeenObject
        Nodules and distractors.
    reader_ids : sequence of str
        Who reads the image.
    model : ReaderModel
        The readers.
    place : Place
        Gives the place (x, y in mm) of a private false mark.
    random : Generator
        Source of randomness.
    """
    by_id = {reader.reader_id: reader for reader in model.readers}
    suspicious = 1.0
    if model.image_variance > 0:
        suspicious = random.gamma(1 / model.image_variance, model.image_variance)
    marks: list[DrawnMark] = []
    for reader_id in reader_ids:
        reader = by_id[reader_id]
        for seen in objects:
            if random.random() < ndtr(seen.level + reader.skill - reader.threshold):
                marks += _draw_object(seen, reader, model, random)
        for _ in range(random.poisson(model.false_marks * np.exp(-reader.threshold) * suspicious)):
            x, y = place(random)
            diameter = float(np.exp(random.uniform(*np.log(FALSE_MARK_MM))))
            marks.append(draw_ellipse(SeenObject("", x, y, diameter, 0.0), reader, model, random))
    return marks


def _draw_object(
    seen: SeenObject, reader: Reader, model: ReaderModel, random: np.random.Generator
) -> list[DrawnMark]:
    """One ellipse around an object, or two or three small ones that share it."""
    if seen.diameter_mm < model.split_from_mm or random.random() >= reader.splits:
        return [draw_ellipse(seen, reader, model, random)]
    n, turn = int(random.integers(2, 4)), random.uniform(0, 2 * np.pi)
    angles: NDArray[np.float64] = turn + np.arange(n) * 2 * np.pi / n
    parts = [
        replace(
            seen,
            x_mm=seen.x_mm + 0.27 * seen.diameter_mm * float(np.cos(angle)),
            y_mm=seen.y_mm + 0.27 * seen.diameter_mm * float(np.sin(angle)),
            diameter_mm=0.48 * seen.diameter_mm,
        )
        for angle in angles
    ]
    return [draw_ellipse(part, reader, model, random) for part in parts]


def draw_ellipse(
    seen: SeenObject, reader: Reader, model: ReaderModel, random: np.random.Generator
) -> DrawnMark:
    """Ellipse around an object with the reader's error in place, size, shape and angle."""
    radius = seen.diameter_mm / 2
    drawn = radius * reader.size * float(np.exp(random.normal(0, model.size_jitter)))
    stretch = float(np.exp(abs(random.normal(0, model.shape_jitter))))
    return DrawnMark(
        reader.reader_id,
        seen.object_id,
        round(seen.x_mm + float(random.normal(0, model.place_jitter)) * radius, 3),
        round(seen.y_mm + float(random.normal(0, model.place_jitter)) * radius, 3),
        round(drawn * stretch, 3),
        round(drawn / stretch, 3),
        round(float(random.uniform(0, 179.9)), 2),
    )


# All of these are set by judgement.
SPLITS = (0.9, 0.08)
RING_MARGIN = 1.12
FALSE_DIAMETER_PX = (6.0, 30.0)
# Confidence by the level above a reader's threshold, which the reader judges with this error.
CONFIDENCE_STEPS = (0.4, 1.4)
CONFIDENCES = (0.25, 0.6, 1.0)
CONFIDENCE_ERROR = 0.5


def field_readers(n_readers: int) -> ReaderModel:
    """Readers of whom every second one draws rings; lengths are pixels. All of them read every image."""
    readers = tuple(
        replace(reader, splits=SPLITS[place % 2])
        for place, reader in enumerate(reader_panel(n_readers, thresholds=(-0.2, 0.2), sizes=(1.0, 1.35)))
    )
    return ReaderModel(
        readers,
        readings={n_readers: 1.0},
        conspicuity_half=1.3,
        size_half_mm=8.0,
        distractor_level=-1.3,
        false_marks=0.25,
        place_jitter=0.18,
        size_jitter=0.16,
        shape_jitter=0.07,
    )


def mark_field(
    clusters: Sequence[Cluster],
    lookalikes: Mapping[Label, Sequence[Nodule]],
    model: ReaderModel,
    place: Place,
    random: np.random.Generator,
) -> list[dict[str, Any]]:
    """Draw the marks of one field, reader by reader, as rows without image and id."""
    lesions = [
        [
            _see(f"C{number}-{k}", one, model.nodule_level(one.conspicuity, one.diameter_mm, random))
            for k, one in enumerate(cluster.lesions, start=1)
        ]
        for number, cluster in enumerate(clusters, start=1)
    ]
    spots = [
        (label, _see(f"D-{label}-{k}", spot, model.draw_distractor_level(random)))
        for label, own in lookalikes.items()
        for k, spot in enumerate(own, start=1)
    ]

    def look(reader: Reader) -> Iterator[tuple[str, SeenObject]]:
        for cluster, own in zip(clusters, lesions, strict=True):
            for seen in _choose_objects(cluster, own, reader, random):
                yield cluster.label, seen
        yield from spots

    rows = []
    for reader in model.readers:
        for label, seen in look(reader):
            if random.random() < ndtr(seen.level + reader.skill - reader.threshold):
                rows.append(_draw_mark(seen, label, reader, model, random))
        for _ in range(random.poisson(model.false_marks * np.exp(-reader.threshold))):
            diameter = float(np.exp(random.uniform(*np.log(FALSE_DIAMETER_PX))))
            nothing = SeenObject("", *place(random), diameter, reader.threshold - reader.skill)
            rows.append(_draw_mark(nothing, str(random.choice(("bright", "dark"))), reader, model, random))
    return rows


def _see(object_id: str, nodule: Nodule, level: float) -> SeenObject:
    """Return what readers see of a spot."""
    return SeenObject(object_id, nodule.x_mm, nodule.y_mm, nodule.diameter_mm, level)


def _choose_objects(
    cluster: Cluster, lesions: Sequence[SeenObject], reader: Reader, random: np.random.Generator
) -> Sequence[SeenObject]:
    """Return what a reader looks at: the lesions one by one, or a ring around them all."""
    if len(lesions) == 1 or random.random() < reader.splits:
        return lesions
    x, y, diameter = cluster.ring
    clearest = max(lesion.level for lesion in lesions)
    name = lesions[0].object_id.partition("-")[0]
    return [SeenObject(name, x, y, RING_MARGIN * diameter, clearest)]


def _draw_mark(
    seen: SeenObject, label: str, reader: Reader, model: ReaderModel, random: np.random.Generator
) -> dict[str, Any]:
    """Row of a mark: the ellipse, what was meant, label and confidence."""
    sure = seen.level + reader.skill - reader.threshold + random.normal(0, CONFIDENCE_ERROR)
    confidence = CONFIDENCES[int(np.searchsorted(CONFIDENCE_STEPS, sure))]
    return {**asdict(draw_ellipse(seen, reader, model, random)), "label": label, "confidence": confidence}
