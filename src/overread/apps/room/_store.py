"""The store of a reading room, one SQLite file with people, worklists, marks and an append-only log."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from overread.errors import DataWarning, FormatError, InvalidInputError
from overread.files import Database

ROOM_FILE = "reading/room.sqlite"
"""Path of the store in the study's folder."""

# Columns of an ellipse in pixels, as in the page.
ELLIPSE = ("x", "y", "rx", "ry", "angle")
VERSION = 1
# Marks files without a write-ahead log after closing, unlike those of version 0.2.
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
    """An act that is refused, with the message for the reader's page.

    Parameters
    ----------
    message
        For people.
    code
        For the page: ``"moved"``, ``"locked"``, ``"value"``, ...
    status
        Of the HTTP answer.

    Attributes
    ----------
    more
        Further fields of the answer.
    """

    def __init__(self, message: str, code: str = "value", status: int = 422) -> None:
        super().__init__(message)
        self.code, self.status = code, status
        self.more: dict[str, Any] = {}


@dataclass(frozen=True)
class Act:
    """One act of a person: its id, by which repetitions are recognized, and its content."""

    person: str
    op: str
    what: str
    item: str
    body: Mapping[str, Any]

    @property
    def request(self) -> str:
        """Digest of the content, without the version that the page had."""
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
            raise FormatError(f"{path}: is damaged or incomplete: {damage}. Restore the file from a backup.")
        if known and lost:
            with self.transaction() as database:
                log_event(database, "without its write-ahead log")
            warnings.warn(
                f"{path}: was not closed, and {path.name}-wal is missing; or it was copied while the room "
                "was open. All locked readings are here; changes after the last lock may be lost",
                DataWarning,
                stacklevel=3,
            )

    def close(self) -> None:
        """Close the file; the last process removes the write-ahead log, which shows that nothing is missing."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE")
        super().close()

    def change(self, query: str, values: Sequence[Any]) -> None:
        """Execute one statement in its own transaction."""
        with self.transaction() as database:
            database.execute(query, values)

    def do_once(self, act: Act, work: Callable[[sqlite3.Connection], dict[str, Any]]) -> dict[str, Any]:
        """Perform an act and log it in one transaction; a repeated act returns its first answer."""
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
            done = (act.person, act.op, act.request, json.dumps(answer))
            database.execute("INSERT INTO acts VALUES (?, ?, ?, ?)", done)
            _log(database, act)
            return answer

    def setting(self, name: str) -> Any:
        """Value of a setting; None if it was never set."""
        found = self.rows("SELECT value FROM settings WHERE name = ?", (name,))
        return json.loads(found[0]["value"]) if found else None

    def set_setting(self, name: str, value: Any) -> None:
        """Store a setting and log the change."""
        if self.setting(name) == value:
            return
        with self.transaction() as database:
            database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))
            log_event(database, "setting", body={name: value})

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add one or more rows with the same columns in one transaction; existing rows are replaced."""
        names = list(rows[0])
        places = ", ".join("?" * len(names))
        with self.transaction() as database:
            database.executemany(
                f"INSERT OR REPLACE INTO {table} ({', '.join(names)}) VALUES ({places})",
                [tuple(row[name] for name in names) for row in rows],
            )

    def spacings(self) -> dict[str, tuple[float, float]]:
        """Pixel size in mm (x, y) of each readable image."""
        rows = self.rows("SELECT image_id, mm_x, mm_y FROM pictures WHERE kind = 'reading'")
        return {image: (x, y) for image, x, y in rows}


def _refuse_torn(path: Path) -> bool:
    """Refuse a store with a missing part; as a new store, it would lose the rest too.

    Returns whether the file was left with a write-ahead log that is not there: the 19th byte of an SQLite file is 2
    while there is such a log, else 1 (https://www.sqlite.org/fileformat.html).
    """
    log = path.with_name(f"{path.name}-wal")
    if not path.exists():
        if log.exists():
            raise FormatError(
                f"{path}: is missing, but {log.name} exists. Restore the file to the same folder."
            )
        return False
    with path.open("rb") as file:
        head = file.read(19)
    if not head:
        raise FormatError(
            f"{path}: is empty: its content is lost. Restore a copy of the file. Delete it only if nobody ever had a "
            "link."
        )
    return not log.exists() and head[18:] == b"\x02"


def _log(database: sqlite3.Connection, act: Act) -> None:
    """Add a line to the log."""
    database.execute(
        "INSERT INTO log (at, person, what, item, op, body) VALUES (?, ?, ?, ?, ?, ?)",
        (timestamp(), act.person, act.what, act.item, act.op, json.dumps(dict(act.body), sort_keys=True)),
    )


def log_event(
    database: sqlite3.Connection, what: str, person: str = "", body: Mapping[str, Any] | None = None
) -> None:
    """Log an event that is not a reader's act."""
    _log(database, Act(person, "", what, "", body or {}))


def timestamp() -> str:
    """Return the current time in UTC, as text that sorts by time."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def digest_text(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


VALUES = (*ELLIPSE, "confidence", "label", "comment")
# Acts that do not increase the version of an item.
OTHER_ACTS = ("time", "adjudicate")


def find_damage(database: sqlite3.Connection) -> str | None:
    """Describe the damage of a store; None if there is none."""
    problem = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        return str(problem)
    lost = database.execute("PRAGMA foreign_key_check").fetchone()
    if lost is not None:
        return f"a row of {lost[0]} belongs to a missing row of {lost[2]}"
    try:
        return next(_compare_with_log(database), None)
    except (AttributeError, KeyError, TypeError, ValueError, sqlite3.OperationalError) as error:
        # Text that is not UTF-8, invalid JSON, or an act on a missing item.
        return f"a row cannot be read ({type(error).__name__}: {error})"


def _compare_with_log(database: sqlite3.Connection) -> Iterator[str]:
    """Replay the log, and yield the differences to the tables."""

    def rows(query: str) -> list[Any]:
        return database.execute(query).fetchall()

    told = Told(dict(rows("SELECT item, mode FROM items")))
    for what, person, item, op, body in rows("SELECT what, person, item, op, body FROM log ORDER BY number"):
        told.take(what, person, item, op, json.loads(body))
    versions = dict(rows("SELECT item, version FROM items"))
    for item in told.items - versions.keys():
        yield f"item {item} of a worklist is missing"
    for item, version in versions.items():
        if version != told.versions[item]:
            yield f"item {item} was changed {version} times, but {told.versions[item]} times in the log"
    settings = {name: json.loads(value) for name, value in rows("SELECT name, value FROM settings")}
    for expected, found in (
        (told.people, dict(rows("SELECT person, role FROM people"))),
        (told.settings, settings),
    ):
        for name, value in expected.items():
            if name not in found or found[name] != value:
                yield f"{name!r} differs from the log"
    yield from _compare_marks(rows("SELECT * FROM marks WHERE origin != 'imported'"), told.marks)
    for what, query in (
        ("marks", "SELECT count(*) FROM marks WHERE origin = 'imported'"),
        ("readings", "SELECT count(*) FROM items WHERE kind = 'imported'"),
    ):
        ((count,),) = rows(query)
        if told.imported.get(what, count) != count:
            yield f"{count} of {told.imported[what]} imported {what} remain"
    for query, decided in (
        ("SELECT item, detection, decision FROM decisions", told.decisions),
        ("SELECT object, person, decision FROM adjudications", told.adjudications),
    ):
        if {(name, other): decision for name, other, decision in rows(query)} != decided:
            yield "the decisions differ from the log"


# Marks by item and phase, then by their id.
Marks = defaultdict[tuple[str, str], dict[str, dict[str, Any]]]


def _compare_marks(rows: Iterable[Any], told: Marks) -> Iterator[str]:
    """Yield the marks that are missing or were changed."""
    found: Marks = defaultdict(dict)
    for row in rows:
        found[row["item"], row["phase"]][row["mark"]] = dict(row)
    for place in found.keys() | told.keys():
        there, expected = found[place], told[place]
        if len(there) != len(expected):
            yield f"item {place[0]} has {len(there)} marks, but {len(expected)} in the log"
        for mark, values in expected.items():
            if any(there.get(mark, {}).get(name, ...) != value for name, value in values.items()):
                yield f"mark {mark} of item {place[0]} differs from the log"


class Told:
    """The state according to the log; the lock of a sequential item starts a second reading with its marks."""

    def __init__(self, modes: dict[str, str]) -> None:
        self._modes = modes
        self._phases = {item: "aided" for item, mode in modes.items() if mode == "aided"}
        self._accepted: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.items: set[str] = set()
        self.people: dict[str, str] = {}
        self.settings: dict[str, Any] = {}
        self.versions: Counter[str] = Counter()
        self.marks: Marks = defaultdict(dict)
        self.decisions: dict[tuple[str, str], str] = {}
        self.adjudications: dict[tuple[str, str], str] = {}
        self.imported: dict[str, int] = {}

    def take(self, what: str, person: str, item: str, op: str, body: dict[str, Any]) -> None:
        """Replay an act."""
        if item and what not in OTHER_ACTS:
            self.versions[item] += 1
        phase = self._phases.get(item, "unaided")
        marks, accepted = self.marks[item, phase], self._accepted[item]
        match what:
            case "worklist":
                self.items.update(body["items"])
            case "link":
                self.people[person] = body["role"]
            case "setting":
                self.settings |= body
            case "import":
                self.imported = body
            case "adjudicate":
                self.adjudications[item, person] = body["decision"]
            case "mark":
                values = {name: body.get(name) for name in VALUES}
                marks[body["mark"]] = values | {"comment": body.get("comment") or ""}
            case "delete":
                del marks[body["mark"]]
                for detection in [one for one, mark in accepted.items() if mark == body["mark"]]:
                    del accepted[detection], self.decisions[item, detection]
            case "decide":
                marks.pop(accepted.pop(body["detection"], ""), None)
                self.decisions[item, body["detection"]] = body["decision"]
                if body["decision"] == "accept":
                    mark = accepted[body["detection"]] = body.get("mark") or op
                    # Its position is the detector's, which is not in the log.
                    marks[mark] = {"confidence": body.get("confidence"), "label": None, "comment": ""}
            case "lock" if self._modes.get(item) == "sequential":
                self._phases[item] = "aided"
                self.marks[item, "aided"] = dict(marks)
