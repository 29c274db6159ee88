"""Messages between a run and its worker processes: a JSON header and bytes, each with its length before it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from overread.study.pipeline import ImageTask

__all__ = ["Frame", "encode_frame", "read_frame", "task_of", "told_task"]

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


def told_task(task: ImageTask) -> dict[str, Any]:
    """Return a task as plain values."""
    known = None if task.candidates is None else task.candidates.to_dict(orient="list")
    return {
        "image_id": task.image_id,
        "path": task.path,
        "mm_per_px": task.mm_per_px,
        "candidates": known,
        "sha256": task.sha256,
    }


def task_of(told: dict[str, Any]) -> ImageTask:
    """Task of plain values."""
    spacing, known = told["mm_per_px"], told["candidates"]
    candidates = None
    if known is not None:
        candidates = pd.DataFrame({**known, "candidate_id": pd.Series(known["candidate_id"], dtype="str")})
    known_spacing = None if spacing is None else tuple(spacing)
    return ImageTask(told["image_id"], told["path"], known_spacing, candidates, told["sha256"])
