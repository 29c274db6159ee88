"""Statistics of readers: readings per image, sensitivity and false positives, agreement (paper, Figure 2).

The module also checks whether the marks fit the full size of the merging threshold.

The threshold T = min(T0, T0 D / full_size) grows with the size D of a mark up to the full size, 20 mm in the paper. If
lengths have no known unit, as in photographs, or the pixel size is wrong, all marks may lie at one end: then nearly all
touching marks become one object (T near 0), or only near copies do (T = T0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from overread._text import short_repr
from overread.marks import ELLIPSE_COLUMNS, normalized_ellipses
from overread.tables import UNIT_WORDS, LengthUnit, check_study, named, plain, raise_or_warn
from overread.truth._mark_arrays import MarkArrays, Pairs, hitting_pairs, mark_sizes, overlapping_pairs
from overread.truth._merging import (
    codes_of_groups,
    count_readers,
    find_pairs,
    group_marks,
    merge_objects,
    nested_pairs,
)
from overread.truth._options import MergeOptions

IntArray = NDArray[np.int64]


FEWEST_READINGS = 3
"""Least readings of an image for judging a reader by the others, because a consensus object needs two of them."""


@short_repr()
@dataclass(frozen=True)
class ReaderStatistics:
    """Statistics of the readers of a study.

    Attributes
    ----------
    readings_per_image
        n_readings, n_images: the paper's annotator histogram (Figure 2a).
    readers
        One row per reader: reader_id, n_readings, n_marks; then against the consensus objects of all readers (Figure
        2b) n_golden, n_found, sensitivity, n_false, fp_per_image; and the same against the consensus objects of the
        other readers, with the prefix ``loo_``, in the loo_n_readings images of this reader with at least three
        readings.
    pairs
        One row per pair of readers with images in common: reader_a, reader_b, n_images, n_a, n_b, n_both (objects
        marked by the first, the second, both), positive_agreement = 2 n_both / (n_a + n_b), and image_kappa: Cohen's
        kappa of "marked something in the image".
    """

    readings_per_image: pd.DataFrame
    readers: pd.DataFrame
    pairs: pd.DataFrame

    @property
    def n_left_out(self) -> int:
        """Number of images with too few readings for the columns ``loo_``."""
        few = self.readings_per_image["n_readings"] < FEWEST_READINGS
        return int(self.readings_per_image.loc[few, "n_images"].sum())


def reader_statistics(
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    *,
    options: MergeOptions | None = None,
    truth: pd.DataFrame | None = None,
    unit: LengthUnit | None = None,
) -> ReaderStatistics:
    """Count the found objects and false positives of each reader, against all readers and against the others.

    sensitivity = consensus objects that the reader marked / consensus objects in the images that the reader read;
    fp_per_image = the reader's marks in no consensus object / images read. In the paper's definition the judged reader
    also contributes to the consensus, so the values are too good: with two readers, both find every consensus object.
    The leave-one-out columns merge only the marks of the others, and count which of their consensus objects the
    reader's marks hit by the same test.

    Parameters
    ----------
    marks, readings
        Tables as for `merge_marks`.
    options
        Options for merging.
    truth
        Result of `merge_marks` for these marks and options, if known; None: merge them.
    unit
        As for `merge_marks`.
    """
    marks, unit = plain(marks, unit, "marks")
    options = (options or MergeOptions()).in_unit(unit)
    if truth is None:
        raise_or_warn(check_study(named(marks, unit), readings))
        truth = merge_objects(marks, readings, options)
    else:
        # Labels may be counted by marks; readers are judged by readers.
        truth = truth.assign(golden=truth["n_readers"] >= 2)
    members = _objects_of_marks(marks, truth)
    counts = pd.DataFrame({"reader_id": sorted(readings["reader_id"].unique())})
    for name, table in (("n_readings", readings), ("n_marks", marks)):
        counts[name] = table["reader_id"].value_counts().reindex(counts["reader_id"], fill_value=0).to_numpy()
    found = _against_all(counts["reader_id"], readings, truth, members)
    left_out = _against_others(counts["reader_id"], marks, readings, options)
    per_image = readings.groupby("image_id").size().value_counts().sort_index()
    return ReaderStatistics(
        readings_per_image=per_image.rename_axis("n_readings").reset_index(name="n_images"),
        readers=pd.concat(
            [
                counts,
                _add_rates(found, counts["n_readings"]),
                left_out[["n_readings"]].add_prefix("loo_"),
                _add_rates(left_out, left_out["n_readings"]).add_prefix("loo_"),
            ],
            axis=1,
        ),
        pairs=agreement(marks, readings, members),
    )


COUNTS = ("n_golden", "n_found", "n_false")


def _add_rates(counts: pd.DataFrame, n_readings: pd.Series[int]) -> pd.DataFrame:
    """Add sensitivity and false positives per image to counts; NaN without objects or images."""
    golden, found, false = (counts[name].to_numpy(np.float64) for name in COUNTS)
    rates = counts[list(COUNTS)].copy()
    rates.insert(2, "sensitivity", ratio(found, golden))
    return rates.assign(fp_per_image=ratio(false, np.asarray(n_readings, np.float64)))


def _objects_of_marks(marks: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """One row per mark and object that it belongs to or votes for: image, reader, object, and golden."""
    kept = ["image_id", "truth_id", "golden"]
    members = pd.concat(
        truth[[*kept, name]].rename(columns={name: "mark_id"}).explode("mark_id")
        for name in ("mark_ids", "nested_mark_ids")
        if name in truth
    )
    members = members.dropna(subset="mark_id").astype({"mark_id": "str"})
    drawn = marks[["image_id", "reader_id", "mark_id"]].astype("str")
    return drawn.merge(members, on=["image_id", "mark_id"])


def _against_all(
    readers: pd.Series[str], readings: pd.DataFrame, truth: pd.DataFrame, members: pd.DataFrame
) -> pd.DataFrame:
    """Count consensus objects, found ones and false marks of each reader, as in the paper."""
    golden = truth[truth["golden"]].groupby("image_id").size()
    to_find = readings["image_id"].map(golden).fillna(0).groupby(readings["reader_id"]).sum()
    hits = members[members["golden"]].drop_duplicates(["image_id", "truth_id", "reader_id"])
    useful = members.groupby(["image_id", "reader_id", "mark_id"])["golden"].any()
    series = (
        to_find,
        hits["reader_id"].value_counts(),
        useful.index.get_level_values("reader_id")[~useful.to_numpy()].value_counts(),
    )
    columns = {
        name: s.reindex(readers, fill_value=0).to_numpy() for name, s in zip(COUNTS, series, strict=True)
    }
    return pd.DataFrame(columns).astype(np.int64)


def _against_others(
    readers: pd.Series[str], marks: pd.DataFrame, readings: pd.DataFrame, options: MergeOptions
) -> pd.DataFrame:
    """Count, in images with enough readings, the others' consensus objects, those that a reader hits, and false marks.

    Hitting marks do not depend on the excluded reader and are found once.
    """
    enough = readings.groupby("image_id")["reader_id"].transform("size") >= FEWEST_READINGS
    judged = readings[enough]
    arrays = MarkArrays.from_table(marks[marks["image_id"].isin(judged["image_id"])], options)
    pairs = find_pairs(arrays, options)
    image = pd.Index(arrays.image_ids).get_indexer(pd.Index(judged["image_id"]))
    code_of = {name: code for code, name in enumerate(arrays.reader_ids)}
    rows = []
    for reader in readers:
        own_images = np.zeros(len(arrays.image_ids) + 1, dtype=bool)
        here = (judged["reader_id"] == reader).to_numpy()
        own_images[image[here]] = True  # the last entry is for images without marks
        is_own = arrays.reader == code_of.get(reader, -1)
        others = np.flatnonzero(~is_own & own_images[arrays.image])
        found = pairs.among(others, len(arrays))
        rows.append(
            (
                int(here.sum()),
                *judge(arrays.take(np.flatnonzero(is_own)), arrays.take(others), found, options),
            )
        )
    return pd.DataFrame(rows, columns=["n_readings", *COUNTS])


def judge(own: MarkArrays, others: MarkArrays, pairs: Pairs, options: MergeOptions) -> tuple[int, int, int]:
    """Count consensus objects of the other readers, those that a reader's marks hit, and marks that hit none."""
    groups, ellipses = group_marks(others, options, pairs)
    golden = count_readers(others, groups, ellipses, options)[0] >= 2
    codes, ellipses = codes_of_groups(others, groups)[golden], normalized_ellipses(ellipses[golden])
    pairs = overlapping_pairs(own.group, own.ellipses, codes, ellipses)
    hits = hitting_pairs(pairs, own.ellipses, ellipses, options)
    first, second = hits.first, hits.second
    if options.nested == "votes":
        held, holding = nested_pairs(own.group, own.ellipses, codes, ellipses)
        first, second = np.concatenate([first, held]), np.concatenate([second, holding])
    return int(golden.sum()), len(np.unique(second)), len(own) - len(np.unique(first))


def agreement(marks: pd.DataFrame, readings: pd.DataFrame, members: pd.DataFrame) -> pd.DataFrame:
    """Agreement of every pair of readers on the images that both read."""
    images, image_ids = pd.factorize(readings["image_id"].astype(object))
    readers, reader_ids = pd.factorize(readings["reader_id"].astype(object), sort=True)
    read = _incidence(images, readers, (len(image_ids), len(reader_ids)))
    at_image, at_reader = pd.Index(image_ids), pd.Index(reader_ids)
    marked = _incidence(
        at_image.get_indexer(marks["image_id"]), at_reader.get_indexer(marks["reader_id"]), read.shape
    )
    objects, _ = pd.factorize(members["truth_id"].astype(object))
    n_objects = int(objects.max(initial=-1)) + 1
    by_reader = _incidence(objects, at_reader.get_indexer(members["reader_id"]), (n_objects, len(reader_ids)))
    image_of = _incidence(objects, at_image.get_indexer(members["image_id"]), (n_objects, len(image_ids)))
    together = triu(read.T @ read, k=1).tocsr().tocoo()
    a, b = together.row, together.col

    def at_pairs(first: csr_array, second: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not len(a):
            return np.empty(0), np.empty(0)
        product = (first.T @ second).tocsr()
        return np.asarray(product[a, b], dtype=np.float64), np.asarray(product[b, a], dtype=np.float64)

    n_a, n_b = at_pairs(by_reader, (image_of @ read).tocsr())
    n_both, _ = at_pairs(by_reader, by_reader)
    marked_a, marked_b = at_pairs(marked, read)
    marked_both, _ = at_pairs(marked, marked)
    n_images = np.asarray(together.data, dtype=np.float64)
    return pd.DataFrame(
        {
            "reader_a": pd.Series(reader_ids[a], dtype="str"),
            "reader_b": pd.Series(reader_ids[b], dtype="str"),
            "n_images": n_images.astype(np.int64),
            "n_a": n_a.astype(np.int64),
            "n_b": n_b.astype(np.int64),
            "n_both": n_both.astype(np.int64),
            "positive_agreement": ratio(2.0 * n_both, n_a + n_b),
            "image_kappa": cohen_kappa(n_images, marked_a, marked_b, marked_both),
        }
    )


def _incidence(rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]) -> csr_array:
    """Sparse matrix with a 1 at every given position, also if repeated."""
    matrix = csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
    matrix.sum_duplicates()  # SciPy 1.13 does not sum them by itself
    matrix.data[:] = 1
    return matrix


def cohen_kappa(
    n: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64], both: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cohen's kappa of two yes/no raters on n cases, from the numbers of yes by a, by b and by both."""
    observed = (n - a - b + 2.0 * both) / n
    expected = (a * b + (n - a) * (n - b)) / (n * n)
    return ratio(observed - expected, 1.0 - expected)


def ratio(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quotient; NaN if the denominator is 0."""
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom != 0.0)


# Median size of the marks over the full size, and its effect on the number of consensus objects
# (docs/explanation/merging.md): from 0.1 to 0.4 seven sets of marks stay within 16 % of their best number; at 0.05 the
# worst of them has lost 24 %, at 1 30 %. The paper's chests and nih-240x3, at 0.7, lose 1 to 4 %.
FITTING = (0.05, 1.0)
# Every set is within 5 % of its best number of consensus objects here.
ADVISED = 0.2
# Fewer marks have no reliable median; set by judgement.
LEAST_MARKS = 10


def tell_misfit(marks: pd.DataFrame, options: MergeOptions, unit: LengthUnit) -> tuple[str, str] | None:
    """Return a warning if the marks are too small or too large for the full size; None if they fit.

    Parameters
    ----------
    marks
        Marks with plain names.
    options
        Options for merging.
    unit
        Unit of the lengths.
    """
    if not options.uses_full_size or len(marks) < LEAST_MARKS:
        return None
    median = float(np.median(mark_sizes(marks[list(ELLIPSE_COLUMNS)].to_numpy(np.float64), options)))
    full_size = options.in_unit(unit).full_size
    assert full_size is not None
    ratio = median / full_size
    low, high = FITTING
    if low <= ratio <= high:
        return None
    joined = "marks with little overlap" if ratio < low else "only nearly identical marks"
    message = (
        f"the median mark has a size of {median:.3g} {UNIT_WORDS[unit]}, {ratio:.2g} of full_size = {full_size:.4g} "
        f"({low:g} to {high:g} fits): {joined} become one object"
    )
    remedy = (
        "correct the pixel size if it is wrong; otherwise set full_size = "
        f"{float(f'{median / ADVISED:.2g}'):g} "
        "([merging] in study.toml, merge --full-size; docs/explanation/merging.md)"
    )
    return message, remedy
