"""How long to wait for a Dask cluster, which itself waits for ever for workers and for a silent scheduler."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from overread.errors import StorageError
from overread.progress import say

__all__ = ["answer_within", "has_workers", "wait_with_workers"]

Answer = TypeVar("Answer")

# The first look that finds no worker is told, the last one ends the wait: ten times what Dask's nanny took to start one
# on a busy machine.
LOOK_SECONDS, MOST_EMPTY_LOOKS = 30.0, 10


def wait_with_workers(client: Any, is_over: Callable[[float], bool]) -> None:
    """Wait as long as the cluster has workers, and a while without.

    Parameters
    ----------
    client
        Of the cluster.
    is_over
        Waits a number of seconds at most, and says whether the wait is over.

    Raises
    ------
    StorageError
        If there were no workers for a while, or the connection is lost.
    """
    n_empty = 0
    while not is_over(LOOK_SECONDS):
        if client.status == "closed":
            raise StorageError("the Dask scheduler is gone: start it and its workers, and run again")
        n_empty = 0 if has_workers(client) else n_empty + 1
        if n_empty == 1:
            say(
                f"the Dask cluster has no worker: waiting up to {MOST_EMPTY_LOOKS * LOOK_SECONDS:.0f} s for one"
            )
        if n_empty == MOST_EMPTY_LOOKS:
            raise StorageError(
                f"the Dask cluster has had no worker for {n_empty * LOOK_SECONDS:.0f} s: start some, and run again"
            )


def answer_within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """Return an answer that comes in time; who waits for a later one is left behind in a thread.

    Raises
    ------
    TimeoutError
        If none came.
    """
    answers: queue.SimpleQueue[tuple[Answer | None, BaseException | None]] = queue.SimpleQueue()

    def wait() -> None:
        try:
            answers.put((ask(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=wait, daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]


def has_workers(client: Any) -> bool:
    """Whether a cluster says that it has workers."""
    try:
        return bool(answer_within(LOOK_SECONDS, client.nthreads))
    except (OSError, RuntimeError, ValueError):  # a scheduler that is silent, or being connected to again
        return False
