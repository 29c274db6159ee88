"""Open files named by a user or a table: only regular files, never a pipe, a device or a socket.

Opening a pipe without a writer hangs, and a device may have no end, so the kind of the file is checked first.

Files of unknown size are read up to a limit.
"""

import errno
import io
import os
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Protocol

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading bytes."""
    _refuse_other_kinds(path.stat().st_mode, path)
    # The file may have been replaced meanwhile: open without waiting, and check again.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        _refuse_other_kinds(os.fstat(handle).st_mode, path)
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_regular(path: Path) -> bytes:
    """Read a regular file whole; see `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def kind_of_file(mode: int) -> str | None:
    """Return the kind of a file that is not regular; None for a regular one."""
    if stat.S_ISREG(mode):
        return None
    return next((words for is_kind, words in KINDS if is_kind(mode)), "not a regular file")


def real_path(path: Path) -> Path:
    """Path without links as far as it can be followed; unlike in `Path.resolve`, a loop of links is not an error."""
    return Path(os.path.realpath(path))


def _refuse_other_kinds(mode: int, path: Path) -> None:
    kind = kind_of_file(mode)
    if kind == "a folder":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


CHUNK = 1 << 20


class Readable(Protocol):
    """A file that is open for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end."""


def read_capped(source: Path | Readable, limit: int, refuse: Callable[[int], Exception]) -> bytes:
    """Read a whole file of at most ``limit`` bytes.

    A file that is too large is refused before it is read. A stream without a known size, because it is unpacked, is
    read in chunks up to the limit.
    """
    if isinstance(source, Path):
        with open_regular(source) as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise refuse(size)
            return read_capped(file, limit, refuse)
    content = io.BytesIO()
    # In chunks, because read(limit) allocates the limit first.
    while part := source.read(min(CHUNK, limit + 1 - content.tell())):
        content.write(part)
    if content.tell() > limit:
        raise refuse(content.tell())
    return content.getvalue()
