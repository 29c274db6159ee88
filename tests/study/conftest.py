"""A small study with real image files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from stand_in import make_study


@pytest.fixture(scope="session")
def finished_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 36 images with a finished run; copy it, do not change it."""
    from stand_in import spec

    from overread.study import run_study

    folder = make_study(tmp_path_factory.mktemp("studies") / "original")
    run_study(folder, pipeline=spec())
    return folder


@pytest.fixture
def study(finished_original: Path, tmp_path: Path) -> Path:
    """A study that was never run."""
    copy = tmp_path / "study"
    shutil.copytree(finished_original, copy, ignore=shutil.ignore_patterns("runs", "reader_codes.csv"))
    return copy


@pytest.fixture
def finished(finished_original: Path, tmp_path: Path) -> Path:
    """A study with a finished run."""
    copy = tmp_path / "finished"
    shutil.copytree(finished_original, copy, copy_function=shutil.copy2)
    return copy
