"""Check that the data of a JPEG (ITU T.81) are complete, and decode it.

A decoder fills missing data with grey. So the headers must name every value of every channel once, and the
entropy-coded data of a sequential or lossless scan are read code by code: they must give exactly the blocks of the
image, without impossible DC values. libjpeg's warnings are errors; they are the only check of progressive data. A
changed bit that keeps the count cannot be detected, because the format has no checksum.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import simplejpeg  # type: ignore[import-untyped]
from numpy.typing import NDArray

from overread.errors import ImageError
from overread.images import _kernels as kernels
from overread.images._limits import check_shape

SEQUENTIAL, PROGRESSIVE, LOSSLESS = (0xC0, 0xC1), 0xC2, 0xC3
# Other kinds of frames: arithmetic coding and hierarchies, which are very rare; JPEG-LS is not checked here.
OTHER_FRAMES = {*range(0xC5, 0xD0)} - {0xC8, 0xCC}
FRAMES = {*SEQUENTIAL, PROGRESSIVE, LOSSLESS, *OTHER_FRAMES, 0xF7}
MAX_SCANS = 100
DHT, EOI, SOS, DQT, DNL, DRI = 0xC4, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD
ALONE = {0x01, *range(0xD0, 0xD9)}
RESTART = re.compile(rb"\xff+([\xd0-\xd7])")
# The end of entropy-coded data: a marker that is neither a stuffed byte nor a restart.
MARKER = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]")
# A block takes at most 64 codes of 16 bits and as many values of 16 bits; the end is checked after each block.
PADDING = b"\0" * 512
# Bits that may be left at the end of an interval: less than the byte that is filled up, and one more, as some
# writers make the length even.
SLACK = 16
WORDS = {
    kernels.SHORT: "truncated: data are missing",
    kernels.NO_CODE: "damaged: an invalid code",
    kernels.LEFT_OVER: "damaged: more data than its pixels need",
    kernels.OUT_OF_RANGE: "damaged: an impossible value",
}
DAMAGED_HEADERS = "the headers of the JPEG are damaged"


@dataclass(frozen=True)
class Component:
    """A channel: sampling factors, and number of the quantization table."""

    horizontal: int
    vertical: int
    quantization: int


@dataclass
class JpegFrame:
    """State of the headers; seen: lowest bit sent of each value, -1 for none."""

    kind: int = 0
    precision: int = 8
    rows: int = 0
    columns: int = 0
    components: dict[int, Component] = field(default_factory=dict)
    restart: int = 0
    codes: NDArray[np.int64] = field(default_factory=lambda: np.zeros((8, 1 << 16), np.int64))
    dc_steps: dict[int, int] = field(default_factory=dict)
    seen: NDArray[np.int64] = field(default_factory=lambda: np.full((0, 64), -1, np.int64))


def check_jpeg_data(content: bytes) -> None:
    """Refuse a JPEG with missing or surplus data, or of an unsupported kind."""
    frame = _walk(content)
    if frame.kind == PROGRESSIVE:
        _decode_strictly(content, frame)


def decode_jpeg(content: bytes) -> NDArray[np.uint8]:
    """Decode a whole JPEG of 8 bits: rows x columns, or rows x columns x (red, green, blue)."""
    return _decode_strictly(content, _walk(content))


def _decode_strictly(content: bytes, frame: JpegFrame) -> NDArray[np.uint8]:
    """Decode by libjpeg, whose warnings are errors here."""
    if frame.precision != 8 or frame.kind == LOSSLESS:
        raise ImageError("this kind of JPEG is not supported (more than 8 bits, or lossless)")
    grey = len(frame.components) == 1
    try:
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(content, "GRAY" if grey else "RGB", strict=True)
    except ValueError:
        raise ImageError("the data of the JPEG are truncated or damaged") from None
    return pixels[..., 0] if grey else pixels


def jpeg_size(content: bytes) -> tuple[int, int, int]:
    """Rows, columns and channels by the frame header, also of JPEG-LS."""
    try:
        for marker, body, _ in _segments(content):
            if marker in FRAMES:
                rows, columns, channels = struct.unpack_from(">HHB", body, 1)
                return rows, columns, channels
            if marker == SOS:
                break
    except (IndexError, struct.error, ImageError):
        pass
    raise ImageError("the compressed pixels have no frame header")


def _walk(content: bytes) -> JpegFrame:
    """Read the headers, and check the data of every scan."""
    # Each scan may cost a pass over all pixels, and takes a dozen bytes; a progressive JPEG has about ten.
    if content.count(b"\xff\xda") > MAX_SCANS:
        raise ImageError(f"a JPEG of more than {MAX_SCANS} scans")
    frame = JpegFrame()
    try:
        for marker, body, data in _segments(content):
            if marker == SOS:
                _check_scan(frame, body, data)
            else:
                _read_segment(frame, marker, body)
    except ImageError:
        raise
    except (IndexError, struct.error, KeyError, ValueError):
        raise ImageError(DAMAGED_HEADERS) from None
    if not frame.kind or (frame.seen != 0).any():
        raise ImageError("the data of the JPEG are truncated: scans are missing")
    return frame


def _segments(content: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Marker and body of each segment up to the end of the image, and the entropy-coded data after a scan's."""
    at = 2
    while True:
        if content[at] != 0xFF:
            raise ImageError(DAMAGED_HEADERS)
        while content[at] == 0xFF:
            at += 1
        marker, at = content[at], at + 1
        if marker == EOI:
            return
        if marker in ALONE:
            continue
        (length,) = struct.unpack_from(">H", content, at)
        body, data = content[at + 2 : at + length], b""
        if length < 2 or len(body) < length - 2:
            raise ImageError(DAMAGED_HEADERS)
        at += length
        if marker == SOS:
            end = MARKER.search(content, at)
            if end is None:
                raise ImageError("the data of the JPEG are truncated: no end marker")
            data, at = content[at : end.start()], end.start()
        yield marker, body, data


def _read_segment(frame: JpegFrame, marker: int, body: bytes) -> None:
    if marker in (*SEQUENTIAL, PROGRESSIVE, LOSSLESS):
        _read_frame(frame, marker, body)
    elif marker in OTHER_FRAMES:
        raise ImageError("this kind of JPEG is not supported (arithmetic coding, or a hierarchy)")
    elif marker == DHT:
        _read_codes(frame, body)
    elif marker == DQT:
        _read_quantization(frame, body)
    elif marker == DRI:
        (frame.restart,) = struct.unpack(">H", body)
    elif marker == DNL:
        raise ImageError("this kind of JPEG is not supported (its number of lines follows its data)")


def _read_frame(frame: JpegFrame, marker: int, body: bytes) -> None:
    if frame.kind:
        raise ImageError("the JPEG has two frames")
    frame.kind = marker
    frame.precision, frame.rows, frame.columns, count = struct.unpack_from(">BHHB", body)
    check_shape(frame.rows, frame.columns)
    for number, sampling, table in struct.iter_unpack("3B", body[6 : 6 + 3 * count]):
        if not 1 <= sampling >> 4 <= 4 or not 1 <= sampling & 15 <= 4:
            raise ImageError(DAMAGED_HEADERS)
        frame.components[number] = Component(sampling >> 4, sampling & 15, table)
    if not 1 <= len(frame.components) == count <= 4:
        raise ImageError(DAMAGED_HEADERS)
    frame.seen = np.full((count, 64 if marker == PROGRESSIVE else 1), -1, np.int64)


def _read_codes(frame: JpegFrame, body: bytes) -> None:
    """Fill the look-up tables of Huffman codes: 0 to 3 for DC, 4 to 7 for AC."""
    while body:
        kind, counts = body[0], body[1:17]
        if kind >> 4 > 1 or kind & 15 > 3 or len(counts) < 16 or len(body) < 17 + sum(counts):
            raise ImageError(DAMAGED_HEADERS)
        table = frame.codes[4 * (kind >> 4) + (kind & 15)]
        table[:] = 0
        code, at = 0, 17
        for length, count in enumerate(counts, start=1):
            for symbol in body[at : at + count]:
                first, last = code << (16 - length), (code + 1) << (16 - length)
                if last > 1 << 16:
                    raise ImageError(DAMAGED_HEADERS)
                table[first:last] = 256 * length + symbol
                code += 1
            at += count
            code <<= 1
        body = body[at:]


def _read_quantization(frame: JpegFrame, body: bytes) -> None:
    """Store the step of the DC value of each table."""
    while body:
        wide = body[0] >> 4
        frame.dc_steps[body[0] & 15] = int.from_bytes(body[1 : 2 + wide], "big")
        body = body[1 + 64 * (1 + wide) :]


def _check_scan(frame: JpegFrame, header: bytes, data: bytes) -> None:
    """Check a scan against earlier ones, and read its data if they are not progressive."""
    count = header[0]
    tables = dict(struct.iter_unpack("2B", header[1 : 1 + 2 * count]))
    order = list(frame.components)
    chosen = [order.index(number) for number in tables]
    if not frame.kind or not 1 <= len(chosen) == count:
        raise ImageError(DAMAGED_HEADERS)
    _note_scan(frame, chosen, *header[1 + 2 * count : 4 + 2 * count])
    if frame.kind == PROGRESSIVE:
        return
    coded = np.zeros((2, len(order)), np.int64)
    for place, table in zip(chosen, tables.values(), strict=True):
        coded[:, place] = table >> 4 & 3, 4 + (table & 3)
    n_units, blocks = _count_units(frame, chosen)
    units = (frame.restart or n_units, n_units, blocks)
    lossless = frame.kind == LOSSLESS
    state = kernels.walk_scan(*_split(data), *units, coded, frame.codes, _dc_limits(frame), SLACK, lossless)
    if state != kernels.GOOD:
        raise ImageError(f"the data of the JPEG are {WORDS[state]}")


def _note_scan(frame: JpegFrame, chosen: list[int], first: int, last: int, bits: int) -> None:
    """Record the values and bits of a scan: each once, from the highest bit down (G.1.1.1)."""
    high, low = bits >> 4, bits & 15
    if frame.kind != PROGRESSIVE:
        first, last, high, low = 0, 0, 0, 0
    if last > 63 or first > last:
        raise ImageError(DAMAGED_HEADERS)
    band = frame.seen[chosen, first : last + 1]
    if (band != (high if high else -1)).any() or (first and len(chosen) > 1) or (high and low != high - 1):
        raise ImageError("the scans of the JPEG contradict each other")
    frame.seen[chosen, first : last + 1] = low


def _count_units(frame: JpegFrame, chosen: list[int]) -> tuple[int, NDArray[np.int64]]:
    """Count the units of a scan, and list the channel of each block of a unit (ITU T.81, A.2)."""
    components = list(frame.components.values())
    side = 1 if frame.kind == LOSSLESS else 8
    widest, highest = max(one.horizontal for one in components), max(one.vertical for one in components)
    if len(chosen) == 1:
        own = components[chosen[0]]
        across = math.ceil(math.ceil(frame.columns * own.horizontal / widest) / side)
        down = math.ceil(math.ceil(frame.rows * own.vertical / highest) / side)
        return across * down, np.array(chosen, np.int64)
    across, down = math.ceil(frame.columns / (side * widest)), math.ceil(frame.rows / (side * highest))
    repeats = [components[place].horizontal * components[place].vertical for place in chosen]
    return across * down, np.repeat(np.array(chosen, np.int64), repeats)


def _dc_limits(frame: JpegFrame) -> NDArray[np.int64]:
    """Largest DC value, in steps, that pixels of the frame's precision can have."""
    # The DC value is 8 times the mean of a block, less half the range; rounding may add a step.
    largest = 1 << (frame.precision + 2)
    steps = [max(frame.dc_steps.get(one.quantization, 1), 1) for one in frame.components.values()]
    return np.array([largest // step + 1 for step in steps], np.int64)


def _split(data: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Remove stuffed bytes, and find the start and end of each restart interval."""
    parts = RESTART.split(data)
    numbers = [marker[0] & 7 for marker in parts[1::2]]
    if numbers != [k & 7 for k in range(len(numbers))]:
        raise ImageError("the data of the JPEG are damaged: restart markers out of order")
    plain = [part.replace(b"\xff\x00", b"\xff") for part in parts[0::2]]
    ends = np.cumsum([len(part) for part in plain], dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    return np.frombuffer(b"".join([*plain, PADDING]), np.uint8), starts, ends
