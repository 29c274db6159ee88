"""Run the command as a shell would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from overread.cli import main


@pytest.fixture
def run() -> Callable[[Sequence[object]], int]:
    """Exit code of a command; its words may be paths."""
    return lambda words: main([str(word) for word in words])
