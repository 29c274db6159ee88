"""PNG, TIFF and JPEG: grey of 8 or 16 bits, also as colour whose three channels are equal; true colour of 8 bits.

This module checks that a PNG (ISO/IEC 15948) or TIFF (version 6.0) contains exactly the data of its pixels. Pillow
ignores the checksum of a PNG's pixels and surplus data. libtiff ignores a wrong checksum of deflated data and fills
missing data. Pixels without compression, or with LZW or run lengths, have no checksum: a changed byte cannot be
detected, but missing ones can.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.errors import ImageError
from overread.images._jpeg import decode_jpeg
from overread.images._kernels import count_lzw, left_after_run_lengths
from overread.images._limits import MAX_PIXELS, check_shape
from overread.images._source import SourceImage

GREY_MODES = {"L": np.uint8, "I;16": np.uint16, "I;16L": np.uint16, "I;16B": np.uint16}
COLOUR_MODES = ("RGB", "RGBA", "LA", "P", "PA")
ORIENTATION, PHOTOMETRIC, BITS_PER_SAMPLE, SAMPLE_FORMAT = 274, 262, 258, 339
WHITE_IS_ZERO = 0
PNG_DEPTH, PNG_COLOUR_TYPE = 24, 25
"""Offsets in a PNG file, whose header chunk always comes first."""


def read_grey_picture(content: bytes, kind: str) -> SourceImage:
    """Read the pixels of a PNG, TIFF or JPEG file with one upright, opaque grey image.

    Resolution tags (pHYs, XResolution, JFIF density) are for printers, and are not read.
    """
    with open_picture(content, kind) as picture:
        check_layout(picture)
        if kind == "TIFF":
            check_strips(content, picture.tag_v2, picture.size)
        if kind == "JPEG":
            pixels = _equal_channels(decode_jpeg(content))
        elif _is_wide_colour(content, kind, picture):
            pixels = _equal_channels(_decode_wide(content, picture))
        else:
            pixels = _grey_values(picture)
    # If white is 0, Pillow inverts 8 bits, but not 16.
    if kind == "TIFF" and picture.mode != "L" and picture.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        pixels = np.iinfo(pixels.dtype).max - pixels
    return SourceImage(np.ascontiguousarray(pixels), (0.0, float(np.iinfo(pixels.dtype).max)))


def read_colour(content: bytes, kind: str) -> NDArray[np.uint8] | None:
    """Decode true colour of 8 bits per channel; None for files that `read_grey_picture` reads."""
    with open_picture(content, kind) as picture:
        if picture.mode not in ("RGB", "RGBA", "P"):
            return None
        check_layout(picture)
        if kind == "JPEG":
            rgb = decode_jpeg(content)
        else:
            pixels = np.asarray(picture.convert("RGBA"))
            if (pixels[..., 3] != 255).any():
                raise ImageError("the image is partly transparent; save it opaque")
            rgb = pixels[..., :3]
    return None if (rgb[..., :1] == rgb[..., 1:]).all() else rgb


@contextmanager
def open_picture(content: bytes, kind: str) -> Iterator[Image.Image]:
    """Open a picture within the size limit; a PNG must be complete."""
    if kind == "PNG":
        check_png_data(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Pillow warns before it fails on a decompression bomb; the limit here is lower, but Pillow opens the file
        # first.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(content), formats=[kind]) as picture:
            check_shape(picture.height, picture.width)
            yield picture


def check_layout(picture: Image.Image) -> None:
    """Refuse a file that is not one grey image."""
    # Counting a TIFF's pages would read all of them.
    several = picture.tag_v2.next != 0 if picture.format == "TIFF" else getattr(picture, "n_frames", 1) != 1
    if several:
        raise ImageError("the file holds several images; a radiograph is one")
    if picture.getexif().get(ORIENTATION, 1) != 1:
        raise ImageError("the file must be rotated for display (EXIF orientation); save it upright")
    if "transparency" in picture.info:
        raise ImageError("the file has a transparent colour; save it opaque")
    if picture.mode not in GREY_MODES and picture.mode not in COLOUR_MODES:
        raise ImageError(f"pixels of kind {picture.mode} are not 8 or 16 bit grey")


def _is_wide_colour(content: bytes, kind: str, picture: Image.Image) -> bool:
    """Whether a PNG or TIFF has colour of 16 bits per channel, which Pillow reduces to 8; other depths are refused."""
    if kind == "PNG":
        depth, is_colour = content[PNG_DEPTH], content[PNG_COLOUR_TYPE] != 0
        if not is_colour and depth < 8:
            raise ImageError(f"a grey PNG of {depth} bits; 8 or 16 are supported")
        return is_colour and depth == 16
    tags, is_colour = picture.tag_v2, picture.mode not in GREY_MODES
    if any(v != 1 for v in tags.get(SAMPLE_FORMAT, (1,))):
        raise ImageError("a TIFF of signed or floating-point pixels; unsigned 8 or 16 bits are supported")
    depths = tags.get(BITS_PER_SAMPLE, (1,))
    if not is_colour and depths not in ((8,), (16,)):
        raise ImageError("a grey TIFF of neither 8 nor 16 bits")
    return is_colour and max(depths) > 8


def _decode_wide(content: bytes, picture: Image.Image) -> NDArray[Any]:
    """Pixels of colour with 16 bits per channel."""
    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.shape[:2] != (picture.height, picture.width):
        raise ImageError("the pixels cannot be decoded")
    return pixels


def _grey_values(picture: Image.Image) -> NDArray[Any]:
    """Decode; the three channels of colour must be equal."""
    picture.load()
    if picture.mode in GREY_MODES:
        return np.asarray(picture).astype(GREY_MODES[picture.mode])
    if picture.mode in ("P", "PA"):
        return _equal_channels(np.asarray(picture.convert("RGBA" if picture.mode == "PA" else "RGB")))
    return _equal_channels(np.asarray(picture))


def _equal_channels(pixels: NDArray[Any]) -> NDArray[Any]:
    """Reduce equal channels to one; a further channel is alpha and must be opaque."""
    if pixels.ndim == 2:
        return pixels
    n_channels = pixels.shape[2]
    if n_channels in (2, 4) and (pixels[..., -1] != np.iinfo(pixels.dtype).max).any():
        raise ImageError("the image is partly transparent; save it opaque")
    first = pixels[..., 0]
    if n_channels >= 3 and any((first != pixels[..., other]).any() for other in (1, 2)):
        raise ImageError("the image is in colour; a radiograph is grey")
    return first


SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# First column and row, and steps, of the seven passes of an interlaced image (section 8.2).
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
BLOCK = 1 << 20


def check_png_data(content: bytes) -> None:
    """Refuse a PNG that is damaged, truncated or too large, or has not exactly the data of its pixels."""
    header, data = _read_chunks(content)
    columns, rows, depth, colour, _, _, interlace = struct.unpack(">LLBBBBB", header)
    check_shape(rows, columns)
    if colour not in CHANNELS or interlace > 1:
        raise ImageError("damaged: invalid header")
    total = _count_bytes(columns, rows, depth * CHANNELS[colour], PASSES if interlace else [(0, 0, 1, 1)])
    if not _inflates_to(data, total):
        raise ImageError("damaged or truncated: it does not have exactly the data of its pixels")


def _read_chunks(content: bytes) -> tuple[bytes, bytes]:
    """Header and pixel data; a chunk with a wrong checksum is refused."""
    at, header, last = len(SIGNATURE), b"", b""
    parts: list[bytes] = []
    while at + 12 <= len(content):
        length, kind = struct.unpack_from(">L4s", content, at)
        end = at + 8 + length
        if content[end : end + 4] != struct.pack(">L", zlib.crc32(content[at + 4 : end])):
            raise ImageError(f"damaged or truncated in its chunk at byte {at}")
        if (kind == b"IHDR") != (last == b"") or (kind == b"IDAT" and parts and last != b"IDAT"):
            raise ImageError(f"damaged: its chunk at byte {at} is in the wrong place")
        if kind == b"IHDR" and length == 13:
            header = content[at + 8 : end]
        elif kind == b"IDAT":
            parts.append(content[at + 8 : end])
        elif kind == b"IEND" and header:
            return header, b"".join(parts)
        at, last = end + 4, kind
    raise ImageError("damaged or truncated: it has no end")


def _count_bytes(columns: int, rows: int, bits: int, passes: Sequence[tuple[int, int, int, int]]) -> int:
    """Bytes of all rows, each after a byte with its filter."""
    total = 0
    for x, y, x_step, y_step in passes:
        width, height = -(-(columns - x) // x_step), -(-(rows - y) // y_step)
        if width > 0 and height > 0:
            total += height * (1 + (width * bits + 7) // 8)
    return total


def _inflates_to(data: bytes, n_bytes: int) -> bool:
    """Whether the data are exactly one deflated stream of a number of bytes."""
    stream, count, found = zlib.decompressobj(), 0, b"first"
    try:
        while found and not stream.eof and count <= n_bytes:
            found = stream.decompress(data, BLOCK)
            data = stream.unconsumed_tail
            count += len(found)
    except zlib.error:
        return False
    return stream.eof and not stream.unused_data and count == n_bytes


BITS, COMPRESSION, STRIPS, SAMPLES, ROWS_PER_STRIP, STRIP_BYTES, PLANAR = 258, 259, 273, 277, 278, 279, 284
TILE_WIDTH, TILE_LENGTH, TILES, TILE_BYTES = 322, 323, 324, 325
PADDING = b"\0" * 4
# Four channels of 16 bits; tiles may extend over the border.
LARGEST = 16 * MAX_PIXELS


def check_strips(content: bytes, tags: Mapping[int, Any], size: tuple[int, int]) -> None:
    """Refuse a TIFF with a strip or tile of the wrong length; tags as Pillow reads them, size (x, y)."""
    count = COUNTS.get(tags.get(COMPRESSION, 1))
    if count is None:
        raise ImageError(
            "this compression of TIFF is not supported; save it with LZW, deflate, PackBits or none"
        )
    offsets, lengths = (
        tags.get(tag, ()) for tag in ((TILES, TILE_BYTES) if TILES in tags else (STRIPS, STRIP_BYTES))
    )
    wanted = _part_bytes(tags, size, len(offsets))
    if not len(offsets) == len(lengths) == len(wanted) or sum(wanted) > LARGEST:
        raise ImageError("the TIFF has a wrong number of strips or tiles for its size")
    for offset, length, needed in zip(offsets, lengths, wanted, strict=True):
        part = content[offset : offset + length]
        if len(part) < length or not count(part, needed):
            raise ImageError("a strip of the TIFF is truncated or damaged")


def _part_bytes(tags: Mapping[int, Any], size: tuple[int, int], n_parts: int) -> list[int]:
    """Bytes of each strip or tile; empty if their number does not fit the size."""
    columns, rows = size
    bits, samples = tags.get(BITS, (1,)), tags.get(SAMPLES, 1)
    apart = tags.get(PLANAR, 1) == 2
    width = tags[TILE_WIDTH] if TILES in tags else columns
    row_bytes = math.ceil(width * (bits[0] if apart else sum(bits[:samples])) / 8)
    planes = samples if apart else 1
    if TILES in tags:
        length = tags[TILE_LENGTH]
        needed = math.ceil(columns / width) * math.ceil(rows / length) * planes
        return [row_bytes * length] * (n_parts if needed == n_parts else 0)
    per_strip = max(1, min(tags.get(ROWS_PER_STRIP, rows), rows))
    return [row_bytes * min(per_strip, rows - first) for first in range(0, rows, per_strip)] * planes


def _is_inflated(part: bytes, needed: int) -> bool:
    decoder = zlib.decompressobj()
    try:
        found = decoder.decompress(part, needed + 1)
        return len(found) == needed and (decoder.eof or not decoder.decompress(decoder.unconsumed_tail, 1))
    except zlib.error:
        return False


COUNTS: dict[int, Callable[[bytes, int], bool]] = {
    1: lambda part, needed: len(part) == needed,
    5: lambda part, n: count_lzw(np.frombuffer(part + PADDING, np.uint8), 8 * len(part), n) == n,
    8: _is_inflated,
    32946: _is_inflated,
    # Some writers make the length of run-length data even.
    32773: lambda part, n: 0 <= left_after_run_lengths(np.frombuffer(part, np.uint8), 0, len(part), n) <= 1,
}
