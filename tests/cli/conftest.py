"""Run the command as a shell would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from overread.cli import main


@pytest.fixture
def run() -> Callable[[Sequence[str]], int]:
    """Exit code of a command; cyclopts may leave by SystemExit, as it does for the console script."""

    def exit_code(arguments: Sequence[str]) -> int:
        try:
            return main(arguments)
        except SystemExit as stop:
            return int(stop.code or 0)

    return exit_code
