"""An append-only file of finished work, so that stopped work can continue.

Its first line holds the request. Under another request it counts as empty, and starts again when an entry is added.
Each other line is one entry, ``{"key": ..., "value": ..., "sha256": ...}``, written and flushed to the device when its
work is finished. A kill can truncate the last line; lines from the first damaged one on are ignored, and their work is
repeated. One process at a time writes in a folder: `folder_lock`.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from overread.errors import LockedError, StorageError
from overread.files._digests import digest_of_value
from overread.files._regular import open_regular

try:
    import fcntl
except ModuleNotFoundError:  # Windows; refused when a lock is needed, not at import
    fcntl = None  # type: ignore[assignment]

# Errors of a disk or network drive that fails for a moment.
DEVICE_FAULTS = {errno.EIO, errno.ESTALE, errno.ETIMEDOUT}
RUN_IS_HELD = "another run uses this folder (process {holder}). Wait for it, or give another --name."


@contextmanager
def folder_lock(folder: Path, file: str, refusal: str) -> Iterator[None]:
    """Hold a folder's lock, which the system releases when the process ends.

    The file stays, and the lock of a dead process is taken over.

    Parameters
    ----------
    folder
        The folder to lock.
    file
        Path of the lock in the folder.
    refusal
        Message for a second process. If it contains ``{holder}``, the file keeps the id of the holding process.

    Raises
    ------
    LockedError
        If another process holds it.
    StorageError
        If the folder or the system does not allow locks.
    """
    path = folder / file
    if fcntl is None:
        raise StorageError(f"{path}: cannot be locked: this system has no flock (Linux and macOS have it)")
    try:
        # A link is not followed: the file is emptied, and the folder may be from an untrusted source.
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


class Journal:
    """Values by key in an append-only file; a context manager that closes it.

    Nothing is written before the first entry.

    Parameters
    ----------
    path
        The file, which need not exist; its folder must when the first entry is added.
    asked
        Everything besides the keys on which the values depend, as text.
    lock
        Lock file in the same folder, and the message for a second process; None: the caller prevents a second writer.
    """

    def __init__(self, path: Path, asked: str = "", *, lock: tuple[str, str] | None = None) -> None:
        self.path = path
        self._head = json.dumps({"journal": 1, "asked": asked}).encode() + b"\n"
        self._lock = lock
        self._stack = ExitStack()
        self._handle: int | None = None

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Iterate over key and value of each valid entry, in order."""
        for key, value, _ in self._read():
            yield key, value

    def _read(self) -> Iterator[tuple[str, Any, int]]:
        """Read valid entries with the position of their line's end."""
        end = 0
        try:
            with open_regular(self.path) as file:
                for line in file:
                    entry = _read_line(line) if end else None
                    if entry is None and line != self._head:
                        return
                    end += len(line)
                    if entry is not None:
                        yield *entry, end
        except OSError as error:
            # A failing device must not cost the entries after this position.
            if error.errno in DEVICE_FAULTS:
                raise StorageError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def resume(self, is_good: Callable[[str, Any], bool] = lambda _key, _value: True) -> int:
        """Open the file for appending; return the number of valid entries before the first bad one."""
        if self._lock is not None:
            self._stack.enter_context(folder_lock(self.path.parent, *self._lock))
        count, kept = 0, 0
        for key, value, end in self._read():
            if not is_good(key, value):
                break
            count, kept = count + 1, end
        try:
            # Without waiting, because a pipe of this name would hang the run, and without following a link, which may
            # come from an untrusted source.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
            self._handle = os.open(self.path, flags, 0o644)
            self._stack.callback(os.close, self._handle)
            os.ftruncate(self._handle, kept)
        except OSError as error:
            self.close()
            raise StorageError(f"{self.path}: not written: {error.strerror or error}") from error
        if not count:
            self._append(self._head)
        return count

    def add(self, key: str, value: Any) -> None:
        """Append plain JSON values; when this returns, they are on the device."""
        if self._handle is None:
            self.resume()
        document = {"key": key, "value": value, "sha256": digest_of_value([key, value])}
        self._append(json.dumps(document, allow_nan=False).encode() + b"\n")

    def _append(self, rest: bytes) -> None:
        assert self._handle is not None
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
            os.fsync(self._handle)
        except OSError as error:
            raise StorageError(f"{self.path}: not written: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        self._handle = None
        self._stack.close()

    def remove(self) -> None:
        """Remove the file, because its content was written elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_line(line: bytes) -> tuple[str, Any] | None:
    """Key and value of a line; None if it is truncated or damaged."""
    try:
        document = json.loads(line)
        key, value = document["key"], document["value"]
        is_whole = line.endswith(b"\n") and document["sha256"] == digest_of_value([key, value])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (key, value) if is_whole and isinstance(key, str) else None
