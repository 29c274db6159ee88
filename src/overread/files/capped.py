"""The one way to read a file of unknown size: never more than a cap."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

__all__ = ["read_capped"]

CHUNK = 1 << 20


class Readable(Protocol):
    """A file that is open for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Give at most ``size`` bytes, none at the end."""


def read_capped(source: Path | Readable, limit: int, refuse: Callable[[int], Exception]) -> bytes:
    """Read a whole file of at most ``limit`` bytes.

    A file that is too large is refused by its size before anything is read. One that states no size, such as a pipe
    or what is unpacked on the way, is read in chunks until it passes the limit.

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
        If the file cannot be opened or read.
    """
    if isinstance(source, Path):
        with source.open("rb") as file:
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
