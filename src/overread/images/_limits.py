"""Limits of image sizes, checked before memory is allocated."""

from __future__ import annotations

from overread.errors import ImageError

MAX_PIXELS = 1 << 25
"""33.5 million: the largest detectors have about 20 million."""
MAX_BYTES = 192 << 20
"""Limit of a file, also after inflating."""


def check_shape(rows: int, columns: int) -> None:
    """Refuse a size that is empty or above the limit."""
    if rows < 1 or columns < 1:
        raise ImageError(f"an image of {rows} x {columns} pixels is empty")
    if rows * columns > MAX_PIXELS:
        raise ImageError(f"{rows} x {columns} pixels are more than the limit of {MAX_PIXELS:,}")
