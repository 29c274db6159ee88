"""What was done so far: a file that only grows, so that work which was stopped can be taken up again.

A line is written and flushed to the device when its work is in place. A kill can cut the last line short; it is then
no line, and its work is done again.

One process at a time in a folder.

What a detector found so far, kept beside the results, so that work which was stopped is taken up again.

The first line says what was asked for: another detector, operating point or version begins anew. Each other line is
one image, written when all of its results are in place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from overread.errors import FormatError, LockedError, StorageError
from overread.files._digests import digest_of_value
from overread.files._json import parse_json
from overread.files._regular import open_regular


class Journal:
    """Lines of a file; ``with journal.open()`` adds to them.

    Parameters
    ----------
    path
        The file, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def lines(self) -> Iterator[bytes]:
        """Whole lines, without their ends; none where there is no file that can be read."""
        try:
            with open_regular(self.path) as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield line[:-1]
        except OSError:
            return

    def open(self, *, kept: int = 0) -> Self:
        """Open the file for adding lines after its first ``kept`` bytes; what follows them is dropped."""
        try:
            # Without waiting, as a pipe in the file's place would hang the run, and without following a link, which a
            # stranger may have put there.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
            self._handle = os.open(self.path, flags, 0o644)
            os.ftruncate(self._handle, kept)
        except OSError as error:
            self.close()
            raise StorageError(f"{self.path}: not written: {error.strerror or error}") from error
        return self

    def close(self) -> None:
        """Let go of the file; it stays."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, line: bytes) -> None:
        """Write a line, which has no end yet, and wait until it is on the device."""
        assert self._handle is not None
        rest = line + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
            os.fsync(self._handle)
        except OSError as error:
            raise StorageError(f"{self.path}: not written: {error.strerror or error}") from error

    def remove(self) -> None:
        """Take the file away: what it told is written elsewhere."""
        self.path.unlink(missing_ok=True)


try:
    import fcntl
except ModuleNotFoundError:  # Windows; refused when a lock is asked for, not when the package is imported
    fcntl = None  # type: ignore[assignment]


RUN_IS_HELD = "another run works here (process {holder}); wait for it, or give another --name"


@contextmanager
def folder_lock(folder: Path, file: str, refusal: str) -> Iterator[None]:
    """Hold a folder's lock; the system lets go of it when the process ends, however it ends.

    The file stays; a lock left by a dead process is therefore taken over without a question.

    Parameters
    ----------
    folder
        What is locked.
    file
        Path of the lock in the folder.
    refusal
        What to tell who comes second. Where it says ``{holder}``, the file keeps the process number of its last
        holder.

    Raises
    ------
    LockedError
        If another process holds it.
    StorageError
        If there can be no lock, because of the folder or because the system has none.
    """
    path = folder / file
    if fcntl is None:
        raise StorageError(f"{path}: cannot be locked: this system has no flock (Linux and macOS have it)")
    try:
        # A link is not followed: the file is emptied, and a stranger may have made the folder.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise StorageError(f"{path}: cannot write here: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            if "{holder}" in refusal:
                os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.read(handle, 20).decode("ascii", "replace").strip() or "unknown"
            raise LockedError(f"{folder}: {refusal.format(holder=holder)}") from None
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}") from error
        yield
    finally:
        os.close(handle)


def run_lock(folder: Path) -> AbstractContextManager[None]:
    """Hold the folder of a run, as `folder_lock` does."""
    return folder_lock(folder, "lock", RUN_IS_HELD)


LOCK_FILE = ".detections.lock"
IS_HELD = "another detection writes here (process {holder}); wait for it, or choose another folder"


class DetectionJournal:
    """Records of images by their keys; a context, within which they can be added to.

    Nothing is written before the first record.

    Parameters
    ----------
    path
        The file; its folder must exist when the first record is added.
    asked
        Digest of all that the results depend on besides the images.
    """

    def __init__(self, path: Path, asked: str) -> None:
        self._journal = Journal(path)
        self._head = json.dumps({"journal": "overread detect", "asked": asked}).encode()
        self._stack = ExitStack()
        self._is_open = False
        self._kept = 0
        self._records = self._read()

    def _read(self) -> dict[str, Mapping[str, Any]]:
        """Whole records under the same head; from the first damaged one on, all is forgotten."""
        records: dict[str, Mapping[str, Any]] = {}
        self._kept = 0
        for number, line in enumerate(self._journal.lines()):
            if number == 0:
                if line != self._head:
                    return {}
            else:
                try:
                    record = parse_json(line, "journal")
                    if record["sha256"] != digest_of_value(record["found"]):
                        break
                    records[record["key"]] = record["found"]
                except (FormatError, KeyError, TypeError):
                    break
            self._kept += len(line) + 1
        return records

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Record of an image, or None."""
        return self._records.get(key)

    def add(self, key: str, found: Mapping[str, Any]) -> None:
        """Keep a record; when this returns, it is on the device."""
        if not self._is_open:
            path = self._journal.path
            self._stack.enter_context(folder_lock(path.parent, LOCK_FILE, IS_HELD))
            # Now alone: what another process added in the meantime must not be cut off.
            self._records = self._read()
            self._stack.enter_context(self._journal.open(kept=self._kept))
            self._is_open = True
            if self._kept == 0:
                self._journal.append(self._head)
        record = {"key": key, "found": found, "sha256": digest_of_value(found)}
        self._journal.append(json.dumps(record, allow_nan=False).encode())
        self._records[key] = found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
