"""Do the readers find more with the detector? Unaided against aided readings of the same images by the same readers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.errors import InvalidInputError, TableError, UsageError
from overread.froc.intervals import proportion_interval
from overread.froc.merit import CaseRatings, ReaderStudy, figure_of_merit, reader_study
from overread.froc.merit.figures_of_merit import FigureOfMerit
from overread.froc.merit.obuchowski_rockette import Difference
from overread.marks.mark_set import MarkSet, find_table
from overread.reading.second_reading import trained_on
from overread.reading.store import Store
from overread.reading.study_settings import merge_as_study
from overread.reading.tables import list_sittings, mm_rows, read_arm
from overread.study.inputs import read_known_nodules
from overread.tables.table_files import read_table
from overread.truth import HIT, candidate_hits, soft_labels
from overread.truth.adjudication import apply_adjudication, read_adjudication

__all__ = ["ArmRow", "Comparison", "DecisionRow", "Reference", "compare_arms", "find_reference", "turn_round"]

ARMS = ("unaided", "aided")
# A reader who marks and gives no confidence is taken to be sure.
UNSTATED_CONFIDENCE = 100.0


@dataclass(frozen=True, eq=False)
class Reference:
    """What there was to find: objects with image_id and an ellipse in mm, and where they come from, in words."""

    objects: pd.DataFrame
    words: str
    is_independent: bool


@dataclass(frozen=True)
class ArmRow:
    """One reader without or with the detector, on the cases that all readers read both ways."""

    reader: str
    arm: str
    n_objects: int
    n_found: int
    sensitivity: float
    lower: float
    upper: float
    n_false: int
    fp_per_image: float
    figure: float
    median_seconds: float


@dataclass(frozen=True)
class DecisionRow:
    """What one reader did with the detector's marks, right ones and wrong ones apart."""

    reader: str
    true_accepted: int
    true_dismissed: int
    false_accepted: int
    false_dismissed: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Unaided against aided.

    Attributes
    ----------
    design
        ``"sequential"`` or ``"independent"``.
    reference
        What there was to find.
    cases
        Images that every reader read both ways.
    figure
        Figure of merit.
    readers
        A row for each reader and arm.
    decisions
        A row for each reader who decided on the detector's marks.
    study
        Obuchowski-Rockette, its difference aided minus unaided; None where the data allow none.
    why_no_study
        The reason then.
    n_unrated
        Marks without a confidence, taken as sure.
    n_trained_on
        Cases that the detector was trained on, as far as it says.
    """

    design: str
    reference: Reference
    cases: list[str]
    figure: FigureOfMerit
    readers: list[ArmRow]
    decisions: list[DecisionRow]
    study: ReaderStudy | None
    why_no_study: str
    n_unrated: int
    n_trained_on: int


def find_reference(store: Store, folder: Path, truth: Path | None) -> Reference:
    """Choose what there was to find.

    Parameters
    ----------
    store, folder
        Of the room.
    truth
        A truth table, of which the golden objects count. Without it: the nodules that were put into a simulated
        study; else the golden objects of the unaided readings themselves, with a chair's decisions.

    Raises
    ------
    TableError
        If the table lacks what is needed.
    """
    if truth is not None:
        table = read_table(truth, "truth")
        return Reference(table[table["golden"]], f"the golden objects of {truth.name}", is_independent=True)
    nodules = read_known_nodules(folder)
    if nodules is not None:
        known = nodules.frame
        objects = known[["image_id", "x_mm", "y_mm"]].assign(
            semi_major_mm=known["diameter_mm"] / 2, semi_minor_mm=known["diameter_mm"] / 2, angle_deg=0.0
        )
        return Reference(objects, "the nodules that were put into the simulated images", is_independent=True)
    unaided = read_arm(store, "unaided")
    if unaided.readings.empty:
        raise UsageError(f"{folder}: nobody has finished a reading yet")
    merged = soft_labels(merge_as_study(folder, unaided), unaided.readings)
    words = "what at least two readers marked without the detector"
    decided = find_table(folder, "adjudication")
    if decided is not None:
        merged = apply_adjudication(merged, read_adjudication(decided).frame)
        words += f", with the decisions of {decided.name}"
    return Reference(merged[merged["golden"]], words, is_independent=False)


def compare_arms(store: Store, images: pd.DataFrame, design: str, reference: Reference) -> Comparison:
    """Compare the unaided and aided readings of a room.

    Parameters
    ----------
    store
        Of the room.
    images
        Images table, for the patients.
    design
        Of the room's plan.
    reference
        What there was to find.

    Raises
    ------
    UsageError
        If no image was read both ways by every reader who read both ways.
    """
    arms = {"unaided": read_arm(store, "unaided"), "aided": read_arm(store, "aided")}
    readers, cases = crossed_cases(arms)
    objects = reference.objects[reference.objects["image_id"].isin(cases)].reset_index(drop=True)
    # wAFROC needs cases without anything to find; where there are none, all cases give false positives.
    figure: FigureOfMerit = "wAFROC" if set(cases) - set(objects["image_id"]) else "wAFROC1"
    ratings = {
        arm: {reader: rate(arms[arm].marks, reader, cases, objects) for reader in readers} for arm in ARMS
    }
    times = list_sittings(store)
    times = times[(times["presentation"] == 1) & times["image_id"].isin(cases)]
    rows = [
        arm_row(reader, arm, arms[arm].marks, ratings[arm][reader], cases, objects, times, figure)
        for reader in readers
        for arm in ARMS
    ]
    study, why = None, ""
    try:
        study = reader_study(ratings, figure, patients=patients_of(images, cases))
        study = replace(study, differences=tuple(map(turn_round, study.differences)))
    except InvalidInputError as error:
        why = str(error)
    used = pd.concat([arms[arm].marks for arm in ARMS])
    used = used[used["image_id"].isin(cases) & used["reader_id"].isin(readers)]
    n_unrated = int(used["confidence"].isna().sum()) if "confidence" in used else len(used)
    return Comparison(
        design,
        reference,
        cases,
        figure,
        rows,
        count_decisions(store, readers, cases, objects),
        study,
        why,
        n_unrated,
        len(trained_on(store).intersection(cases)),
    )


def turn_round(one: Difference) -> Difference:
    """Return the difference as second minus first: a gain by the detector is positive."""
    return replace(
        one,
        modality_a=one.modality_b,
        modality_b=one.modality_a,
        estimate=0.0 - one.estimate,
        lower=0.0 - one.upper,
        upper=0.0 - one.lower,
    )


def crossed_cases(arms: dict[str, MarkSet]) -> tuple[list[str], list[str]]:
    """Return the readers who read both ways, and the images that each of them did."""
    read = {
        arm: set(zip(table.readings["reader_id"], table.readings["image_id"], strict=True))
        for arm, table in arms.items()
    }
    both = read["unaided"] & read["aided"]
    readers = sorted({reader for reader, _ in both})
    if not readers:
        raise UsageError(
            "nobody has read an image without and with the detector yet (overread read STUDY --detector FILE)"
        )
    shared = [{image for name, image in both if name == reader} for reader in readers]
    cases = sorted(set.intersection(*shared))
    if not cases:
        raise UsageError(
            "no image was read both ways by every reader (with --assign, give all images to all readers for a reader "
            "study; or wait until they have finished)"
        )
    return readers, cases


def rated(marks: pd.DataFrame) -> pd.DataFrame:
    """Give marks a rating: their confidence, or certainty where there is none."""
    confidence = marks["confidence"] if "confidence" in marks else pd.Series(np.nan, index=marks.index)
    return marks.assign(rating=confidence.fillna(UNSTATED_CONFIDENCE).astype("float64"))


def rate(marks: pd.DataFrame, reader: str, cases: list[str], objects: pd.DataFrame) -> CaseRatings:
    """Return the highest rating of each object, and of what hits none in each case."""
    own = rated(marks[(marks["reader_id"] == reader) & marks["image_id"].isin(cases)]).reset_index(drop=True)
    hits = candidate_hits(own, objects, HIT)
    place = {image: number for number, image in enumerate(cases)}
    lesion = np.full(len(objects), -np.inf)
    np.maximum.at(lesion, hits["truth_row"].to_numpy(), own["rating"].to_numpy()[hits["candidate_row"]])
    false = np.ones(len(own), dtype=bool)
    false[hits["candidate_row"].to_numpy()] = False
    highest = np.full(len(cases), -np.inf)
    at = own["image_id"].map(place).to_numpy(dtype=np.intp)
    np.maximum.at(highest, at[false], own["rating"].to_numpy()[false])
    return CaseRatings(
        highest, np.array([place[image] for image in objects["image_id"]], dtype=np.intp), lesion
    )


def arm_row(
    reader: str,
    arm: str,
    marks: pd.DataFrame,
    ratings: CaseRatings,
    cases: list[str],
    objects: pd.DataFrame,
    times: pd.DataFrame,
    figure: FigureOfMerit,
) -> ArmRow:
    """Count what a reader found and marked wrongly in one arm."""
    own = marks[(marks["reader_id"] == reader) & marks["image_id"].isin(cases)]
    hits = candidate_hits(own, objects, HIT)
    n_found, n_objects = hits["truth_row"].nunique(), len(objects)
    n_false = len(own) - hits["candidate_row"].nunique()
    lower, upper = proportion_interval(n_found, n_objects)
    spent = times.loc[(times["reader_id"] == reader) & (times["arm"] == arm), "active_s"]
    try:
        value = figure_of_merit(ratings, figure)
    except InvalidInputError:
        value = float("nan")
    return ArmRow(
        reader,
        arm,
        n_objects,
        n_found,
        n_found / n_objects if n_objects else float("nan"),
        float(lower),
        float(upper),
        n_false,
        n_false / len(cases),
        value,
        float(spent.median()) if len(spent) else float("nan"),
    )


def patients_of(images: pd.DataFrame, cases: list[str]) -> list[str] | None:
    """Patient of each case; None where the images table has none."""
    if "patient_id" not in images or (images["patient_id"] == "").any():
        return None
    known = dict(zip(images["image_id"], images["patient_id"], strict=True))
    missing = next((case for case in cases if case not in known), None)
    if missing is not None:
        raise TableError(
            f"images: {missing!r} was read and is not in the images table any more (put it back)"
        )
    return [str(known[case]) for case in cases]


def count_decisions(
    store: Store, readers: list[str], cases: list[str], objects: pd.DataFrame
) -> list[DecisionRow]:
    """Count accepted and dismissed marks of the detector, by whether they hit something."""
    rows: list[Any] = store.rows(
        "SELECT items.person, items.image_id, decision, detections.*, mm_x, mm_y FROM decisions JOIN items USING (item)"
        " JOIN detections ON detections.image_id = items.image_id AND detections.detection = decisions.detection"
        " JOIN pictures ON pictures.kind = 'reading' AND pictures.image_id = items.image_id"
        " WHERE presentation = 0 AND phase = 'done'"
    )
    rows = [row for row in rows if row["image_id"] in set(cases) and row["person"] in readers]
    places = mm_rows(rows)
    shown = pd.DataFrame(
        {
            "image_id": pd.Series([row["image_id"] for row in rows], dtype="str"),
            "x_mm": places[:, 0],
            "y_mm": places[:, 1],
        }
    )
    right = set(candidate_hits(shown, objects, HIT)["candidate_row"])
    counts: dict[tuple[str, bool, str], int] = {}
    for number, row in enumerate(rows):
        key = (row["person"], number in right, row["decision"])
        counts[key] = counts.get(key, 0) + 1
    return [
        DecisionRow(
            reader,
            *(counts.get((reader, hit, word), 0) for hit in (True, False) for word in ("accept", "dismiss")),
        )
        for reader in readers
    ]
