"""Who reads what and what they mark, apart from pixels: training sets that are nested in one large cohort.

Of one seed, the images of a smaller set are the first of a larger one, and fewer readings of an image are the first of
more. Marks of a reading have a random stream of their own, so that they are the same in every set that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.scenario.design import Condition
from overread.simulate.readers import ReaderModel, SeenObject, marks_of_image

__all__ = [
    "Readings",
    "assign_readers",
    "draw_marks",
    "order_images",
    "order_real_readings",
    "select_readings",
]

Ints = NDArray[np.int64]

# Private false marks lie within so many mm of a candidate: candidates lie in the lungs, and an image has dozens of
# them. Chosen by eye.
NEAR_MM = 20.0
# Streams of random numbers, so that none is used twice: order of images, readers, marks, suspicious images.
ORDER, READERS, MARKS, SUSPICION = 1, 2, 3, 4


@dataclass(frozen=True, eq=False)
class Readings:
    """All readings of a seed.

    Attributes
    ----------
    readings
        image_id, rank (place of the image in the order), slot (number of the reading of the image), reader_id.
    marks
        The same columns, mark_id and the ellipse.
    """

    readings: pd.DataFrame
    marks: pd.DataFrame


def order_images(image_ids: Sequence[str], seed: int) -> list[str]:
    """Draw the order in which images come into training sets."""
    order = np.random.default_rng([seed, ORDER]).permutation(len(image_ids))
    return [image_ids[place] for place in order]


def assign_readers(n_images: int, n_slots: int, pool: int, seed: int) -> Ints:
    """Assign a reader of the pool to every reading: (n_images, n_slots), no reader twice in an image.

    Images come in blocks as long as the pool. In a block, each slot is a turn of one drawn order of the readers, by a
    drawn number of places, so that every reader has every slot once. After any number of images the readings of two
    readers differ by at most one a slot.
    """
    if not 1 <= n_slots <= pool:
        raise InvalidInputError(f"{n_slots} readings of an image need as many readers; the pool has {pool}")
    random = np.random.default_rng([seed, READERS])
    rows = []
    for _ in range(-(-n_images // pool)):
        order, turns = random.permutation(pool), random.permutation(pool)[:n_slots]
        rows.append(order[(np.arange(pool)[:, None] + turns) % pool])
    return np.concatenate(rows)[:n_images].astype(np.int64)


def draw_marks(
    image_ids: Sequence[str],
    readers: Ints,
    objects: pd.DataFrame,
    places: pd.DataFrame,
    model: ReaderModel,
    seed: int,
) -> Readings:
    """Draw the marks of all readings.

    Parameters
    ----------
    image_ids
        In their order.
    readers
        Of each image and slot, as `assign_readers` gives them: positions in ``model.readers``.
    objects
        image_id, object_id, x_mm, y_mm, diameter_mm, level: what readers may mark.
    places
        image_id, x_mm, y_mm: candidates, near which false marks lie.
    model
        The readers.
    seed
        Of the marks.
    """
    seen = _split_rows(objects, ["object_id", "x_mm", "y_mm", "diameter_mm", "level"])
    near = _split_rows(places, ["x_mm", "y_mm"])
    names = [reader.reader_id for reader in model.readers]
    shape = model.image_variance
    suspicion = np.random.default_rng([seed, SUSPICION])
    readings, marks = [], []
    for rank, image_id in enumerate(image_ids):
        there = [SeenObject(*row) for row in seen.get(image_id, ())]
        factor = suspicion.gamma(1 / shape, shape) if shape > 0 else 1.0
        own = replace(model, false_marks=model.false_marks * factor, image_variance=0.0)
        place = _PlaceNear(near.get(image_id, np.zeros((1, 2))))
        for slot, reader in enumerate(readers[rank]):
            random = np.random.default_rng([seed, MARKS, rank, slot])
            row = {"image_id": image_id, "rank": rank, "slot": slot, "reader_id": names[reader]}
            readings.append(row)
            for number, mark in enumerate(marks_of_image(there, [names[reader]], own, place, random)):
                marks.append({**asdict(mark), **row, "mark_id": f"{image_id}-{slot}-{number}"})
    return Readings(pd.DataFrame(readings), _as_marks(marks))


def _split_rows(table: pd.DataFrame, columns: list[str]) -> dict[str, NDArray[Any]]:
    """Rows of each image; a group of pandas' for each would take longer than the marks."""
    codes, names = pd.factorize(table["image_id"])
    order = np.argsort(codes, kind="stable")
    values = table[columns].to_numpy()[order]
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    return dict(zip(names.tolist(), np.split(values, ends), strict=True)) if len(names) else {}


@dataclass(frozen=True)
class _PlaceNear:
    """Gives a place near one of some points, uniform in a disc."""

    points: NDArray[Any]

    def __call__(self, random: np.random.Generator) -> tuple[float, float]:
        x, y = self.points[random.integers(len(self.points))]
        radius, angle = NEAR_MM * np.sqrt(random.random()), 2 * np.pi * random.random()
        return max(float(x + radius * np.cos(angle)), 0.0), max(float(y + radius * np.sin(angle)), 0.0)


MARK_COLUMNS = (
    "image_id", "rank", "slot", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg",
)  # fmt: skip


def _as_marks(rows: list[dict[str, object]]) -> pd.DataFrame:
    if not rows:
        raise InvalidInputError(
            "the readers marked nothing at all: raise [readers] false_marks, or the images"
        )
    return pd.DataFrame(rows)[list(MARK_COLUMNS)]


def order_real_readings(
    image_ids: Sequence[str],
    readings: pd.DataFrame,
    marks: pd.DataFrame,
    seed: int,
    *,
    leave_out: str = "readings",
) -> Readings:
    """Put real readings in a drawn order, so that some can be left out; marks stay as they are.

    Parameters
    ----------
    image_ids
        In their order.
    readings, marks
        Of the study.
    seed
        Of the order.
    leave_out
        "readings": each image has an order of its own. "readers": all have the same, and a reader has the same slot
        in every image.
    """
    ranks = {name: rank for rank, name in enumerate(image_ids)}
    random = np.random.default_rng([seed, READERS])
    if leave_out == "readers":
        # Of all who read anything, so that the order is the same whatever images are chosen.
        names = random.permutation(np.sort(readings["reader_id"].unique()))
        slots = pd.Series(np.arange(len(names)), index=names)
    known = readings[readings["image_id"].isin(ranks)][["image_id", "reader_id"]]
    drawn = known.iloc[random.permutation(len(known))]
    own = drawn["reader_id"].map(slots) if leave_out == "readers" else drawn.groupby("image_id").cumcount()
    ordered = drawn.assign(rank=drawn["image_id"].map(ranks), slot=own)
    ordered = ordered.sort_values(["rank", "slot"], ignore_index=True)
    return Readings(ordered, marks.merge(ordered, on=["image_id", "reader_id"]))


def select_readings(drawn: Readings, condition: Condition, *, pool: int, most_readings: int) -> Readings:
    """Return the readings of a condition: the first images, the first readings of each, and who changes when.

    Parameters
    ----------
    drawn
        All readings of a seed.
    condition
        How many images and readings; where it limits the images of a reader, every so many images another pool of the
        same spread reads, whose names are others.
    pool, most_readings
        Of the design: they say after how many images a pool has read its share.
    """
    tables = []
    for table in (drawn.readings, drawn.marks):
        kept = (table["rank"] < condition.images) & (table["slot"] < condition.readings)
        tables.append(table[kept].reset_index(drop=True))
    if not condition.images_per_reader:
        return Readings(*tables)
    length = condition.images_per_reader * pool // most_readings
    return Readings(
        *(
            table.assign(reader_id=table["reader_id"] + "." + (table["rank"] // length + 1).astype(str))
            for table in tables
        )
    )
