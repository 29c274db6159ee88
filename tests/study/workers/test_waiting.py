"""Work on images never waits for ever for a Dask cluster, and no image is given up because workers die."""

import gc
import socket
from pathlib import Path
from typing import Any

import pytest

from dask_processes import start_scheduler, start_worker
from overread.cli import main
from overread.errors import StorageError
from overread.study import WorkLimits, run_study
from overread.study._store import Manifest, RunFolder
from overread.study.executors import _dask as cluster_client
from overread.study.executors import _dask as dask_cluster
from overread.study.executors._dask import DaskExecutor
from study_chain import tasks
from study_stand_in import make_study, spec

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
BLAME = distributed.scheduler.KilledWorker("task", None, 3)


@pytest.fixture(autouse=True)
def collected():
    """Let sockets that Dask leaves open be collected here, where their warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("waiting") / "study", n_images=6)


@pytest.fixture(scope="module")
def scheduler():
    """A scheduler without workers."""
    with start_scheduler() as (_, address):
        yield address


@pytest.fixture
def impatient(monkeypatch):
    from overread.columns import _cluster as waiting

    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.5)
    monkeypatch.setattr(waiting, "MOST_EMPTY_LOOKS", 4)


@pytest.mark.usefixtures("impatient")
def test_no_worker_is_said_and_then_the_end(study, scheduler, capsys):
    assert main(["run", str(study), "--scheduler", scheduler]) == 5
    said = " ".join(capsys.readouterr().err.split())
    assert "the Dask cluster has no worker: waiting up to 2 s for one" in said
    assert "has had no worker for 2 s. Start workers, and run again" in said


@pytest.mark.parametrize("joins_later", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_worker_without_the_package_is_named(study, scheduler, tmp_path, monkeypatch, joins_later):
    (tmp_path / "overread").mkdir()
    (tmp_path / "overread" / "__init__.py").write_text(
        'raise ModuleNotFoundError("No module named overread")'
    )
    if joins_later:
        monkeypatch.setattr(DaskExecutor, "_check_workers", lambda self: None)
    with start_worker(scheduler, tmp_path) as worker, pytest.raises(StorageError) as refused:
        run_study(study, pipeline=spec(), execution={"executor": "dask", "scheduler": scheduler})
    assert f"{worker} cannot use Overread (ModuleNotFoundError" in str(refused.value)
    assert "stop that worker, and run again" in str(refused.value)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_scheduler_that_is_started_again_has_no_workers(study, capfd):
    with start_scheduler() as (process, address), start_worker(address):
        executor = DaskExecutor(spec(seconds=0.2), WorkLimits(), address, batch=1)
        outcomes = executor.work(tasks(study))
        assert next(outcomes).shard
        process.kill()
        process.wait()
        port = int(address.rsplit(":", 1)[1])
        with start_scheduler(port), pytest.raises(StorageError, match=r"has had no worker|is gone"):
            list(outcomes)
        executor.close()
    assert "Traceback" not in capfd.readouterr().err


def test_an_address_where_nobody_speaks(study, monkeypatch):
    monkeypatch.setattr(cluster_client, "TIMEOUT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(StorageError, match=f"{address}: no Dask scheduler answers there"):
            DaskExecutor(spec(), WorkLimits(), address)


@pytest.mark.parametrize("address", ["", "foo://bar:1", "http://127.0.0.1:8786", "tcp://"])
def test_an_impossible_address_is_refused_at_once(study, address, capsys, monkeypatch):
    monkeypatch.setattr(dask_cluster, "connect_cluster", lambda scheduler: pytest.fail("connected"))
    assert main(["run", str(study), "--scheduler", address]) == 2
    assert "is not the address of a Dask scheduler" in " ".join(capsys.readouterr().err.split())


class Blamed:
    """A future that the scheduler gave up, because workers that had it died."""

    def add_done_callback(self, note: Any) -> None:
        note(self)

    def result(self) -> None:
        raise BLAME


@pytest.mark.slow
@pytest.mark.parametrize("n_blamed", [15, 1000])
def test_no_image_is_given_up_because_workers_die(study, scheduler, tmp_path, monkeypatch, n_blamed):
    """Fifteen tasks are lost before the workers live; or all of them, and the next run does them."""
    left = [n_blamed]
    submit = distributed.Client.submit

    def lose_some(self: Any, *given: Any, **options: Any) -> Any:
        left[0] -= 1
        return Blamed() if left[0] >= 0 else submit(self, *given, **options)

    monkeypatch.setattr(distributed.Client, "submit", lose_some)
    execution = {"executor": "dask", "scheduler": scheduler, "batch": 2}
    name = f"blamed-{n_blamed}"
    folder = RunFolder(study / "runs" / name)
    with start_worker(scheduler):
        if n_blamed < 1000:
            work(study, name, execution)
        else:
            with pytest.raises(StorageError, match=r"lost the work on 6 images 10 times.*not skipped"):
                work(study, name, execution)
            assert not Manifest(folder).entries
            left[0] = 0
            work(study, name, execution)
    assert all(entry.sha256 for entry in Manifest(folder).entries.values())
    assert len(Manifest(folder).entries) == 6


def work(study: Path, name: str, execution: dict[str, Any]) -> None:
    """Do the stages up to the candidates."""
    from overread.study import find_study_candidates

    find_study_candidates(study, name=name, pipeline=spec(), execution=execution)
