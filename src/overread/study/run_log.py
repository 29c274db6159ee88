"""The log of a run: short lines in its folder."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from overread.errors import StorageError

__all__ = ["RunLog"]


class RunLog:
    """Lines with the time, appended to a file; as a context it also keeps what each stage took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        try:
            # Without waiting, as a pipe in the file's place would hang the run, and without following a link, which a
            # stranger may have put there.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
            self._handle = os.open(self._path, flags, 0o644)
        except OSError as error:
            raise StorageError(f"{self._path}: not written: {error.strerror or error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def write(self, text: str) -> None:
        """Append a line; a full disk does not stop a run here, it will where something matters."""
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {' '.join(text.split())}\n"
        try:
            if self._handle is not None:
                os.write(self._handle, line.encode("utf-8", "backslashreplace"))
        except OSError:
            pass

    def timed(self, name: str, started: float) -> None:
        """Keep how long a stage took."""
        self.seconds[name] = round(time.monotonic() - started, 3)
