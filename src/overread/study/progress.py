"""Progress of a run, for people who wait."""

from __future__ import annotations

from typing import Any, Protocol

from overread.words import printable

__all__ = ["ProgressBar", "SilentProgress", "Watcher"]


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
        """Drop the line."""

    def begin(self, what: str, total: int | None) -> None:
        """Take no notice of work that begins."""

    def advance(self, steps: int) -> None:
        """Take no notice of steps."""

    def end(self) -> None:
        """Take no notice of work that ends."""


class ProgressBar:
    """Counts, share done and time left on standard error; plain lines where that is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: Any = None

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(printable(text), markup=False, highlight=False)

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
