"""The one way to open what a user or a table names: a regular file, never a pipe, a device or a socket.

A pipe without a writer hangs who opens it, and a device may have no end; both are told by the kind of the file, before
it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

__all__ = ["kind_of_file", "open_regular", "read_regular", "real_path"]

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading bytes.

    Raises
    ------
    OSError
        If it cannot be opened; also, with a text that says what it is, if it is no regular file.
    """
    _refuse_other_kinds(path.stat().st_mode, path)
    # What stood there a moment ago may have been replaced: without waiting, and looked at once more.
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
    """Say what a file is that is no regular one; None for a regular one."""
    if stat.S_ISREG(mode):
        return None
    return next((words for is_kind, words in KINDS if is_kind(mode)), "no regular file")


def real_path(path: Path) -> Path:
    """Path without links, as far as it can be followed: a loop of links, unlike in `Path.resolve`, is no error."""
    return Path(os.path.realpath(path))


def _refuse_other_kinds(mode: int, path: Path) -> None:
    kind = kind_of_file(mode)
    if kind == "a folder":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
