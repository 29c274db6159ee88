"""Names by which an image's file may go, given the image's id."""

from __future__ import annotations

import re

__all__ = ["names_of"]

# Label Studio puts eight hexadecimal digits before the name of an uploaded file.
UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")


def names_of(image_id: str) -> tuple[str, ...]:
    """Id, its last part where it is a path, and that without Label Studio's prefix; the surest first."""
    last = image_id.rsplit("/", 1)[-1]
    return tuple(dict.fromkeys((image_id, last, UPLOAD_PREFIX.sub("", last))))
