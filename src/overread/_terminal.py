"""Print to the screen so that text from a file cannot control the terminal.

Ids, labels, reasons and the names of readers and files come from untrusted sources. This module escapes their
control characters for all commands; `tests/test_house.py` checks that no other module prints.

It also shows the progress of long work on standard error: count, elapsed time and remaining time.

A command shows progress with ``with ProgressBar():``. In that block, all code that counts its steps with
`count_steps` or `begin_work` is shown. Without the block nothing is shown, so that library functions stay
silent and need no argument for it. Nested work is shown after the outer work: ``fold 1 soft: penalties 12 of
30``.

On a terminal there is one live line. Elsewhere (a file, a pipe, a log) there are plain lines: the first as
soon as the remaining time is known, then one per tenth of the work, and at least one per half minute.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from overread._text import duration, printable

if TYPE_CHECKING:
    from rich.console import Console


def make_console(*, stderr: bool = False, **options: Any) -> Console:
    """Console for tables and live lines, which escapes control characters and does not replace names by emoji."""
    from rich.console import Console
    from rich.segment import Segment

    class ShowingConsole(Console):
        def render_str(self, text: str, **kwargs: Any) -> Any:
            # Escape before a cell is measured, so that its column is wide enough.
            return super().render_str(printable(text), **kwargs)

        def render(self, *args: Any, **kwargs: Any) -> Any:
            # Colours are styles and cursor movements are controls; only the text of a segment is untrusted.
            for part in super().render(*args, **kwargs):
                if part.control or part.text.isprintable():
                    yield part
                else:
                    yield Segment(printable(part.text), part.style)

    return ShowingConsole(stderr=stderr, emoji=False, highlight=False, **options)


def print_line(text: str, *, stderr: bool = False) -> None:
    """Print one line. A line end in the text, as a file name may have, is escaped and cannot fake another line."""
    print_text(text.replace("\n", "\\n"), stderr=stderr)


def print_text(text: str, *, stderr: bool = False) -> None:
    """Print text of one or more lines; lines after the first are indented, so that none looks like another message."""
    shown = printable(text).replace("\n", "\n  ")
    # Flush, because the parent process may wait for the line.
    print(shown, file=sys.stderr if stderr else sys.stdout, flush=True)


def print_json(text: str) -> None:
    """Print JSON with control characters as JSON escapes."""
    print(
        "".join(one if one.isprintable() or one == "\n" else _escape_in_json(one) for one in text), flush=True
    )


def _escape_in_json(character: str) -> str:
    """Return the JSON escape of a character, beyond 16 bits as a pair."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


Item = TypeVar("Item")

# All set by judgement, so that the log of an hour fits on a page: least seconds and share of the work between
# two lines, most seconds without a line, and steps before the first line, because the first step also
# compiles kernels.
SHARE_APART = 0.1
SECONDS_APART = 5.0
SLOWEST_BEAT = 30.0
STEPS_BEFORE_ESTIMATE = 3
ROUNDING = 1e-9


_in_charge: ContextVar[ProgressBar | None] = ContextVar("watcher", default=None)


def say(text: str) -> None:
    """Show a line between the progress lines."""
    watcher = _in_charge.get()
    if watcher is not None:
        watcher.say(text)


@contextmanager
def begin_work(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Announce a piece of work to the progress display; yields the function that counts its steps.

    `what` names the steps in the plural, ``"penalties"``; `total` is None where their number is not known.
    """
    watcher = _in_charge.get()
    if watcher is None:
        yield lambda steps: None
        return
    level = watcher.begin(what, total)
    try:
        yield partial(watcher.advance, level=level)
    finally:
        watcher.end(level)


def count_steps(
    what: str, items: Iterable[Item], total: int | None = None, steps: Callable[[Item], int] = lambda item: 1
) -> Iterator[Item]:
    """Iterate over items and report progress after each.

    `total` is the number of steps, by default the length of the items; `steps` returns the number of steps of
    an item.
    """
    known = len(items) if total is None and isinstance(items, Sized) else total
    with begin_work(what, known) as advance:
        for item in items:
            yield item
            advance(steps(item))


@dataclass
class Piece:
    """A piece of work in progress."""

    what: str
    total: int | None
    started: float
    done: int = 0
    told: float | None = None
    """Share that was done at the last plain line."""

    @property
    def share(self) -> float:
        """Share of the work that is done; 0 if unknown."""
        return self.done / self.total if self.total else 0.0

    def tell(self, now: float) -> str:
        """Return count, elapsed time and remaining time; only the time for work without a count."""
        elapsed = now - self.started
        if self.total is None:
            return self.what if elapsed < 1 else f"{self.what}, {duration(elapsed)}"
        told = f"{self.what} {self.done} of {self.total}, {duration(elapsed)}"
        left = self.time_left(now)
        return told if left is None else f"{told}, about {duration(left)} left"

    def time_left(self, now: float) -> float | None:
        """Estimate the remaining seconds from the steps done so far; None if unknown."""
        if not self.total or self.done < min(STEPS_BEFORE_ESTIMATE, self.total) or self.done >= self.total:
            return None
        return (now - self.started) / self.done * (self.total - self.done)


class ProgressBar:
    """Progress display: a live line on a terminal, plain lines elsewhere. Use it as a context manager."""

    def __init__(
        self, console: Console | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console or make_console(stderr=True)
        self._clock = clock
        self._pieces: list[Piece] = []
        self._last_line = clock()
        self._lock = threading.RLock()
        self._bar: Any = None
        self._stop: threading.Event | None = None
        self._token: Token[ProgressBar | None] | None = None

    def __enter__(self) -> Self:
        self._token = _in_charge.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        if self._token is not None:
            _in_charge.reset(self._token)
            self._token = None

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, soft_wrap=True)

    def begin(self, what: str, total: int | None) -> int:
        """Begin a nested piece of work with a number of steps (None: unknown); return its level."""
        with self._lock:
            level = len(self._pieces)
            self._pieces.append(Piece(what, total, self._clock()))
            if level == 0:
                self._show()
            if self._bar is None and total is None and self._silence() >= SECONDS_APART:
                self._print()
            return level

    def advance(self, steps: int, level: int = 0) -> None:
        """Count steps of the work that began at a level."""
        with self._lock:
            if level >= len(self._pieces):
                return
            piece = self._pieces[level]
            piece.done += steps
            if self._bar is None and piece is self._counted():
                self._print_if_due(piece)

    def end(self, level: int = 0) -> None:
        """End the work of a level and all work nested in it; if it was shown, a last line gives its duration."""
        with self._lock:
            ended, self._pieces = self._pieces[level:], self._pieces[:level]
            if ended and self._bar is None and ended[0].told is not None and ended[0].total is not None:
                piece, around = ended[0], "".join(f"{one.what}: " for one in self._pieces)
                took = duration(self._clock() - piece.started)
                self.say(f"{around}{piece.what} {piece.done} of {piece.total}, took {took}")
                self._last_line = self._clock()
        if level == 0:
            self._hide()

    def _counted(self) -> Piece | None:
        """Return the outermost work with a count; work nested in it is too fine to be shown."""
        return next((piece for piece in self._pieces if piece.total is not None and piece.total != 1), None)

    def tell(self) -> str:
        """Return the line of the current work."""
        with self._lock:
            counted = self._counted()
            depth = len(self._pieces) if counted is None else self._pieces.index(counted) + 1
            *around, shown = self._pieces[:depth] or [Piece("", None, self._clock())]
            return "".join(f"{piece.what}: " for piece in around) + shown.tell(self._clock())

    def _silence(self) -> float:
        return self._clock() - self._last_line

    def _print_if_due(self, piece: Piece) -> None:
        left = piece.time_left(self._clock())
        if left is None or self._silence() < SECONDS_APART:
            return
        first_is_due = piece.told is None and left >= SECONDS_APART
        if first_is_due or (piece.told is not None and piece.share >= piece.told + SHARE_APART - ROUNDING):
            self._print()

    def _print(self) -> None:
        self._last_line = self._clock()
        shown = self._counted() or self._pieces[-1]
        shown.told = shown.share
        self.say(self.tell())

    def _show(self) -> None:
        if self._console.is_terminal:
            self._bar = _make_live_line(self._console, self.tell)
            self._bar.start()
            return
        self._stop = threading.Event()
        threading.Thread(target=self._beat, args=(self._stop,), daemon=True).start()

    def _beat(self, stop: threading.Event) -> None:
        """Print a line if there was none for a long time."""
        while not stop.wait(1.0):
            with self._lock:
                if self._pieces and not stop.is_set() and self._silence() >= SLOWEST_BEAT:
                    self._print()

    def _hide(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._stop is not None:
            self._stop.set()
            self._stop = None


def _make_live_line(console: Console, tell: Callable[[], str]) -> Any:
    """Make the live line that rich updates on a terminal and removes at the end."""
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task
    from rich.text import Text

    class Told(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(tell(), overflow="ellipsis", no_wrap=True)

    line = Progress(SpinnerColumn(), Told(), console=console, transient=True)
    line.add_task("")
    return line
