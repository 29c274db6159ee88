"""Connections to existing Dask clusters: one of its own for work on images, one shared by the fits of a run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from overread import __version__
from overread.errors import MissingExtraError, StorageError
from overread.models.columns.waiting import answer_within

__all__ = [
    "TIMEOUT_SECONDS",
    "ask_workers",
    "close_shared_clients",
    "connect_cluster",
    "make_work",
    "share_client",
]

# A scheduler that answers at all answers within a second; chosen by eye for slow networks.
TIMEOUT_SECONDS = 30
# A worker imports the package for its answer; chosen by eye.
ANSWER_SECONDS = 120
_SHARED: dict[str, Any] = {}
# Of Dask's loggers, before they were silenced.
_LEVELS: dict[str, int] = {}


def connect_cluster(scheduler: str) -> Any:
    """Connect to a cluster by its address, ``tcp://host:port``.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    StorageError
        If nothing answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("the executor dask needs: pip install overread[dask]") from error
    _silence_dask()
    given_up = threading.Event()

    def connect() -> Any:
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


def share_client(scheduler: str) -> Any:
    """Return the connection that all fits of this process share, made when the first one asks.

    Raises
    ------
    StorageError
        If a worker there has another version of the package.
    """
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


def ask_workers(client: Any, pipeline: dict[str, Any] | None) -> dict[str, dict[str, str]]:
    """Ask every worker for its versions, by their addresses: ``overread``, and ``candidates`` and ``features``.

    Parameters
    ----------
    client
        Of the cluster.
    pipeline
        Whose versions are asked for (`PipelineSpec.plain`); None: only those of the package.

    Raises
    ------
    StorageError
        If a worker does not answer, lacks the package or has another version of it; names it.
    """

    # Sent by value, as no function of a module is: a worker without the package can still say so.
    def tell() -> dict[str, str]:
        try:
            import overread

            found = {"overread": overread.__version__}
            if pipeline is not None:
                from overread.study.pipeline import PipelineSpec

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
) -> Callable[[], tuple[str, Any]]:
    """Make the function that works on a batch; it gives the worker's address, and outcomes or why there are none.

    It goes to the worker by value, with plain values: one without the package says so instead of dying of it.
    """

    def work() -> tuple[str, Any]:
        from distributed import get_worker

        address = get_worker().address
        try:
            from overread.study.workers.dask_cluster import work_in_isolation
        except ImportError as error:
            return address, f"{type(error).__name__}: {error}"
        return address, work_in_isolation(spec, limits, tasks)

    return work
