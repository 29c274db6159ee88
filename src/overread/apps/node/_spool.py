"""The folder of a node: received images, documents to send, and the journal of both.

::

    node.sqlite     the journal (`Ledger`) images/         one file for each unfinished image, named by its SOP instance
    UID documents/      reports and presentation states that are not sent yet lock            one node at a time

The journal of a node records the state of each image and document. Every change is on the device.

::

    received   stored on the device, waiting for the detector answered   its documents are written, waiting for the
    destination done       the destination has acknowledged all of them failed     with the reason; an image that is
    sent again is tried again
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
import warnings
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from io import BytesIO
from pathlib import Path

import pandas as pd
from pydicom import dcmread

from overread.errors import FormatError, StorageError
from overread.files import (
    Database,
    digest_of_bytes,
    open_regular,
    read_regular,
    real_path,
    write_atomically,
)

SCHEMA = 1
# Offset of the application id in the header of a SQLite file (sqlite.org/fileformat.html, section 1.3), and its value.
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
    """Entry of an image; ``tries``: 1 after its start, and 1 more for each separate process that died on it."""

    sop_uid: str
    study_uid: str
    sha256: str
    state: str
    tries: int
    reason: str


@dataclass(frozen=True)
class NodeAnswer:
    """A document that waits for the destination: its UID, file, image, and how often it was refused."""

    uid: str
    file: str
    sop_uid: str
    tries: int


class Ledger(Database):
    """Private SQLite file with a write-ahead log; several threads may use it, and other processes read it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        _refuse_links(path)
        if not read_only and not path.exists():
            with suppress(FileExistsError):  # another process made it just now
                write_atomically(path, _empty_journal(), exclusive=True, mode=0o600)
        _refuse_foreign_files(path)
        place = f"{real_path(path).as_uri()}?mode={'ro' if read_only else 'rw'}"
        self._open(path, place, "a node's journal", is_uri=True)
        with self._naming_the_file():
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if version != SCHEMA:
                self._connection.close()
                raise FormatError(
                    f"{path}: a journal of version {version}; this Overread reads version {SCHEMA}"
                )
            if not read_only:
                self._prepare_to_write()

    def find(self, sop_uid: str) -> ImageEntry | None:
        """Look up an image."""
        return self._image("sop_uid = ?", sop_uid)

    def next_received(self) -> ImageEntry | None:
        """Image that waits longest for the detector; images on which a process died come last."""
        return self._image("state = 'received' ORDER BY tries, received, sop_uid LIMIT 1")

    def _image(self, condition: str, *values: str) -> ImageEntry | None:
        query = f"SELECT sop_uid, study_uid, sha256, state, tries, reason FROM images WHERE {condition}"
        found = self.rows(query, values)
        return ImageEntry(*found[0]) if found else None

    def receive(self, sop_uid: str, study_uid: str, sha256: str, sender: str) -> None:
        """Record a stored image; a failed one starts again."""
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
        """Record the start of work on an image, so that unfinished work is recognized later."""
        self.rows("UPDATE images SET tries = max(tries, 1) WHERE sop_uid = ?", (sop_uid,))

    def count_death(self, sop_uid: str) -> int:
        """Record that a separate process died on this image; return the number of deaths."""
        with self.transaction() as database:
            database.execute("UPDATE images SET tries = tries + 1 WHERE sop_uid = ?", (sop_uid,))
            row = database.execute("SELECT tries FROM images WHERE sop_uid = ?", (sop_uid,)).fetchone()
        return int(row[0]) - 1

    def wait_again(self, sop_uid: str) -> None:
        """Queue an image for the detector again, as if it had not been tried."""
        with self.transaction() as database:
            database.execute("DELETE FROM answers WHERE sop_uid = ? AND sent IS NULL", (sop_uid,))
            database.execute("UPDATE images SET state = 'received', tries = 0 WHERE sop_uid = ?", (sop_uid,))

    def answer(self, sop_uid: str, files: Iterable[Path], detections: int) -> None:
        """Record an image's written documents; a document that was sent is not sent again."""
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
            _finish_if_sent(database, sop_uid)

    def fail(self, sop_uid: str, reason: str) -> None:
        """Record that an image failed."""
        change = "UPDATE images SET state = 'failed', reason = ?, changed = ? WHERE sop_uid = ?"
        self.rows(change, (reason, timestamp(), sop_uid))

    def unsent(self, most: int) -> list[NodeAnswer]:
        """Documents that wait for the destination, in the order of their images, up to a number."""
        query = (
            "SELECT uid, file, sop_uid, answers.tries FROM answers JOIN images USING (sop_uid) "
            "WHERE sent IS NULL AND state = 'answered' ORDER BY received, sop_uid, answers.rowid LIMIT ?"
        )
        return [NodeAnswer(*row) for row in self.rows(query, (most,))]

    def mark_sent(self, answer: NodeAnswer) -> bool:
        """Record that a document was sent; return whether it was the last of its image."""
        with self.transaction() as database:
            database.execute("UPDATE answers SET sent = ? WHERE uid = ?", (timestamp(), answer.uid))
            return _finish_if_sent(database, answer.sop_uid)

    def refuse(self, answer: NodeAnswer, reason: str) -> int:
        """Record that the destination refused a document; return the number of refusals."""
        with self.transaction() as database:
            database.execute("UPDATE answers SET tries = tries + 1 WHERE uid = ?", (answer.uid,))
            database.execute("UPDATE images SET reason = ? WHERE sop_uid = ?", (reason, answer.sop_uid))
            row = database.execute("SELECT tries FROM answers WHERE uid = ?", (answer.uid,)).fetchone()
        return int(row[0])

    def files_of(self, sop_uid: str) -> list[str]:
        """Names of the documents of an image."""
        return [row[0] for row in self.rows("SELECT file FROM answers WHERE sop_uid = ?", (sop_uid,))]

    def worklist(self) -> pd.DataFrame:
        """Studies, the oldest first, with the numbers of images done, waiting and failed, and a reason."""
        with self._lock, self._naming_the_file():
            cursor = self._connection.execute(WORKLIST)
            names = [column[0] for column in cursor.description]
            return pd.DataFrame(map(tuple, cursor), columns=names)


def _empty_journal() -> bytes:
    """Bytes of an empty journal, so that a new file is complete and has the application id."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(TABLES)
        database.execute(f"PRAGMA user_version = {SCHEMA}")
        database.execute(f"PRAGMA application_id = {int.from_bytes(OURS, 'big')}")
        return bytes(database.serialize())


def _refuse_links(path: Path) -> None:
    """Refuse a journal that is a link: SQLite would write to its target."""
    for companion in COMPANIONS:
        file = path.with_name(path.name + companion)
        if file.is_symlink():
            raise StorageError(f"{file}: is a link. Remove it.")


def _refuse_foreign_files(path: Path) -> None:
    """Refuse another file by its first bytes: opening a database can change it."""
    try:
        with open_regular(path) as file:
            header = file.read(APPLICATION.stop)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if header[APPLICATION] != OURS:
        raise FormatError(f"{path}: is not a node's journal and was not changed. Give another --spool.")


def _finish_if_sent(database: sqlite3.Connection, sop_uid: str) -> bool:
    """Move an answered image to done if all its documents are sent; return whether it moved."""
    changed = database.execute(
        "UPDATE images SET state = 'done', reason = '', changed = ? WHERE sop_uid = ? AND state = 'answered' "
        "AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.sop_uid = images.sop_uid AND sent IS NULL)",
        (timestamp(), sop_uid),
    )
    return changed.rowcount == 1


def timestamp() -> str:
    """Return the current time in UTC, as text that sorts by time."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


# PS3.5 section 9: digits and dots, at most 64. It becomes a file name.
UID = re.compile(r"[0-9]+(\.[0-9]+)*")
LONGEST_UID = 64
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
PART_FILES = ".overread-*.part"
PREAMBLE = b"\0" * 128 + b"DICM"
# Space on the device that images must leave for work on them: SQLite's log grows to 4 MB before it is written back, an
# image's two documents have some 20 kB. The rest, set by judgement, is for other writers.
BYTES_TO_WORK = 64 * 2**20
# Offset of the length of the meta information: after the tag, type and length of (0002,0000).
META_LENGTH = slice(140, 144)


class StoreResult(Enum):
    """Result of receiving an image."""

    STORED = "stored"
    KNOWN = "is here already"
    CONFLICT = "other content under the same SOP instance UID"


class Spool:
    """A node's folder, created if needed and private to its owner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._images, self.documents = folder / "images", folder / "documents"
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            for place in (self._images, self.documents):
                if place.is_symlink():
                    raise StorageError(f"{place}: is a link out of the spool. Remove it.")
                place.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
                place.chmod(PRIVATE_FOLDER)
        except OSError as error:
            raise StorageError(f"{folder}: cannot write here: {error.strerror or error}") from error
        self.ledger = Ledger(folder / "node.sqlite")
        self._storing = threading.Lock()

    def close(self) -> None:
        """Close the journal."""
        self.ledger.close()

    def image_path(self, sop_uid: str) -> Path:
        """File of an image; an invalid UID is refused, so that a forged journal cannot lead out of the spool."""
        return self._images / f"{_check_uid(sop_uid)}.dcm"

    def document_path(self, name: str) -> Path:
        """File of a document; refused as in `image_path`."""
        return self.documents / f"{_check_uid(str(name).removesuffix('.dcm'))}.dcm"

    def store(self, meta: bytes, dataset: bytes, sop_uid: str, sender: str) -> StoreResult:
        """Store an image; when this returns, it is on the device and in the journal."""
        # One at a time, to limit the memory of copies.
        with self._storing:
            study_uid = _identify(meta, dataset, sop_uid)
            sha256 = digest_of_bytes(dataset)
            known = self.ledger.find(sop_uid)
            if known is not None and known.sha256 != sha256:
                return StoreResult.CONFLICT
            if known is not None and known.state != "failed":
                return StoreResult.KNOWN
            self._refuse_the_last_bytes(len(dataset))
            path, parts = self.image_path(sop_uid), (PREAMBLE, meta, dataset)
            write_atomically(path, parts, mode=PRIVATE_FILE, within=self._images)
            self.ledger.receive(sop_uid, study_uid, sha256, sender)
        return StoreResult.STORED

    def _refuse_the_last_bytes(self, size: int) -> None:
        """Refuse an image that would leave too little space to process the acknowledged ones."""
        free = _free_bytes(self.folder)
        if free < size + BYTES_TO_WORK:
            raise StorageError(
                f"{self.folder}: only {free >> 20} MB are free; an image must leave {BYTES_TO_WORK >> 20} MB"
            )

    def recover(self, *, keep_done: bool) -> None:
        """Clean up after a kill: remove half-written files and, unless kept, files of finished images.

        A complete image without an entry was never acknowledged, or the journal was lost; it is entered now.
        """
        for place in (self._images, self.documents):
            for part in place.glob(PART_FILES):
                part.unlink(missing_ok=True)
        for path in sorted(self._images.glob("*.dcm")):
            if path.is_symlink():
                continue  # a link, which the receiver did not write
            entry = self.ledger.find(path.stem)
            if entry is None:
                self._adopt(path)
            elif entry.state == "done" and not keep_done:
                self.discard(path.stem)

    def _adopt(self, path: Path) -> None:
        """Enter an existing image file; other files stay."""
        try:
            content = read_regular(path)
        except OSError:  # a pipe or a device, which the receiver did not write
            return
        end = META_LENGTH.stop + int.from_bytes(content[META_LENGTH], "little")
        meta, dataset = content[len(PREAMBLE) : end], content[end:]
        with suppress(FormatError):
            study_uid = _identify(meta, dataset, path.stem)
            self.ledger.receive(path.stem, study_uid, digest_of_bytes(dataset), "recovered")

    def discard(self, sop_uid: str) -> None:
        """Delete the files of a finished image; its journal entry stays."""
        for name in self.ledger.files_of(sop_uid):
            with suppress(FormatError, OSError):  # forged, or not a file
                self.document_path(name).unlink()
        with suppress(FormatError, OSError):
            self.image_path(sop_uid).unlink()


def _free_bytes(folder: Path) -> int:
    """Free bytes on the device of a folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(f"{folder}: free space cannot be read: {error.strerror or error}") from error


def _is_uid(uid: str) -> bool:
    return len(uid) <= LONGEST_UID and UID.fullmatch(uid) is not None


def _check_uid(uid: str) -> str:
    """Return a UID; refuse an invalid one."""
    if not _is_uid(uid):
        raise FormatError(f"{uid[:LONGEST_UID]!r} is not a UID")
    return uid


def _identify(meta: bytes, dataset: bytes, sop_uid: str) -> str:
    """Return the study UID of a data set after checking its instance UID."""
    tags = ["SOPInstanceUID", "StudyInstanceUID"]
    try:
        # pydicom's warnings would quote the file.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            header = dcmread(BytesIO(PREAMBLE + meta + dataset), stop_before_pixels=True, specific_tags=tags)
            own, study = (str(header.get(tag, "")) for tag in tags)
    except Exception as error:  # pydicom raises almost anything on damaged data
        raise FormatError(f"cannot be read as DICOM: {error}") from error
    for name, uid in (("SOPInstanceUID", sop_uid), ("StudyInstanceUID", study)):
        if not _is_uid(uid):
            raise FormatError(f"{name} is missing or not a UID")
    if own != sop_uid:
        raise FormatError("the data set and the message have different SOP instance UIDs")
    return study
