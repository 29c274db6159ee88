"""A small study with real image files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from overread.study import run_study
from study_stand_in import FAST, LIGHT, make_study, spec
from study_trees import copied


def run_original(folder: Path, settings: str) -> Path:
    """Make a study of 36 images and run it once."""
    make_study(folder, settings=settings)
    run_study(folder, pipeline=spec())
    return folder


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a finished run of all three models; not to be changed."""
    return run_original(tmp_path_factory.mktemp("studies") / "original", FAST)


@pytest.fixture(scope="session")
def light_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a finished run of the soft model alone; not to be changed."""
    return run_original(tmp_path_factory.mktemp("studies") / "light", LIGHT)


@pytest.fixture
def finished(original: Path, tmp_path: Path) -> Path:
    """Copy of a study with a finished run of all three models."""
    return copied(original, tmp_path / "finished", run=True)


@pytest.fixture
def light(light_original: Path, tmp_path: Path) -> Path:
    """Copy of a study with a finished run of the soft model alone."""
    return copied(light_original, tmp_path / "light", run=True)


@pytest.fixture
def fresh(light_original: Path, tmp_path: Path) -> Path:
    """Copy of the same study, never run."""
    return copied(light_original, tmp_path / "fresh", run=False)
