"""The one way to read a file of unknown size: never more than a cap."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from overread.files.regular import open_regular

__all__ = ["read_capped"]

CHUNK = 1 << 20


class Readable(Protocol):
    """A file that is open for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Give at most ``size`` bytes, none at the end."""


def read_capped(source: Path | Readable, limit: int, refuse: Callable[[int], Exception]) -> bytes:
    """Read a whole file of at most ``limit`` bytes.

    A file that is too large is refused by its size before anything is read. What states no size, because it is
    unpacked on the way, is read in chunks until it passes the limit.

    Parameters
    ----------
    source
        A path, or a file that is open for reading bytes.
    limit
        Most bytes that are accepted.
    refuse
        Makes the error of a file that is too large, from the number of bytes that are known of it.

    Raises
    ------
    OSError
        If the file cannot be opened or read, or is no regular file.
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
