"""Copies of one image under two patients, or in two parts: found by what they show, or by the features they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import LeakageError
from overread.images.sketch import decode_sketch
from overread.tables.column_table import ColumnTable
from overread.words import shell_word

__all__ = ["compare_rows", "compare_sketches", "refuse_copies"]

# Correlation of two sketches that makes one a copy of the other. Two patients of NIH reach 0.67, two of 250 phantoms
# 0.76; copies stay above 0.9 but for larger crops (benchmarks.near_copies).
LEAST_LIKENESS = 0.88
# Two images alone have no third that tells what all images of the study have in common.
LEAST_TO_CENTRE = 3
ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1024, 8192
# More pairs than this are not listed: a study of them is one picture, and its first pairs say so.
MOST_PAIRS = 1000
# Flags in one command that cures a run.
MOST_NAMED = 10

N_PROJECTIONS, N_KEYS, N_GRIDS = 8, 4, 3
# In deviations of a projection: rows that are as near are the same but for rounding; the cells of the search.
SAME_ROW, CELL = 1e-3, 0.05
# A copy has at least this share of the rows of the image with fewer candidates.
LEAST_SHARE = 0.5
# Rows that more owners than this have in common are a filler, such as zeros of what could not be measured.
MOST_OWNERS = 5
# Values of a column are counted in at most so many rows.
ROWS_TO_COUNT = 10_000
# Pairs of images whose rows agree by chance, at most, for rows to be worth comparing.
MOST_BY_CHANCE = 0.05


def compare_sketches(sketches: Sequence[str | None], owners: Sequence[object]) -> list[tuple[int, int]]:
    """Find pairs of images of different owners that show the same picture.

    What all images of a study have in common (a round field of view, the outline of a chest) is taken away first: it
    makes two pictures alike, but no copies.

    Parameters
    ----------
    sketches
        Of the images (`overread.images.sketch.sketch`); images without one are not compared.
    owners
        Patient or part of each image; pairs of one owner are left out.

    Returns
    -------
    list of (int, int)
        Places of the images, the earlier first, in the order of the later; at most some thousand.
    """
    known = [place for place, text in enumerate(sketches) if text]
    if len(known) < 2:
        return []
    waves = np.stack([decode_sketch(sketches[place] or "") for place in known])
    if len(known) >= LEAST_TO_CENTRE:
        waves -= waves.mean(axis=0)
        waves /= np.maximum(np.linalg.norm(waves, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    codes = pd.factorize(np.array([str(owners[place]) for place in known], dtype=object))[0]
    found: list[tuple[int, int]] = []
    for start in range(0, len(known), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        for first in range(start, len(known), COLUMNS_AT_ONCE):
            columns = slice(first, first + COLUMNS_AT_ONCE)
            one, other = np.nonzero(waves[rows] @ waves[columns].T >= LEAST_LIKENESS)
            one, other = one + start, other + first
            kept = (one < other) & (codes[one] != codes[other])
            found += [(known[a], known[b]) for a, b in zip(one[kept], other[kept], strict=True)]
            if len(found) >= MOST_PAIRS:
                return _in_order(found)
    return _in_order(found)


def compare_rows(features: ColumnTable, owner_of_image: dict[str, str]) -> list[tuple[str, str]] | None:
    """Find pairs of images of different owners whose candidates have the same features.

    Every column, in deviations from its mean, is added to a few random projections; rows that agree in all of them
    agree in the columns. Rows are looked up in the cells of shifted grids, so that the time grows with their number.

    Parameters
    ----------
    features
        Features by image and candidate, read column by column.
    owner_of_image
        Patient or part by image id; other images are left out.

    Returns
    -------
    list of (str, str) or None
        Ids of the images, in the order of the second; None where the features take so few values that different images
        would agree by chance.
    """
    images = features.keys["image_id"].astype(str)
    kept = images.isin(list(owner_of_image)).to_numpy()
    code, names = pd.factorize(images[kept])
    owner = pd.factorize(names.map(owner_of_image))[0]
    if len(names) < 2:
        return []
    places, chance = _project(features.columns(), kept, len(names))
    if chance > MOST_BY_CHANCE:
        return None
    twins = _find_twins(places, code, owner)
    if not len(twins):
        return []
    n_rows = np.bincount(code)
    pairs = np.sort(code[twins], axis=1)
    smaller = np.where(n_rows[pairs[:, 0]] <= n_rows[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
    row = np.where(code[twins[:, 0]] == smaller, twins[:, 0], twins[:, 1])
    shared = pd.DataFrame({"one": pairs[:, 0], "other": pairs[:, 1], "smaller": smaller, "row": row})
    counts = shared.drop_duplicates().groupby(["one", "other", "smaller"], as_index=False).size()
    alike = counts[counts["size"] >= LEAST_SHARE * n_rows[counts["smaller"]]]
    found = _in_order(list(zip(alike["one"].tolist(), alike["other"].tolist(), strict=True)))
    return [(str(names[one]), str(names[other])) for one, other in found]


def refuse_copies(
    pairs: Iterable[tuple[str, str]],
    images: pd.DataFrame,
    folder: Path,
    what: str = "nearly the same picture",
) -> None:
    """Refuse copies in two parts.

    Parameters
    ----------
    pairs
        Ids of images that are copies of each other, in different parts.
    images
        ``image_id`` and ``split``, the part of each image.
    folder
        The study's folder, for the remedy.
    what
        What the images have in common.

    Raises
    ------
    LeakageError
        Naming the first pair, and the command that cures all.
    """
    found = list(pairs)
    if not found:
        return
    parts = dict(zip(images["image_id"], images["split"], strict=True))
    one, other = found[0]
    more = f", and {len(found) - 1} more such pairs" if len(found) > 1 else ""
    joined = " ".join(f"--same-patient {shell_word(f'{a}={b}')}" for a, b in found[:MOST_NAMED])
    raise LeakageError(
        f"{what} in two parts: image {one!r} is in {parts[one]!r}, image {other!r} in {parts[other]!r}{more}; look at "
        f"them, then put them in one part (overread init {shell_word(folder)} {joined}), or leave one out (--drop)"
    )


def _in_order(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(pairs, key=lambda pair: (pair[1], pair[0]))


def _project(
    columns: Iterable[NDArray[np.floating]], kept: NDArray[np.bool_], n_images: int
) -> tuple[NDArray[np.float32], float]:
    """Return the projections of the rows in deviations, and how many pairs of images would agree by chance.

    Chance is that of the columns with the most different values, as if they did not depend on each other.
    """
    random = np.random.default_rng(0)
    places = np.zeros((int(kept.sum()), N_PROJECTIONS), np.float32)
    step = -(-len(places) // ROWS_TO_COUNT)
    agreements: list[float] = []
    for values in columns:
        column = values[kept].astype(np.float64)
        direction = random.standard_normal(N_PROJECTIONS)
        deviation = column.std()
        if not deviation > 0:
            continue
        counts = np.unique(column[::step], return_counts=True)[1]
        agreements = sorted([*agreements, float(np.sum((counts / counts.sum()) ** 2))])[:N_PROJECTIONS]
        column = (column - column.mean()) / deviation
        places += np.outer(column, direction).astype(np.float32)
    spread = places.std(axis=0)
    places /= np.where(spread > 0, spread, 1)
    return places, n_images**2 / 2 * float(np.prod(agreements)) if agreements else np.inf


def _find_twins(
    places: NDArray[np.float32], code: NDArray[np.intp], owner: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Pairs of rows of different owners that are at the same place."""
    found = []
    for grid in range(N_GRIDS):
        cells = np.floor(places[:, :N_KEYS] / CELL + grid / N_GRIDS).astype(np.int64)
        key = _join_cells(cells)
        order = np.lexsort((places[:, 0], key))
        one, other = order[:-1], order[1:]
        same = key[one] == key[other]
        cell = np.concatenate([[0], np.cumsum(~same)])
        owners = pd.DataFrame({"cell": cell, "owner": owner[code[order]]}).drop_duplicates()["cell"]
        few = np.bincount(owners, minlength=int(cell[-1]) + 1)[cell[1:]] <= MOST_OWNERS
        near = np.abs(places[one] - places[other]).max(axis=1) <= SAME_ROW
        twins = same & few & near & (owner[code[one]] != owner[code[other]])
        found.append(np.stack([one[twins], other[twins]], axis=1))
    return np.concatenate(found)


def _join_cells(cells: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One number for each row of cells; two rows in different cells have the same with probability 2^-64."""
    key = np.zeros(len(cells), np.uint64)
    for column in cells.T:
        key = pd.util.hash_array(key ^ column.astype(np.uint64))
    return key
