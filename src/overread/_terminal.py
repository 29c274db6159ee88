"""The one way to the screen: whatever text a file brought, a terminal only shows it.

Ids, names of readers and files, labels and reasons come from strangers. Here, and nowhere before, their control
characters become escapes, so that no command can forget it; `tests/test_house.py` sees to it that nothing else prints.

Progress of long work, for people who wait: count, time so far and time left, on standard error.

A command shows it with ``with ProgressBar():``. Whatever counts its steps by `count_steps` or `begin_work` inside of
that block, however deep, is shown; without a block nothing is, so that a library's functions stay silent and need no
argument for it. Work inside of other work is shown after its name: ``fold 1 soft: penalties 12 of 30``.

On a terminal there is one live line. Elsewhere (a file, a pipe, a log) there are plain lines: the first as soon as the
time left can be told, then one at every tenth of the work, and one every half minute where work is slower than that.
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
    """Console of rich for tables and live lines, which shows control characters and takes no name for an emoji."""
    from rich.console import Console
    from rich.segment import Segment

    class ShowingConsole(Console):
        def render_str(self, text: str, **kwargs: Any) -> Any:
            # Before a cell is measured, so that its column has room for the escapes.
            return super().render_str(printable(text), **kwargs)

        def render(self, *args: Any, **kwargs: Any) -> Any:
            # Colours are styles, and cursor movements controls; the text of a segment is what somebody wrote.
            for part in super().render(*args, **kwargs):
                if part.control or part.text.isprintable():
                    yield part
                else:
                    yield Segment(printable(part.text), part.style)

    return ShowingConsole(stderr=stderr, emoji=False, highlight=False, **options)


def print_line(text: str, *, stderr: bool = False) -> None:
    """Print one line: a line end inside, as a file's name may have, is shown too, and cannot feign another line."""
    print_text(text.replace("\n", "\\n"), stderr=stderr)


def print_text(text: str, *, stderr: bool = False) -> None:
    """Print text of one or more lines; those after the first are set in, so that none looks like another message."""
    shown = printable(text).replace("\n", "\n  ")
    # Flushed, because who started us may wait for the line.
    print(shown, file=sys.stderr if stderr else sys.stdout, flush=True)


def print_json(text: str) -> None:
    """Print JSON; what a terminal would obey stands there as JSON's own escapes."""
    print(
        "".join(one if one.isprintable() or one == "\n" else _escape_in_json(one) for one in text), flush=True
    )


def _escape_in_json(character: str) -> str:
    """Spell a character as JSON does, beyond 16 bits as a pair."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


Item = TypeVar("Item")

# All set by judgement, so that the log of an hour is a page: lines are so many seconds and such a share of the work
# apart, or half a minute; the first comes after so many steps, because the first step alone compiles kernels.
SHARE_APART = 0.1
SECONDS_APART = 5.0
SLOWEST_BEAT = 30.0
STEPS_BEFORE_ESTIMATE = 3
ROUNDING = 1e-9


_in_charge: ContextVar[ProgressBar | None] = ContextVar("watcher", default=None)


def say(text: str) -> None:
    """Show a line to whoever watches progress."""
    watcher = _in_charge.get()
    if watcher is not None:
        watcher.say(text)


@contextmanager
def begin_work(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Tell whoever shows progress of a piece of work; gives the function that counts its steps.

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
    """Go through items, and tell whoever shows progress after each.

    `total` is the number of steps, without it the length of the items, where they have one; `steps` says how many an
    item is.
    """
    known = len(items) if total is None and isinstance(items, Sized) else total
    with begin_work(what, known) as advance:
        for item in items:
            yield item
            advance(steps(item))


@dataclass
class Piece:
    """A piece of work at hand."""

    what: str
    total: int | None
    started: float
    done: int = 0
    told: float | None = None
    """Share done when a plain line last told of it."""

    @property
    def share(self) -> float:
        """Share of the work that is done; 0 where it is not known."""
        return self.done / self.total if self.total else 0.0

    def tell(self, now: float) -> str:
        """Tell count, time so far and time left; of work without a count the time alone."""
        elapsed = now - self.started
        if self.total is None:
            return self.what if elapsed < 1 else f"{self.what}, {duration(elapsed)}"
        told = f"{self.what} {self.done} of {self.total}, {duration(elapsed)}"
        left = self.time_left(now)
        return told if left is None else f"{told}, about {duration(left)} left"

    def time_left(self, now: float) -> float | None:
        """Return the seconds that the steps to come take if they are like those done; None where nothing is known."""
        if not self.total or self.done < min(STEPS_BEFORE_ESTIMATE, self.total) or self.done >= self.total:
            return None
        return (now - self.started) / self.done * (self.total - self.done)


class ProgressBar:
    """A live line on a terminal, plain lines elsewhere; as a context it is told of all work that is counted inside."""

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
        """Begin a piece of work of so many steps (None: not known) inside of the one at hand; return its level."""
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
        """End the work that began at a level, and all inside of it; lines that told of it end with how long it took."""
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
        """Return the outermost work with a count: what is counted inside of it is too fine to be shown."""
        return next((piece for piece in self._pieces if piece.total is not None and piece.total != 1), None)

    def tell(self) -> str:
        """Return the line of the work at hand."""
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
        """Print a line whenever there was none for long."""
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
    """Make the line that rich keeps fresh on a terminal, and takes away in the end."""
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task
    from rich.text import Text

    class Told(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(tell(), overflow="ellipsis", no_wrap=True)

    line = Progress(SpinnerColumn(), Told(), console=console, transient=True)
    line.add_task("")
    return line
