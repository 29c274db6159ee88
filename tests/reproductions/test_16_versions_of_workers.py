"""What a Dask worker with other code makes is never taken for this run's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import overread
from dask_processes import start_scheduler, start_worker
from field_study import LIGHT, write_field_study
from overread.cli import main
from overread.study.store.manifest import Manifest
from overread.study.store.run_folder import RunFolder
from overread.study.workers.dask_cluster import DaskExecutor

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A scheduler, and a worker whose copy of the package says that it is of another version."""
    copy = tmp_path_factory.mktemp("other") / "overread"
    shutil.copytree(Path(overread.__file__).parent, copy)
    change(copy / "__init__.py", f'__version__ = "{overread.__version__}"', '__version__ = "0.1.0"')
    change(copy / "fields" / "generic_features.py", "GENERIC_VERSION = ", 'GENERIC_VERSION = "old" or ')
    with start_scheduler() as (_, address), start_worker(address, copy.parent) as worker:
        yield address, worker


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    settings = LIGHT.replace("field_of_view", "all")
    return write_field_study(tmp_path / "study", settings=settings, n_images=6, seed=1)


def run_on(study: Path, scheduler: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["run", str(study), "--scheduler", scheduler, "--quiet"])
    said = capsys.readouterr().err
    assert not Manifest(RunFolder(study / "runs" / "main")).entries
    return code, " ".join(said.split())


def test_workers_are_asked_before_work_begins(
    study: Path, cluster: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run_on(study, cluster[0], capsys)
    assert code == 5
    assert f"{cluster[1]} has overread 0.1.0, this run {overread.__version__}" in said
    assert "stop that worker" in said


def test_a_worker_that_joins_later_is_known_by_its_results(
    study: Path,
    cluster: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DaskExecutor, "_check_workers", lambda self: None, raising=False)
    code, said = run_on(study, cluster[0], capsys)
    assert code == 5
    assert f"{cluster[1]} has other code than this run: overread 0.1.0" in said
    assert "features 'generic old" in said
