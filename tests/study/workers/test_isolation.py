"""A worker process may die, hang or starve; the run is told, and goes on with another."""

import threading
from pathlib import Path

import pytest

from overread.errors import OverreadError
from overread.study import IsolatedWorker, PipelineSpec, WorkLimits
from overread.study.executors import _worker as isolation
from overread.study.executors._executors import ProcessExecutor
from overread.study.executors._worker import Fault
from study_chain import Chain, tasks
from study_stand_in import spec


def test_a_cold_worker_has_time_to_compile(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "COMPILE_SECONDS", 60.0)
    worker = IsolatedWorker(spec(seconds=0.5), WorkLimits(seconds_per_image=0.1))
    first, second = (worker.work(task) for task in tasks(chain.study)[:2])
    worker.close()
    assert first.fault is None
    assert second.fault is not None
    assert second.fault.kind == "timeout"


@pytest.mark.slow
def test_a_worker_that_compiled_beside_the_first_is_not_overdue_at_once(chain: Chain) -> None:
    warm = threading.Event()
    worker = IsolatedWorker(spec(seconds=1.8), WorkLimits(seconds_per_image=1.0), warm)
    first, second = tasks(chain.study)[:2]
    assert worker.work(first).fault is None
    warm.clear()
    another = threading.Timer(1.1, warm.set)
    another.start()
    assert worker.work(second).fault is None
    another.join()
    worker.close()


def test_a_worker_that_was_closed_starts_again(chain: Chain) -> None:
    worker = IsolatedWorker(spec(), WorkLimits())
    one = tasks(chain.study)[0]
    first = worker.work(one)
    worker.close()
    worker.close()
    assert worker.work(one) == first
    worker.close()


@pytest.mark.parametrize(
    ("bad", "kind", "reason"),
    [
        ("kill", "death", "the worker was ended by SIGKILL"),
        ("exhaust", "memory", "there was not enough memory"),
    ],
)
def test_after_a_death_the_next_image_has_a_new_worker(
    chain: Chain, bad: str, kind: str, reason: str
) -> None:
    worker = IsolatedWorker(spec(**{bad: ("case 000",)}), WorkLimits(memory_mb=2000))
    try:
        first, second = (worker.work(task) for task in tasks(chain.study, 2))
    finally:
        worker.close()
    assert first.fault == Fault(kind, reason)  # type: ignore[arg-type]
    assert second.fault is None


def test_an_interrupt_from_another_thread_is_a_fault(chain: Chain) -> None:
    worker = IsolatedWorker(spec(hang=("case 001",)), WorkLimits())
    first, second = tasks(chain.study, 2)
    assert worker.work(first).fault is None
    another = threading.Timer(0.3, worker.interrupt)
    another.start()
    outcome = worker.work(second)
    another.join()
    worker.close()
    assert outcome.fault is not None
    assert outcome.fault.kind == "death"


def test_a_pipeline_that_cannot_be_built(chain: Chain) -> None:
    worker = IsolatedWorker(PipelineSpec("study_stand_in:nothing"), WorkLimits())
    with pytest.raises(OverreadError, match="could not build the pipeline: AttributeError"):
        worker.work(tasks(chain.study, 1)[0])
    worker.close()


def test_a_worker_runs_no_code_of_the_current_folder(chain: Chain, trap: Path) -> None:
    worker = IsolatedWorker(spec(), WorkLimits())
    outcome = worker.work(tasks(chain.study, 1)[0])
    worker.close()
    assert outcome.fault is None
    assert not (trap / "PWNED").exists()


def test_a_worker_that_cannot_start_stops_the_run(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('broken')")
    monkeypatch.syspath_prepend(str(tmp_path))
    executor = ProcessExecutor(spec(), WorkLimits(), 2)
    with pytest.raises(OverreadError, match=r"could not start .exit code 1.*-P -c"):
        list(executor.work(tasks(chain.study)))
    executor.close()
    assert capfd.readouterr().err == ""
