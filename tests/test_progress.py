"""Progress: plain lines where nobody sees a terminal, a live line where somebody does."""

import io
import re

import pytest
from rich.console import Console

from overread._terminal import ProgressBar, begin_work, count_steps, say


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Watched:
    def __init__(self, *, terminal: bool = False) -> None:
        self.screen, self.clock = io.StringIO(), Clock()
        console = Console(file=self.screen, force_terminal=terminal, width=100)
        self.bar = ProgressBar(console, clock=self.clock)

    @property
    def lines(self) -> list[str]:
        return self.screen.getvalue().splitlines()

    def work(self, what: str, n: int, seconds: float) -> None:
        for _ in count_steps(what, range(n)):
            self.clock.now += seconds


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_lines_without_a_terminal_tell_count_time_and_rest(watched: Watched) -> None:
    with watched.bar:
        watched.work("images", 100, 1.0)
    first, *others, last = watched.lines
    assert first == "images 5 of 100, 5 s, about 1 min 35 s left"
    assert last == "images 100 of 100, took 1 min 40 s"
    assert 8 <= len(others) <= 10
    assert "images 55 of 100, 55 s, about 45 s left" in others


@pytest.mark.parametrize("seconds", [0.02, 3.0, 61.0])
def test_lines_have_no_control_characters_and_are_few(watched: Watched, seconds: float) -> None:
    with watched.bar:
        watched.work("images", 500, seconds)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", watched.screen.getvalue())
    assert len(watched.lines) <= 12


def test_the_rest_is_right_where_steps_are_alike(watched: Watched) -> None:
    with watched.bar:
        watched.work("images", 40, 30.0)
    for line in watched.lines[:-1]:
        done, minutes, half = re.fullmatch(
            r"images (\d+) of 40, .*about(?: (\d+) min)?( 30 s)? left", line
        ).groups()
        assert int(minutes or 0) + (half is not None) / 2 == pytest.approx((40 - int(done)) / 2, abs=0.5)


def test_short_work_says_nothing(watched: Watched) -> None:
    with watched.bar:
        watched.work("images", 1000, 0.004)
    assert watched.lines == []


def test_work_inside_of_work_is_told_after_its_name(watched: Watched) -> None:
    with watched.bar, begin_work("fold 1 soft", None):
        watched.work("penalties", 30, 2.0)
    assert watched.lines[0] == "fold 1 soft: penalties 3 of 30, 6 s, about 54 s left"
    assert watched.lines[-1] == "fold 1 soft: penalties 30 of 30, took 1 min"


def test_only_the_outermost_count_is_shown(watched: Watched) -> None:
    with watched.bar:
        for _ in count_steps("settings", range(10)):
            watched.work("penalties", 30, 1.0)
    assert all(line.startswith("settings ") for line in watched.lines)
    assert len(watched.lines) > 5


def test_an_item_may_be_many_steps(watched: Watched) -> None:
    with watched.bar:
        for _ in count_steps("draws", [64, 64, 64, 8], 200, steps=int):
            watched.clock.now += 20
    assert watched.lines[0] == "draws 64 of 200, 20 s, about 42 s left"
    assert watched.lines[-1] == "draws 200 of 200, took 1 min 20 s"


def test_work_without_a_count_is_told_where_it_begins_after_a_silence(watched: Watched) -> None:
    with watched.bar:
        for name in ("truth", "split", "results"):
            with begin_work(name, None):
                watched.clock.now += 4
    assert watched.lines == ["results"]


def test_the_heart_beats_where_nothing_is_counted(watched: Watched) -> None:
    with watched.bar, begin_work("results", None):
        watched.clock.now += 29
        watched.bar._beat(once := Once())
        assert watched.lines == []
        watched.clock.now += 2
        watched.bar._beat(once)
    assert watched.lines == ["results, 31 s"]


class Once:
    """An event that lets a loop go round once."""

    def __init__(self) -> None:
        self.rounds = 0

    def wait(self, seconds: float) -> bool:
        self.rounds += 1
        return self.rounds % 2 == 0

    def is_set(self) -> bool:
        return False


def test_an_error_ends_all_work_and_the_bar_is_no_longer_in_charge(watched: Watched) -> None:
    def fail() -> None:
        with watched.bar:
            for _ in count_steps("images", range(9)):
                raise KeyError

    with pytest.raises(KeyError):
        fail()
    before = watched.lines
    watched.work("more", 100, 10.0)
    say("to nobody")
    assert watched.lines == before == []


def test_what_is_said_is_shown_as_it_is(watched: Watched) -> None:
    with watched.bar:
        say("image '[red]x': quarantined")
    assert watched.lines == ["image '[red]x': quarantined"]


def test_on_a_terminal_there_is_one_live_line_that_goes_away() -> None:
    watched = Watched(terminal=True)
    with watched.bar, begin_work("images [of a study]", 36) as advance:
        watched.clock.now += 70
        advance(5)
        advance(2)
        watched.bar._bar.refresh()
        assert "images [of a study] 7 of 36, 1 min 10 s, about 4 min 50 s left" in watched.screen.getvalue()
    assert watched.bar._bar is None
    assert watched.screen.getvalue().endswith("\x1b[2K")


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    say("a")
    assert list(count_steps("images", iter("abc"))) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")
