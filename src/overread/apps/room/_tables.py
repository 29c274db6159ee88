"""The room's readings as tables: marks and readings of a study, with separate tables for readings with the detector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from overread.apps.room._store import ELLIPSE, Store, digest_text, log_event, timestamp
from overread.errors import TableError, UsageError
from overread.files import digest_of_bytes, digest_of_file, write_together
from overread.marks import ELLIPSE_COLUMNS, MarkSet, find_table, images_from_readings, rescale_ellipses
from overread.tables import LengthUnit, check_study, named, plain, raise_for_errors, read_table, table_bytes
from overread.truth import HIT, EllipseHit, HitRule

Arm = Literal["unaided", "aided", "repeats"]
"""Kind of readings: the first without the detector, those with it, or the repeated ones."""

CONDITIONS: dict[Arm, str] = {
    "unaided": "presentation = 0 AND mode != 'aided' AND locked IS NOT NULL",
    "aided": "presentation = 0 AND mode != 'unaided' AND items.phase = 'done'",
    "repeats": "presentation = 1 AND mode != 'aided' AND locked IS NOT NULL",
}
SITTINGS_FILE = "reading/sittings.csv"
SITTING_COLUMNS = [
    "image_id",
    "reader_id",
    "arm",
    "presentation",
    "active_s",
    "paused_s",
    "nothing",
    "comment",
]


def read_arm(store: Store, arm: Arm) -> MarkSet:
    """Read the marks and readings of all locked items. Marks are in the room's unit."""
    condition = f"items.kind != 'training' AND {CONDITIONS[arm]}"
    items = store.rows(f"SELECT image_id, person FROM items WHERE {condition} ORDER BY image_id, person")
    marks = store.rows(
        "SELECT marks.*, items.person, items.image_id, items.kind, mm_x, mm_y FROM marks JOIN items USING (item) "
        "JOIN pictures ON pictures.kind = 'reading' AND pictures.image_id = items.image_id "
        f"WHERE {condition} AND marks.phase = ? ORDER BY items.image_id, person, marks.rowid",
        ("aided" if arm == "aided" else "unaided",),
    )
    readings = pd.DataFrame(map(tuple, items), columns=["image_id", "reader_id"], dtype="str")
    images = readings[["image_id"]].drop_duplicates().reset_index(drop=True)
    return MarkSet(named(_marks_table(marks), room_unit(store)), readings, images)


def room_unit(store: Store) -> LengthUnit:
    """Return the unit of a room's tables: px if every pixel is 1 x 1, which means that its size is unknown."""
    return "px" if set(store.spacings().values()) == {(1.0, 1.0)} else "mm"


def hit_rule(unit: LengthUnit) -> HitRule:
    """Return the hit rule of a room: the default in mm; in pixels objects are not widened."""
    return HIT.in_unit("mm") if unit == "mm" else EllipseHit(min_semi_axis=0.0, unit=unit)


def ellipses_in_pixels(marks: pd.DataFrame, mm_per_px: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Ellipses (x, y, a, b, angle) in pixels of marks in mm or px; ``mm_per_px`` is (x, y), or a row for each mark."""
    lengths, unit = plain(marks)
    if unit == "percent":
        raise TableError("lengths are in percent. A reading room needs mm or px.")
    x, y = np.broadcast_to(
        np.asarray(mm_per_px if unit == "mm" else (1.0, 1.0), np.float64), (len(marks), 2)
    ).T
    return rescale_ellipses(lengths[list(ELLIPSE_COLUMNS)].to_numpy(np.float64), 1.0 / x, 1.0 / y)


def _marks_table(rows: list[Any]) -> pd.DataFrame:
    """Turn marks of the store into a table of marks."""
    names = [(row["image_id"], row["person"], _mark_id(row)) for row in rows]
    table = pd.DataFrame(names, columns=["image_id", "reader_id", "mark_id"], dtype="str")
    table[list(ELLIPSE_COLUMNS)] = mm_rows(rows)
    confidence = pd.Series([row["confidence"] for row in rows], dtype="float64")
    if confidence.notna().any():
        table["confidence"] = confidence
    labels = [row["label"] or "" for row in rows]
    if any(labels):
        table["label"] = pd.Series(labels, dtype="str")
    return table


def mm_rows(rows: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Ellipses (x, y, a, b, angle) in the room's unit of rows in pixels."""
    if not rows:
        return np.empty((0, 5))
    pixels = [[row[name] for name in ELLIPSE] for row in rows]
    return rescale_ellipses(pixels, [row["mm_x"] for row in rows], [row["mm_y"] for row in rows])


def _mark_id(row: Any) -> str:
    """Id of a mark in the tables: an imported mark keeps its id, a drawn one gets an id unique to its reader."""
    if row["kind"] == "imported":
        return str(row["mark"])
    return "M" + digest_text(f"{row['item']}\0{row['mark']}")[:16]


def list_sittings(store: Store) -> pd.DataFrame:
    """Table of locked readings with comment, seconds of reading and, separately, of pauses."""
    rows = store.rows(
        "SELECT * FROM items WHERE kind = 'reading' AND (locked IS NOT NULL OR phase = 'done') "
        "ORDER BY image_id, person, mode, presentation"
    )
    found = []
    for row in rows:
        for arm, prefix in (("unaided", ""), ("aided", "aided_")):
            if (row["mode"] != "unaided" and row["phase"] == "done") if prefix else row["mode"] != "aided":
                active, paused, nothing = (row[prefix + name] for name in ("active_ms", "paused_ms", "clear"))
                times = (active / 1000.0, paused / 1000.0)
                place = (row["image_id"], row["person"], arm, row["presentation"] + 1)
                found.append((*place, *times, bool(nothing), row["comment"]))
    return pd.DataFrame(found, columns=SITTING_COLUMNS)


def export_tables(store: Store, folder: Path, extra: Mapping[str, pd.DataFrame]) -> list[Path]:
    """Write the tables of a room, and further ones, to its study, all or none."""
    unaided = read_arm(store, "unaided")
    if unaided.readings.empty:
        raise UsageError(f"{folder}: no reading is finished yet, so there is nothing to write")
    known = {*(store.setting("exported_digests") or []), *(store.setting("imported_digests") or [])}
    for kind in ("marks", "readings"):
        present = find_table(folder, kind)
        if present is not None and digest_of_file(present) not in known:
            raise TableError(
                f"{present}: was not written by this room and would be replaced. Import its marks with "
                "--import-marks, or move the file away."
            )
    raise_for_errors(check_study(unaided.marks, unaided.readings, unaided.images, spelling=False))
    tables: dict[str, pd.DataFrame] = {"marks.csv": unaided.marks, "readings.csv": unaided.readings}
    arms: tuple[Arm, Arm] = ("aided", "repeats")
    for arm in arms:
        found, place = read_arm(store, arm), f"reading/{arm}"
        if not found.readings.empty:
            (folder / place).mkdir(parents=True, exist_ok=True)
            tables |= {f"{place}/marks.csv": found.marks, f"{place}/readings.csv": found.readings}
    tables[SITTINGS_FILE] = list_sittings(store)
    tables |= extra
    contents = {name: table_bytes(table, folder / name) for name, table in tables.items()}
    # Before the files, so that after a kill between the two the room recognizes its tables.
    digests = [digest_of_bytes(contents[name]) for name in ("marks.csv", "readings.csv")]
    before = store.setting("exported_digests") or []
    store.set_setting("exported_digests", [*before[-2:], *digests])
    written = write_together(folder, {name: (content,) for name, content in contents.items()})
    store.set_setting("exported", timestamp())
    return written


def take_in_marks(store: Store, folder: Path) -> tuple[int, int]:
    """Import existing marks and readings of a study as finished readings; return their numbers."""
    found = _read_earlier(folder)
    begun = set(map(tuple, store.rows("SELECT image_id, person FROM items WHERE kind = 'reading'")))
    pairs = list(zip(found.readings["image_id"], found.readings["reader_id"], strict=True))
    clash = next((pair for pair in pairs if pair in begun), None)
    if clash is not None:
        raise UsageError(
            f"image {clash[0]!r} is already on the worklist of {clash[1]!r}. Import marks before you add the "
            "reader."
        )
    spacing = store.spacings()
    strange = next((image for image, _ in pairs if image not in spacing), None)
    if strange is not None:
        raise TableError(f"{folder}: image {strange!r} in the readings has no readable image file")
    _insert_imported(store, found, pairs, spacing)
    digests = [digest_of_file(path) for kind in ("marks", "readings") if (path := find_table(folder, kind))]
    store.set_setting("imported_digests", digests)
    with store.transaction() as database:
        log_event(database, "import", body={"readings": len(pairs), "marks": len(found.marks)})
    return len(pairs), len(found.marks)


def _read_earlier(folder: Path) -> MarkSet:
    """Read marks and readings of a study whose images need not all have been read."""

    def find(kind: str) -> Path:
        path = find_table(folder, kind)
        if path is None:
            raise TableError(f"{folder}: has no {kind}.csv or {kind}.parquet to import")
        return path

    paths = find("marks"), find("readings")
    marks, readings = read_table(paths[0], "marks"), read_table(paths[1], "readings")
    images = images_from_readings(readings)
    raise_for_errors(check_study(marks, readings, images, files=(str(paths[0]), str(paths[1]), "images")))
    return MarkSet(marks, readings, images)


def _insert_imported(
    store: Store, found: MarkSet, pairs: list[tuple[str, str]], spacing: Mapping[str, tuple[float, float]]
) -> None:
    """Write imported readings to the store; they replace an earlier import."""
    now = timestamp()
    marked = set(zip(found.marks["image_id"], found.marks["reader_id"], strict=True))
    scale = np.array([spacing[image] for image in found.marks["image_id"]]).reshape(-1, 2)
    pixels = ellipses_in_pixels(found.marks, scale)
    # The same import gives the same ids.
    names = {pair: "imported-" + digest_text("\0".join(pair))[:24] for pair in pairs}
    with store.transaction() as database:
        database.execute("DELETE FROM marks WHERE item IN (SELECT item FROM items WHERE kind = 'imported')")
        database.execute("DELETE FROM items WHERE kind = 'imported'")
        database.executemany(
            "INSERT INTO people VALUES (?, 'reader', NULL, ?, NULL) ON CONFLICT (person) DO NOTHING",
            [(reader, now) for _, reader in pairs],
        )
        database.executemany(
            "INSERT INTO items (item, person, image_id, kind, mode, presentation, position, phase, clear, locked, "
            "finished) VALUES (?, ?, ?, 'imported', 'unaided', 0, 0, 'done', ?, ?, ?)",
            [(names[pair], pair[1], pair[0], int(pair not in marked), now, now) for pair in pairs],
        )
        database.executemany(
            "INSERT INTO marks VALUES (?, 'unaided', ?, ?, ?, ?, ?, ?, ?, ?, '', 'imported', NULL)",
            [
                (
                    names[row["image_id"], row["reader_id"]],
                    row["mark_id"],
                    *ellipse.tolist(),
                    row.get("confidence"),  # SQLite keeps NaN as NULL
                    row.get("label") or None,
                )
                for row, ellipse in zip(found.marks.to_dict("records"), pixels, strict=True)
            ],
        )
