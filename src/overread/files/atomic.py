"""The one way to write a file: whole or not at all.

The bytes go to a temporary file in the same folder, are flushed to the device, and replace the target by one
rename. A kill or a full disk leaves the old file as it was.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from overread.errors import StorageError

__all__ = ["no_folder", "write_atomically", "write_parts_atomically"]


def no_folder(path: Path) -> str:
    """Say why a path is no folder."""
    return f"{path}: is a file, not a folder" if path.exists() else f"{path}: there is no such folder"


def write_atomically(path: str | Path, content: bytes, *, exclusive: bool = False) -> Path:
    """Write ``content`` to ``path`` so that a reader sees the old file or the new one, never a part.

    With ``exclusive`` an existing file is never replaced, not even one that appears meanwhile.

    Raises
    ------
    FileExistsError
        If ``exclusive`` is asked for and there is a file; it is then untouched.
    StorageError
        If the folder does not exist, or the device refuses; the old file is then untouched.
    """
    return write_parts_atomically(path, (content,), exclusive=exclusive)


def write_parts_atomically(path: str | Path, parts: Iterable[bytes], *, exclusive: bool = False) -> Path:
    """Write bytes that need not be in memory as a whole, as `write_atomically` does."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".overread-", suffix=".part")
    except FileNotFoundError as error:
        raise StorageError(f"{target}: cannot write here: there is no folder {target.parent}") from error
    except OSError as error:
        raise StorageError(f"{target}: cannot write here: {error.strerror or error}") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(_mode_of_a_new_file())
        if exclusive:
            os.link(part, target)
        else:
            part.replace(target)
    except FileExistsError:
        raise
    except OSError as error:
        raise StorageError(f"{target}: not written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    _flush_folder(target.parent)
    return target


def _mode_of_a_new_file() -> int:
    """Permissions that ``open`` would give: ``mkstemp`` makes files private to their owner."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _flush_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
