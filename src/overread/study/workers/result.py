"""How work on an image ends: with a shard, or with a fault that is told without naming its file."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from overread.errors import InvalidInputError, OverreadError, StorageError
from overread.files.digests import digest_of_file
from overread.study.pipeline import ImageTask, ImageWork, Versions
from overread.study.store.shard import encode_shard

__all__ = ["Fault", "FaultKind", "Outcome", "place_of", "refuse_other_versions", "without_path", "work_on"]

FaultKind = Literal["image", "failure", "death", "timeout", "memory"]


@dataclass(frozen=True)
class Fault:
    """Why an image could not be worked on.

    Attributes
    ----------
    kind
        "image": the image cannot be used, and the same bytes will never be. "failure": an error that nobody
        foresaw. "death", "timeout", "memory": the worker died, took too long, had no memory left.
    reason
        One line for people; holds no path and nothing that was read from the image's header.
    """

    kind: FaultKind
    reason: str


@dataclass(frozen=True)
class Outcome:
    """The shard of an image, or the fault.

    Attributes
    ----------
    image_id
        The study's id of the image.
    shard
        What was made of it.
    fault
        Why nothing was.
    versions
        Of the code that made the shard.
    worker
        Who made it, for messages.
    """

    image_id: str
    shard: bytes | None = None
    fault: Fault | None = None
    versions: Versions | None = None
    worker: str = "a worker process"


def work_on(pipeline: Callable[[ImageTask], ImageWork | bytes], task: ImageTask) -> Outcome:
    """Work on one image; whatever it does, there is an outcome, except for an interrupt.

    The bytes of a pipeline that is not a study's are taken as they are.
    """
    try:
        with warnings.catch_warnings():
            # A reader of headers warns by quoting them.
            warnings.simplefilter("ignore")
            made = pipeline(task)
            shard = made if isinstance(made, bytes) else encode_shard(made)
        # Once more, after the work: a file that was replaced meanwhile must not be kept under the old one's digest.
        if task.sha256 is not None and digest_of_file(Path(task.path)) != task.sha256:
            return Outcome(task.image_id, fault=Fault("failure", "the file was changed while it was read"))
        return Outcome(task.image_id, shard=shard, versions=Versions.of(pipeline))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        return Outcome(task.image_id, fault=Fault("memory", "there was not enough memory"))
    except OverreadError as error:
        return Outcome(task.image_id, fault=fault_of(error, task.path))
    except BaseException as error:  # decoders in Rust raise PanicException, which is no Exception
        return Outcome(task.image_id, fault=Fault("failure", place_of(error)))


def refuse_other_versions(found: Versions | None, expected: Versions | None, worker: str) -> None:
    """Refuse what other code made: it would be kept as if this run's own had made it.

    Raises
    ------
    StorageError
        Naming the worker and what it has.
    """
    if found != expected:
        raise StorageError(
            f"{worker} has other code than this run: {found or 'an unknown version'} there, {expected} here; install"
            " the same there, or stop that worker, and run again"
        )


def fault_of(error: OverreadError, path: str) -> Fault:
    """Fault of an error that was raised on purpose; only the image's own fault is for good."""
    if isinstance(error.__context__, MemoryError):
        return Fault("memory", "there was not enough memory")
    kind: FaultKind = "image" if isinstance(error, InvalidInputError) else "failure"
    return Fault(kind, without_path(str(error), path))


def without_path(message: str, path: str) -> str:
    """First line of a message with the image's path, name and stem taken out."""
    text = (message.splitlines() or [""])[0]
    for part in (path, Path(path).name, Path(path).stem):
        if len(part) > 2:
            text = text.replace(part, "the image")
    return text[:300]


def place_of(error: BaseException) -> str:
    """Kind and place of an error, without its text: that may quote the image's header."""
    frames: list[Any] = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
