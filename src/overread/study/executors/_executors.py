"""What works on the images: this process, local worker processes, or a Dask cluster."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Protocol

from overread.domains import ImageTask
from overread.study._pipeline import Pipeline, PipelineSpec
from overread.study.executors._worker import IsolatedWorker, Outcome, WorkLimits, work_on


def count_processors() -> int:
    """Count the processors that this process may use; all of the machine if the system gives no number."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Executor(Protocol):
    """Processes images in any order; the bytes of a shard do not depend on the process."""

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
    """Works in local processes, each with a thread that waits for its results; by default one per processor."""

    def __init__(self, spec: PipelineSpec, limits: WorkLimits, n_workers: int | None = None) -> None:
        count = n_workers or count_processors()
        warm = threading.Event()
        self._workers = [IsolatedWorker(spec, limits, warm) for _ in range(count)]

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes as they come."""
        workers, waiting = self._workers[: 1 if alone else len(tasks)], iter(tasks)
        with ThreadPoolExecutor(len(self._workers)) as pool:
            led = {
                pool.submit(worker.work, task): worker for worker, task in zip(workers, waiting, strict=False)
            }
            try:
                while led:
                    future = next(iter(wait(led, return_when=FIRST_COMPLETED).done))
                    yield future.result()
                    # Only now, when the outcome is written down, is the next image given out: what is not yet
                    # written when the run is killed is lost.
                    worker = led.pop(future)
                    for task in islice(waiting, 1):
                        led[pool.submit(worker.work, task)] = worker
            finally:
                # Workers that still compute are ended, as their answers are not wanted.
                seconds = 0.5
                while busy := wait(led, seconds).not_done:
                    seconds = 0.2
                    for future in busy:
                        led[future].interrupt()

    def close(self) -> None:
        """End the worker processes."""
        for worker in self._workers:
            worker.close()
