"""Who works on the images: this process, local worker processes, or a Dask cluster."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from overread.domains import ImageTask
from overread.study._pipeline import Pipeline, PipelineSpec
from overread.study.executors._worker import IsolatedWorker, Outcome, WorkLimits, work_on


def count_processors() -> int:
    """Count the processors that this process may use; all of the machine where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Executor(Protocol):
    """Works on images in any order; the bytes of a shard do not depend on who made it."""

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield exactly one outcome for each task; ``alone``: one image at a time, on one worker."""
        ...

    def close(self) -> None:
        """Let go of workers."""
        ...


class SerialExecutor:
    """Works in this process: simple to follow, but an image that kills or hangs it takes the run along."""

    def __init__(self, spec: PipelineSpec) -> None:
        self._spec = spec
        self._pipeline: Pipeline | None = None

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the tasks."""
        self._pipeline = self._pipeline or self._spec.build()
        for task in tasks:
            yield work_on(self._pipeline, task)

    def close(self) -> None:
        """Forget the pipeline."""
        self._pipeline = None


class ProcessExecutor:
    """Works in local processes, each led by a thread that waits for its answers; unless told, one a processor."""

    def __init__(self, spec: PipelineSpec, limits: WorkLimits, n_workers: int | None = None) -> None:
        count = n_workers or count_processors()
        warm = threading.Event()
        self._workers = [IsolatedWorker(spec, limits, warm) for _ in range(count)]

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes as they come."""
        workers = self._workers[: 1 if alone else len(tasks)]
        waiting: queue.SimpleQueue[ImageTask | None] = queue.SimpleQueue()
        answered: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=lead, args=(worker, waiting, answered), daemon=True) for worker in workers
        ]
        for thread in threads:
            thread.start()
        # No more images are given out than there are workers until an outcome is written down: what is not yet
        # written when the run is killed is lost.
        for task in tasks[: len(workers)]:
            waiting.put(task)
        following = iter(tasks[len(workers) :])
        try:
            for _ in tasks:
                answer = answered.get()
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
                waiting.put(next(following, None))
        finally:
            end(threads, workers, waiting)

    def close(self) -> None:
        """End the worker processes."""
        for worker in self._workers:
            worker.close()


def lead(
    worker: IsolatedWorker,
    waiting: queue.SimpleQueue[ImageTask | None],
    answered: queue.SimpleQueue[Outcome | BaseException],
) -> None:
    """Give a worker one task after the other, until there is None."""
    while (task := waiting.get()) is not None:
        try:
            answered.put(worker.work(task))
        except BaseException as error:
            answered.put(error)


def end(
    threads: Sequence[threading.Thread],
    workers: Sequence[IsolatedWorker],
    waiting: queue.SimpleQueue[ImageTask | None],
) -> None:
    """Let the leading threads end; workers that still compute are ended, their answers are not wanted."""
    with suppress(queue.Empty):
        while True:
            waiting.get_nowait()
    for _ in threads:
        waiting.put(None)
    for thread, worker in zip(threads, workers, strict=True):
        thread.join(timeout=0.5)
        while thread.is_alive():
            worker.interrupt()
            thread.join(timeout=0.2)
