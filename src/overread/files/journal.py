"""What was done so far: a file that only grows, so that work which was stopped can be taken up again.

A line is written and flushed to the device when its work is in place. A kill can cut the last line short; it is then
no line, and its work is done again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from overread.errors import StorageError
from overread.files.regular import open_regular

__all__ = ["Journal"]


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
