"""Whether a store still holds all that its log says was done: lost or damaged rows are named before they are used."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

VALUES = ("x", "y", "rx", "ry", "angle", "confidence", "label", "comment")
# Acts that do not move on the version of an item.
OTHER_ACTS = ("time", "adjudicate")
Mark = dict[str, Any]


def find_damage(database: sqlite3.Connection) -> str | None:
    """Say what is wrong with a store, None where nothing is.

    Parameters
    ----------
    database
        In a transaction, so that all is of one moment.
    """
    problem = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        return str(problem)
    lost = database.execute("PRAGMA foreign_key_check").fetchone()
    if lost is not None:
        return f"a row of {lost[0]} belongs to a row of {lost[2]} that is not there"
    try:
        return next(_compare_with_log(database), None)
    except (AttributeError, KeyError, TypeError, ValueError, sqlite3.OperationalError) as error:
        # Text that is not UTF-8, JSON that is none, or an act on what is not there.
        return f"a row cannot be read ({type(error).__name__}: {error})"


def _compare_with_log(database: sqlite3.Connection) -> Iterator[str]:
    """Do the acts of the log again, and say in which rows the tables differ."""
    items = {row["item"]: row for row in database.execute("SELECT item, mode, kind, version FROM items")}
    told = Told({item: row["mode"] for item, row in items.items()})
    for row in database.execute("SELECT person, what, item, op, body FROM log ORDER BY number"):
        told.take(row["person"], row["what"], row["item"], row["op"], json.loads(row["body"]))
    for item in told.items - items.keys():
        yield f"item {item} of a worklist is not there"
    for item, row in items.items():
        if row["version"] != told.versions[item]:
            yield f"item {item} was changed {row['version']} times, by the log {told.versions[item]} times"
    people = {row["person"]: row["role"] for row in database.execute("SELECT person, role FROM people")}
    settings = {row["name"]: json.loads(row["value"]) for row in database.execute("SELECT * FROM settings")}
    for expected, found in ((told.people, people), (told.settings, settings)):
        for name, value in expected.items():
            if name not in found or found[name] != value:
                yield f"{name!r} is not as the log has it"
    yield from _compare_marks(database, told)
    n_imported = sum(row["kind"] == "imported" for row in items.values())
    if told.n_imported not in (None, n_imported):
        yield f"{n_imported} of {told.n_imported} readings that were taken in are there"
    for query, decided in (
        ("SELECT item, detection, decision FROM decisions", told.decisions),
        ("SELECT object, person, decision FROM adjudications", told.adjudications),
    ):
        if {(row[0], row[1]): row[2] for row in database.execute(query)} != decided:
            yield "the decisions are not those of the log"


def _compare_marks(database: sqlite3.Connection, told: Told) -> Iterator[str]:
    """Say which marks are not there, or are not as they were drawn."""
    found: defaultdict[tuple[str, str], dict[str, Mark]] = defaultdict(dict)
    n_imported = 0
    for row in database.execute("SELECT * FROM marks"):
        if row["origin"] == "imported":
            n_imported += 1
        else:
            found[row["item"], row["phase"]][row["mark"]] = {name: row[name] for name in VALUES}
    if told.n_imported_marks not in (None, n_imported):
        yield f"{n_imported} of {told.n_imported_marks} marks that were taken in are there"
    for place in found.keys() | told.marks.keys():
        there, expected = found.get(place, {}), told.marks.get(place, {})
        if len(there) != len(expected):
            yield f"item {place[0]} has {len(there)} marks, by the log {len(expected)}"
        for mark, values in expected.items():
            if any(there.get(mark, {}).get(name, ...) != value for name, value in values.items()):
                yield f"mark {mark} of item {place[0]} is not as the log has it"


class Told:
    """What the log says that there must be.

    Parameters
    ----------
    modes
        Of the items: a lock of a sequential one begins a second reading with the same marks.
    """

    def __init__(self, modes: dict[str, str]) -> None:
        self._modes = modes
        self._phases = {item: "aided" for item, mode in modes.items() if mode == "aided"}
        self._accepted: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.items: set[str] = set()
        self.people: dict[str, str] = {}
        self.settings: dict[str, Any] = {}
        self.versions: Counter[str] = Counter()
        self.marks: defaultdict[tuple[str, str], dict[str, Mark]] = defaultdict(dict)
        self.decisions: dict[tuple[str, str], str] = {}
        self.adjudications: dict[tuple[str, str], str] = {}
        self.n_imported: int | None = None
        self.n_imported_marks: int | None = None

    def take(self, person: str, what: str, item: str, op: str, body: dict[str, Any]) -> None:
        """Do an act again."""
        if item and what not in OTHER_ACTS:
            self.versions[item] += 1
        if what == "worklist":
            self.items.update(body["items"])
        elif what == "link":
            self.people[person] = body["role"]
        elif what == "setting":
            self.settings |= body
        elif what == "import":
            self.n_imported, self.n_imported_marks = body["readings"], body["marks"]
        elif what == "adjudicate":
            self.adjudications[item, person] = body["decision"]
        else:
            self._read(what, item, op, body)

    def _read(self, what: str, item: str, op: str, body: dict[str, Any]) -> None:
        """Do an act of a reading again."""
        phase = self._phases.get(item, "unaided")
        marks = self.marks[item, phase]
        if what == "mark":
            marks[body["mark"]] = {name: body.get(name) for name in VALUES} | {
                "comment": body.get("comment") or ""
            }
        elif what == "delete":
            del marks[body["mark"]]
            accepted = self._accepted[item]
            for detection in [one for one, mark in accepted.items() if mark == body["mark"]]:
                del accepted[detection], self.decisions[item, detection]
        elif what == "decide":
            marks.pop(self._accepted[item].pop(body["detection"], ""), None)
            self.decisions[item, body["detection"]] = body["decision"]
            if body["decision"] == "accept":
                mark = self._accepted[item][body["detection"]] = body.get("mark") or op
                # Its place is the detector's, which the log does not have.
                marks[mark] = {"confidence": body.get("confidence"), "label": None, "comment": ""}
        elif what == "lock" and self._modes.get(item) == "sequential":
            self._phases[item] = "aided"
            self.marks[item, "aided"] = dict(marks)
