"""Draw readings and marks, without pixels, for training sets that are nested in one large cohort.

For one seed, the images of a smaller set are the first of a larger one, and so are the readings of an image. Each
reading has its own random stream, so that its marks are the same in every set.

It also makes the training sets and the test set as splits of a study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from overread.apps.scenario._design import Condition, Design
from overread.apps.scenario._material import Material, make_readers
from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.froc import Matching, match_detections
from overread.simulate import ReaderModel, SeenObject, marks_of_image
from overread.study import Split
from overread.tables import plain
from overread.truth import candidate_hits, merge_marks

Ints = NDArray[np.int64]

# Most distance in mm of a reader's false mark from a candidate: candidates lie in the lungs, dozens per image. Set by
# judgement.
NEAR_MM = 20.0
# Streams of random numbers, so that none is used twice: order of images, readers, marks, suspicious images.
ORDER, READERS, MARKS, SUSPICION = 1, 2, 3, 4
MARK_COLUMNS = (
    "image_id", "rank", "slot", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Readings:
    """All readings of a seed.

    Attributes
    ----------
    readings
        image_id, rank (position of the image in the order), slot (number of the reading of the image), reader_id.
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
    random offset, so that every reader has every slot once. After any number of images the readings of two readers
    differ by at most one per slot.
    """
    if not 1 <= n_slots <= pool:
        raise InvalidInputError(f"{n_slots} readings per image need as many readers; the pool has {pool}")
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
    """Draw the marks of all readings."""
    seen = _split_rows(objects, ["object_id", "x_mm", "y_mm", "diameter_mm", "level"])
    near = _split_rows(places, ["x", "y"])
    names = [reader.reader_id for reader in model.readers]
    shape = model.image_variance
    suspicion = np.random.default_rng([seed, SUSPICION])
    readings, marks = [], []
    for rank, image_id in enumerate(image_ids):
        there = [SeenObject(*row) for row in seen.get(image_id, ())]
        factor = suspicion.gamma(1 / shape, shape) if shape > 0 else 1.0
        own = replace(model, false_marks=model.false_marks * factor, image_variance=0.0)
        place = partial(_place_near, near.get(image_id, np.zeros((1, 2))))
        for slot, reader in enumerate(readers[rank]):
            random = np.random.default_rng([seed, MARKS, rank, slot])
            row = {"image_id": image_id, "rank": rank, "slot": slot, "reader_id": names[reader]}
            readings.append(row)
            for number, mark in enumerate(marks_of_image(there, [names[reader]], own, place, random)):
                marks.append({**asdict(mark), **row, "mark_id": f"{image_id}-{slot}-{number}"})
    if not marks:
        raise InvalidInputError(
            "the readers marked nothing. Increase [readers] false_marks or the number of images."
        )
    return Readings(pd.DataFrame(readings), plain(pd.DataFrame(marks)[list(MARK_COLUMNS)])[0])


def _split_rows(table: pd.DataFrame, columns: list[str]) -> dict[str, NDArray[Any]]:
    """Rows of each image, faster than by groups of pandas."""
    codes, names = pd.factorize(table["image_id"])
    order = np.argsort(codes, kind="stable")
    values = table[columns].to_numpy()[order]
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    return dict(zip(names.tolist(), np.split(values, ends), strict=True)) if len(names) else {}


def _place_near(points: NDArray[Any], random: np.random.Generator) -> tuple[float, float]:
    """Draw a position near one of some points, uniform in a disc."""
    x, y = points[random.integers(len(points))]
    radius, angle = NEAR_MM * np.sqrt(random.random()), 2 * np.pi * random.random()
    return max(float(x + radius * np.cos(angle)), 0.0), max(float(y + radius * np.sin(angle)), 0.0)


def order_real_readings(
    image_ids: Sequence[str],
    readings: pd.DataFrame,
    marks: pd.DataFrame,
    seed: int,
    *,
    leave_out: str = "readings",
) -> Readings:
    """Put real readings in random order, so that some can be dropped; marks do not change."""
    ranks = {name: rank for rank, name in enumerate(image_ids)}
    random = np.random.default_rng([seed, READERS])
    if leave_out == "readers":
        # All readers, so that the order does not depend on the chosen images.
        names = random.permutation(np.sort(readings["reader_id"].unique()))
        slots = pd.Series(np.arange(len(names)), index=names)
    known = readings[readings["image_id"].isin(ranks)][["image_id", "reader_id"]]
    drawn = known.iloc[random.permutation(len(known))]
    own = drawn["reader_id"].map(slots) if leave_out == "readers" else drawn.groupby("image_id").cumcount()
    ordered = drawn.assign(rank=drawn["image_id"].map(ranks), slot=own)
    ordered = ordered.sort_values(["rank", "slot"], ignore_index=True)
    return Readings(ordered, marks.merge(ordered, on=["image_id", "reader_id"]))


def select_readings(drawn: Readings, condition: Condition, *, pool: int, most_readings: int) -> Readings:
    """Return the readings of a condition: the first images, the first readings of each, and the pools of readers."""
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


# Seeds of the test set's readers: no training set has one so large.
TEST_SEED = 2**31


@dataclass(frozen=True, eq=False)
class TestSet:
    """The test set, which no model has seen.

    Attributes
    ----------
    split
        With the readers' merged objects.
    golden
        All candidates matched to the readers' consensus objects, without scores.
    known
        The same with the known objects; None if unknown.
    bags, shares
        Bags of the merged objects and of single candidates, and the share of the readers who marked each.
    """

    __test__ = False  # not a test of pytest

    split: Split
    golden: Matching
    known: Matching | None
    bags: Bags
    shares: NDArray[np.float64]


def draw_seed(material: Material, design: Design, seed: int) -> Readings:
    """Draw the order of the training images and all their readings."""
    n_images, n_slots = max(design.grid.images), max(design.grid.readings)
    chosen = order_images(material.training_ids, seed)[:n_images]
    if material.readings is not None and material.marks is not None:
        leave_out = design.readers.leave_out
        return order_real_readings(chosen, material.readings, material.marks, seed, leave_out=leave_out)
    return _draw(material, chosen, design, n_slots, design.readers.pool, seed)


def _draw(
    material: Material, chosen: Sequence[str], design: Design, n_slots: int, pool: int, seed: int
) -> Readings:
    """Let simulated readers of a pool read images."""
    assert material.objects is not None
    readers = assign_readers(len(chosen), n_slots, pool, seed)
    return draw_marks(
        chosen, readers, material.objects, material.candidates, make_readers(design, pool), seed
    )


def make_training_set(material: Material, drawn: Readings, condition: Condition, design: Design) -> Split:
    """Return the training set of a condition: its images with the marks of its readings, merged and labelled."""
    chosen = select_readings(
        drawn, condition, pool=design.readers.pool, most_readings=max(design.grid.readings)
    )
    return _make_split(material, chosen.readings["image_id"].unique(), chosen)


def _make_split(material: Material, image_ids: Sequence[str] | NDArray[np.object_], read: Readings) -> Split:
    """Merge the marks on some images, and put candidates and objects together."""
    inside = material.candidates["image_id"].isin(image_ids).to_numpy()
    images = material.images[material.images["image_id"].isin(image_ids)].reset_index(drop=True)
    candidates = material.candidates[inside].reset_index(drop=True)
    readings = read.readings[["image_id", "reader_id"]]
    marks = read.marks.drop(columns=["rank", "slot"])
    most = int(readings.groupby("image_id").size().max())
    rule = material.counting.rule
    assert rule is not None
    if most > 1:
        options, labels = material.merging, material.labels
        truth, _ = plain(merge_marks(marks, readings, options=options, labels=labels, unit=rule.unit))
    else:
        truth = _take_as_truth(marks)
    if truth.empty:
        raise InvalidInputError("no reader marked anything in these images")
    return Split(
        images=images,
        readings=readings,
        marks=marks,
        truth=truth,
        candidates=candidates,
        features=material.features.of_candidates(inside),
        hits=candidate_hits(candidates, truth, rule),
        counting=material.counting,
        n_max=most,
    )


def _take_as_truth(marks: pd.DataFrame) -> pd.DataFrame:
    """Give every mark of single readings the label 1, because no other reader can disagree."""
    ids = pd.Series([(mark,) for mark in marks["mark_id"]], index=marks.index)
    counts = dict.fromkeys(("n_marks", "n_readers", "n_readings"), 1)
    return marks.drop(columns="reader_id").assign(
        truth_id=marks["mark_id"], **counts, probability=1.0, weight=1.0, golden=True, mark_ids=ids
    )


def make_test_set(material: Material, design: Design) -> TestSet:
    """Return the test set, which is the same for all seeds."""
    ids = material.test_ids
    if material.readings is not None and material.marks is not None:
        read = order_real_readings(ids, material.readings, material.marks, TEST_SEED)
    else:
        n = design.readers.test_readings
        read = _draw(material, ids, design, n, n, TEST_SEED + design.seed)
    split = _make_split(material, ids, read)
    bags = split.bags("soft")
    assert bags.bag_table is not None
    shares = pd.Series(
        (split.truth["n_readers"] / split.truth["n_readings"]).to_numpy(),
        index=pd.MultiIndex.from_frame(split.truth[["image_id", "truth_id"]]),
    )
    wanted = pd.MultiIndex.from_frame(bags.bag_table[["image_id", "truth_id"]])
    known = None if material.objects is None else _match_known(split, material.objects)
    return TestSet(
        split, split.matching, known, bags, shares.reindex(wanted).fillna(0.0).to_numpy(np.float64)
    )


def _match_known(split: Split, objects: pd.DataFrame) -> Matching:
    lesions = objects[objects["is_lesion"] & objects["image_id"].isin(split.images["image_id"])]
    radius = lesions["diameter_mm"] / 2
    truth = lesions[["image_id", "x_mm", "y_mm"]].assign(
        truth_id=lesions["object_id"], semi_major_mm=radius, semi_minor_mm=radius, angle_deg=0.0, golden=True
    )
    return match_detections(
        split.candidates,
        truth.reset_index(drop=True),
        split.images,
        scores=np.zeros(len(split.candidates)),
        counting=split.counting,
    )


def tabulate_skills(material: Material, design: Design) -> pd.DataFrame | None:
    """Return the share of the lesions that each reader of the pool marks on average; None for real readers."""
    if material.objects is None:
        return None
    levels = material.objects.loc[material.objects["is_lesion"], "level"].to_numpy(np.float64)
    readers = make_readers(design, design.readers.pool).readers
    rows = [(one.reader_id, float(ndtr(levels + one.skill - one.threshold).mean())) for one in readers]
    return pd.DataFrame(rows, columns=["reader_id", "true_sensitivity"])
