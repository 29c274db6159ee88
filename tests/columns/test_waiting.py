"""Waits end: with an answer, or with an error that says what to do."""

import threading

import pytest

from overread.columns import _cluster as waiting
from overread.columns import answer_within, has_workers, wait_with_workers
from overread.errors import StorageError
from progress_record import NotedProgress


class Cluster:
    """A client whose cluster has so many threads at each look."""

    status = "running"

    def __init__(self, *threads: int) -> None:
        self._threads = list(threads)

    def nthreads(self) -> dict[str, int]:
        n_threads = self._threads.pop(0)
        if n_threads < 0:
            raise OSError("connecting")
        return {"worker": n_threads} if n_threads else {}


def test_an_answer_in_time_and_none() -> None:
    assert answer_within(10, lambda: 3) == 3
    never = threading.Event()
    with pytest.raises(TimeoutError):
        answer_within(0.01, lambda: never.wait(10))
    never.set()
    with pytest.raises(ValueError, match="why"):
        answer_within(10, lambda: (_ for _ in ()).throw(ValueError("why")))


def test_workers_that_come_back_start_the_count_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_EMPTY_LOOKS", 3)
    looks = iter([False] * 6 + [True])
    wait_with_workers(Cluster(0, 0, 2, 0, -1, 2), lambda seconds: next(looks))
    with NotedProgress(), pytest.raises(StorageError, match=r"has had no worker for 90 s. Start workers"):
        wait_with_workers(Cluster(2, 0, 0, -1), lambda seconds: False)


def test_a_connection_that_is_closed_is_not_waited_for() -> None:
    gone = Cluster()
    gone.status = "closed"
    with pytest.raises(StorageError, match="connection to the Dask scheduler is closed"):
        wait_with_workers(gone, lambda seconds: False)


def test_a_scheduler_that_does_not_answer_has_no_workers() -> None:
    assert [has_workers(Cluster(n_threads)) for n_threads in (2, 0, -1)] == [True, False, False]
