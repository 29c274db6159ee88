"""What was done so far: a file that only grows, so that work which was stopped can be taken up again.

Its first line says what was asked for; under another request it tells nothing, and begins again when something is
added. Each other line is one entry, ``{"key": ..., "value": ..., "sha256": ...}``, written and flushed to the device
when its work is in place. A kill can cut the last line short; from the first line that is damaged on, nothing counts,
and that work is done again. One process at a time writes in a folder: `folder_lock`.
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
except ModuleNotFoundError:  # Windows; refused when a lock is asked for, not when the package is imported
    fcntl = None  # type: ignore[assignment]

# Of a disk or a network drive that fails for a moment.
DEVICE_FAULTS = {errno.EIO, errno.ESTALE, errno.ETIMEDOUT}
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


class Journal:
    """Values by their keys, in a file that only grows; a context, which closes it.

    Nothing is written before the first entry.

    Parameters
    ----------
    path
        The file, which need not exist; its folder must when the first entry is added.
    asked
        All that the values depend on besides their keys, as text.
    lock
        File beside it that is locked as long as it is written, and what to tell who comes second; None: the caller
        sees to it that nobody does.
    """

    def __init__(self, path: Path, asked: str = "", *, lock: tuple[str, str] | None = None) -> None:
        self.path = path
        self._head = json.dumps({"journal": 1, "asked": asked}).encode() + b"\n"
        self._lock = lock
        self._stack = ExitStack()
        self._handle: int | None = None

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Key and value of each whole entry, in their order, read one after the other."""
        for key, value, _ in self._read():
            yield key, value

    def _read(self) -> Iterator[tuple[str, Any, int]]:
        """Whole entries with the place where their line ends."""
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
            # A device that fails must not cost the entries behind the place.
            if error.errno in DEVICE_FAULTS:
                raise StorageError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def resume(self, is_good: Callable[[str, Any], bool] = lambda _key, _value: True) -> int:
        """Open the file to add to it; return the number of entries that stay: those before the first bad one."""
        if self._lock is not None:
            self._stack.enter_context(folder_lock(self.path.parent, *self._lock))
        count, kept = 0, 0
        for key, value, end in self._read():
            if not is_good(key, value):
                break
            count, kept = count + 1, end
        try:
            # Without waiting, as a pipe in the file's place would hang the run, and without following a link, which a
            # stranger may have put there.
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
        """Keep plain JSON values; when this returns, they are on the device."""
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
        """Let go of the file; it stays."""
        self._handle = None
        self._stack.close()

    def remove(self) -> None:
        """Take the file away: what it told is written elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_line(line: bytes) -> tuple[str, Any] | None:
    """Key and value of a line; None where it is cut or damaged."""
    try:
        document = json.loads(line)
        key, value = document["key"], document["value"]
        is_whole = line.endswith(b"\n") and document["sha256"] == digest_of_value([key, value])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (key, value) if is_whole and isinstance(key, str) else None
