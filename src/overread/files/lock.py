"""One process at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from overread.errors import LockedError, StorageError

try:
    import fcntl
except ModuleNotFoundError:  # Windows; refused when a lock is asked for, not when the package is imported
    fcntl = None  # type: ignore[assignment]

__all__ = ["folder_lock", "run_lock"]

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
