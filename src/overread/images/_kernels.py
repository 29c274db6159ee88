"""Read compressed data without decoding pixels, to check whether data are missing or surplus.

Bits are numbered from the start of the data, which is followed by padding, so that 16 bits can be read everywhere. A
look-up table of a Huffman code gives, for the next 16 bits, 256 * length + symbol; 0 is invalid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread._kernel import exact_kernel

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]

GOOD, SHORT, NO_CODE, LEFT_OVER, OUT_OF_RANGE = 0, 1, 2, 3, 4


@exact_kernel
def _peek(data: Bytes, bit: int) -> int:
    """Return the next 16 bits."""
    byte = bit >> 3
    window = (np.int64(data[byte]) << 16) | (np.int64(data[byte + 1]) << 8) | np.int64(data[byte + 2])
    found: Any = (window >> (8 - (bit & 7))) & 0xFFFF
    return found


@exact_kernel
def peek_bits(data: Bytes, bit: int, count: int) -> int:
    """Return the next up to 16 bits as a number."""
    return _peek(data, bit) >> (16 - count) if count else 0


@exact_kernel
def _skip_ac(data: Bytes, bit: int, codes: Integers) -> int:
    """Bit after the AC values of a block, or a negative error code."""
    k = 1
    while k < 64:
        code = codes[_peek(data, bit)]
        if code == 0:
            return -NO_CODE
        bit += code >> 8
        run, size = (code >> 4) & 15, code & 15
        if size == 0:
            if run != 15:
                break
            k += 16
            continue
        k += run + 1
        bit += size
        if k > 64:
            return -OUT_OF_RANGE
    return bit


@exact_kernel
def walk_scan(
    data: Bytes,
    starts: Integers,
    ends: Integers,
    restart: int,
    n_units: int,
    components: Integers,
    tables: Integers,
    codes: Integers,
    limits: Integers,
    slack: int,
    lossless: bool,
) -> int:
    """Read a scan of a sequential or lossless JPEG, which has one difference per sample.

    ``components``: of each block of a unit; ``tables``: of their DC and AC codes; ``limits``: of their DC values.
    """
    done = 0
    prediction = np.zeros(limits.size, np.int64)
    for interval in range(starts.size):
        bit, end = starts[interval] * 8, ends[interval] * 8
        prediction[:] = 0
        units = min(restart, n_units - done)
        if units <= 0:
            return LEFT_OVER
        for _ in range(units):
            for block in range(components.size):
                component = components[block]
                code = codes[tables[0, component], _peek(data, bit)]
                size = code & 255
                if code == 0 or size > 16:
                    return NO_CODE
                bit += code >> 8
                if lossless:
                    bit += size if size < 16 else 0
                    continue
                if bit > end:
                    return NO_CODE
                value = peek_bits(data, bit, size)
                if size and value < (1 << (size - 1)):
                    value -= (1 << size) - 1
                bit += size
                prediction[component] += value
                if abs(prediction[component]) > limits[component]:
                    return OUT_OF_RANGE
                bit = _skip_ac(data, bit, codes[tables[1, component]])
                if bit < 0:
                    return -bit
                if bit > end:
                    return SHORT
            if bit > end:
                return SHORT
        done += units
        if end - bit >= slack:
            return LEFT_OVER
    return GOOD if done == n_units else SHORT


@exact_kernel
def left_after_run_lengths(data: Bytes, start: int, end: int, n_bytes: int) -> int:
    """Bytes left in a segment of run lengths (PS3.5, annex G) after n_bytes; -1: not exactly n_bytes."""
    count: Any = 0
    at: Any = start
    while at < end and count < n_bytes:
        head: Any = np.int64(data[at])
        at += 1
        if head < 128:
            count += head + 1
            at += head + 1
        elif head > 128:
            count += 257 - head
            at += 1
    return end - at if count == n_bytes and at <= end else -1


@exact_kernel
def count_lzw(data: Bytes, n_bits: int, largest: int) -> int:
    """Count the bytes from LZW codes of a TIFF, up to their end; -1: an invalid code, no end, or too many."""
    lengths = np.ones(4098, np.int64)
    following, width, before, count, bit = 258, 9, -1, 0, 0
    while bit + width <= n_bits and count <= largest:
        code = peek_bits(data, bit, width)
        bit += width
        if code == 257:
            return count
        if code == 256:
            following, width, before = 258, 9, -1
            continue
        if code > following or (code == following and before < 0) or (before < 0 and code > 255):
            return -1
        if before >= 0 and following < 4096:
            lengths[following] = lengths[before] + 1
            following += 1
        count += lengths[code]
        before = code
        # The width increases one code early (TIFF 6.0, section 13).
        width = 12 if following >= 2047 else 11 if following >= 1023 else 10 if following >= 511 else 9
    return -1
