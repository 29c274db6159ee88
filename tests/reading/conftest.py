"""A room for each test that asks for one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from overread.apps.room._store import Store
from overread.cli import main
from reading_browser import DESK, Visitor, leave
from reading_room import OpenRoom, make_study


@pytest.fixture
def open_one(tmp_path: Path) -> Iterator[Callable[..., OpenRoom]]:
    """Open rooms that are closed after the test."""
    opened: list[OpenRoom] = []

    def make(n_images: int = 4, name: str = "study", **more: Any) -> OpenRoom:
        folder = tmp_path / name
        if not folder.exists():
            make_study(folder, n_images)
        opened.append(OpenRoom(folder, **more))
        return opened[-1]

    yield make
    for room in opened:
        room.room.store.close()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command; return its exit code and what it wrote to the two streams."""

    def run(*arguments: Any) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Empty store of a room."""
    opened = Store(tmp_path / "room.sqlite")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def visit(browser: Any) -> Iterator[Callable[..., Visitor]]:
    """Visit a room with the browser that all tests share, which is left as it was found."""
    yield lambda room, size=DESK: Visitor(browser, room, size)
    leave(browser)
