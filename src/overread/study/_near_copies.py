"""Copies of one image under two patients, or in two parts: found by what they show, or by the features they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import shell_word
from overread.errors import LeakageError
from overread.images import decode_sketch
from overread.tables import ColumnTable

# Correlation of two sketches that makes one a copy of the other. Two patients of NIH reach 0.67, two of 250 phantoms
# 0.76; copies stay above 0.9 but for larger crops (benchmarks.near_copies).
LEAST_LIKENESS = 0.88
# Two images are too few to find what all images of the study have in common.
LEAST_TO_CENTRE = 3
ROWS_AT_ONCE, COLUMNS_AT_ONCE = 1024, 8192
# More pairs than this are not listed; those of the first images come first.
MOST_PAIRS = 1000
# Flags in one command that cures a run.
MOST_NAMED = 10

N_PROJECTIONS, N_KEYS, N_GRIDS = 8, 4, 3
# In deviations of a projection: rows that are as near are the same but for rounding (features of single precision keep
# 7 digits); the cells of the search.
SAME_ROW, CELL = 1e-5, 0.05
# A copy has at least this share of the rows of the image with fewer candidates.
LEAST_SHARE = 0.5
# Columns whose ranks correlate by more are one when chance is reckoned: area and diameter agree together.
SAME_COLUMN = 0.9
# Most rows in which the values of a column are counted.
ROWS_TO_COUNT = 10_000
# Pairs of rows of two images that agree by chance, at most, for rows to be worth comparing.
MOST_BY_CHANCE = 0.05


def compare_sketches(sketches: Sequence[str | None], owners: Sequence[object]) -> list[tuple[int, int]]:
    """Find pairs of images of different owners that show the same picture: their places, in the order of the later.

    What all images of a study have in common (a round field of view, the outline of a chest) is taken away first: it
    makes two pictures alike, but no copies. So a study that is one picture under many patients is not noticed here,
    unless its pixels are identical: pictures of different patients can be as much alike as such copies.
    """
    known = [place for place, text in enumerate(sketches) if text]
    if len(known) < 2:
        return []
    waves = np.stack([decode_sketch(sketches[place] or "") for place in known])
    if len(known) >= LEAST_TO_CENTRE:
        waves = waves - waves.mean(axis=0)
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
            one, other = one[kept][:MOST_PAIRS], other[kept][:MOST_PAIRS]
            found += [(known[a], known[b]) for a, b in zip(one, other, strict=True)]
            if len(found) >= MOST_PAIRS:
                return _in_order(found)
    return _in_order(found)


def compare_rows(features: ColumnTable, owner_of_image: dict[str, str]) -> list[tuple[str, str]] | None:
    """Find pairs of images of different owners whose candidates have the same features, in the order of the second.

    Every column, in deviations from its mean, is added to a few random projections; rows that agree in all of them
    agree in the columns. Rows are looked up in the cells of shifted grids, so that the time grows with their number.
    None where features take so few values, or follow so much from one another, that images would agree by chance.
    """
    images = features.keys["image_id"].astype(str)
    kept = images.isin(list(owner_of_image)).to_numpy()
    code, names = pd.factorize(images[kept])
    owner = pd.factorize(names.map(owner_of_image))[0]
    if len(names) < 2:
        return []
    places, is_filler, chance = _project(features.columns(), kept)
    if chance * len(code) ** 2 / 2 > MOST_BY_CHANCE:
        return None
    twins = _find_twins(places, code, owner, is_filler)
    if not len(twins):
        return []
    n_rows = np.bincount(code[~is_filler], minlength=len(names))
    pairs = np.sort(code[twins], axis=1)
    smaller = np.where(n_rows[pairs[:, 0]] <= n_rows[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
    row = np.where(code[twins[:, 0]] == smaller, twins[:, 0], twins[:, 1])
    shared = pd.DataFrame({"one": pairs[:, 0], "other": pairs[:, 1], "smaller": smaller, "row": row})
    counts = shared.drop_duplicates().groupby(["one", "other", "smaller"], as_index=False).size()
    alike = counts[counts["size"] >= LEAST_SHARE * n_rows[counts["smaller"]]]
    found = _in_order(list(zip(alike["one"].tolist(), alike["other"].tolist(), strict=True)))
    return [(str(names[one]), str(names[other])) for one, other in found]


def find_different(images: pd.DataFrame) -> set[tuple[str, str]]:
    """Pairs of images, either way round, that look alike but are of different patients, as the images table says."""
    if "different_from" not in images:
        return set()
    told = zip(images["image_id"], images["different_from"], strict=True)
    pairs = {(image, other.strip()) for image, others in told for other in others.split(";") if other.strip()}
    return pairs | {(other, image) for image, other in pairs}


def refuse_copies(
    pairs: Iterable[tuple[str, str]],
    images: pd.DataFrame,
    folder: Path,
    what: str = "nearly the same picture",
) -> None:
    """Refuse copies in two parts."""
    different = find_different(images)
    found = [pair for pair in pairs if pair not in different]
    if not found:
        return
    parts = dict(zip(images["image_id"], images["split"], strict=True))
    one, other = found[0]
    more = f", and {len(found) - 1} more such pairs" if len(found) > 1 else ""
    joined = " ".join(f"--same-patient {shell_word(f'{a}={b}')}" for a, b in found[:MOST_NAMED])
    first = f"the first {MOST_NAMED} of {len(found)} pairs" if len(found) > MOST_NAMED else "them"
    raise LeakageError(
        f"{what} in two parts: image {one!r} is in {parts[one]!r}, image {other!r} in {parts[other]!r}{more}; look at "
        f"{first}, then put them in one part (overread init {shell_word(folder)} {joined}), leave one out (--drop), or "
        "say that they are of different patients (--different instead of --same-patient)"
    )


def _in_order(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(pairs, key=lambda pair: (pair[1], pair[0]))


def _project(
    columns: Iterable[NDArray[np.floating]], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.bool_], float]:
    """Return the projections of the rows in deviations, which rows are one number throughout, and chance.

    Chance is that of two rows to agree in the columns that do so most rarely, of those that are not one another's.
    """
    random = np.random.default_rng(0)
    n_rows = int(kept.sum())
    places = np.zeros((n_rows, N_PROJECTIONS), np.float32)
    lowest, highest = np.full(n_rows, np.inf), np.full(n_rows, -np.inf)
    step = -(-n_rows // ROWS_TO_COUNT)
    chosen: list[tuple[float, NDArray[np.float64]]] = []
    for values in columns:
        column = values[kept].astype(np.float64)
        direction = random.standard_normal(N_PROJECTIONS)
        lowest, highest = np.minimum(lowest, column), np.maximum(highest, column)
        deviation = column.std()
        if not deviation > 0:
            continue
        column = (column - column.mean()) / deviation
        places += np.outer(column, direction).astype(np.float32)
        chosen = _choose_column(chosen, column[::step])
    spread = places.std(axis=0)
    places /= np.where(spread > 0, spread, 1)
    return places, lowest == highest, float(np.prod([agree for agree, _ in chosen]))


def _choose_column(
    chosen: list[tuple[float, NDArray[np.float64]]], column: NDArray[np.float64]
) -> list[tuple[float, NDArray[np.float64]]]:
    """Keep the columns in which two rows agree most rarely, one of those that rank the rows alike, with their ranks."""
    counts = np.unique(column, return_counts=True)[1].astype(np.float64)
    agree = float(np.sum(counts * (counts - 1))) / max(len(column) * (len(column) - 1), 1) + SAME_ROW
    ranks = pd.Series(column).rank().to_numpy()
    ranks = (ranks - ranks.mean()) / max(float(np.linalg.norm(ranks - ranks.mean())), 1e-12)
    alike = [one for one in chosen if abs(float(one[1] @ ranks)) > SAME_COLUMN]
    if any(one[0] <= agree for one in alike):
        return chosen
    rest = [one for one in chosen if not any(one is other for other in alike)]
    return sorted([*rest, (agree, ranks)], key=lambda one: one[0])[:N_PROJECTIONS]


def _find_twins(
    places: NDArray[np.float32], code: NDArray[np.intp], owner: NDArray[np.intp], is_filler: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Pairs of rows of different owners at the same place, each with the first image that has it.

    A row that some image has twice is a filler, such as the mean for what could not be measured.
    """
    found = []
    for grid in range(N_GRIDS):
        cells = np.floor(places[:, :N_KEYS] / CELL + grid / N_GRIDS).astype(np.int64)
        key = _join_cells(cells)
        order = np.lexsort((places[:, 0], key))
        one, other = order[:-1], order[1:]
        same = (key[one] == key[other]) & (np.abs(places[one] - places[other]).max(axis=1) <= SAME_ROW)
        rows = pd.DataFrame({"place": np.concatenate([[0], np.cumsum(~same)]), "row": order})
        rows = rows.assign(image=code[order]).sort_values(["place", "image"], kind="stable")
        filler = rows.duplicated(["place", "image"]) | is_filler[rows["row"]]
        rows = rows[~rows["place"].isin(rows.loc[filler, "place"])]
        first = rows.groupby("place")["row"].transform("first").to_numpy()
        twins = np.stack([first, rows["row"].to_numpy()], axis=1)
        found.append(twins[owner[code[twins[:, 0]]] != owner[code[twins[:, 1]]]])
    return np.concatenate(found)


def _join_cells(cells: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One number for each row of cells; two rows in different cells have the same with probability 2^-64."""
    key = np.zeros(len(cells), np.uint64)
    for column in cells.T:
        key = pd.util.hash_array(key ^ column.astype(np.uint64))
    return key
