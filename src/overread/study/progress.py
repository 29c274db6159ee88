"""What a run says while it works: a short log in its folder, and progress for people."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from overread.errors import StorageError

__all__ = ["ProgressBar", "RunLog", "SilentProgress", "Watcher"]


class Watcher(Protocol):
    """Shows progress to whoever waits."""

    def say(self, text: str) -> None:
        """Show a line."""
        ...

    def begin(self, what: str, total: int | None) -> None:
        """Begin a piece of work of so many steps; None: not known."""
        ...

    def advance(self, steps: int) -> None:
        """Count steps of the work at hand."""
        ...

    def end(self) -> None:
        """End the work at hand."""
        ...


class SilentProgress:
    """Shows nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""

    def begin(self, what: str, total: int | None) -> None:
        """Show nothing."""

    def advance(self, steps: int) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


class ProgressBar:
    """Counts, share done and time left on standard error; plain lines where that is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: Any = None

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, highlight=False)

    def begin(self, what: str, total: int | None) -> None:
        """Show a bar."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.end()
        if not self._console.is_terminal:
            self.say(what if total is None else f"{what}: {total}")
            return
        counts = [BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn()]
        columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
        columns += [TimeElapsedColumn()] if total is None else counts
        self._bar = Progress(*columns, console=self._console, transient=True)
        self._bar.add_task(what, total=total)
        self._bar.start()

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.advance(self._bar.tasks[0].id, steps)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class RunLog:
    """Lines with the time, appended to a file; as a context it also keeps what each stage took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
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
