"""Whether a PNG (ISO/IEC 15948) is whole: every chunk as its checksum says, and pixel data for just its pixels.

Pillow looks at no checksum of the pixels, and passes over data that are left when it has all rows: what a second
stream or surplus rows mean, nobody can tell.
"""

from __future__ import annotations

import struct
import zlib

from overread.errors import ImageError
from overread.images.limits import check_shape

__all__ = ["check_png_data"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# First column and row, and steps, of the seven passes of an interlaced image (section 8.2).
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
BLOCK = 1 << 20


def check_png_data(content: bytes) -> None:
    """Refuse a PNG that is damaged, cut, or has other than the data of its pixels.

    Raises
    ------
    ImageError
        If so, or if it is larger than images may be.
    """
    header, parts = read_chunks(content)
    columns, rows, depth, colour, _, _, interlace = struct.unpack(">LLBBBBB", header)
    check_shape(rows, columns)
    if colour not in CHANNELS or interlace > 1:
        raise ImageError("damaged: its header is none")
    expected = count_bytes(columns, rows, depth * CHANNELS[colour], interlaced=interlace == 1)
    if count_unpacked(parts, expected) != expected:
        raise ImageError("damaged, or cut: it has other than the data of its pixels")


def read_chunks(content: bytes) -> tuple[bytes, list[bytes]]:
    """Header and parts of the pixel data; a chunk whose checksum does not fit is refused."""
    at, header, last = len(SIGNATURE), b"", b""
    parts: list[bytes] = []
    while at + 12 <= len(content):
        length, kind = struct.unpack_from(">L4s", content, at)
        end = at + 8 + length
        if (
            end + 4 > len(content)
            or zlib.crc32(content[at + 4 : end]) != struct.unpack_from(">L", content, end)[0]
        ):
            raise ImageError(f"damaged, or cut, in its chunk at byte {at}")
        if (kind == b"IHDR") != (last == b"") or (kind == b"IDAT" and parts and last != b"IDAT"):
            raise ImageError(f"damaged: its chunk at byte {at} is in the wrong place")
        if kind == b"IHDR" and length == 13:
            header = content[at + 8 : end]
        elif kind == b"IDAT":
            parts.append(content[at + 8 : end])
        elif kind == b"IEND" and header:
            return header, parts
        at, last = end + 4, kind
    raise ImageError("damaged, or cut: it has no end")


def count_bytes(columns: int, rows: int, bits: int, *, interlaced: bool) -> int:
    """Bytes of all rows, each behind a byte that names its filter."""
    total = 0
    for x, y, x_step, y_step in PASSES if interlaced else ((0, 0, 1, 1),):
        width, height = -(-(columns - x) // x_step), -(-(rows - y) // y_step)
        if width > 0 and height > 0:
            total += height * (1 + (width * bits + 7) // 8)
    return total


def count_unpacked(parts: list[bytes], most: int) -> int:
    """Bytes of the one deflated stream; -1 where there is more than that stream, or more than ``most`` bytes."""
    stream, count = zlib.decompressobj(), 0
    try:
        for part in parts:
            waiting = part
            while waiting:
                if stream.eof:
                    return -1
                count += len(stream.decompress(waiting, BLOCK))
                if count > most:
                    return -1
                waiting = stream.unused_data or stream.unconsumed_tail
        while not stream.eof and (rest := stream.decompress(b"", BLOCK)):
            count += len(rest)
    except zlib.error:
        return -1
    return count if stream.eof and not stream.unused_data and count <= most else -1
