"""Progress: plain lines where nobody sees a terminal, a bar where somebody does."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from overread.study.progress import ProgressBar, SilentProgress


@pytest.fixture
def bar(request: pytest.FixtureRequest) -> tuple[ProgressBar, io.StringIO]:
    made, screen = ProgressBar(), io.StringIO()
    made._console = Console(file=screen, force_terminal=request.param, width=100)
    return made, screen


@pytest.mark.parametrize("bar", [False], indirect=True)
def test_without_a_terminal_there_are_lines(bar: tuple[ProgressBar, io.StringIO]) -> None:
    progress, screen = bar
    progress.begin("images", 36)
    progress.advance(5)
    progress.end()
    progress.begin("tuning soft", None)
    progress.say("image '[red]x': quarantined")
    progress.end()
    assert screen.getvalue().splitlines() == ["images: 36", "tuning soft", "image '[red]x': quarantined"]


@pytest.mark.parametrize("bar", [True], indirect=True)
def test_on_a_terminal_there_is_a_bar_that_counts(bar: tuple[ProgressBar, io.StringIO]) -> None:
    progress, screen = bar
    progress.begin("images [of a study]", 36)
    progress.advance(5)
    progress.advance(2)
    progress._bar.refresh()
    assert "images [of a study]" in screen.getvalue()
    assert "7/36" in screen.getvalue()
    progress.begin("the next", None)  # ends the first
    assert len(progress._bar.tasks) == 1
    progress.end()
    progress.end()
    assert progress._bar is None


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    progress = SilentProgress()
    progress.say("a")
    progress.begin("b", 3)
    progress.advance(1)
    progress.end()
    assert capsys.readouterr() == ("", "")
