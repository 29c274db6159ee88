"""Commands as a shell would run them, and studies that marks are imported into."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from overread.cli import main


@pytest.fixture
def run() -> Callable[[Sequence[object]], int]:
    """Exit code of a command; its words may be paths."""
    return lambda words: main([str(word) for word in words])


@pytest.fixture
def refused(run, capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[object], int], str]:
    """What a command says on standard error that ends with an exit code."""

    def refuse(words: Sequence[object], code: int) -> str:
        capsys.readouterr()
        assert run(words) == code
        return capsys.readouterr().err

    return refuse


@pytest.fixture
def answer(run, capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[object]], Any]:
    """What a command prints as JSON."""

    def tell(words: Sequence[object]) -> Any:
        capsys.readouterr()
        assert run([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return tell


@pytest.fixture
def study_of_images(tmp_path: Path) -> Callable[[int], Path]:
    """Write a study of case1, case2, ...: 500 x 610 px of 0.7 mm, whose files an import does not open."""

    def write(n_images: int) -> Path:
        folder = tmp_path / "study"
        folder.mkdir()
        rows = ["image_id,path,mm_per_px_x,mm_per_px_y,width_px,height_px"]
        for number in range(1, n_images + 1):
            (folder / f"case{number}.dcm").write_bytes(b"is not opened by an import")
            rows.append(f"case{number},case{number}.dcm,0.7,0.7,500,610")
        (folder / "images.csv").write_text("\n".join(rows) + "\n")
        return folder

    return write
