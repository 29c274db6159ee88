"""A real Dask cluster on this machine does what local processes do."""

import sys
from pathlib import Path

import pytest

from overread.errors import MissingExtraError, OverreadError, UsageError
from overread.files import to_json
from overread.study import WorkLimits, run_study
from overread.study.executors._dask import DaskExecutor, _read_answer, work_in_isolation
from overread.study.executors._executors import SerialExecutor
from study_chain import Chain, tasks
from study_stand_in import spec
from study_trees import same


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_processes_and_dask_give_the_bytes_of_the_serial_run(
    fresh_numbers: Path, light_numbers_original: Path, cluster_address: str
) -> None:
    run_study(
        fresh_numbers, name="processes", pipeline=spec(), execution={"executor": "processes", "workers": 2}
    )
    dask = {"executor": "dask", "scheduler": cluster_address, "batch": 5}
    run_study(fresh_numbers, name="dask", pipeline=spec(), execution=dask)
    for name in ("processes", "dask"):
        assert same(fresh_numbers / "runs" / name, light_numbers_original / "runs/main")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_survives_what_local_processes_survive(fresh_numbers: Path, cluster_address: str) -> None:
    limits = WorkLimits(seconds_per_image=2.0)
    executor = DaskExecutor(spec(kill=("case 001",), hang=("case 004",)), limits, cluster_address, batch=3)
    try:
        outcomes = {outcome.image_id: outcome for outcome in executor.work(tasks(fresh_numbers))}
        again = list(executor.work(tasks(fresh_numbers, 2), alone=True))
    finally:
        executor.close()
    kinds = {name: one.fault.kind for name, one in outcomes.items() if one.fault}
    assert kinds == {"case 001": "death", "case 004": "timeout"}
    assert [one.image_id for one in again] == ["case 000", "case 001"]


def test_no_cluster_there(fresh_numbers: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="--scheduler"):
        run_study(fresh_numbers, pipeline=spec(), execution={"executor": "dask"})


def test_no_dask_there(fresh_numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="overread\\[cluster\\]"):
        run_study(
            fresh_numbers, pipeline=spec(), execution={"executor": "dask", "scheduler": "tcp://127.0.0.1:1"}
        )


def test_a_batch_is_worked_on_in_a_process_of_its_own(chain: Chain) -> None:
    batch = tasks(chain.study, 2)
    found = work_in_isolation(spec().plain(), to_json(WorkLimits()), [to_json(task) for task in batch])
    assert [one.shard for one in found] == [one.shard for one in SerialExecutor(spec()).work(batch)]


def test_a_batch_that_the_cluster_lost_is_not_a_fault_of_its_images() -> None:
    class Lost:
        def result(self) -> None:
            raise ConnectionError("the address and name of a machine")

    assert _read_answer(Lost()) is None


def test_a_worker_that_cannot_start_there_stops_the_run() -> None:
    class Broken:
        def result(self) -> None:
            raise OverreadError("a worker could not start")

    with pytest.raises(OverreadError, match="could not start"):
        _read_answer(Broken())
