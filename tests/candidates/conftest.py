"""Let the tests of candidates import the pictures they share; real radiographs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from overread.images import Radiograph, read_image

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def nih(shared_data: Path) -> Callable[[int], Radiograph]:
    """Radiograph by its place in the table."""
    folder = shared_data / "nih"
    table = pd.read_csv(folder / "images.csv")

    def radiograph(place: int) -> Radiograph:
        row = table.iloc[place]
        return read_image(folder / "images" / row["file"], mm_per_px=(row["mm_per_px_x"], row["mm_per_px_y"]))

    return radiograph
