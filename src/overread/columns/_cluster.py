"""Features in a file that the workers of a Dask cluster read; only products are sent.

The rows are cut into parts. A task gets the part of a vector that it needs and returns a sum or some rows. Workers keep
only data that can be read again, so that any worker can take over the tasks of another. Workers hold columns of the
working set of their parts between tasks, as `StoredColumns` does.

The module also limits the wait for workers and for a silent scheduler, for which Dask waits without end.
"""

from __future__ import annotations

import contextlib
import queue
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from overread import __version__
from overread._terminal import say
from overread.bags import StoredInstances
from overread.columns._columns import Columns
from overread.columns._file_columns import FileColumns, describe_columns
from overread.errors import InvalidInputError, OverreadError, StorageError, require_extra

Answer = TypeVar("Answer")

# The first check without a worker gives a warning, the last one ends the wait: ten times as long as Dask's nanny took
# to start a worker on a busy machine.
LOOK_SECONDS, MOST_EMPTY_LOOKS = 30.0, 10


def wait_with_workers(client: Any, is_over: Callable[[float], bool]) -> None:
    """Wait as long as the cluster has workers, and a while without."""
    n_empty = 0
    while not is_over(LOOK_SECONDS):
        if client.status == "closed":
            raise StorageError(
                "the connection to the Dask scheduler is closed. Start the scheduler and its workers, and run again."
            )
        n_empty = 0 if has_workers(client) else n_empty + 1
        if n_empty == 1:
            say(
                f"the Dask cluster has no worker: waiting up to {MOST_EMPTY_LOOKS * LOOK_SECONDS:.0f} s for one"
            )
        if n_empty == MOST_EMPTY_LOOKS:
            raise StorageError(
                f"the Dask cluster has had no worker for {n_empty * LOOK_SECONDS:.0f} s. Start workers, and run again."
            )


def answer_within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """Return an answer if it comes in time; otherwise the call stays behind in a thread."""
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
    """Whether a cluster reports workers."""
    try:
        return bool(answer_within(LOOK_SECONDS, client.nthreads))
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # the scheduler is silent, or the connection is being restored
        return False


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Parts per thread of the cluster, so that a slow thread does not delay all; by judgement.
PARTS_PER_THREAD = 2
# Retries of a task on other workers before the fit fails; by judgement.
RETRIES = 10
NOT_SPREAD = "this model is fitted on one machine. Remove client= from StoredInstances."


def _share_rows(source: StoredInstances, order: Ints, weight: Floats, owner: object) -> tuple[Path, Path]:
    """Write order and weight of all rows to a file for the workers, as long as the owner exists.

    They are too large to send with each task.
    """
    # Named like a half-written file, so that opening the run after a kill removes it.
    folder = Path(tempfile.mkdtemp(prefix=".overread-", suffix=".part", dir=source.path.parent))
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    np.save(folder / "order.npy", order if source.rows is None else source.rows[order])
    np.save(folder / "weight.npy", weight)
    return folder / "order.npy", folder / "weight.npy"


@dataclass(frozen=True, eq=False)
class RowPart:
    """Rows first to last, in the order of the loss, of a file; everything that a worker needs to read them."""

    token: str
    path: Path
    order_file: Path
    first: int
    last: int
    scaling: Floats
    n_bytes: int


class ClusterColumns(Columns):
    """Columns of a file that a cluster reads; row i is row order[i] of the source, with a weight in means."""

    def __init__(
        self, source: StoredInstances, order: Ints, weight: Floats, n_bytes: int, sample_bytes: float
    ) -> None:
        self.n_rows, self.n_features = source.shape
        self._path, self._client = source.path.resolve(), source.client
        threads = self._client.nthreads()
        if not threads:
            raise StorageError("the Dask cluster has no workers. Start workers, and fit again.")
        self._n_parts = min(self.n_rows, PARTS_PER_THREAD * sum(threads.values()))
        self._n_bytes = len(threads) * n_bytes // self._n_parts
        self._order_file, self._weight_file = _share_rows(source, order, weight, self)
        self._parts: list[RowPart] = []
        self.sample_bytes = sample_bytes

    def describe(self, *, center: bool, standardize: bool) -> Floats:
        """Let the cluster read every column once to compute its standardization."""
        groups = np.array_split(np.arange(self.n_features), min(self.n_features, self._n_parts))
        files = (self._path, self._order_file, self._weight_file)
        given = [(files, group, center, standardize) for group in groups]
        self.n_read += self.n_features
        return np.concatenate(self._gather(_describe_stored, given), axis=1)

    def standardize(self, scaling: Floats) -> None:
        """Set the standardization of the columns; this enables products."""
        bounds = np.linspace(0, self.n_rows, self._n_parts + 1).astype(int)
        token = uuid.uuid4().hex
        self._parts = [
            RowPart(token, self._path, self._order_file, int(first), int(last), scaling, self._n_bytes)
            for first, last in pairwise(bounds)
        ]

    def dot(self, columns: Ints, residual: Floats, *, hold: bool = False) -> Floats:
        """Return X[:, columns]' residual; with hold the workers keep their parts of the columns."""
        given = [(columns, residual[part.first : part.last], hold) for part in self._parts]
        return np.sum(self._ask(_dot, given), axis=0)

    def add(self, columns: Ints, factors: Floats, scores: Floats) -> None:
        """Add X[:, columns] factors to scores."""
        found = self._ask(_add, [(columns, factors)] * len(self._parts))
        for part, added in zip(self._parts, found, strict=True):
            scores[part.first : part.last] += added

    def take_rows(self, columns: Ints, rows: Ints, factor: Floats, out: Floats) -> None:
        """Write X[rows[i], columns[c]] factor[i] to out[c, i]."""
        inside = [np.flatnonzero((part.first <= rows) & (rows < part.last)) for part in self._parts]
        given = [
            (columns, rows[places] - part.first, factor[places])
            for part, places in zip(self._parts, inside, strict=True)
        ]
        for places, found in zip(inside, self._ask(_take, given), strict=True):
            out[:, places] = found

    def read_groups(self, columns: Ints, size: int) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Refuse: columns are not sent."""
        raise InvalidInputError(NOT_SPREAD)

    def load(self, columns: Ints) -> tuple[NDArray[np.floating], Ints]:
        """Refuse: columns are not sent."""
        raise InvalidInputError(NOT_SPREAD)

    def held(self, columns: Ints) -> None:
        """Return None: columns are not sent."""

    def _ask(self, work: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Let the cluster process every part, and count the columns that it read."""
        tasks = [(part, work, *one) for part, one in zip(self._parts, given, strict=True)]
        answers = self._gather(_work_on_part, tasks)
        self.n_read += round(sum(n_read for _, n_read in answers) / len(self._parts))
        return [answer for answer, _ in answers]

    def _gather(self, work: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Let the cluster do work on all arguments, and wait for the answers."""
        try:
            answers: dict[int, Any] = {}
            for _ in range(RETRIES):
                places = [place for place in range(len(given)) if place not in answers]
                futures = [
                    self._client.submit(_with_version, work, *given[place], pure=False, retries=RETRIES)
                    for place in places
                ]
                answers |= _collect_answers(self._client, dict(zip(places, futures, strict=True)))
                if len(answers) == len(given):
                    for version, _ in answers.values():
                        if version != __version__:
                            raise StorageError(
                                f"a Dask worker has overread {version}, this run {__version__}: install "
                                f"overread=={__version__} there, or stop that worker, and run again"
                            )
                    return [answers[place][1] for place in range(len(given))]
            raise StorageError(
                f"the Dask cluster lost the same task {RETRIES} times because its workers died"
            )
        except OverreadError:  # an error of the features, not of the cluster
            raise
        except Exception as error:
            said = (str(error).splitlines() or [""])[0]
            raise StorageError(
                f"the Dask cluster failed during a fit ({type(error).__name__}: {said}). Its workers need"
                f" Overread, enough memory, and {self._path.parent} at the same path. Check this, and run again."
            ) from error


def _with_version(work: Callable[..., Any], *given: Any) -> tuple[str, Any]:
    """Do work on a worker, and return its package version too."""
    return __version__, work(*given)


def _collect_answers(client: Any, futures: dict[int, Any]) -> dict[int, Any]:
    """Wait for answers, without those that the scheduler dropped after too many deaths of workers.

    The scheduler blames a task that was on several workers when they died; here it is not the cause.
    """
    require_extra("cluster", "a fit on a cluster")
    from distributed.scheduler import KilledWorker

    wait_with_workers(client, partial(_await_all, list(futures.values())))
    answers: dict[int, Any] = {}
    with contextlib.suppress(KilledWorker):
        return dict(zip(futures, client.gather(list(futures.values())), strict=True))
    for place, future in futures.items():
        with contextlib.suppress(KilledWorker):
            answers[place] = future.result()
    return answers


def _await_all(futures: list[Any], seconds: float) -> bool:
    """Wait until all tasks are finished or dropped."""
    from distributed import wait

    try:
        wait(futures, timeout=seconds)
    except TimeoutError:
        return False
    except Exception:  # errors of a task or of the scheduler are reported when answers are gathered
        return True
    return True


def _describe_stored(
    files: tuple[Path, Path, Path],
    columns: Ints,
    center: bool,  # noqa: FBT001
    standardize: bool,  # noqa: FBT001
) -> Floats:
    """Describe some columns; runs in a worker."""
    path, order_file, weight_file = files
    source, weight = StoredInstances(path, rows=np.load(order_file)), np.load(weight_file)
    return describe_columns(source, columns, None, weight, center=center, standardize=standardize)


def _work_on_part(part: RowPart, work: Callable[..., Floats], *given: Any) -> tuple[Floats, int]:
    """Return the answer of a part, and the number of columns read for it; runs in a worker."""
    with _opened(part) as features:
        answer = work(features, *given)
        count, features.n_read = features.n_read, 0
        return answer, count


def _dot(features: FileColumns, columns: Ints, residual: Floats, hold: bool) -> Floats:  # noqa: FBT001
    return features.dot(columns, residual, hold=hold)


def _add(features: FileColumns, columns: Ints, factors: Floats) -> Floats:
    scores = np.zeros(features.n_rows)
    features.add(columns, factors, scores)
    return scores


def _take(features: FileColumns, columns: Ints, rows: Ints, factor: Floats) -> Floats:
    out = np.empty((len(columns), len(rows)))
    if len(rows):
        features.take_rows(columns, rows, factor, out)
    return out


# The parts of one fit with their columns, kept by a worker between tasks; one task at a time uses each.
_OPENED: dict[tuple[str, int], tuple[threading.Lock, FileColumns]] = {}
_OPENING = threading.Lock()


@contextlib.contextmanager
def _opened(part: RowPart) -> Iterator[FileColumns]:
    """Return the part that this worker holds; parts of other fits are dropped."""
    key = (part.token, part.first)
    with _OPENING:
        for other in [other for other in _OPENED if other[0] != part.token]:
            del _OPENED[other]
        if key not in _OPENED:
            order = np.load(part.order_file, mmap_mode="r")[part.first : part.last]
            source = StoredInstances(part.path, rows=np.array(order))
            columns = FileColumns(source, np.arange(len(source)), part.scaling, part.n_bytes)
            _OPENED[key] = threading.Lock(), columns
        lock, features = _OPENED[key]
    with lock:
        yield features
