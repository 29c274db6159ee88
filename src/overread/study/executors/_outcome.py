"""How work on an image ends, and the messages between a run and its worker processes."""

from __future__ import annotations

import json
import struct
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from overread.domains import ImageTask, ImageWork
from overread.errors import InvalidInputError, OverreadError, StorageError
from overread.files import digest_of_file, from_json, to_json
from overread.study._pipeline import Versions
from overread.study._store import encode_shard

FaultKind = Literal["image", "failure", "death", "timeout", "memory"]


@dataclass(frozen=True)
class Fault:
    """Why an image could not be worked on, in one line without a path or anything of the image's header.

    "image": the image cannot be used, and the same bytes will never be. "failure": an error that nobody foresaw.
    "death", "timeout", "memory": the worker died, took too long, had no memory left.
    """

    kind: FaultKind
    reason: str


@dataclass(frozen=True)
class Outcome:
    """The shard of an image with the versions of the code that made it, or the fault; ``worker`` is for messages."""

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
        return Outcome(task.image_id, fault=_fault_of(error, task.path))
    except BaseException as error:  # decoders in Rust raise PanicException, which is no Exception
        return Outcome(task.image_id, fault=Fault("failure", place_of(error)))


def refuse_other_versions(found: Versions | None, expected: Versions | None, worker: str) -> None:
    """Refuse what other code made: it would be kept as if this run's own had made it."""
    if found != expected:
        raise StorageError(
            f"{worker} has other code than this run: {found or 'an unknown version'} there, {expected} here; install"
            " the same there, or stop that worker, and run again"
        )


def _fault_of(error: OverreadError, path: str) -> Fault:
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
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


LENGTHS = struct.Struct("<QQ")


@dataclass(frozen=True)
class Frame:
    """One message."""

    header: dict[str, Any]
    body: bytes = b""


def encode_frame(frame: Frame) -> bytes:
    """Bytes of a message."""
    header = json.dumps(frame.header).encode()
    return LENGTHS.pack(len(header), len(frame.body)) + header + frame.body


def read_frame(read: Callable[[int], bytes]) -> Frame | None:
    """Next message; None where the other side is gone. ``read(n)`` gives n bytes, fewer only at the end."""
    lengths = read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    header, body = read(header_length), read(body_length)
    if len(header) < header_length or len(body) < body_length:
        return None
    return Frame(json.loads(header), body)


def read_task(plain: Mapping[str, object]) -> ImageTask:
    """Read a task that `overread.files._records.to_json` made plain."""
    task = from_json(ImageTask, plain, "task")
    if task.candidates is None:
        return task
    # In JSON a column without rows has no type.
    return replace(task, candidates=task.candidates.astype({"candidate_id": "str"}))


def frame_outcome(outcome: Outcome) -> Frame:
    """Return an outcome as a message; its shard is the body."""
    return Frame(to_json(replace(outcome, shard=None)), outcome.shard or b"")


def read_outcome(frame: Frame) -> Outcome:
    """Read the outcome of a message."""
    outcome = from_json(Outcome, frame.header, "outcome")
    return outcome if outcome.fault is not None else replace(outcome, shard=frame.body)
