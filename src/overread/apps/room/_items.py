"""One presentation of an image to a reader: its state, and the acts that change it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from overread.apps.room._pixels import ViewerPictures
from overread.apps.room._store import VALUES, Act, RefusalError, Store, timestamp
from overread.apps.room._values import check_id, check_mark, read_confidence, read_flag, read_text, read_whole

LARGEST_VERSION = 2**31
# Far more than a reader draws on one image, so that a broken page cannot fill the disk. Set by judgement.
LARGEST_MARKS = 200
# One report of time covers at most this; pages send it every few seconds.
LARGEST_MS = 3_600_000
MARK_COLUMNS = (*VALUES, "origin", "detection")
# Columns with "nothing suspicious" by phase.
CLEAR = {"unaided": "clear", "aided": "aided_clear"}
OWN_ITEM = (
    "SELECT items.*, (SELECT count(*) FROM items AS before WHERE before.person = items.person AND "
    "before.kind = 'reading' AND before.mode = 'unaided' AND before.phase != 'done') AS n_before "
    "FROM items WHERE item = ? AND person = ?"
)


class Items:
    """The acts of one study's readers."""

    def __init__(self, store: Store, pictures: ViewerPictures, labels: Sequence[str]) -> None:
        self._store, self._pictures, self._labels = store, pictures, tuple(labels)

    def find(self, person: str, item: str) -> sqlite3.Row:
        """Look up an item of a person."""
        return _check_turn(self._store.rows(OWN_ITEM, (item, person)))

    def worklist(self, person: str) -> list[dict[str, Any]]:
        """List a person's items in their order."""
        rows = self._store.rows(
            "SELECT items.*, EXISTS (SELECT 1 FROM marks WHERE marks.item = items.item) AS has_marks FROM items "
            "WHERE person = ? AND kind != 'imported' ORDER BY mode = 'aided', position",
            (person,),
        )
        return [
            {
                "item": row["item"],
                "position": number,
                "state": _state_of(row),
                "kind": "second" if row["mode"] == "aided" else row["kind"],
            }
            for number, row in enumerate(rows, start=1)
        ]

    def describe(self, person: str, item: str) -> dict[str, Any]:
        """Return the state of an item, without the picture and the parts shown later."""
        return self.state(self.find(person, item))

    def state(self, row: sqlite3.Row) -> dict[str, Any]:
        """Return the state of an item from its row."""
        shown = "unaided" if row["phase"] == "unaided" or row["mode"] == "unaided" else "aided"
        marks = self._store.rows(
            f"SELECT mark AS id, {', '.join(MARK_COLUMNS)} FROM marks WHERE item = ? AND phase = ? ORDER BY rowid",
            (row["item"], shown),
        )
        return {
            **{name: row[name] for name in ("item", "kind", "phase", "version", "comment")},
            "marks": [dict(mark) for mark in marks],
            "nothing": bool(row[CLEAR[shown]]),
        }

    def open(self, person: str, item: str) -> None:
        """Record that an item was opened for the first time."""
        if self.find(person, item)["opened"] is None:
            query = "UPDATE items SET opened = ? WHERE item = ? AND opened IS NULL"
            self._store.change(query, (timestamp(), item))

    def do(self, act: Act) -> dict[str, Any]:
        """Perform an act on an open item if the page has its current version; the version increases by one.

        Reports of time may come late and do not change the version.
        """

        def work(database: sqlite3.Connection) -> dict[str, Any]:
            row = _check_turn(database.execute(OWN_ITEM, (act.item, act.person)).fetchall())
            if act.what == "time":
                _add_time(database, act, row)
                return {"version": row["version"]}
            if row["phase"] == "done":
                raise RefusalError("this image is finished and cannot be changed", "locked", 409)
            known = act.body.get("version")
            if known is not None and read_whole(act.body, "version", LARGEST_VERSION) != row["version"]:
                raise RefusalError("this image was changed elsewhere", "moved", 409)
            if act.what == "mark":
                self._put_mark(database, act, row)
            else:
                WORKS[act.what](database, act, row)
            _update(database, act.item, version=row["version"] + 1)
            return {"version": row["version"] + 1}

        answer = self._store.do_once(act, work)
        if act.what in ("lock", "finish"):
            self._store.checkpoint()
        return answer

    def _put_mark(self, database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
        """Draw or change a mark; this withdraws "nothing suspicious"."""
        facts = self._pictures.facts(row["kind"], row["image_id"])
        values = check_mark(act.body, facts["width"], facts["height"], self._labels)
        mark = check_id(act.body["mark"], "the id of a mark")
        present = _find_mark(database, row, mark)
        if present is None:
            _refuse_too_many(database, row)
            present = {"origin": "drawn", "detection": None}
        _insert_mark(database, row, mark, {**values, **present})
        _update(database, act.item, **{CLEAR[row["phase"]]: 0})


def _find_mark(database: sqlite3.Connection, row: sqlite3.Row, mark: str) -> Any:
    """Origin and detection of a mark in the current phase of an item; None if the mark does not exist."""
    query = "SELECT origin, detection FROM marks WHERE item = ? AND phase = ? AND mark = ?"
    return database.execute(query, (row["item"], row["phase"], mark)).fetchone()


def _delete_mark(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Delete a mark; if it came from a detection, that detection becomes undecided."""
    mark = check_id(act.body["mark"], "the id of a mark")
    found = _find_mark(database, row, mark)
    if found is None:
        raise RefusalError("this mark does not exist", "unknown", 404)
    query = "DELETE FROM marks WHERE item = ? AND phase = ? AND mark = ?"
    database.execute(query, (act.item, row["phase"], mark))
    database.execute("DELETE FROM decisions WHERE item = ? AND detection = ?", (act.item, found["detection"]))


def _say_nothing(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Record or withdraw that there is nothing suspicious."""
    on = read_flag(act.body, "on")
    if on and _count_marks(database, row):
        raise RefusalError("this image has marks; delete them first")
    _update(database, act.item, **{CLEAR[row["phase"]]: int(on)})


def _put_comment(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Store a comment on the image."""
    _update(database, act.item, comment=read_text(act.body, "comment"))


def _add_time(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Add time spent on the image, and separately the pauses."""
    # Time that arrives after the image is finished belongs to its last phase.
    prefix = "aided_" if row["mode"] != "unaided" and row["phase"] != "unaided" else ""
    for name in ("active_ms", "paused_ms"):
        total = row[prefix + name] + read_whole(act.body, name, LARGEST_MS)
        _update(database, act.item, **{prefix + name: total})


def _lock(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Lock the unaided reading; with a detector, the aided one starts with the same marks."""
    if row["phase"] != "unaided":
        raise RefusalError("this reading is already locked", "locked", 409)
    _refuse_unsaid(database, row)
    now = timestamp()
    if row["mode"] != "sequential":
        _update(database, act.item, phase="done", locked=now, finished=now)
        return
    columns = ", ".join(MARK_COLUMNS)
    database.execute(
        f"INSERT INTO marks (item, phase, mark, {columns}) SELECT item, 'aided', mark, {columns} "
        "FROM marks WHERE item = ? AND phase = 'unaided'",
        (act.item,),
    )
    _update(database, act.item, phase="aided", locked=now, aided_clear=row["clear"])


def _finish(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Finish the aided reading if all detections are decided."""
    if row["phase"] != "aided":
        raise RefusalError("the reading with the detector has not started", "phase", 409)
    query = (
        "SELECT count(*) FROM detections WHERE image_id = ? AND detection NOT IN "
        "(SELECT detection FROM decisions WHERE item = ?)"
    )
    (open_ones,) = database.execute(query, (row["image_id"], act.item)).fetchone()
    if open_ones:
        raise RefusalError(f"{open_ones} of the detector's marks are not decided yet", "undecided")
    _refuse_unsaid(database, row)
    _update(database, act.item, phase="done", finished=timestamp())


def _decide(database: sqlite3.Connection, act: Act, row: sqlite3.Row) -> None:
    """Accept one of the detector's marks, which becomes the reader's mark, or dismiss it with a reason."""
    decision, reason = act.body.get("decision"), read_text(act.body, "reason")
    if decision not in ("accept", "dismiss"):
        raise RefusalError("decision: give accept or dismiss")
    mark = check_id(act.body.get("mark") or act.op, "the id of a mark")
    if row["phase"] != "aided":
        raise RefusalError("the detector's marks are shown after the reading is locked", "phase", 409)
    query = "SELECT x, y, rx, ry, angle, detection FROM detections WHERE image_id = ? AND detection = ?"
    found = database.execute(query, (row["image_id"], act.body["detection"])).fetchone()
    if found is None:
        raise RefusalError("the detector has no such mark", "unknown", 404)
    query = "DELETE FROM marks WHERE item = ? AND phase = 'aided' AND detection = ?"
    database.execute(query, (act.item, found["detection"]))
    if decision == "accept":
        _refuse_too_many(database, row)
        if _find_mark(database, row, mark) is not None:
            raise RefusalError("another mark has this id")
        values = {"confidence": read_confidence(act.body), "label": None, "comment": "", "origin": "accepted"}
        _insert_mark(database, row, mark, {**dict(found), **values})
        _update(database, act.item, aided_clear=0)
    kept = (act.item, found["detection"], decision, reason)
    database.execute("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?)", kept)


WORKS: dict[str, Callable[[sqlite3.Connection, Act, sqlite3.Row], None]] = {
    "delete": _delete_mark,
    "nothing": _say_nothing,
    "comment": _put_comment,
    "lock": _lock,
    "decide": _decide,
    "finish": _finish,
}


def _check_turn(rows: list[Any]) -> sqlite3.Row:
    """Refuse another person's item, and an aided reading before all unaided ones are finished."""
    if not rows:
        raise RefusalError("this image is not on your list", "unknown", 404)
    (row,) = rows
    if row["mode"] == "aided" and row["n_before"]:
        left = "1 image is left" if row["n_before"] == 1 else f"{row['n_before']} images are left"
        raise RefusalError(f"finish the reading without the detector first; {left}", "later", 403)
    return row


def _state_of(row: sqlite3.Row) -> str:
    """Return the state of an item: open, begun, locked or done."""
    if row["phase"] == "done":
        return "done"
    if row["phase"] == "aided" and row["mode"] == "sequential":
        return "locked"
    begun = row["has_marks"] or row["clear"] or row["aided_clear"] or row["opened"] is not None
    return "begun" if begun else "open"


def _count_marks(database: sqlite3.Connection, row: sqlite3.Row) -> int:
    """Count the marks of the current phase."""
    query = "SELECT count(*) FROM marks WHERE item = ? AND phase = ?"
    return int(database.execute(query, (row["item"], row["phase"])).fetchone()[0])


def _refuse_too_many(database: sqlite3.Connection, row: sqlite3.Row) -> None:
    """Refuse a mark above the limit per image."""
    if _count_marks(database, row) >= LARGEST_MARKS:
        raise RefusalError(f"an image can have at most {LARGEST_MARKS} marks")


def _refuse_unsaid(database: sqlite3.Connection, row: sqlite3.Row) -> None:
    """Refuse to finish a reading that has neither marks nor "nothing suspicious"."""
    if not _count_marks(database, row) and not row[CLEAR[row["phase"]]]:
        raise RefusalError("draw a mark, or choose 'Nothing suspicious'", "unsaid")


def _insert_mark(
    database: sqlite3.Connection, row: sqlite3.Row, mark: str, values: Mapping[str, Any]
) -> None:
    """Write a mark of the current phase; one with the same id keeps its order."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in MARK_COLUMNS)
    places = ", ".join("?" * len(MARK_COLUMNS))
    database.execute(
        f"INSERT INTO marks (item, phase, mark, {', '.join(MARK_COLUMNS)}) VALUES (?, ?, ?, {places}) "
        f"ON CONFLICT (item, phase, mark) DO UPDATE SET {changes}",
        (row["item"], row["phase"], mark, *(values[name] for name in MARK_COLUMNS)),
    )


def _update(database: sqlite3.Connection, item: str, **values: Any) -> None:
    """Change columns of an item."""
    changes = ", ".join(f"{name} = ?" for name in values)
    database.execute(f"UPDATE items SET {changes} WHERE item = ?", (*values.values(), item))
