"""Messages between a run and its worker processes: a JSON header and bytes, each with its length before it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from overread.files.records import from_json, to_json
from overread.study.pipeline import ImageTask
from overread.study.workers.result import Outcome

__all__ = ["Frame", "encode_frame", "frame_outcome", "read_frame", "read_outcome", "read_task"]

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


def read_task(plain: dict[str, Any]) -> ImageTask:
    """Read a task that `overread.files.records.to_json` made plain."""
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
