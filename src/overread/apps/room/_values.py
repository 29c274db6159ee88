"""What a page sends, checked: numbers that are numbers, texts that are short, ids that are ids."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from overread.apps.room._store import RefusalError

ID = re.compile(r"[A-Za-z0-9-]{8,64}")
LONGEST_TEXT = 2000
# An ellipse thinner than this cannot be drawn on purpose, px. Set by judgement.
SMALLEST_AXIS = 0.25


def check_id(value: Any, what: str) -> str:
    """Return an id that the page made."""
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise RefusalError(f"{what}: 8 to 64 letters, digits and hyphens")
    return value


def _read_number(body: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """Read a finite number within limits."""
    value: Any = body.get(name)
    if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= high:
        raise RefusalError(f"{name}: a number from {low:g} to {high:g}")
    return float(value)


def read_whole(body: Mapping[str, Any], name: str, high: int) -> int:
    """Read a whole number from 0."""
    value = body.get(name)
    if type(value) is not int or not 0 <= value <= high:
        raise RefusalError(f"{name}: a whole number from 0 to {high}")
    return value


def read_flag(body: Mapping[str, Any], name: str) -> bool:
    """Read true or false."""
    value = body.get(name)
    if type(value) is not bool:
        raise RefusalError(f"{name}: true or false")
    return value


def read_text(body: Mapping[str, Any], name: str) -> str:
    """Read a text that may be missing; lines are kept, other control characters are not taken."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise RefusalError(f"{name}: a text of at most {LONGEST_TEXT} characters")
    if not value.replace("\n", "").replace("\t", "").isprintable():
        raise RefusalError(f"{name}: has characters that cannot be printed")
    return value


def read_confidence(body: Mapping[str, Any]) -> float | None:
    """Read a confidence, which may be missing."""
    return None if body.get("confidence") is None else _read_number(body, "confidence", 0.0, 100.0)


def check_mark(
    body: Mapping[str, Any], width: int, height: int, labels: Sequence[str]
) -> dict[str, float | str | None]:
    """Return the values of a mark on an image of this size."""
    longest = math.hypot(width, height)
    label = body.get("label")
    if label is not None and label not in labels:
        raise RefusalError(f"label: one of {', '.join(labels)}" if labels else "label: this study has none")
    limits = {
        "x": (0.0, width),
        "y": (0.0, height),
        "rx": (SMALLEST_AXIS, longest),
        "ry": (SMALLEST_AXIS, longest),
        "angle": (-360.0, 360.0),
    }
    return {
        **{name: _read_number(body, name, *bounds) for name, bounds in limits.items()},
        "confidence": read_confidence(body),
        "label": label,
        "comment": read_text(body, "comment"),
    }
