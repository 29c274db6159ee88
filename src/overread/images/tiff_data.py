"""Whether the strips or tiles of a TIFF (version 6.0) hold just the bytes that its pixels need.

libtiff passes over a wrong checksum of deflated data, and fills what is missing. Pixels that are not compressed, or by
LZW or run lengths, have no checksum: a changed byte cannot be told, missing ones can.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from overread.errors import ImageError
from overread.images._kernels import count_lzw, left_after_run_lengths
from overread.images.limits import MAX_PIXELS

__all__ = ["check_strips"]

BITS, COMPRESSION, STRIPS, SAMPLES, ROWS_PER_STRIP, STRIP_BYTES, PLANAR = 258, 259, 273, 277, 278, 279, 284
TILE_WIDTH, TILE_LENGTH, TILES, TILE_BYTES = 322, 323, 324, 325
PADDING = b"\0" * 4
# Four channels of 16 bits; tiles may reach over the border.
LARGEST = 16 * MAX_PIXELS


def check_strips(content: bytes, tags: Mapping[int, Any], size: tuple[int, int]) -> None:
    """Refuse a TIFF with a strip or tile that gives other than its number of bytes.

    Parameters
    ----------
    content
        Bytes of the file.
    tags
        Its tags, as Pillow reads them.
    size
        Columns and rows of the image.

    Raises
    ------
    ImageError
        Also for a compression whose data cannot be counted.
    """
    count = COUNTS.get(tags.get(COMPRESSION, 1))
    if count is None:
        raise ImageError(
            "a TIFF of this compression is not read; save it with LZW, deflate, PackBits or none"
        )
    tiled = TILES in tags
    offsets, lengths = (
        tags.get(tag, ()) for tag in ((TILES, TILE_BYTES) if tiled else (STRIPS, STRIP_BYTES))
    )
    wanted = _tile_bytes(tags, size, len(offsets)) if tiled else _strip_bytes(tags, size)
    if not len(offsets) == len(lengths) == len(wanted) or sum(wanted) > LARGEST:
        raise ImageError("the TIFF has another number of strips or tiles than its size needs")
    for offset, length, needed in zip(offsets, lengths, wanted, strict=True):
        part = content[offset : offset + length]
        if len(part) < length or not count(part, needed):
            raise ImageError("a strip of the TIFF is cut or damaged")


def _row_bytes(tags: Mapping[int, Any], columns: int) -> tuple[int, int]:
    """Bytes of a row, and how many planes there are."""
    bits, samples = tags.get(BITS, (1,)), tags.get(SAMPLES, 1)
    apart = tags.get(PLANAR, 1) == 2
    return math.ceil(columns * (bits[0] if apart else sum(bits[:samples])) / 8), samples if apart else 1


def _strip_bytes(tags: Mapping[int, Any], size: tuple[int, int]) -> list[int]:
    columns, rows = size
    row_bytes, planes = _row_bytes(tags, columns)
    per_strip = max(1, min(tags.get(ROWS_PER_STRIP, rows), rows))
    return [row_bytes * min(per_strip, rows - first) for first in range(0, rows, per_strip)] * planes


def _tile_bytes(tags: Mapping[int, Any], size: tuple[int, int], n_tiles: int) -> list[int]:
    """Bytes of each tile; none where the size needs another number of them, which may be huge."""
    width, length = tags[TILE_WIDTH], tags[TILE_LENGTH]
    row_bytes, planes = _row_bytes(tags, width)
    needed = math.ceil(size[0] / width) * math.ceil(size[1] / length) * planes
    return [row_bytes * length] * (n_tiles if needed == n_tiles else 0)


def _is_inflated(part: bytes, needed: int) -> bool:
    decoder = zlib.decompressobj()
    try:
        found = decoder.decompress(part, needed + 1)
        return len(found) == needed and (decoder.eof or not decoder.decompress(decoder.unconsumed_tail, 1))
    except zlib.error:
        return False


def _is_lzw(part: bytes, needed: int) -> bool:
    return count_lzw(np.frombuffer(part + PADDING, np.uint8), 8 * len(part), needed) == needed


def _is_packed(part: bytes, needed: int) -> bool:
    # Some writers make the length even.
    return 0 <= left_after_run_lengths(np.frombuffer(part, np.uint8), 0, len(part), needed) <= 1


COUNTS: dict[int, Callable[[bytes, int], bool]] = {
    1: lambda part, needed: len(part) == needed,
    5: _is_lzw,
    8: _is_inflated,
    32946: _is_inflated,
    32773: _is_packed,
}
