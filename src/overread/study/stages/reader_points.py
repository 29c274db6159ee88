"""Readers as detectors: each reader and the detector, judged by the same objects under the same rules.

The objects are those that the other readers make without this one: a reader whose own marks helped to make an object
would be flattered. The detector is asked about the same objects in the same images, so that neither has an easier task.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.froc import Matching, bootstrap, froc_curve, match, sensitivity_at
from overread.froc.bootstraps import SortedEvents, needed_fps, patient_counts, replicate_sensitivities
from overread.froc.defaults import LEVEL, N_BOOTSTRAP
from overread.froc.intervals import paired_interval
from overread.study.cohort import KEYS, Split
from overread.truth import MergeOptions
from overread.truth.merging import merge_objects
from overread.truth.readers import FEWEST_READINGS

__all__ = ["judge_readers"]

Floats = NDArray[np.float64]
COLUMNS = (
    *("reader_id", "n_images", "n_gts", "sensitivity", "fp_per_image", "detector_sensitivity"),
    *("difference", "lower", "upper"),
)


def judge_readers(
    readers: Iterable[str],
    unseen: Split,
    scores: Floats,
    options: MergeOptions,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
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
    n_bootstrap, seed, level
        Of the interval of the difference.

    Returns
    -------
    DataFrame
        reader_id; n_images that the reader and two others read, and n_gts that two of the others marked in them; the
        reader's sensitivity to these and false positives per image; detector_sensitivity: of the detector to these,
        with no more false positives; difference, detector minus reader, with its interval, lower and upper (NaN where
        fewer than two patients have an object). Readers for whom the others made no golden object are left out.
    """
    rows = []
    for reader in readers:
        pair = _match_both(reader, unseen, scores, options)
        if pair is not None:
            rows.append((reader, *_compare(*pair, n_bootstrap=n_bootstrap, seed=seed, level=level)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _match_both(
    reader: str, unseen: Split, scores: Floats, options: MergeOptions
) -> tuple[Matching, Matching] | None:
    """Match a reader's marks and the detector's with what the others marked; None where no two others agree."""
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
    detector = match(
        candidates.reset_index(drop=True),
        truth,
        images,
        scores=scores[unseen.candidates["image_id"].isin(read).to_numpy()],
        counting=unseen.counting,
    )
    return person, detector


def _compare(
    person: Matching, detector: Matching, *, n_bootstrap: int, seed: int, level: float
) -> tuple[Any, ...]:
    """Put the detector beside a reader at the reader's false positives per image.

    Both see the same resampled patients. In each replicate the reader makes the false positives that these patients
    got, and the detector's threshold is the lowest that makes no more: how many there are is uncertain, too.
    """
    drawn = bootstrap(person, thresholds=[1.0], n_bootstrap=n_bootstrap, seed=seed)
    own, fp = (float(drawn.points[name].iloc[0]) for name in ("gt_sensitivity", "fp_per_image"))
    at = sensitivity_at(froc_curve(detector), [fp]).iloc[0]
    beside = float(at["gt_sensitivity"])
    events = SortedEvents.of(detector, needed_fps(detector, np.array([fp])))
    counts = (row[None] for block in patient_counts(detector.n_patients, n_bootstrap, seed) for row in block)
    found = [
        replicate_sensitivities(events, row, target)["gt_sensitivity"][0]
        for row, target in zip(counts, drawn.replicates["fp_per_image"], strict=True)
    ]
    shown, marked = detector.targets().found_at(at["threshold"]), person.targets().found_at(1.0)
    ends = paired_interval(
        shown.astype(np.float64) - marked,
        np.concatenate(found) - drawn.replicates["gt_sensitivity"][:, 0],
        drawn.n_units["gt_sensitivity"],
        level,
    )
    return (person.n_images, person.n_gts, own, fp, beside, beside - own, *ends)


def take_as_candidates(marks: pd.DataFrame) -> pd.DataFrame:
    """Take the marks of a reader as what a detector would have found: a place and a radius of equal area."""
    radius = np.sqrt(marks["semi_major_mm"] * marks["semi_minor_mm"])
    drawn = marks.assign(candidate_id=marks["mark_id"], radius_mm=radius)
    return drawn[[*KEYS, "x_mm", "y_mm", "radius_mm"]].reset_index(drop=True)
