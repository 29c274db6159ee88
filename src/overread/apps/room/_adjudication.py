"""Objects on which the readers disagree, shown to chairs without names; their decisions form a separate table.

It also reads the study's settings that the room follows.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from overread.apps.room._people import list_people
from overread.apps.room._pixels import read_images
from overread.apps.room._store import ELLIPSE, Act, RefusalError, Store, timestamp
from overread.apps.room._tables import ellipses_in_pixels, read_arm
from overread.apps.room._values import read_text
from overread.marks import ELLIPSE_COLUMNS, MarkSet
from overread.tables import convert_lengths, name_lengths, named, unit_of
from overread.truth import MergeOptions, merge_objects

if TYPE_CHECKING:
    from overread.study import StudyMarks

SETTINGS_FILE = "study.toml"


def study_name(folder: Path) -> str:
    """Name of a study, from its settings or its folder."""
    # Imported late: the settings import all models, and making a link should not wait for them.
    from overread.study import read_settings

    path = folder / SETTINGS_FILE
    name = read_settings(path).name if path.is_file() else ""
    return name or folder.resolve().name


def merge_as_study(folder: Path, found: MarkSet) -> pd.DataFrame:
    """Merge marks as the study's run does, so that a chair decides on the same objects. Lengths keep their unit."""
    own, unit = read_as_study(folder, found), unit_of(found.marks.columns) or "mm"
    objects = merge_objects(own.tables.marks, own.tables.readings, own.options.in_unit(own.unit))
    return named(convert_lengths(named(objects, own.unit), read_images(folder), unit), unit)


def prepare_agreement(folder: Path, found: MarkSet) -> tuple[MarkSet, MergeOptions]:
    """Return the marks for comparing readers and the merge options: in mm, those of the paper.

    In another unit, those of the study's run; without settings, a fixed threshold, which has no length.
    """
    if unit_of(found.marks.columns) in (None, "mm"):
        return found, MergeOptions()
    own = read_as_study(folder, found)
    options = own.options if own.options.full_size else MergeOptions(threshold="fixed")
    return replace(found, marks=named(own.tables.marks, own.unit)), options


def read_as_study(folder: Path, found: MarkSet) -> StudyMarks:
    """Prepare marks as the study's run does: in its unit, with its options."""
    from overread.study import take_study_marks

    # A chair decides on objects of all labels, of which some may not have been used yet.
    images = MarkSet(found.marks, found.readings, read_images(folder))
    return take_study_marks(folder, images, by_group=False)


DECISIONS = ("lesion", "not", "unsure")


def complete_images(store: Store) -> list[str]:
    """Images that all readers who have them on the worklist have finished, with repeats and second readings.

    A reader whose link was revoked does not count.
    """
    rows = store.rows(
        "SELECT image_id FROM items JOIN people USING (person) WHERE kind != 'training' AND "
        "(items.phase = 'done' OR secret IS NOT NULL) GROUP BY image_id HAVING sum(items.phase != 'done') = 0 "
        "AND count(DISTINCT person) >= 2 ORDER BY image_id"
    )
    return [image for (image,) in rows]


def complete_readings(store: Store) -> MarkSet:
    """Unaided marks and readings of the complete images: data that can be compared without breaking blindness."""
    found, images = read_arm(store, "unaided"), complete_images(store)

    def kept(table: pd.DataFrame) -> pd.DataFrame:
        return table[table["image_id"].isin(images)].reset_index(drop=True)

    return MarkSet(kept(found.marks), kept(found.readings), kept(found.images))


class Adjudication:
    """The objects that chairs see, and their decisions."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._find_dispute = lru_cache(maxsize=1)(self._compute_dispute)

    def dispute(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Objects that some readers of a complete image marked and others did not, and the marks of those images."""
        return self._find_dispute(tuple(complete_images(self._store)))

    def _compute_dispute(self, images: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
        found = complete_readings(self._store)
        objects = merge_as_study(self._folder, found)
        return objects[objects["n_readers"] < objects["n_readings"]].reset_index(drop=True), found.marks

    def worklist(self, person: str) -> list[dict[str, Any]]:
        """List the objects, with whether this chair has decided."""
        rows = self._store.rows("SELECT object FROM adjudications WHERE person = ?", (person,))
        done = {name for (name,) in rows}
        return [
            {"object": name, "position": place, "state": "done" if name in done else "open"}
            for place, name in enumerate(self.dispute()[0]["truth_id"], start=1)
        ]

    def image_of(self, name: str) -> str:
        """Image of an object."""
        return str(self._row(name)["image_id"])

    def _row(self, name: str) -> Any:
        objects = self.dispute()[0]
        rows = objects[objects["truth_id"] == name]
        if rows.empty:
            raise RefusalError("this object does not exist", "unknown", 404)
        return rows.iloc[0]

    def describe(self, person: str, name: str, mm_per_px: tuple[float, float]) -> dict[str, Any]:
        """Return an object's marks without names, in random order, and this chair's decision."""
        row = self._row(name)
        marks = self.dispute()[1]
        own = marks[(marks["image_id"] == row["image_id"]) & marks["mark_id"].isin(row["mark_ids"])]
        shown = []
        for ellipse, record in zip(
            ellipses_in_pixels(own, mm_per_px).tolist(), own.to_dict("records"), strict=True
        ):
            confidence = record.get("confidence", np.nan)
            said = {
                "confidence": None if np.isnan(confidence) else confidence,
                "label": record.get("label") or None,
            }
            shown.append({**dict(zip(ELLIPSE, ellipse, strict=True)), **said})
        shown.sort(key=lambda mark: hashlib.sha256(f"{name}{mark}".encode()).digest())
        query = "SELECT decision, label, comment FROM adjudications WHERE object = ? AND person = ?"
        decided = self._store.rows(query, (name, person))
        return {
            "object": name,
            "n_readers": int(row["n_readings"]),
            "n_marked": int(row["n_readers"]),
            "marks": shown,
            "decision": dict(decided[0]) if decided else None,
        }

    def decide(self, act: Act, labels: tuple[str, ...]) -> dict[str, Any]:
        """Store a chair's decision on an object; an earlier one by the same chair stays in the log."""
        decision, label = act.body.get("decision"), act.body.get("label")
        comment = read_text(act.body, "comment")
        if decision not in DECISIONS:
            raise RefusalError(f"decision: give one of {', '.join(DECISIONS)}")
        if label is not None and label not in labels:
            raise RefusalError("label: not one of this study's")
        self._row(act.item)

        def work(database: sqlite3.Connection) -> dict[str, Any]:
            values = (act.item, act.person, decision, label, comment, timestamp())
            database.execute("INSERT OR REPLACE INTO adjudications VALUES (?, ?, ?, ?, ?, ?)", values)
            return {"decision": decision}

        answer = self._store.do_once(act, work)
        self._store.checkpoint()
        return answer

    def table(self) -> pd.DataFrame:
        """Decisions as a table: one row for each object that every chair decided, and ``open`` where they differ."""
        chairs = list_people(self._store, "chair")
        by_object: defaultdict[str, list[sqlite3.Row]] = defaultdict(list)
        for row in self._store.rows("SELECT * FROM adjudications ORDER BY person"):
            by_object[row["object"]].append(row)
        found = []
        objects, _ = self.dispute()
        ellipse = name_lengths(ELLIPSE_COLUMNS, unit_of(objects.columns) or "mm")
        columns = ("image_id", "truth_id", *ellipse, "n_readers", "n_readings")
        for record in objects.to_dict("records"):
            votes = by_object[str(record["truth_id"])]
            if not votes or len(votes) < len(chairs):
                continue
            words, labels = {vote["decision"] for vote in votes}, {vote["label"] for vote in votes}
            found.append(
                {
                    **{name: record[name] for name in columns},
                    "decision": words.pop() if len(words) == 1 else "open",
                    "label": (labels.pop() or "") if len(labels) == 1 else "",
                    "n_chairs": len(votes),
                    "comment": " / ".join(vote["comment"] for vote in votes if vote["comment"]),
                    "mark_ids": json.dumps(list(record["mark_ids"])),
                }
            )
        return pd.DataFrame(found)
