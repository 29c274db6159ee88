"""Types inside of types."""

from __future__ import annotations

from typing import Any, get_args

__all__ = ["types_in"]


def types_in(hint: Any) -> list[Any]:
    """List a type and all types inside of it."""
    return [hint, *(part for one in get_args(hint) for part in types_in(one))]
