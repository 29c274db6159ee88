"""An existing Dask cluster works on the images, a batch of them a task; fits of a run share a connection to it.

Within a Dask worker a batch runs in an isolated process, as it does locally: an image that dies or hangs costs
itself, never the Dask worker. The workers open the image files by the paths that this process uses, so the study's
folder has to be at the same place everywhere. A task that the cluster loses is never the fault of its images.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from overread import __version__
from overread.columns import RETRIES, answer_within, has_workers, wait_with_workers
from overread.domains import ImageTask
from overread.errors import MissingExtraError, OverreadError, StorageError
from overread.files import from_json, to_json
from overread.study._pipeline import PipelineSpec, Versions
from overread.study.executors._worker import (
    IsolatedWorker,
    Outcome,
    WorkLimits,
    read_task,
    refuse_other_versions,
)

if TYPE_CHECKING:
    from distributed import Client, Future

# A scheduler that answers at all answers within a second; set by judgement for slow networks.
TIMEOUT_SECONDS = 30
# A worker imports the package for its answer; set by judgement.
ANSWER_SECONDS = 120
_SHARED: dict[str, Client] = {}
# Of Dask's loggers, before they were silenced.
_LEVELS: dict[str, int] = {}


def connect_cluster(scheduler: str) -> Client:
    """Connect to a cluster by its address, ``tcp://host:port``."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("the executor dask needs: pip install overread[cluster]") from error
    _silence_dask()
    given_up = threading.Event()

    def connect() -> Client:
        client = Client(scheduler, timeout=TIMEOUT_SECONDS)
        if given_up.is_set():
            client.close()
        return client

    try:
        # Dask's own limit does not hold where something listens and says nothing.
        return answer_within(TIMEOUT_SECONDS + 1, connect)
    except (OSError, ValueError) as error:
        given_up.set()
        raise StorageError(
            f"{scheduler}: no Dask scheduler answers there: start one, or correct the address (--scheduler)"
        ) from error


def share_client(scheduler: str) -> Client:
    """Return the connection that all fits of this process share, made when the first one asks."""
    if scheduler not in _SHARED or _SHARED[scheduler].status != "running":
        client = connect_cluster(scheduler)
        try:
            ask_workers(client, None)
        except StorageError:
            client.close()
            raise
        _SHARED[scheduler] = client
    return _SHARED[scheduler]


def close_shared_clients() -> None:
    """Leave the clusters that fits used, and let Dask speak again."""
    while _SHARED:
        _SHARED.popitem()[1].close()
    while _LEVELS:
        name, level = _LEVELS.popitem()
        logging.getLogger(name).setLevel(level)


def ask_workers(client: Client, pipeline: dict[str, Any] | None) -> dict[str, dict[str, str]]:
    """Ask every worker for its versions, by their addresses: ``overread``, and ``candidates`` and ``features``."""

    # Sent by value, as no function of a module is: a worker without the package can still say so.
    def tell() -> dict[str, str]:
        try:
            import overread

            found = {"overread": overread.__version__}
            if pipeline is not None:
                from overread.study._pipeline import PipelineSpec

                made = PipelineSpec(**pipeline).build()
                found |= {"candidates": made.candidate_version, "features": made.feature_version}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return found

    try:
        answers: dict[str, dict[str, str]] = answer_within(ANSWER_SECONDS, lambda: client.run(tell))
    except Exception as error:
        raise StorageError(
            f"the workers of the Dask cluster do not say which version of Overread they have ({type(error).__name__}):"
            " restart them, and run again"
        ) from error
    for address, found in answers.items():
        if "error" in found:
            raise StorageError(f"the Dask worker {address} cannot use Overread ({found['error']}): {REMEDY}")
        if found["overread"] != __version__:
            raise StorageError(
                f"the Dask worker {address} has overread {found['overread']}, this run {__version__}: {REMEDY}"
            )
    return answers


REMEDY = f"install overread=={__version__} there, or stop that worker, and run again"


def _silence_dask() -> None:
    """Keep Dask's own account of lost connections off the screen while a run lasts: what matters is raised."""
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado"):
            logger = logging.getLogger(name)
            _LEVELS.setdefault(name, logger.level)
            logger.setLevel(logging.CRITICAL + 1)


def make_work(
    spec: dict[str, Any], limits: dict[str, Any], tasks: list[dict[str, Any]]
) -> Callable[[], tuple[str, list[Outcome] | str]]:
    """Make the function that works on a batch; it gives the worker's address, and outcomes or why there are none.

    It goes to the worker by value, with plain values: one without the package says so instead of dying of it.
    """

    def work() -> tuple[str, list[Outcome] | str]:
        from distributed import get_worker

        address = get_worker().address
        try:
            from overread.study.executors._dask import work_in_isolation
        except ImportError as error:
            return address, f"{type(error).__name__}: {error}"
        return address, work_in_isolation(spec, limits, tasks)

    return work


Batch = Sequence[ImageTask]


class DaskExecutor:
    """Works on the Dask cluster at ``tcp://host:port``, one batch of images per task."""

    def __init__(self, spec: PipelineSpec, limits: WorkLimits, scheduler: str, *, batch: int = 8) -> None:
        self._spec, self._limits, self._batch = spec, limits, batch
        self._client = connect_cluster(scheduler)
        self._is_checked = False

    def work(self, tasks: Sequence[ImageTask], *, alone: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes, batch by batch as they come."""
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
            " images are not skipped: check the workers, and run again"
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
        futures: dict[int, Future] = {}
        try:
            for place, batch in enumerate(batches):
                plain = [to_json(task) for task in batch]
                work = make_work(self._spec.plain(), to_json(self._limits), plain)
                futures[place] = self._submit(work)
                futures[place].add_done_callback(partial(_note, ended, place))
            while futures:
                place = self._await_next(ended)
                found = _read_answer(futures.pop(place))
                if found is None:
                    lost.append(batches[place])
                else:
                    yield from found
        finally:
            with suppress(Exception):
                answer_within(
                    TIMEOUT_SECONDS, partial(self._client.cancel, list(futures.values()), force=True)
                )

    def _submit(self, work: Callable[[], object]) -> Future:
        try:
            return self._client.submit(work, pure=False)
        except Exception as error:
            raise StorageError(
                "the Dask scheduler is gone. Start it and its workers, and run again"
            ) from error

    def _await_next(self, ended: queue.SimpleQueue[int]) -> int:
        """Return the position of the next batch that ended."""
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
    """Process a batch in a separate process; runs in a Dask worker."""
    worker = IsolatedWorker(PipelineSpec(**spec), from_json(WorkLimits, limits, "limits"))
    try:
        return [worker.work(read_task(one)) for one in tasks]
    finally:
        worker.close()


def _read_answer(future: Future) -> list[Outcome] | None:
    """Return the outcomes of a batch; None for one that the cluster lost."""
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
