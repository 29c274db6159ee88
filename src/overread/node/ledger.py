"""The journal of a node: each image and each document, and how far it has come. Every change is on the device.

::

    received   stored on the device, waiting for the detector
    answered   its documents are written, waiting for the destination
    done       the destination has acknowledged all of them
    failed     given up, with the reason; the same image sent again is tried again
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from overread.errors import FormatError, StorageError
from overread.files.atomic import write_atomically
from overread.files.database import Database
from overread.files.regular import open_regular, real_path

__all__ = ["Answer", "ImageEntry", "Ledger"]

SCHEMA = 1
# Where the header of a SQLite file says whose it is (sqlite.org/fileformat.html, section 1.3), and our mark.
APPLICATION = slice(68, 72)
OURS = b"OvRd"
# SQLite's own companions of the file.
COMPANIONS = ("", "-wal", "-shm", "-journal")
TABLES = """
CREATE TABLE images (
    sop_uid TEXT PRIMARY KEY, study_uid TEXT NOT NULL, sha256 TEXT NOT NULL, sender TEXT NOT NULL,
    received TEXT NOT NULL, changed TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL, reason TEXT NOT NULL,
    detections INTEGER
);
CREATE INDEX images_by_state ON images (state, received);
CREATE TABLE answers (
    uid TEXT PRIMARY KEY, sop_uid TEXT NOT NULL REFERENCES images, file TEXT NOT NULL, tries INTEGER NOT NULL,
    sent TEXT
);
CREATE INDEX answers_by_image ON answers (sop_uid);
"""
WORKLIST = """
SELECT study_uid, count(*) AS images, sum(state = 'done') AS done, sum(state IN ('received', 'answered')) AS waiting,
    sum(state = 'failed') AS failed, coalesce(sum(detections), 0) AS detections, min(received) AS received,
    max(changed) AS changed, coalesce(max(CASE WHEN reason != '' THEN reason END), '') AS reason
FROM images GROUP BY study_uid ORDER BY min(received), study_uid
"""


@dataclass(frozen=True)
class ImageEntry:
    """What is known of an image; ``tries``: 1 once it was begun, 1 more for each process that died of it alone."""

    sop_uid: str
    study_uid: str
    sha256: str
    state: str
    tries: int
    reason: str


@dataclass(frozen=True)
class Answer:
    """A document that waits for the destination: its UID, file, image, and how often it was refused."""

    uid: str
    file: str
    sop_uid: str
    tries: int


class Ledger(Database):
    """SQLite file with a write-ahead log; safe to use from several threads, and to read from other processes.

    Parameters
    ----------
    path
        The file, made if need be; private to its owner.
    read_only
        Change nothing, and make nothing.

    Raises
    ------
    StorageError
        If the device refuses, or a link leads out of the file's folder.
    FormatError
        If it is not a node's journal, or of another version.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        refuse_links(path)
        if not read_only and not path.exists():
            with suppress(FileExistsError):  # somebody else made it just now
                write_atomically(path, empty_journal(), exclusive=True, mode=0o600)
        refuse_foreign_files(path)
        place = f"{real_path(path).as_uri()}?mode={'ro' if read_only else 'rw'}"
        self._open(path, place, "a node's journal", is_uri=True)
        with self._naming_the_file():
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if version != SCHEMA:
                self._connection.close()
                raise FormatError(f"{path}: a journal of version {version}; this one reads {SCHEMA}")
            if not read_only:
                self._prepare_to_write()

    def find(self, sop_uid: str) -> ImageEntry | None:
        """Look up an image."""
        found = self._images("sop_uid = ?", (sop_uid,))
        return found[0] if found else None

    def next_received(self) -> ImageEntry | None:
        """Image that waits longest for the detector; one during which a process died comes after all others."""
        found = self._images("state = 'received' ORDER BY tries, received, sop_uid LIMIT 1", ())
        return found[0] if found else None

    def _images(self, condition: str, values: Sequence[str]) -> list[ImageEntry]:
        query = f"SELECT sop_uid, study_uid, sha256, state, tries, reason FROM images WHERE {condition}"
        return [ImageEntry(*row) for row in self.rows(query, values)]

    def receive(self, sop_uid: str, study_uid: str, sha256: str, sender: str) -> None:
        """Note an image that is stored; one that had failed begins anew."""
        now = timestamp()
        with self.transaction() as database:
            database.execute(
                "DELETE FROM answers WHERE sop_uid = ? AND sent IS NULL AND 'failed' = "
                "(SELECT state FROM images WHERE images.sop_uid = answers.sop_uid)",
                (sop_uid,),
            )
            database.execute(
                "INSERT INTO images VALUES (?, ?, ?, ?, ?, ?, 'received', 0, '', NULL) ON CONFLICT (sop_uid) DO UPDATE "
                "SET state = 'received', tries = 0, reason = '', changed = excluded.changed WHERE state = 'failed'",
                (sop_uid, study_uid, sha256, sender, now, now),
            )

    def begin_work(self, sop_uid: str) -> None:
        """Note, before the work, that an image is worked on: where it still waits later, the work did not end."""
        with self.transaction() as database:
            database.execute("UPDATE images SET tries = max(tries, 1) WHERE sop_uid = ?", (sop_uid,))

    def count_death(self, sop_uid: str) -> int:
        """Note that a process that worked on nothing but this image died; return how often one did."""
        with self.transaction() as database:
            database.execute("UPDATE images SET tries = tries + 1 WHERE sop_uid = ?", (sop_uid,))
            row = database.execute("SELECT tries FROM images WHERE sop_uid = ?", (sop_uid,)).fetchone()
        return int(row[0]) - 1

    def wait_again(self, sop_uid: str) -> None:
        """Put an image back to where it waits for the detector, as if it had not been tried."""
        with self.transaction() as database:
            database.execute("DELETE FROM answers WHERE sop_uid = ? AND sent IS NULL", (sop_uid,))
            database.execute("UPDATE images SET state = 'received', tries = 0 WHERE sop_uid = ?", (sop_uid,))

    def answer(self, sop_uid: str, files: Iterable[Path], detections: int) -> None:
        """Note an image's documents, which are written; one that was sent before is not sent again."""
        with self.transaction() as database:
            database.executemany(
                "INSERT INTO answers VALUES (?, ?, ?, 0, NULL) ON CONFLICT (uid) DO NOTHING",
                [(path.stem, sop_uid, path.name) for path in files],
            )
            database.execute(
                "UPDATE images SET state = 'answered', tries = 0, reason = '', changed = ?, detections = ? "
                "WHERE sop_uid = ?",
                (timestamp(), detections, sop_uid),
            )
            finish_if_sent(database, sop_uid)

    def fail(self, sop_uid: str, reason: str) -> None:
        """Give an image up."""
        with self.transaction() as database:
            database.execute(
                "UPDATE images SET state = 'failed', reason = ?, changed = ? WHERE sop_uid = ?",
                (reason, timestamp(), sop_uid),
            )

    def unsent(self, most: int) -> list[Answer]:
        """Documents that wait for the destination, in the order of their images, at most so many."""
        query = (
            "SELECT uid, file, sop_uid, answers.tries FROM answers JOIN images USING (sop_uid) "
            "WHERE sent IS NULL AND state = 'answered' ORDER BY received, sop_uid, answers.rowid LIMIT ?"
        )
        return [Answer(*row) for row in self.rows(query, (most,))]

    def mark_sent(self, answer: Answer) -> bool:
        """Note that the destination has a document; return whether this was the last of its image."""
        with self.transaction() as database:
            database.execute("UPDATE answers SET sent = ? WHERE uid = ?", (timestamp(), answer.uid))
            return finish_if_sent(database, answer.sop_uid)

    def refuse(self, answer: Answer, reason: str) -> int:
        """Note that the destination refused a document; return how often it did."""
        with self.transaction() as database:
            database.execute("UPDATE answers SET tries = tries + 1 WHERE uid = ?", (answer.uid,))
            database.execute("UPDATE images SET reason = ? WHERE sop_uid = ?", (reason, answer.sop_uid))
            row = database.execute("SELECT tries FROM answers WHERE uid = ?", (answer.uid,)).fetchone()
        return int(row[0])

    def files_of(self, sop_uid: str) -> list[str]:
        """Names of the documents of an image."""
        return [row[0] for row in self.rows("SELECT file FROM answers WHERE sop_uid = ?", (sop_uid,))]

    def count_waiting(self) -> int:
        """Count the images that are neither done nor failed."""
        return len(self._images("state IN ('received', 'answered')", ()))

    def worklist(self) -> pd.DataFrame:
        """Studies, the oldest first, with how many of their images are done, waiting and failed, and a reason."""
        with self._lock, self._naming_the_file():
            cursor = self._connection.execute(WORKLIST)
            names = [column[0] for column in cursor.description]
            return pd.DataFrame([tuple(row) for row in cursor.fetchall()], columns=names)


def empty_journal() -> bytes:
    """Bytes of a journal without entries: a file that is there is whole, and says whose it is."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(TABLES)
        database.execute(f"PRAGMA user_version = {SCHEMA}")
        database.execute(f"PRAGMA application_id = {int.from_bytes(OURS, 'big')}")
        return bytes(database.serialize())


def refuse_links(path: Path) -> None:
    """Refuse a journal that is somewhere else: SQLite would write there."""
    for companion in COMPANIONS:
        file = path.with_name(path.name + companion)
        if file.is_symlink():
            raise StorageError(f"{file}: is a link, which a journal must not be (take it away)")


def refuse_foreign_files(path: Path) -> None:
    """Refuse a file that is not ours by its first bytes: opening a database can change it."""
    try:
        with open_regular(path) as file:
            header = file.read(APPLICATION.stop)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if header[APPLICATION] != OURS:
        raise FormatError(f"{path}: is not a node's journal; it stays as it is (give another --spool)")


def finish_if_sent(database: sqlite3.Connection, sop_uid: str) -> bool:
    """Move an answered image to done when nothing of it waits for the destination; return whether it moved."""
    changed = database.execute(
        "UPDATE images SET state = 'done', reason = '', changed = ? WHERE sop_uid = ? AND state = 'answered' "
        "AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.sop_uid = images.sop_uid AND sent IS NULL)",
        (timestamp(), sop_uid),
    )
    return changed.rowcount == 1


def timestamp() -> str:
    """Now, in UTC, so that text sorts as time does."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
