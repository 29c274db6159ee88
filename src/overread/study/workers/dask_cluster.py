"""An existing Dask cluster works on the images, a batch of them a task.

Within a Dask worker a batch runs in an isolated process, as it does locally: an image that dies or hangs costs
itself, never the Dask worker. The workers open the image files by the paths that this process uses, so the study's
folder has to be at the same place everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from overread.errors import OverreadError
from overread.study.pipeline import ImageTask, PipelineSpec
from overread.study.workers.cluster_client import connect_cluster, take_as_completed
from overread.study.workers.isolation import IsolatedWorker, WorkLimits
from overread.study.workers.messages import task_of, told_task
from overread.study.workers.result import Fault, Outcome

__all__ = ["DaskExecutor"]


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

    @property
    def n_at_once(self) -> int:
        """A batch a thread of the workers there are now."""
        return self._batch * max(1, sum(self._client.nthreads().values()))

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes, batch by batch as they come."""
        size = 1 if alone else self._batch
        batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]
        futures: dict[Any, Sequence[ImageTask]] = {}
        for batch in batches:
            told = [told_task(task) for task in batch]
            future = self._client.submit(
                work_in_isolation, self._spec.plain(), self._limits, told, pure=False
            )
            futures[future] = batch
            if alone:
                yield from outcomes(future, batch)
                del futures[future]
        try:
            for future in take_as_completed(list(futures)):
                yield from outcomes(future, futures[future])
                future.release()
        finally:
            self._client.cancel(list(futures), force=True)

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()


def work_in_isolation(spec: dict[str, Any], limits: WorkLimits, told: list[dict[str, Any]]) -> list[Outcome]:
    """Work on a batch in a process of its own; runs in a Dask worker."""
    worker = IsolatedWorker(PipelineSpec(**spec), limits)
    try:
        return [worker.work(task_of(one)) for one in told]
    finally:
        worker.close()


def outcomes(future: Any, batch: Sequence[ImageTask]) -> list[Outcome]:
    """Outcomes of a batch; a batch that the cluster lost is a fault of each of its images, tried again alone."""
    try:
        return list(future.result())
    except OverreadError:  # not of an image: no worker can start there
        raise
    except Exception as error:
        fault = Fault("death", f"the cluster lost it: {type(error).__name__}")
        return [Outcome(task.image_id, fault=fault) for task in batch]
