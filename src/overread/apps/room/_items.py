"""One presentation of an image to a reader: what it holds, and every act on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from overread.apps.room._store import Act, RefusalError, Store, timestamp
from overread.apps.room._values import (
    LARGEST_MARKS,
    check_id,
    check_mark,
    read_flag,
    read_ms,
    read_text,
    read_whole,
)

ItemRow = sqlite3.Row
LARGEST_VERSION = 2**31
MARK_COLUMNS = "x, y, rx, ry, angle, confidence, label, comment, origin, detection"
OWN_ITEM = (
    "SELECT items.*, (SELECT count(*) FROM items AS before WHERE before.person = items.person AND "
    "before.kind = 'reading' AND before.mode = 'unaided' AND before.phase != 'done') AS n_before "
    "FROM items WHERE item = ? AND person = ?"
)
NOT_YOURS = "there is no such image on your list"


class Items:
    """The acts of one study's readers.

    Parameters
    ----------
    store
        Where everything is kept.
    labels
        Labels that a mark may have.
    """

    def __init__(self, store: Store, labels: Sequence[str]) -> None:
        self._store, self._labels = store, tuple(labels)

    def find(self, person: str, item: str) -> ItemRow:
        """Look up an item of a person."""
        rows = self._store.rows(OWN_ITEM, (item, person))
        return _check_turn(rows[0] if rows else None)

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
                "phase": row["phase"],
            }
            for number, row in enumerate(rows, start=1)
        ]

    def progress(self, person: str) -> dict[str, int]:
        """Count a person's items, and those that are done."""
        row = self._store.rows(
            "SELECT count(*) AS total, coalesce(sum(phase = 'done'), 0) AS done FROM items "
            "WHERE person = ? AND kind != 'imported'",
            (person,),
        )[0]
        return {"done": row["done"], "total": row["total"]}

    def describe(self, person: str, item: str) -> dict[str, Any]:
        """Return the state of an item, without the picture and what is shown later."""
        return self.state(self.find(person, item))

    def state(self, row: ItemRow) -> dict[str, Any]:
        """Return the state of an item that was looked up."""
        shown = "unaided" if row["phase"] == "unaided" or row["mode"] == "unaided" else "aided"
        number = self._store.rows(
            "SELECT count(*) FROM items WHERE person = ? AND kind != 'imported' AND "
            "(mode = 'aided', position) <= (? = 'aided', ?)",
            (row["person"], row["mode"], row["position"]),
        )[0][0]
        return {
            "item": row["item"],
            "position": number,
            "kind": row["kind"],
            "phase": row["phase"],
            "version": row["version"],
            "marks": marks_of(self._store.rows, row["item"], shown),
            "nothing": bool(row[_clear_column(shown)]),
            "comment": row["comment"],
        }

    def open(self, person: str, item: str) -> None:
        """Note that an item was looked at for the first time."""
        if self.find(person, item)["opened"] is not None:
            return
        with self._store.transaction() as database:
            database.execute(
                "UPDATE items SET opened = ? WHERE item = ? AND opened IS NULL", (timestamp(), item)
            )

    def put_mark(self, act: Act, mark: str, size: tuple[int, int]) -> dict[str, Any]:
        """Draw a mark, or change it; it takes the place of "nothing suspicious"."""
        values = check_mark(act.body, *size, self._labels)
        mark_id = check_id(mark, "the id of a mark")

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            phase = row["phase"]
            present = database.execute(
                "SELECT origin, detection FROM marks WHERE item = ? AND phase = ? AND mark = ?",
                (act.item, phase, mark_id),
            ).fetchone()
            if present is None:
                _refuse_too_many(database, act.item, phase)
            origin = ("drawn", None) if present is None else (present["origin"], present["detection"])
            _insert_mark(
                database, act.item, phase, mark_id, {**values, "origin": origin[0], "detection": origin[1]}
            )
            database.execute(f"UPDATE items SET {_clear_column(phase)} = 0 WHERE item = ?", (act.item,))

        return self._change(act, work)

    def delete_mark(self, act: Act, mark: str) -> dict[str, Any]:
        """Take a mark away; one that came from a detection leaves that one undecided."""
        mark_id = check_id(mark, "the id of a mark")

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            place = (act.item, row["phase"], mark_id)
            found = database.execute(
                "SELECT detection FROM marks WHERE item = ? AND phase = ? AND mark = ?", place
            ).fetchone()
            if found is None:
                raise RefusalError("there is no such mark", "unknown", 404)
            database.execute("DELETE FROM marks WHERE item = ? AND phase = ? AND mark = ?", place)
            if found["detection"] is not None:
                database.execute(
                    "DELETE FROM decisions WHERE item = ? AND detection = ?", (act.item, found["detection"])
                )

        return self._change(act, work)

    def say_nothing(self, act: Act) -> dict[str, Any]:
        """Note, or take back, that there is nothing suspicious."""
        on = read_flag(act.body, "on")

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            if on and _count_marks(database, act.item, row["phase"]):
                raise RefusalError("there are marks; delete them first")
            column = _clear_column(row["phase"])
            database.execute(f"UPDATE items SET {column} = ? WHERE item = ?", (int(on), act.item))

        return self._change(act, work)

    def put_comment(self, act: Act) -> dict[str, Any]:
        """Keep a comment on the image."""
        text = read_text(act.body, "comment")

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            database.execute("UPDATE items SET comment = ? WHERE item = ?", (text, act.item))

        return self._change(act, work)

    def add_time(self, act: Act) -> dict[str, Any]:
        """Add what was spent on the image, and apart from it the pauses."""
        active, paused = read_ms(act.body, "active_ms"), read_ms(act.body, "paused_ms")

        def work(database: sqlite3.Connection) -> dict[str, Any]:
            row = _own_row(database, act)
            # Time that arrives late, after the image is done, belongs to its last phase.
            aided = row["mode"] != "unaided" and row["phase"] != "unaided"
            prefix = "aided_" if aided else ""
            database.execute(
                f"UPDATE items SET {prefix}active_ms = {prefix}active_ms + ?, "
                f"{prefix}paused_ms = {prefix}paused_ms + ? WHERE item = ?",
                (active, paused, act.item),
            )
            return {"version": row["version"]}

        return self._store.do_once(act, work)

    def lock(self, act: Act) -> dict[str, Any]:
        """End the unaided reading for good; with a detector, the aided one begins with the same marks."""

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            if row["phase"] != "unaided":
                raise RefusalError("is locked already", "locked", 409)
            _refuse_unsaid(database, row)
            now = timestamp()
            if row["mode"] == "sequential":
                database.execute(
                    f"INSERT INTO marks (item, phase, mark, {MARK_COLUMNS}) SELECT item, 'aided', mark, {MARK_COLUMNS} "
                    "FROM marks WHERE item = ? AND phase = 'unaided'",
                    (act.item,),
                )
                database.execute(
                    "UPDATE items SET phase = 'aided', locked = ?, aided_clear = clear WHERE item = ?",
                    (now, act.item),
                )
            else:
                database.execute(
                    "UPDATE items SET phase = 'done', locked = ?, finished = ? WHERE item = ?",
                    (now, now, act.item),
                )

        answer = self._change(act, work)
        self._store.checkpoint()
        return answer

    def finish(self, act: Act) -> dict[str, Any]:
        """End the aided reading, when each detection is decided."""

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            if row["phase"] != "aided":
                raise RefusalError("the reading with the detector has not begun", "phase", 409)
            open_ones = database.execute(
                "SELECT count(*) FROM detections WHERE image_id = ? AND detection NOT IN "
                "(SELECT detection FROM decisions WHERE item = ?)",
                (row["image_id"], act.item),
            ).fetchone()[0]
            if open_ones:
                raise RefusalError(f"{open_ones} of the detector's marks are not decided", "undecided")
            _refuse_unsaid(database, row)
            database.execute(
                "UPDATE items SET phase = 'done', finished = ? WHERE item = ?", (timestamp(), act.item)
            )

        answer = self._change(act, work)
        self._store.checkpoint()
        return answer

    def decide(self, act: Act, detection: str) -> dict[str, Any]:
        """Accept one of the detector's marks, which becomes a mark of the reader's, or dismiss it with a reason."""
        decision, reason = act.body.get("decision"), read_text(act.body, "reason")
        if decision not in ("accept", "dismiss"):
            raise RefusalError("decision: accept or dismiss")
        mark_id = check_id(act.body.get("mark") or act.op, "the id of a mark")

        def work(database: sqlite3.Connection, row: ItemRow) -> None:
            if row["phase"] != "aided":
                raise RefusalError("the detector's marks are shown after the reading is locked", "phase", 409)
            found = database.execute(
                "SELECT * FROM detections WHERE image_id = ? AND detection = ?", (row["image_id"], detection)
            ).fetchone()
            if found is None:
                raise RefusalError("there is no such mark of the detector", "unknown", 404)
            database.execute(
                "DELETE FROM marks WHERE item = ? AND phase = 'aided' AND detection = ?",
                (act.item, detection),
            )
            if decision == "accept":
                _refuse_too_many(database, act.item, "aided")
                if database.execute(
                    "SELECT 1 FROM marks WHERE item = ? AND phase = 'aided' AND mark = ?", (act.item, mark_id)
                ).fetchone():
                    raise RefusalError("there is another mark with this id")
                _insert_mark(database, act.item, "aided", mark_id, _accepted_mark(found, act.body))
                database.execute("UPDATE items SET aided_clear = 0 WHERE item = ?", (act.item,))
            database.execute(
                "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?)",
                (act.item, detection, decision, reason),
            )

        return self._change(act, work)

    def _change(self, act: Act, work: Any) -> dict[str, Any]:
        """Do an act on an item that is open and that the page knows as it is; the version moves on by one."""

        def inside(database: sqlite3.Connection) -> dict[str, Any]:
            row = _own_row(database, act)
            if row["phase"] == "done":
                raise RefusalError("this image is done and cannot be changed", "locked", 409)
            if act.body.get("version") is not None:
                known = read_whole(act.body, "version", LARGEST_VERSION)
                if known != row["version"]:
                    raise RefusalError("this image was changed elsewhere", "moved", 409)
            work(database, row)
            database.execute("UPDATE items SET version = version + 1 WHERE item = ?", (act.item,))
            return {"version": row["version"] + 1}

        return self._store.do_once(act, inside)


def _own_row(database: sqlite3.Connection, act: Act) -> ItemRow:
    """Look up the item of an act within its transaction."""
    return _check_turn(database.execute(OWN_ITEM, (act.item, act.person)).fetchone())


def _check_turn(row: ItemRow | None) -> ItemRow:
    """Refuse what is not the person's, and a reading with the detector before all those without it are done."""
    if row is None:
        raise RefusalError(NOT_YOURS, "unknown", 404)
    if row["mode"] == "aided" and row["n_before"]:
        left = "1 image is left" if row["n_before"] == 1 else f"{row['n_before']} images are left"
        raise RefusalError(f"comes after the reading without the detector; {left}", "later", 403)
    return row


def _state_of(row: ItemRow) -> str:
    """Say how far an item has come: open, begun, locked or done."""
    if row["phase"] == "done":
        return "done"
    if row["phase"] == "aided" and row["mode"] == "sequential":
        return "locked"
    begun = row["has_marks"] or row["clear"] or row["aided_clear"] or row["opened"] is not None
    return "begun" if begun else "open"


def _clear_column(phase: str) -> str:
    """Column that keeps "nothing suspicious" of a phase."""
    return "clear" if phase == "unaided" else "aided_clear"


def marks_of(rows: Any, item: str, phase: str) -> list[dict[str, Any]]:
    """Return the marks of a phase of an item, in the order in which they were drawn."""
    found = rows("SELECT * FROM marks WHERE item = ? AND phase = ? ORDER BY rowid", (item, phase))
    names = ("x", "y", "rx", "ry", "angle", "confidence", "label", "comment", "origin", "detection")
    return [{"id": row["mark"], **{name: row[name] for name in names}} for row in found]


def _count_marks(database: sqlite3.Connection, item: str, phase: str) -> int:
    """Count the marks of a phase."""
    query = "SELECT count(*) FROM marks WHERE item = ? AND phase = ?"
    return int(database.execute(query, (item, phase)).fetchone()[0])


def _refuse_too_many(database: sqlite3.Connection, item: str, phase: str) -> None:
    """Refuse one mark more than an image may have."""
    if _count_marks(database, item, phase) >= LARGEST_MARKS:
        raise RefusalError(f"an image can have {LARGEST_MARKS} marks at most")


def _refuse_unsaid(database: sqlite3.Connection, row: ItemRow) -> None:
    """Refuse to end a reading that has neither marks nor the word that there is nothing."""
    if not _count_marks(database, row["item"], row["phase"]) and not row[_clear_column(row["phase"])]:
        raise RefusalError("draw a mark, or say that there is nothing suspicious", "unsaid")


def _insert_mark(
    database: sqlite3.Connection, item: str, phase: str, mark: str, values: Mapping[str, Any]
) -> None:
    """Write a mark; one of the same id keeps its place in the order."""
    names = [name.strip() for name in MARK_COLUMNS.split(",")]
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    database.execute(
        f"INSERT INTO marks (item, phase, mark, {MARK_COLUMNS}) VALUES (?, ?, ?, {', '.join('?' * len(names))}) "
        f"ON CONFLICT (item, phase, mark) DO UPDATE SET {changes}",
        (item, phase, mark, *(values[name] for name in names)),
    )


def _accepted_mark(detection: sqlite3.Row, body: Mapping[str, Any]) -> dict[str, Any]:
    """Mark of the reader's that stands where the detector's does."""
    confidence = body.get("confidence")
    if confidence is not None and (type(confidence) not in (int, float) or not 0 <= confidence <= 100):
        raise RefusalError("confidence: a number from 0 to 100")
    values = {name: detection[name] for name in ("x", "y", "rx", "ry", "angle")}
    return {
        **values,
        "confidence": confidence,
        "label": None,
        "comment": "",
        "origin": "accepted",
        "detection": detection["detection"],
    }
