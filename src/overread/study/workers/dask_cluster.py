"""An existing Dask cluster works on the images, a batch of them a task.

Within a Dask worker a batch runs in an isolated process, as it does locally: an image that dies or hangs costs
itself, never the Dask worker. The workers open the image files by the paths that this process uses, so the study's
folder has to be at the same place everywhere. A task that the cluster loses is never the fault of its images.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from overread.errors import OverreadError, StorageError
from overread.files.records import from_json, to_json
from overread.models.columns.spread import RETRIES
from overread.models.columns.waiting import answer_within, has_workers, wait_with_workers
from overread.study.pipeline import ImageTask, PipelineSpec, Versions
from overread.study.workers.cluster_client import TIMEOUT_SECONDS, ask_workers, connect_cluster, make_work
from overread.study.workers.isolation import IsolatedWorker, WorkLimits
from overread.study.workers.messages import read_task
from overread.study.workers.result import Outcome, refuse_other_versions

__all__ = ["DaskExecutor", "work_in_isolation"]

Batch = Sequence[ImageTask]


class DaskExecutor:
    """Works on a Dask cluster.

    Parameters
    ----------
    spec
        The pipeline.
    limits
        What an image may cost.
    scheduler
        Address of the cluster, ``tcp://host:port``.
    batch
        Images a task.
    """

    def __init__(self, spec: PipelineSpec, limits: WorkLimits, scheduler: str, *, batch: int = 8) -> None:
        self._spec, self._limits, self._batch = spec, limits, batch
        self._client = connect_cluster(scheduler)
        self._is_checked = False

    @property
    def n_at_once(self) -> int:
        """A batch a thread of the workers there are now."""
        return self._batch * max(1, sum(self._client.nthreads().values()))

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes, batch by batch as they come.

        Raises
        ------
        StorageError
            If there are no workers, or they have other code than this process, or they are lost again and again: after
            all other outcomes, and without one for the images that were lost.
        """
        self._check_workers()
        size = 1 if alone else self._batch
        batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]
        for _ in range(RETRIES):
            lost: list[Batch] = []
            for group in [[batch] for batch in batches] if alone else [batches]:
                yield from self._work_once(group, lost)
            if not lost:
                return
            batches = [[task] for batch in lost for task in batch]
        raise StorageError(
            f"the Dask cluster lost the work on {len(batches)} images {RETRIES} times: its workers die too soon. These"
            " images are not given up: see to the workers, and run again"
        )

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()

    def _check_workers(self) -> None:
        """Wait for the first worker, and see that all there are have the code of this process."""
        if self._is_checked:
            return
        wait_with_workers(self._client, self._await_worker)
        expected = Versions.of(self._spec.build())
        for address, found in ask_workers(self._client, self._spec.plain()).items():
            refuse_other_versions(from_json(Versions, found), expected, f"the Dask worker {address}")
        self._is_checked = True

    def _await_worker(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not (found := has_workers(self._client)) and time.monotonic() < end:
            time.sleep(0.1)
        return found

    def _work_once(self, batches: Sequence[Batch], lost: list[Batch]) -> Iterator[Outcome]:
        """Yield the outcomes of batches; those that the cluster lost are put on the list."""
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        futures: dict[int, Any] = {}
        try:
            for place, batch in enumerate(batches):
                plain = [to_json(task) for task in batch]
                work = make_work(self._spec.plain(), to_json(self._limits), plain)
                futures[place] = self._submit(work)
                futures[place].add_done_callback(partial(_note, ended, place))
            while futures:
                place = self._await_next(ended)
                found = read_answer(futures.pop(place))
                if found is None:
                    lost.append(batches[place])
                else:
                    yield from found
        finally:
            with suppress(Exception):
                answer_within(
                    TIMEOUT_SECONDS, partial(self._client.cancel, list(futures.values()), force=True)
                )

    def _submit(self, work: Callable[[], Any]) -> Any:
        try:
            return self._client.submit(work, pure=False)
        except Exception as error:
            raise StorageError(
                "the Dask scheduler is gone: start it and its workers, and run again"
            ) from error

    def _await_next(self, ended: queue.SimpleQueue[int]) -> int:
        """Return the place of the next batch that ended."""
        place: list[int] = []

        def is_over(seconds: float) -> bool:
            with suppress(queue.Empty):
                place.append(ended.get(timeout=seconds))
            return bool(place)

        wait_with_workers(self._client, is_over)
        return place[0]


def _note(ended: queue.SimpleQueue[int], place: int, _: object) -> None:
    ended.put(place)


def work_in_isolation(
    spec: dict[str, Any], limits: dict[str, Any], tasks: list[dict[str, Any]]
) -> list[Outcome]:
    """Work on a batch in a process of its own; runs in a Dask worker."""
    worker = IsolatedWorker(PipelineSpec(**spec), from_json(WorkLimits, limits, "limits"))
    try:
        return [worker.work(read_task(one)) for one in tasks]
    finally:
        worker.close()


def read_answer(future: Any) -> list[Outcome] | None:
    """Return the outcomes of a batch; None for one that the cluster lost.

    Raises
    ------
    OverreadError
        If a worker cannot use the package.
    """
    try:
        address, found = future.result()
    except OverreadError:  # not of an image: no worker can start there
        raise
    except Exception:
        return None
    who = f"the Dask worker {address}"
    if isinstance(found, str):
        raise StorageError(
            f"{who} cannot use Overread ({found}): install it there, or stop that worker, and run again"
        )
    return [replace(outcome, worker=who) for outcome in found]
