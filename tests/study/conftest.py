"""A small study with real image files."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from overread.report import StudyResults
from overread.study import Run, open_run, run_study
from overread.study._store import RunFolder
from study_chain import ALL_MODELS, PAGE, Chain, leave_out, run_chain
from study_stand_in import FAST, LIGHT, make_study, spec
from study_trees import copied

BuildOnce = Callable[[str, Callable[[Path], object]], Path]


def run_original(folder: Path, settings: str) -> Path:
    """Make a study of 36 images and run it once."""
    make_study(folder, settings=settings)
    run_study(folder, pipeline=spec())
    return folder


@pytest.fixture(scope="session")
def original(build_once: BuildOnce) -> Path:
    """A study with a finished run of all three models; not to be changed."""
    return build_once("original", lambda folder: run_original(folder, FAST))


@pytest.fixture(scope="session")
def light_original(build_once: BuildOnce) -> Path:
    """A study with a finished run of the soft model alone; not to be changed."""
    return build_once("light", lambda folder: run_original(folder, LIGHT))


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


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """All stages from truth to results of a study with all four models; not to be changed."""
    return run_chain(make_study(tmp_path_factory.mktemp("studies") / "chain", settings=ALL_MODELS))


@pytest.fixture(scope="module")
def run(chain: Chain) -> Run:
    """Read the run of the session's chain of stages back."""
    return open_run(chain.folder.root)


@pytest.fixture(scope="module")
def results(run: Run) -> StudyResults:
    return run.results


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Make the folder of a run, empty."""
    made = RunFolder(tmp_path / "run")
    made.prepare()
    return made


def run_without_page(folder: Path, settings: str) -> Path:
    """Make a study of 36 images and run it once, up to its results."""
    make_study(folder, settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        leave_out(patch, PAGE)
        run_study(folder, pipeline=spec())
    return folder


@pytest.fixture(scope="session")
def numbers_original(build_once: BuildOnce) -> Path:
    """A study of three models with a run that has no page; not to be changed."""
    return build_once("numbers", lambda folder: run_without_page(folder, FAST))


@pytest.fixture(scope="session")
def light_numbers_original(build_once: BuildOnce) -> Path:
    """A study of the soft model alone with a run that has no page; not to be changed."""
    return build_once("light numbers", lambda folder: run_without_page(folder, LIGHT))


@pytest.fixture
def numbers(numbers_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy of a study of three models, run up to its results; further runs make no page either."""
    leave_out(monkeypatch, PAGE)
    return copied(numbers_original, tmp_path / "numbers", run=True)


@pytest.fixture
def light_numbers(light_numbers_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy of a study of the soft model alone, run up to its results; further runs make no page either."""
    leave_out(monkeypatch, PAGE)
    return copied(light_numbers_original, tmp_path / "light numbers", run=True)


@pytest.fixture
def fresh_numbers(light_numbers_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy of the same study, never run; its runs make no page."""
    leave_out(monkeypatch, PAGE)
    return copied(light_numbers_original, tmp_path / "fresh numbers", run=False)
