"""Check the values that a page sends: numbers, texts and ids."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from overread.apps.room._store import RefusalError

ID = re.compile(r"[A-Za-z0-9-]{8,64}")
LONGEST_TEXT = 2000
# Smallest semi-axis in px that is drawn on purpose. Set by judgement.
SMALLEST_AXIS = 0.25


def check_id(value: Any, what: str) -> str:
    """Return an id from the page."""
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise RefusalError(f"{what}: give 8 to 64 letters, digits and hyphens")
    return value


def _read_number(body: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """Read a finite number within limits."""
    value: Any = body.get(name)
    if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= high:
        raise RefusalError(f"{name}: give a number from {low:g} to {high:g}")
    return float(value)


def read_whole(body: Mapping[str, Any], name: str, high: int) -> int:
    """Read a whole number from 0."""
    value = body.get(name)
    if type(value) is not int or not 0 <= value <= high:
        raise RefusalError(f"{name}: give a whole number from 0 to {high}")
    return value


def read_flag(body: Mapping[str, Any], name: str) -> bool:
    """Read true or false."""
    value = body.get(name)
    if type(value) is not bool:
        raise RefusalError(f"{name}: give true or false")
    return value


def read_text(body: Mapping[str, Any], name: str) -> str:
    """Read an optional text; line ends are allowed, other control characters are not."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise RefusalError(f"{name}: give a text of at most {LONGEST_TEXT} characters")
    if not value.replace("\n", "").replace("\t", "").isprintable():
        raise RefusalError(f"{name}: remove characters that cannot be printed")
    return value


def read_confidence(body: Mapping[str, Any]) -> float | None:
    """Read an optional confidence."""
    return None if body.get("confidence") is None else _read_number(body, "confidence", 0.0, 100.0)


def check_mark(
    body: Mapping[str, Any], width: int, height: int, labels: Sequence[str]
) -> dict[str, float | str | None]:
    """Return the values of a mark on an image of this size."""
    longest = math.hypot(width, height)
    label = body.get("label")
    if label is not None and label not in labels:
        raise RefusalError(
            f"label: give one of {', '.join(labels)}" if labels else "label: this study has no labels"
        )
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
