"""Readers as detectors: each reader and the detector, judged by the same objects under the same rules.

The objects are those that the other readers make without him: a reader whose own marks helped to make an object would
be flattered. The detector is asked about the same objects in the same images, so that neither has an easier task.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.froc import froc_curve, match, performance_at, sensitivity_at
from overread.study.cohort import KEYS, Split
from overread.truth import MergeOptions
from overread.truth.merging import merge_objects
from overread.truth.readers import FEWEST_READINGS

__all__ = ["judge_readers"]

Floats = NDArray[np.float64]
COLUMNS = ("reader_id", "n_images", "n_gts", "sensitivity", "fp_per_image", "detector_sensitivity")


def judge_readers(
    readers: Iterable[str], unseen: Split, scores: Floats, options: MergeOptions
) -> pd.DataFrame:
    """Compare each reader with the detector at as many false positives.

    Parameters
    ----------
    readers
        Who is judged, in the order wanted.
    unseen
        Images that the detector did not see.
    scores
        The detector's, of the candidates of these images.
    options
        How marks are merged.

    Returns
    -------
    DataFrame
        reader_id; n_images that they read and two others too, and n_gts that two of the others marked in them; their
        sensitivity to these and their false positives per image; detector_sensitivity: of the detector to these, with
        no more false positives.
        Readers for whom the others made no golden object are left out.
    """
    rows = [judge_reader(reader, unseen, scores, options) for reader in readers]
    return pd.DataFrame([row for row in rows if row is not None], columns=list(COLUMNS))


def judge_reader(reader: str, unseen: Split, scores: Floats, options: MergeOptions) -> tuple[Any, ...] | None:
    """Return the row of one reader; None where two others never agree in their images."""
    enough = unseen.readings.groupby("image_id")["reader_id"].transform("size") >= FEWEST_READINGS
    read = unseen.readings.loc[enough & (unseen.readings["reader_id"] == reader), "image_id"]
    images, marks, readings, candidates = (
        table[table["image_id"].isin(read)]
        for table in (unseen.images, unseen.marks, unseen.readings, unseen.candidates)
    )
    own = marks["reader_id"] == reader
    others = marks[~own].reset_index(drop=True)
    truth = merge_objects(others, readings[readings["reader_id"] != reader], options)
    if not len(truth) or not truth["golden"].any():
        return None
    drawn = take_as_candidates(marks[own])
    person = match(drawn, truth, images, scores=np.ones(len(drawn)), counting=unseen.counting)
    model = match(
        candidates.reset_index(drop=True),
        truth,
        images,
        scores=scores[unseen.candidates["image_id"].isin(read).to_numpy()],
        counting=unseen.counting,
    )
    point = performance_at(person, [1.0]).iloc[0]
    beside = sensitivity_at(froc_curve(model), [point["fp_per_image"]]).iloc[0]
    return (
        reader,
        len(images),
        person.n_gts,
        float(point["gt_sensitivity"]),
        float(point["fp_per_image"]),
        float(beside["gt_sensitivity"]),
    )


def take_as_candidates(marks: pd.DataFrame) -> pd.DataFrame:
    """Take the marks of a reader as what a detector would have found: a place and a radius of equal area."""
    radius = np.sqrt(marks["semi_major_mm"] * marks["semi_minor_mm"])
    drawn = marks.assign(candidate_id=marks["mark_id"], radius_mm=radius)
    return drawn[[*KEYS, "x_mm", "y_mm", "radius_mm"]].reset_index(drop=True)
