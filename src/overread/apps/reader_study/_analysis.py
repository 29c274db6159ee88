"""Do the readers find more with the detector? Unaided against aided readings of the same images by the same readers.

It also writes the page of a reader study: the effect of the detector on each reader and on time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread import __version__
from overread._text import difference_with_limits, percent_with_limits
from overread.apps.room._adjudication import merge_as_study
from overread.apps.room._pixels import read_images
from overread.apps.room._room import Room
from overread.apps.room._second_reading import trained_on
from overread.apps.room._store import Store
from overread.apps.room._tables import Arm, hit_rule, list_sittings, mm_rows, read_arm
from overread.errors import InvalidInputError, TableError, UsageError
from overread.files import to_json
from overread.froc import (
    CaseRatings,
    Difference,
    FigureOfMerit,
    ReaderStudy,
    figure_of_merit,
    plot_reader_study,
    proportion_interval,
    reader_study,
)
from overread.marks import MarkSet, find_table
from overread.report import head_run, render_page, write_svg
from overread.study import read_known_nodules
from overread.tables import named, plain, read_table, unit_of
from overread.truth import HitRule, apply_adjudication, candidate_hits, read_adjudication, soft_labels

ARMS: tuple[Arm, ...] = ("unaided", "aided")
# A mark without confidence counts as certain.
UNSTATED_CONFIDENCE = 100.0


@dataclass(frozen=True, eq=False)
class Reference:
    """The reference: objects with image_id and an ellipse in mm, and their source in words."""

    objects: pd.DataFrame
    words: str
    is_independent: bool


@dataclass(frozen=True, eq=False)
class ArmComparison:
    """Comparison of unaided and aided readings.

    Attributes
    ----------
    design
        ``"sequential"`` or ``"independent"``.
    reference
        The reference objects.
    cases
        Images that every reader read both ways.
    figure
        Figure of merit.
    readers
        A row for each reader and arm.
    decisions
        A row for each reader: decisions on the detector's correct and wrong marks.
    study
        Obuchowski-Rockette analysis of aided minus unaided; None if the data do not allow it.
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
    readers: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    study: ReaderStudy | None
    why_no_study: str
    n_unrated: int
    n_trained_on: int


def find_reference(room: Room, truth: Path | None) -> Reference:
    """Choose the reference."""
    if truth is not None:
        table = read_table(truth, "truth")
        return Reference(
            table[table["golden"]], f"the consensus objects of {truth.name}", is_independent=True
        )
    nodules = read_known_nodules(room.folder)
    if nodules is not None:
        known, unit = plain(nodules.frame)
        radius = known["diameter"] / 2
        circles = known[["image_id", "x", "y"]].assign(semi_major=radius, semi_minor=radius, angle_deg=0.0)
        words = "the nodules in the simulated images"
        return Reference(named(circles, unit), words, is_independent=True)
    unaided = read_arm(room.store, "unaided")
    if unaided.readings.empty:
        raise UsageError(f"{room.folder}: no reading is finished yet")
    merged = soft_labels(merge_as_study(room.folder, unaided), unaided.readings)
    words = "the objects that at least two readers marked without the detector"
    decided = find_table(room.folder, "adjudication")
    if decided is not None:
        merged = apply_adjudication(merged, read_adjudication(decided).frame)
        words += f", with the decisions of {decided.name}"
    return Reference(merged[merged["golden"]], words, is_independent=False)


def compare_arms(room: Room, reference: Reference) -> ArmComparison:
    """Compare the unaided and aided readings of a room."""
    store, arms = room.store, {arm: read_arm(room.store, arm) for arm in ARMS}
    readers, cases = _crossed_cases(arms)
    objects = reference.objects[reference.objects["image_id"].isin(cases)].reset_index(drop=True)
    # wAFROC needs cases without objects; if there are none, all cases give false positives.
    figure: FigureOfMerit = "wAFROC" if set(cases) - set(objects["image_id"]) else "wAFROC1"
    times = list_sittings(store)
    times = times[(times["presentation"] == 1) & times["image_id"].isin(cases)]
    rows, n_unrated = [], 0
    ratings: dict[str, dict[str, CaseRatings]] = {arm: {} for arm in ARMS}
    for reader, arm in product(readers, ARMS):
        marks = arms[arm].marks
        own = marks[(marks["reader_id"] == reader) & marks["image_id"].isin(cases)].reset_index(drop=True)
        confidence = own["confidence"] if "confidence" in own else pd.Series(np.nan, index=own.index)
        n_unrated += int(confidence.isna().sum())
        own = own.assign(rating=confidence.fillna(UNSTATED_CONFIDENCE).astype("float64"))
        hits = candidate_hits(own, objects, _rule_of(objects))
        ratings[arm][reader] = _rate(own, hits, cases, objects)
        counts = _count_found(own, hits, ratings[arm][reader], figure)
        spent = times.loc[(times["reader_id"] == reader) & (times["arm"] == arm), "active_s"]
        rows.append({"reader": reader, "arm": arm, **counts, "median_seconds": float(spent.median())})
    study, why = None, ""
    try:
        study = reader_study(ratings, figure, patients=_patients_of(read_images(room.folder), cases))
        study = replace(study, differences=tuple(map(turn_round, study.differences)))
    except InvalidInputError as error:
        why = str(error)
    return ArmComparison(
        room.plan.design,
        reference,
        cases,
        figure,
        rows,
        _count_decisions(store, readers, cases, objects),
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


def _crossed_cases(arms: Mapping[Arm, MarkSet]) -> tuple[list[str], list[str]]:
    """Return the readers with both arms, and the images that all of them read both ways."""
    read = {
        arm: set(zip(table.readings["reader_id"], table.readings["image_id"], strict=True))
        for arm, table in arms.items()
    }
    both = read["unaided"] & read["aided"]
    readers = sorted({reader for reader, _ in both})
    if not readers:
        raise UsageError(
            "no image was read without and with the detector yet. Open a room with: overread read STUDY --detector FILE"
        )
    shared = [{image for name, image in both if name == reader} for reader in readers]
    cases = sorted(set.intersection(*shared))
    if not cases:
        raise UsageError(
            "no image was read both ways by all readers. For a reader study, use --assign all; "
            "or wait until the readers have finished."
        )
    return readers, cases


def _rule_of(objects: pd.DataFrame) -> HitRule:
    """Return the hit rule, in the unit of the objects."""
    return hit_rule(unit_of(objects.columns) or "mm")


def _rate(own: pd.DataFrame, hits: pd.DataFrame, cases: list[str], objects: pd.DataFrame) -> CaseRatings:
    """Return the highest rating of each object, and of the false positives in each case."""
    place = {image: number for number, image in enumerate(cases)}
    rating, hitting = own["rating"].to_numpy(), hits["candidate_row"].to_numpy()
    lesion, highest = np.full(len(objects), -np.inf), np.full(len(cases), -np.inf)
    np.maximum.at(lesion, hits["truth_row"].to_numpy(), rating[hitting])
    false = ~np.isin(np.arange(len(own)), hitting)
    np.maximum.at(highest, own["image_id"][false].map(place).to_numpy(dtype=np.intp), rating[false])
    return CaseRatings(
        highest, np.array([place[image] for image in objects["image_id"]], dtype=np.intp), lesion
    )


def _count_found(
    own: pd.DataFrame, hits: pd.DataFrame, ratings: CaseRatings, figure: FigureOfMerit
) -> dict[str, Any]:
    """Count the found objects and false positives of a reader in one arm."""
    n_objects, n_found = len(ratings.lesion_rating), hits["truth_row"].nunique()
    n_false = len(own) - hits["candidate_row"].nunique()
    lower, upper = proportion_interval(n_found, n_objects)
    try:
        value = figure_of_merit(ratings, figure)
    except InvalidInputError:
        value = float("nan")
    return {
        "n_objects": n_objects,
        "n_found": n_found,
        "sensitivity": n_found / n_objects if n_objects else float("nan"),
        "lower": float(lower),
        "upper": float(upper),
        "n_false": n_false,
        "fp_per_image": n_false / ratings.n_cases,
        "figure": value,
    }


def _patients_of(images: pd.DataFrame, cases: list[str]) -> list[str] | None:
    """Patient of each case; None if the images table has no patients."""
    if "patient_id" not in images or (images["patient_id"] == "").any():
        return None
    known = dict(zip(images["image_id"], images["patient_id"], strict=True))
    missing = next((case for case in cases if case not in known), None)
    if missing is not None:
        raise TableError(f"images: {missing!r} was read but is no longer in the images table. Add it again.")
    return [str(known[case]) for case in cases]


def _count_decisions(
    store: Store, readers: list[str], cases: list[str], objects: pd.DataFrame
) -> list[dict[str, Any]]:
    """Count accepted and dismissed marks of the detector, by whether they hit something."""
    rows = store.rows(
        "SELECT items.person, items.image_id, decision, detections.*, mm_x, mm_y FROM decisions JOIN items USING (item)"
        " JOIN detections ON detections.image_id = items.image_id AND detections.detection = decisions.detection"
        " JOIN pictures ON pictures.kind = 'reading' AND pictures.image_id = items.image_id"
        " WHERE presentation = 0 AND phase = 'done'"
    )
    rows = [row for row in rows if row["image_id"] in set(cases) and row["person"] in readers]
    shown = pd.DataFrame(mm_rows(rows)[:, :2], columns=["x", "y"])
    shown["image_id"] = pd.Series([row["image_id"] for row in rows], dtype="str")
    right = set(candidate_hits(shown, objects, _rule_of(objects))["candidate_row"])
    counts = Counter((row["person"], place in right, row["decision"]) for place, row in enumerate(rows))
    return [
        {
            "reader": reader,
            "true_accepted": counts[reader, True, "accept"],
            "true_dismissed": counts[reader, True, "dismiss"],
            "false_accepted": counts[reader, False, "accept"],
            "false_dismissed": counts[reader, False, "dismiss"],
        }
        for reader in readers
    ]


DESIGNS = {
    "sequential": (
        "Each image was read without the detector, locked, and at once read again with its marks. The readings with "
        "the detector start from those without it and contain their marks."
    ),
    "independent": (
        "Each image was read without the detector in one session and with its marks in a later one, in another order."
    ),
}


def render_reader_study(study_name: str, comparison: ArmComparison) -> str:
    """Write the page."""
    head = head_run(study_name, "reader-study", to_json([comparison.readers, comparison.decisions]))
    drawn = comparison.study
    figure = "" if drawn is None else write_svg("reader_study", lambda: plot_reader_study(drawn))
    return render_page(
        "reader_study.html.j2",
        head=head,
        version=__version__,
        comparison=comparison,
        design=DESIGNS.get(comparison.design, ""),
        rule=_rule_of(comparison.reference.objects).describe(),
        result=tell_result(comparison),
        cautions=list_cautions(comparison),
        figure=figure,
        reader_rows=_reader_rows(comparison),
    )


def tell_result(comparison: ArmComparison) -> str:
    """Summarize the comparison in one or two sentences."""
    study = comparison.study
    if study is None:
        return f"The two arms cannot be compared by a test: {comparison.why_no_study}."
    gain, untested = study.differences[0], isnan(study.p_value)
    if untested and not gain.estimate:
        return (
            f"{study.figure} of every reader is the same without and with the detector: the two arms are "
            "identical here, and there is nothing to test."
        )
    numbers = difference_with_limits(gain.estimate, gain.lower, gain.upper)
    p = "no p-value: the data give no estimate of error" if untested else f"p = {study.p_value:.3g}"
    base = f"Aided minus unaided, {study.figure} differs by {numbers}; {p}."
    if untested or study.p_value >= 1.0 - study.level:
        return f"{base} This shows neither that the detector helps nor that it does not."
    return f"{base} The readers read {'better' if gain.estimate > 0 else 'worse'} with the detector."


def list_cautions(comparison: ArmComparison) -> list[str]:
    """Return the cautions that are shown under the result."""
    said, n_unrated = [], comparison.n_unrated
    if not comparison.reference.is_independent:
        said.append(
            f"The reference is {comparison.reference.words}. It is based on the readings that it "
            "judges, which favours the reading without the detector. Give an independent one with --truth."
        )
    if comparison.n_trained_on:
        said.append(
            f"The detector was trained on {comparison.n_trained_on} of these images: its benefit there "
            "does not show its benefit on new images."
        )
    if n_unrated:
        count, verb = ("1 mark", "counts") if n_unrated == 1 else (f"{n_unrated} marks", "count")
        said.append(f"{count} without a confidence {verb} as 100, fully certain.")
    return said


def _reader_rows(comparison: ArmComparison) -> list[tuple[str, ...]]:
    """Table of the readers as text."""
    return [
        (
            row["reader"],
            row["arm"],
            f"{row['n_found']} of {row['n_objects']}",
            percent_with_limits(row["sensitivity"], row["lower"], row["upper"]),
            f"{row['fp_per_image']:.2f}",
            "–" if isnan(row["figure"]) else f"{row['figure']:.3f}",
            "–" if isnan(row["median_seconds"]) else f"{row['median_seconds']:.0f}",
        )
        for row in comparison.readers
    ]
