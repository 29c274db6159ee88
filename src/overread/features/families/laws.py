"""Texture energies of Laws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import Family, Feature, to_columns
from overread.features.context._context import Context
from overread.features.context._patches import SIDE, copy_centre

# Level, edge, spot, wave and ripple, each scaled to an absolute sum of 1.
LETTERS = "LESWR"
WORDS = dict(zip(LETTERS, ("even brightness", "edges", "spots", "waves", "ripples"), strict=True))
VECTORS = np.array(
    [
        [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16],
        [-1 / 6, -2 / 6, 0.0, 2 / 6, 1 / 6],
        [-1 / 4, 0.0, 2 / 4, 0.0, -1 / 4],
        [-1 / 6, 2 / 6, 0.0, -2 / 6, 1 / 6],
        [1 / 16, -4 / 16, 6 / 16, -4 / 16, 1 / 16],
    ],
    np.float32,
)
# A mask and its transpose are averaged; L5L5 has no mean of 0.
PAIRS = [(a, b) for i, a in enumerate(LETTERS) for b in LETTERS[i:] if a + b != "LL"]


def list_features() -> Iterator[Feature]:
    """Yield the energy of each pair of vectors."""
    for a, b in PAIRS:
        yield Feature(
            name=f"laws_energy.{a.lower()}5{b.lower()}5",
            kind="texture",
            family="laws",
            unit="grey",
            formula=f"mean of (|x * {a}5{b}5| + |x * {b}5{a}5|) / 2, vectors scaled to an absolute sum of 1",
            reference="Laws 1980",
            words=f"strength of a texture of {WORDS[a]} in one direction and {WORDS[b]} across",
        )


def _compute(context: Context) -> F32:
    """Energies of each candidate."""
    energy = np.zeros((len(context.row), len(LETTERS), len(LETTERS)))
    _describe_patches(context.patches, energy)
    rows, columns = ([LETTERS.index(pair[side]) for pair in PAIRS] for side in (0, 1))
    return to_columns(0.5 * (energy[:, rows, columns] + energy[:, columns, rows]))


@kernel
def _filter_rows(source: F32, taps: F32, out: F32) -> None:
    """Weighted sum of five neighbours of each row."""
    w0, w1, w2, w3, w4 = taps[0], taps[1], taps[2], taps[3], taps[4]
    u1, u2, u3, u4 = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            total = w0 * source[y, x] + w1 * source[y, x + u1] + w2 * source[y, x + u2]
            out[y, x] = total + w3 * source[y, x + u3] + w4 * source[y, x + u4]


@kernel
def _absolute_sum(source: F32, taps: F32) -> float:
    """Sum over all points of the absolute value of five taps along the columns."""
    w0, w1, w2, w3, w4 = taps[0], taps[1], taps[2], taps[3], taps[4]
    u1, u2, u3, u4 = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    total = 0.0
    for y in range(np.uintp(source.shape[0] - 4)):
        line = np.float32(0.0)
        for x in range(np.uintp(source.shape[1])):
            response = w0 * source[y, x] + w1 * source[y + u1, x] + w2 * source[y + u2, x]
            line += abs(response + w3 * source[y + u3, x] + w4 * source[y + u4, x])
        total += float(line)
    return total


@kernel
def _measure_energies(patch: F32, energy: F64) -> None:
    """Fill the mean absolute response to each mask but L5L5: (vector down, vector along)."""
    source = np.empty((SIDE + 4, SIDE + 4), np.float32)
    copy_centre(patch, source)
    rows = np.empty((5, SIDE + 4, SIDE), np.float32)
    for c in range(5):
        _filter_rows(source, VECTORS[c], rows[c])
        for r in range(5):
            if r + c > 0:
                energy[r, c] = _absolute_sum(rows[c], VECTORS[r]) / (SIDE * SIDE)


@kernel
def _describe_patches(patches: F32, energy: F64) -> None:
    """Fill the energies of each patch: (patch, vector down, vector along)."""
    for k in range(len(patches)):
        _measure_energies(patches[k], energy[k])


FAMILY = Family(tuple(list_features()), _compute)
