"""Training sets and the test set as splits of a study, which models are fitted to and scored on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.froc import Matching, match
from overread.scenario.design import Condition, Design
from overread.scenario.draw import (
    Readings,
    assign_readers,
    draw_marks,
    order_images,
    order_real_readings,
    select_readings,
)
from overread.scenario.material import Material, make_readers
from overread.study.cohort import Split
from overread.truth import candidate_hits, merge_marks

__all__ = ["TestSet", "draw_seed", "make_test_set", "make_training_set", "tabulate_skills"]

# Seeds of the test set's readers: no training set has one so large.
TEST_SEED = 2**31


@dataclass(frozen=True, eq=False)
class TestSet:
    """Images that no model has seen.

    Attributes
    ----------
    split
        With the readers' merged objects.
    golden
        All candidates against the readers' golden objects, without scores.
    known
        The same against what is really there; None where nobody knows.
    bags, shares
        Bags of the merged objects and of single candidates, and the share of the readers who marked each.
    """

    __test__ = False  # no test of pytest's

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
    readers = assign_readers(n_images, n_slots, design.readers.pool, seed)
    return _draw(material, chosen, readers, design, design.readers.pool, seed)


def _draw(
    material: Material,
    chosen: Sequence[str],
    readers: NDArray[np.int64],
    design: Design,
    pool: int,
    seed: int,
) -> Readings:
    assert material.objects is not None
    model = make_readers(design, pool)
    return draw_marks(chosen, readers, material.objects, material.candidates, model, seed)


def make_training_set(material: Material, drawn: Readings, condition: Condition, design: Design) -> Split:
    """Return the training set of a condition: its images with the marks of its readings, merged and labelled."""
    chosen = select_readings(
        drawn, condition, pool=design.readers.pool, most_readings=max(design.grid.readings)
    )
    image_ids = chosen.readings["image_id"].unique()
    return make_split(material, image_ids, chosen)


def make_split(material: Material, image_ids: Sequence[str] | NDArray[np.object_], read: Readings) -> Split:
    """Merge the marks on some images, and put candidates and objects together."""
    inside = material.candidates["image_id"].isin(image_ids).to_numpy()
    images = material.images[material.images["image_id"].isin(image_ids)].reset_index(drop=True)
    candidates = material.candidates[inside].reset_index(drop=True)
    readings = read.readings[["image_id", "reader_id"]]
    marks = read.marks.drop(columns=["rank", "slot"])
    most = int(readings.groupby("image_id").size().max())
    if most > 1:
        truth = merge_marks(
            marks, readings, options=material.merging, labels=material.labels, in_mm=material.in_mm
        )
    else:
        truth = take_as_truth(marks)
    rule = material.counting.rule
    assert rule is not None
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


def take_as_truth(marks: pd.DataFrame) -> pd.DataFrame:
    """Take every mark of single readings for a lesion: there is nobody to doubt it."""
    ids = pd.Series([(mark,) for mark in marks["mark_id"]], index=marks.index)
    counts = {
        "n_marks": 1,
        "n_readers": 1,
        "n_readings": 1,
        "probability": 1.0,
        "weight": 1.0,
        "golden": True,
    }
    return marks.drop(columns="reader_id").assign(truth_id=marks["mark_id"], **counts, mark_ids=ids)


def make_test_set(material: Material, design: Design) -> TestSet:
    """Return the test set, which is the same for all seeds."""
    ids = material.test_ids
    if material.readings is not None and material.marks is not None:
        read = order_real_readings(ids, material.readings, material.marks, TEST_SEED)
    else:
        n = design.readers.test_readings
        read = _draw(
            material,
            ids,
            assign_readers(len(ids), n, n, TEST_SEED + design.seed),
            design,
            n,
            TEST_SEED + design.seed,
        )
    split = make_split(material, ids, read)
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
    return match(
        split.candidates,
        truth.reset_index(drop=True),
        split.images,
        scores=np.zeros(len(split.candidates)),
        counting=split.counting,
    )


def tabulate_skills(material: Material, design: Design) -> pd.DataFrame | None:
    """Return the share of the lesions that each reader of the pool marks in the long run; None for real readers."""
    if material.objects is None:
        return None
    levels = material.objects.loc[material.objects["is_lesion"], "level"].to_numpy(np.float64)
    readers = make_readers(design, design.readers.pool).readers
    rows = [
        {
            "reader_id": one.reader_id,
            "true_sensitivity": float(ndtr(levels + one.skill - one.threshold).mean()),
        }
        for one in readers
    ]
    return pd.DataFrame(rows)
