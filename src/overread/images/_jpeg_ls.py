"""JPEG-LS (ITU T.87) decoded far enough to say whether a scan's data are just those of its pixels.

Every code depends on the pixels before it, so the pixels are decoded too. The variables have the standard's names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from overread._kernel import exact_kernel
from overread.images._kernels import GOOD, LEFT_OVER, OUT_OF_RANGE, SHORT, peek_bits

Array = Any

# Lengths of runs, as exponents of 2 (T.87, A.7.1.1).
J = np.array([0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15])
# Zero bytes behind the data: at most so many bits are taken between two looks at the end.
PADDING = 64


@exact_kernel
def unstuff(data: Array) -> Array:
    """Take out the bit that follows every byte FF; return the bytes with padding, and the number of bits."""
    plain = np.zeros(data.size + PADDING, np.uint8)
    bit, after_ff = 0, False
    for byte in data:
        width = 7 if after_ff else 8
        value = np.int64(byte) << (16 - width - (bit & 7))
        plain[bit >> 3] |= np.uint8(value >> 8)
        plain[(bit >> 3) + 1] |= np.uint8(value & 255)
        bit += width
        after_ff = byte == 255
    return plain, bit


@exact_kernel
def _read_golomb(data: Array, bit: int, end: int, k: int, limit: int, qbpp: int) -> Any:
    """Read a number in the limited-length code (A.5.3); return it and the next bit; -1: the data end."""
    zeros = 0
    while bit <= end and zeros <= limit and peek_bits(data, bit, 1) == 0:
        zeros += 1
        bit += 1
    bit += 1
    if bit > end or zeros > limit:
        return -1, bit
    width = k if zeros < limit - qbpp - 1 else qbpp
    value = peek_bits(data, bit, width)
    return ((zeros << k) + value if zeros < limit - qbpp - 1 else value + 1), bit + width


@exact_kernel
def quantize(difference: int, near: int, t1: int, t2: int, t3: int) -> int:
    """Region of a gradient (A.3.3)."""
    size = abs(difference)
    region = 4
    if size <= near:
        region = 0
    elif size < t1:
        region = 1
    elif size < t2:
        region = 2
    elif size < t3:
        region = 3
    return region if difference > 0 else -region


@exact_kernel
def wrap(value: int, near: int, maxval: int, rng: int) -> int:
    """Bring a reconstructed value into its range (A.4.5)."""
    if value < -near:
        value += rng * (2 * near + 1)
    elif value > maxval + near:
        value -= rng * (2 * near + 1)
    return min(max(value, 0), maxval)


@exact_kernel
def decode_scan(
    data: Array,
    end: int,
    pixels: Array,
    near: int,
    maxval: int,
    t1: int,
    t2: int,
    t3: int,
    reset: int,
    slack: int,
) -> int:
    """Decode a scan of one channel into ``pixels``; return how it ended, as of `overread.images._kernels`."""
    rows, columns = pixels.shape
    step = 2 * near + 1
    rng = (maxval + 2 * near) // step + 1
    qbpp, bpp = 0, 0
    while (1 << qbpp) < rng:
        qbpp += 1
    while (1 << bpp) < maxval + 1:
        bpp += 1
    bpp = max(2, bpp)
    limit = 2 * (bpp + max(8, bpp))
    a = np.full(367, max(2, (rng + 32) // 64), np.int64)
    n = np.ones(367, np.int64)
    b, c, nn = np.zeros(367, np.int64), np.zeros(367, np.int64), np.zeros(367, np.int64)
    above = np.zeros(columns + 2, np.int64)
    line = np.zeros(columns + 2, np.int64)
    bit, run_index = 0, 0
    for row in range(rows):
        # Left of the first pixel stands the one above it, right of the line above its last pixel (A.2.1).
        line[0], above[columns + 1] = above[1], above[columns]
        x = 1
        while x <= columns:
            ra, rb, rc, rd = line[x - 1], above[x], above[x - 1], above[x + 1]
            if max(abs(rd - rb), abs(rb - rc), abs(rc - ra)) > near:
                q = (
                    81 * quantize(rd - rb, near, t1, t2, t3)
                    + 9 * quantize(rb - rc, near, t1, t2, t3)
                    + quantize(rc - ra, near, t1, t2, t3)
                )
                sign = 1
                if q < 0:
                    q, sign = -q, -1
                px = min(ra, rb) if rc >= max(ra, rb) else max(ra, rb) if rc <= min(ra, rb) else ra + rb - rc
                px = min(max(px + sign * c[q], 0), maxval)
                k = 0
                while (n[q] << k) < a[q]:
                    k += 1
                if k > 16:
                    return OUT_OF_RANGE
                mapped, bit = _read_golomb(data, bit, end, k, limit, qbpp)
                if mapped < 0 or bit > end:
                    return SHORT
                error = -((mapped + 1) >> 1) if mapped & 1 else mapped >> 1
                if near == 0 and k == 0 and 2 * b[q] <= -n[q]:
                    error = -error - 1
                b[q] += error * step
                a[q] += abs(error)
                if n[q] == reset:
                    a[q] >>= 1
                    b[q] >>= 1
                    n[q] >>= 1
                n[q] += 1
                if b[q] <= -n[q]:
                    b[q] = max(b[q] + n[q], -n[q] + 1)
                    c[q] = max(c[q] - 1, -128)
                elif b[q] > 0:
                    b[q] = min(b[q] - n[q], 0)
                    c[q] = min(c[q] + 1, 127)
                line[x] = wrap(px + sign * error * step, near, maxval, rng)
                x += 1
                continue
            # A run of the pixel to the left (A.7.1), and the pixel that ends it (A.7.2).
            while x <= columns:
                bit += 1
                if bit > end:
                    return SHORT
                if peek_bits(data, bit - 1, 1) == 0:
                    break
                length = 1 << J[run_index]
                if x + length <= columns + 1:
                    run_index = min(run_index + 1, 31)
                for _ in range(min(length, columns + 1 - x)):
                    line[x] = ra
                    x += 1
            if x > columns:
                break
            length = peek_bits(data, bit, J[run_index])
            bit += J[run_index]
            if x + length > columns:
                return OUT_OF_RANGE
            for _ in range(length):
                line[x] = ra
                x += 1
            rb = above[x]
            kind = 1 if abs(ra - rb) <= near else 0
            q = 365 + kind
            total = a[q] + (n[q] >> 1) * kind
            k = 0
            while (n[q] << k) < total:
                k += 1
            if k > 16:
                return OUT_OF_RANGE
            mapped, bit = _read_golomb(data, bit, end, k, limit - J[run_index] - 1, qbpp)
            if mapped < 0 or bit > end:
                return SHORT
            odd = (mapped + kind) & 1
            error = (mapped + kind + odd) >> 1
            if (k != 0 or 2 * nn[q] >= n[q]) == (odd == 1):
                error = -error
            if error < 0:
                nn[q] += 1
            a[q] += (mapped + 1 - kind) >> 1
            if n[q] == reset:
                a[q] >>= 1
                n[q] >>= 1
                nn[q] >>= 1
            n[q] += 1
            px = ra if kind else rb
            sign = -1 if kind == 0 and ra > rb else 1
            line[x] = wrap(px + sign * error * step, near, maxval, rng)
            run_index = max(run_index - 1, 0)
            x += 1
        pixels[row] = line[1 : columns + 1]
        above, line = line, above
    return LEFT_OVER if end - bit >= slack else GOOD
