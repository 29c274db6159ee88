"""What a Dask worker with other code makes is never taken for this run's own."""

import logging
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import overread
from dask_processes import start_scheduler, start_worker
from field_study import LIGHT, write_field_study
from overread.bags import StoredInstances
from overread.cli import main
from overread.errors import StorageError
from overread.models import SoftMILPath
from overread.study._store import Manifest, RunFolder
from overread.study.executors import _dask as cluster_client
from overread.study.executors._dask import DaskExecutor, close_shared_clients, connect_cluster, share_client

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler, and a worker whose copy of the package says that it is of another version."""
    copy = tmp_path_factory.mktemp("other") / "overread"
    shutil.copytree(Path(overread.__file__).parent, copy)
    change(copy / "__init__.py", f'__version__ = "{overread.__version__}"', '__version__ = "0.1.0"')
    change(copy / "domains" / "picture" / "_features.py", "GENERIC_VERSION = ", 'GENERIC_VERSION = "old" or ')
    with start_scheduler() as (_, address), start_worker(address, copy.parent) as worker:
        yield address, worker


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture
def study(tmp_path):
    settings = LIGHT.replace("field_of_view", "all")
    return write_field_study(tmp_path / "study", settings=settings, n_images=6, seed=1)


def run_on(study: Path, scheduler: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["run", str(study), "--scheduler", scheduler, "--quiet"])
    said = capsys.readouterr().err
    assert not Manifest(RunFolder(study / "runs" / "main")).entries
    return code, " ".join(said.split())


def test_workers_are_asked_before_work_begins(study, cluster, capsys):
    code, said = run_on(study, cluster[0], capsys)
    assert code == 5
    assert f"{cluster[1]} has overread 0.1.0, this run {overread.__version__}" in said
    assert "stop that worker" in said


def test_a_worker_that_joins_later_is_known_by_its_results(study, cluster, capsys, monkeypatch):
    monkeypatch.setattr(DaskExecutor, "_check_workers", lambda self: None, raising=False)
    code, said = run_on(study, cluster[0], capsys)
    assert code == 5
    assert f"{cluster[1]} runs other code than this run: overread 0.1.0" in said
    assert "features 'generic old" in said


def test_fits_refuse_the_worker_each_time(cluster):
    """The connection was kept before its workers were asked: the second fit took it without a question."""
    for _ in range(2):
        with pytest.raises(StorageError, match=r"has overread 0\.1\.0"):
            share_client(cluster[0])
    close_shared_clients()


def test_a_fit_knows_a_worker_that_joins_later_by_its_answers(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_client, "ask_workers", lambda *_: None)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", np.asfortranarray(rng.normal(size=(40, 3))))
    stored = StoredInstances(tmp_path / "X.npy", client=share_client(cluster[0]))
    with pytest.raises(StorageError, match=r"a Dask worker has overread 0\.1\.0, this run"):
        SoftMILPath(n_alphas=2).fit(stored, rng.random(40).round(), bags=np.arange(40))
    close_shared_clients()


def test_dask_is_silent_for_a_run_only(cluster):
    logger = logging.getLogger("distributed.client")
    before = logger.level
    connect_cluster(cluster[0]).close()
    assert logger.level > logging.CRITICAL
    close_shared_clients()
    assert logger.level == before < logging.CRITICAL


def test_a_connection_that_comes_too_late_is_closed(monkeypatch):
    may_connect, closed = threading.Event(), threading.Event()

    class LateClient:
        def __init__(self, *_: object, **__: object) -> None:
            may_connect.wait(10)

        def close(self) -> None:
            closed.set()

    monkeypatch.setattr("distributed.Client", LateClient)
    monkeypatch.setattr(cluster_client, "TIMEOUT_SECONDS", -0.9)
    with pytest.raises(StorageError, match="no Dask scheduler answers there"):
        connect_cluster("tcp://127.0.0.1:9")
    may_connect.set()
    assert closed.wait(10)
    close_shared_clients()
