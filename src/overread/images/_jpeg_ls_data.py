"""Whether the data of a JPEG-LS codestream (ITU T.87) of one channel are just those of its pixels."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.errors import ImageError
from overread.images._jpeg_ls import decode_scan, unstuff
from overread.images._kernels import GOOD, LEFT_OVER, OUT_OF_RANGE, SHORT
from overread.images._limits import check_shape

FRAME, SCAN, PRESETS, RESTARTS = 0xF7, 0xDA, 0xF8, 0xDD
# In JPEG-LS data a byte FF is followed by a bit 0; anything else is a marker.
MARKER = re.compile(rb"\xff[\x80-\xff]")
DEFAULT_RESET = 64
# As in `overread.images._jpeg`: bits that may be left at the end.
SLACK = 16
WORDS = {
    SHORT: "cut: data are missing",
    LEFT_OVER: "damaged: more data than its pixels need",
    OUT_OF_RANGE: "damaged: a value that no pixel can have",
}


@dataclass
class Coding:
    """What the headers tell."""

    bits: int = 0
    rows: int = 0
    columns: int = 0
    presets: tuple[int, ...] = (0, 0, 0, 0, 0)


def decode_jpeg_ls(content: bytes) -> NDArray[np.uint16]:
    """Decode the pixels, and refuse data that are cut or do not end with them.

    Raises
    ------
    ImageError
        If data are missing or left over, or the headers make no sense or tell of more than one channel.
    """
    try:
        return _decode(content)
    except (IndexError, struct.error):
        raise ImageError("the headers of the compressed pixels are damaged") from None


def _decode(content: bytes) -> NDArray[np.uint16]:
    coding, at = Coding(), 2
    while True:
        if content[at] != 0xFF:
            raise ImageError("the headers of the compressed pixels are damaged")
        marker = content[at + 1]
        (length,) = struct.unpack_from(">H", content, at + 2)
        body = content[at + 4 : at + 2 + length]
        at += 2 + max(2, length)
        if marker == SCAN:
            return _decode_scan(coding, body, content[at:])
        _read_segment(coding, marker, body)


def _read_segment(coding: Coding, marker: int, body: bytes) -> None:
    if marker == FRAME:
        coding.bits, coding.rows, coding.columns, channels = struct.unpack_from(">BHHB", body)
        check_shape(coding.rows, coding.columns)
        if channels != 1 or not 2 <= coding.bits <= 16:
            raise ImageError("the compressed pixels are not one channel of 2 to 16 bits")
    elif marker == PRESETS:
        if body[0] != 1:
            raise ImageError("the compressed pixels have a mapping table, or a size of their own")
        coding.presets = struct.unpack_from(">5H", body, 1)
    elif marker == RESTARTS and any(body):
        raise ImageError("the compressed pixels have restart intervals")


def _decode_scan(coding: Coding, header: bytes, rest: bytes) -> NDArray[np.uint16]:
    end = MARKER.search(rest)
    if not coding.rows or end is None or header[0] != 1:
        raise ImageError("the headers of the compressed pixels are damaged")
    near = header[3]
    maxval, *thresholds, reset = coding.presets
    maxval = maxval or (1 << coding.bits) - 1
    if near > min(255, maxval // 2):
        raise ImageError("the headers of the compressed pixels are damaged")
    t1, t2, t3 = (
        own or usual for own, usual in zip(thresholds, _usual_thresholds(maxval, near), strict=True)
    )
    pixels = np.zeros((coding.rows, coding.columns), np.uint16)
    data, n_bits = unstuff(np.frombuffer(rest[: end.start()], np.uint8))
    state = decode_scan(data, n_bits, pixels, near, maxval, t1, t2, t3, reset or DEFAULT_RESET, SLACK)
    if state != GOOD:
        raise ImageError(f"the compressed pixels are {WORDS[state]}")
    return pixels


def _usual_thresholds(maxval: int, near: int) -> tuple[int, int, int]:
    """Thresholds of the gradients where a file gives none (T.87, C.2.4.1.1.1)."""

    def clamp(value: int, least: int) -> int:
        return least if value > maxval or value < least else value

    if maxval >= 128:
        factor = (min(maxval, 4095) + 128) // 256
        first, second, third = factor + 2, 4 * factor + 3, 17 * factor + 4
    else:
        factor = 256 // (maxval + 1)
        first, second, third = max(2, 3 // factor), max(3, 7 // factor), max(4, 21 // factor)
    t1 = clamp(first + 3 * near, near + 1)
    t2 = clamp(second + 5 * near, t1)
    return t1, t2, clamp(third + 7 * near, t2)
