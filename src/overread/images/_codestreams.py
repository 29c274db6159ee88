"""Compressed pixels: the header of a codestream is checked before a decoder allocates memory.

Through pydicom, pylibjpeg decodes JPEG (ITU T.81), JPEG 2000 with its high-throughput variant (ITU T.800, T.814) and
RLE (PS3.5 annex G); CharLS decodes JPEG-LS (ITU T.87), and refuses truncated or surplus data.
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom import uid
from pydicom.encaps import encapsulate
from pydicom.pixels import get_decoder

from overread.errors import ImageError
from overread.images._jpeg import check_jpeg_data, jpeg_size
from overread.images._kernels import left_after_run_lengths

JPEG = frozenset([uid.JPEGBaseline8Bit, uid.JPEGExtended12Bit, uid.JPEGLossless, uid.JPEGLosslessSV1])
JPEG_LS = frozenset([uid.JPEGLSLossless, uid.JPEGLSNearLossless])
JPEG_2000 = frozenset(
    [uid.JPEG2000Lossless, uid.JPEG2000, uid.HTJ2KLossless, uid.HTJ2KLosslessRPCL, uid.HTJ2K]
)
COMPRESSED = JPEG | JPEG_LS | JPEG_2000 | {uid.RLELossless}

START_OF_2000 = b"\xff\x4f\xff\x51"
CODING_STYLE, COMPONENT_STYLE = 0xFF52, 0xFF53
START_OF_TILE, START_OF_DATA, END_OF_2000 = 0xFF90, 0xFF93, 0xFFD9
MAX_LAYERS, MAX_SEGMENTS = 1000, 100_000
SMALLEST_PRECINCT, SMALLEST_BLOCK = 5, 8
"""Exponents of 2: side of a precinct, area of a code block. Smaller ones make a decoder extremely slow."""
END_OF_IMAGE = b"\xff\xd9"
PADDING = b"\0\xff "
"""Bytes that writers add after the end marker to make the length even."""
MOST_PADDING = 4096
MIN_TILE_PART = 14
OTHER_SIZE = "the size of the compressed pixels differs from the file's header"
RLE_HEADER, RLE_GAIN = 64, 64
"""A run of 128 bytes takes 2."""


@dataclass(frozen=True)
class PixelLayout:
    """Size of the image and of its values."""

    rows: int
    columns: int
    bits_allocated: int
    bits_stored: int
    high_bit: int
    signed: bool


def decode(codestream: bytes, syntax: str, layout: PixelLayout, photometric: str) -> NDArray[Any]:
    """Decode one frame of one channel, of the stated size; decoders raise many kinds of errors."""
    if syntax == uid.RLELossless:
        _check_run_lengths(codestream, layout)
    else:
        # Some decoders fill a missing part with zeros.
        if not codestream[-MOST_PADDING:].rstrip(PADDING).endswith(END_OF_IMAGE):
            raise ImageError("the compressed pixels are truncated: no end marker")
        find_size = _jpeg_2000_size if syntax in JPEG_2000 else jpeg_size
        if find_size(codestream) != (layout.rows, layout.columns, 1):
            raise ImageError(OTHER_SIZE)
    if syntax in JPEG:
        check_jpeg_data(codestream)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pixels, _ = get_decoder(uid.UID(syntax)).as_array(
            encapsulate([codestream]),
            raw=True,
            decoding_plugin="pyjpegls" if syntax in JPEG_LS else "pylibjpeg",
            number_of_frames=1,
            rows=layout.rows,
            columns=layout.columns,
            samples_per_pixel=1,
            photometric_interpretation=photometric,
            bits_allocated=layout.bits_allocated,
            bits_stored=layout.bits_stored,
            pixel_representation=int(layout.signed),
            pixel_keyword="PixelData",
        )
    if pixels.shape != (layout.rows, layout.columns):
        raise ImageError(OTHER_SIZE)
    return pixels


def _jpeg_2000_size(codestream: bytes) -> tuple[int, int, int]:
    """Rows, columns and channels of the SIZ marker, which some files wrap into JP2 boxes."""
    at = codestream.find(START_OF_2000)
    if at < 0 or len(codestream) < at + 42:
        raise ImageError("the compressed pixels have no size marker")
    right, bottom, left, top = struct.unpack_from(">4L", codestream, at + 8)
    (channels,) = struct.unpack_from(">H", codestream, at + 40)
    try:
        _check_coding_styles(codestream, at + 2)
    except struct.error:
        raise ImageError("the headers of the compressed pixels are damaged") from None
    return bottom - top, right - left, channels


def _check_coding_styles(codestream: bytes, at: int) -> None:
    """Check the main header and those of the tiles; refuse excessive layers and precincts."""
    tile, tile_length = at, 0
    for _ in range(MAX_SEGMENTS):
        if at + 2 > len(codestream):
            return
        (marker,) = struct.unpack_from(">H", codestream, at)
        if marker == END_OF_2000:
            return
        if marker == START_OF_DATA:
            at = tile + tile_length if tile_length else len(codestream)
            continue
        (length,) = struct.unpack_from(">H", codestream, at + 2)
        if marker == START_OF_TILE:
            tile, (tile_length,) = at, struct.unpack_from(">L", codestream, at + 6)
            if 0 < tile_length < MIN_TILE_PART:
                raise ImageError("the headers of the compressed pixels are damaged")
        elif marker == CODING_STYLE:
            _check_coding_style(codestream[at + 4 : at + 2 + length])
        elif marker == COMPONENT_STYLE:
            raise ImageError("the compressed pixels have a separate coding style for one channel")
        at += 2 + max(2, length)
    raise ImageError(f"the compressed pixels have more than {MAX_SEGMENTS:,} headers")


def _check_coding_style(body: bytes) -> None:
    """Refuse a coding style with more packets or blocks than any image needs."""
    flags, _, layers, _, _, width, height = struct.unpack_from(">BBHBBBB", body)
    # Both exponents are stored minus 2.
    small = width + height + 4 < SMALLEST_BLOCK
    if flags & 1:
        small |= any(min(sizes & 15, sizes >> 4) < SMALLEST_PRECINCT for sizes in body[10:])
    if small or layers > MAX_LAYERS:
        raise ImageError("the compressed pixels have more parts than any image needs")


def _check_run_lengths(codestream: bytes, layout: PixelLayout) -> None:
    """Refuse a header without one segment per byte of a pixel, and more pixels than the longest runs give."""
    if len(codestream) < RLE_HEADER:
        raise ImageError("the compressed pixels are truncated: no header")
    n_segments, *offsets = struct.unpack_from("<16L", codestream)
    n_bytes = layout.bits_allocated // 8
    starts = offsets[:n_segments]
    ordered = starts == sorted({*starts}) and starts[-1:] < [len(codestream)]
    if n_segments != n_bytes or starts[0] != RLE_HEADER or not ordered:
        raise ImageError("the header of the compressed pixels is damaged")
    if layout.rows * layout.columns * n_bytes > RLE_GAIN * (len(codestream) - RLE_HEADER):
        raise ImageError(
            f"{len(codestream)} compressed bytes cannot hold {layout.rows} x {layout.columns} pixels"
        )
    data = np.frombuffer(codestream, np.uint8)
    for start, end in pairwise([*starts, len(codestream)]):
        left = left_after_run_lengths(data, start, end, layout.rows * layout.columns)
        # A segment has an even length, so there may be one byte more.
        if not 0 <= left <= 1:
            raise ImageError("the compressed pixels are truncated, or more than the image has")
