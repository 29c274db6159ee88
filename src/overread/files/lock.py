"""One run at a time in a run's folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overread.errors import LockedError, StorageError

__all__ = ["run_lock"]


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system lets go of it when the process ends, however it ends.

    The file stays, with the process number of its last holder; a lock left by a dead process is therefore taken
    over without a question.

    Raises
    ------
    LockedError
        If another process holds it.
    """
    path = folder / "lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(f"{path}: cannot write here: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.read(handle, 20).decode("ascii", "replace").strip() or "unknown"
            raise LockedError(
                f"{folder}: another run works here (process {holder}); wait for it, or give another --name"
            ) from None
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}") from error
        yield
    finally:
        os.close(handle)
