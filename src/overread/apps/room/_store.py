"""All that happens in a reading room, in one SQLite file: people, worklists, marks, and a log that only grows."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from overread.errors import DataWarning, FormatError, InvalidInputError
from overread.files import Database

ROOM_FILE = "reading/room.sqlite"
"""Path of the store in the study's folder."""

VERSION = 1
# Says that the file is left without a write-ahead log when the room is closed, as rooms of version 0.2 were not.
ROOM = int.from_bytes(b"ovrd", "big")
TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)

CREATE TABLE people (
    person TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('reader', 'owner', 'chair')), secret TEXT UNIQUE,
    created TEXT NOT NULL, revoked TEXT
)

CREATE TABLE sessions (
    token TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people, created TEXT NOT NULL, seen TEXT NOT NULL
)

CREATE TABLE pictures (
    kind TEXT NOT NULL, image_id TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
    channels INTEGER NOT NULL, bits INTEGER NOT NULL, mm_x REAL NOT NULL, mm_y REAL NOT NULL,
    window_center REAL NOT NULL, window_width REAL NOT NULL, inverted INTEGER NOT NULL, left_side TEXT NOT NULL,
    right_side TEXT NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (kind, image_id)
)

CREATE TABLE items (
    item TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people, image_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('training', 'reading', 'imported')),
    mode TEXT NOT NULL CHECK (mode IN ('unaided', 'sequential', 'aided')),
    presentation INTEGER NOT NULL, position INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('unaided', 'aided', 'done')), version INTEGER NOT NULL DEFAULT 0,
    clear INTEGER NOT NULL DEFAULT 0, aided_clear INTEGER NOT NULL DEFAULT 0, comment TEXT NOT NULL DEFAULT '',
    active_ms INTEGER NOT NULL DEFAULT 0, paused_ms INTEGER NOT NULL DEFAULT 0,
    aided_active_ms INTEGER NOT NULL DEFAULT 0, aided_paused_ms INTEGER NOT NULL DEFAULT 0,
    opened TEXT, locked TEXT, finished TEXT,
    UNIQUE (person, kind, image_id, mode, presentation)
)

CREATE INDEX items_by_person ON items (person, position)

CREATE INDEX items_by_image ON items (image_id)

CREATE TABLE marks (
    item TEXT NOT NULL REFERENCES items, phase TEXT NOT NULL CHECK (phase IN ('unaided', 'aided')),
    mark TEXT NOT NULL, x REAL NOT NULL, y REAL NOT NULL, rx REAL NOT NULL, ry REAL NOT NULL, angle REAL NOT NULL,
    confidence REAL, label TEXT, comment TEXT NOT NULL, origin TEXT NOT NULL, detection TEXT,
    PRIMARY KEY (item, phase, mark)
)

CREATE TABLE detections (
    image_id TEXT NOT NULL, detection TEXT NOT NULL, x REAL NOT NULL, y REAL NOT NULL, rx REAL NOT NULL,
    ry REAL NOT NULL, angle REAL NOT NULL, score REAL NOT NULL, probability REAL, PRIMARY KEY (image_id, detection)
)

CREATE TABLE detected (image_id TEXT PRIMARY KEY)

CREATE TABLE decisions (
    item TEXT NOT NULL REFERENCES items, detection TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('accept', 'dismiss')), reason TEXT NOT NULL,
    PRIMARY KEY (item, detection)
)

CREATE TABLE adjudications (
    object TEXT NOT NULL, person TEXT NOT NULL REFERENCES people, decision TEXT NOT NULL, label TEXT,
    comment TEXT NOT NULL, decided TEXT NOT NULL, PRIMARY KEY (object, person)
)

CREATE TABLE acts (
    person TEXT NOT NULL, op TEXT NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (person, op)
)

CREATE TABLE log (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, person TEXT NOT NULL, what TEXT NOT NULL,
    item TEXT NOT NULL, op TEXT NOT NULL, body TEXT NOT NULL
)

CREATE TRIGGER log_is_not_changed BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log only grows'); END

CREATE TRIGGER log_is_not_shortened BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log only grows'); END
"""


class RefusalError(InvalidInputError):
    """An act that cannot be done; what a reader's page shows of it.

    Parameters
    ----------
    message
        For people.
    code
        For the page: ``"moved"``, ``"locked"``, ``"value"``, ...
    status
        Of the HTTP answer.
    more
        Further fields of the answer.
    """

    def __init__(
        self, message: str, code: str = "value", status: int = 422, more: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.status, self.more = code, status, dict(more or {})


@dataclass(frozen=True)
class Act:
    """One act of a person: its id, by which a repeated one is told, and all that was asked."""

    person: str
    op: str
    what: str
    item: str
    body: Mapping[str, Any]

    @property
    def request(self) -> str:
        """Digest of what is asked; the version that the page believed in is no part of it."""
        asked = {name: value for name, value in self.body.items() if name != "version"}
        return digest_text(json.dumps([self.what, self.item, asked], sort_keys=True))


class Store(Database):
    """The store of one study's room."""

    def __init__(self, path: Path) -> None:
        lost = _refuse_torn(path)
        super().__init__(path, VERSION, TABLES, "a reading room")
        with self._lock, self._naming_the_file():
            self._connection.execute("BEGIN")
            known = self._connection.execute("PRAGMA application_id").fetchone()[0] == ROOM
            damage = find_damage(self._connection)
            self._connection.execute("COMMIT")
            if damage is None and not known:
                self._connection.execute(f"PRAGMA application_id = {ROOM}")
        if damage is not None:
            self.close()
            raise FormatError(f"{path}: is damaged or not complete: {damage} (put a backup of the file back)")
        if known and lost:
            self.note("", "without its write-ahead log")
            warnings.warn(
                f"{path}: was not closed, and {path.name}-wal is not beside it, or this is a copy made while the room "
                "was open: all readings that were locked are here, what was done after the last lock may be lost",
                DataWarning,
                stacklevel=3,
            )

    def close(self) -> None:
        """Let go of the file; who is the last leaves all in one file, which says that nothing is missing."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE")
        super().close()

    def do_once(self, act: Act, work: Callable[[sqlite3.Connection], dict[str, Any]]) -> dict[str, Any]:
        """Do an act and log it in one transaction; done before, give the answer that it got then."""
        with self.transaction() as database:
            found = database.execute(
                "SELECT request, answer FROM acts WHERE person = ? AND op = ?", (act.person, act.op)
            ).fetchone()
            if found is not None:
                if found["request"] != act.request:
                    raise RefusalError("this id was used for another act", "op")
                answer: dict[str, Any] = json.loads(found["answer"])
                return answer
            answer = work(database)
            database.execute(
                "INSERT INTO acts VALUES (?, ?, ?, ?)", (act.person, act.op, act.request, json.dumps(answer))
            )
            log_act(database, act)
            return answer

    def note(self, person: str, what: str, body: Mapping[str, Any] | None = None) -> None:
        """Log what happened outside of a reader's act."""
        with self.transaction() as database:
            log_act(database, Act(person, "", what, "", body or {}))

    def setting(self, name: str) -> Any:
        """Value of a setting, None where it was never set."""
        found = self.rows("SELECT value FROM settings WHERE name = ?", (name,))
        return json.loads(found[0]["value"]) if found else None

    def set_setting(self, name: str, value: Any) -> None:
        """Keep a setting; the log keeps the change."""
        if self.setting(name) == value:
            return
        with self.transaction() as database:
            database.execute(
                "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, json.dumps(value)),
            )
            log_act(database, Act("", "", "setting", "", {name: value}))

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows, all or none, each with the same columns; those that are there are replaced."""
        if not rows:
            return
        names = list(rows[0])
        places = ", ".join("?" * len(names))
        with self.transaction() as database:
            database.executemany(
                f"INSERT OR REPLACE INTO {table} ({', '.join(names)}) VALUES ({places})",
                [tuple(row[name] for name in names) for row in rows],
            )


def _refuse_torn(path: Path) -> bool:
    """Refuse a store of which a part is gone; taken as a new one, the rest would be lost as well.

    Returns whether the file was left with a write-ahead log that is not there: the 19th byte of an SQLite file is 2
    while there is such a log, else 1 (https://www.sqlite.org/fileformat.html).
    """
    log = path.with_name(f"{path.name}-wal")
    if not path.exists():
        if log.exists():
            raise FormatError(f"{path}: is not there, but {log.name} is (put the file back beside it)")
        return False
    with path.open("rb") as file:
        head = file.read(19)
    if not head:
        raise FormatError(
            f"{path}: is empty: what it held is lost (put a copy of the file back; only where nobody was ever given a "
            "link, delete it)"
        )
    return not log.exists() and head[18:] == b"\x02"


def log_act(database: sqlite3.Connection, act: Act) -> None:
    """Add a line to the log."""
    database.execute(
        "INSERT INTO log (at, person, what, item, op, body) VALUES (?, ?, ?, ?, ?, ?)",
        (timestamp(), act.person, act.what, act.item, act.op, json.dumps(dict(act.body), sort_keys=True)),
    )


def timestamp() -> str:
    """Now, in UTC, so that text sorts as time does."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def digest_text(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


VALUES = ("x", "y", "rx", "ry", "angle", "confidence", "label", "comment")
# Acts that do not move on the version of an item.
OTHER_ACTS = ("time", "adjudicate")
Mark = dict[str, Any]


def find_damage(database: sqlite3.Connection) -> str | None:
    """Say what is wrong with a store, None where nothing is."""
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
    """What the log says that there must be; the lock of a sequential item begins a second reading with its marks."""

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
