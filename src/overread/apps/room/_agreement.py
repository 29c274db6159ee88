"""How well the readers of a room agree, with intervals: kappa, Krippendorff's alpha, sensitivity against the others.

Only images that all their readers have finished count. The readers' pages never show agreement, and the owner learns
nothing about an image that is still being read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.files import to_json
from overread.froc import LEVEL, N_BOOTSTRAP, percentile_interval, proportion_interval
from overread.marks import MarkSet
from overread.truth import MergeOptions, cohen_kappa, reader_statistics

Floats = NDArray[np.float64]
# Fewer images say little about agreement and too much about who marked which. Set by judgement.
FEWEST_IMAGES = 5


def krippendorff_alpha(marked: Floats, weights: Floats | None = None) -> Floats:
    """Krippendorff's alpha of "marked something in the image", for readers who did not all read every image.

    With m_u readers of image u, n_u of whom marked it, N = sum m_u and n = sum n_u::

        alpha = 1 - (N - 1) sum_u n_u (m_u - n_u) / (m_u - 1) / (n (N - n))

    (Hayes and Krippendorff 2007, nominal data of two values; images with one reader do not count.)

    Returns
    -------
    array
        One value per row of weights; NaN if all readers agree on all images.
    """
    m = np.sum(~np.isnan(marked), axis=1).astype(np.float64)
    n = np.nansum(marked, axis=1)
    usable = m >= 2
    m, n = m[usable], n[usable]
    counts = np.ones((1, len(usable))) if weights is None else weights
    counts = counts[:, usable]
    total, yes = counts @ m, counts @ n
    disagreement = counts @ (n * (m - n) / np.maximum(m - 1.0, 1.0))
    expected = yes * (total - yes)
    unknown = np.full(len(counts), np.nan)
    return np.asarray(
        1.0 - np.divide((total - 1.0) * disagreement, expected, out=unknown, where=expected > 0.0)
    )


def describe_agreement(readings: MarkSet, options: MergeOptions | None = None) -> dict[str, Any] | None:
    """Return alpha of all readers, kappa of every pair, and sensitivity of each against the others, with intervals.

    Intervals of alpha and kappa are percentiles of a bootstrap over images; those of sensitivities are Wilson's. None
    if there are too few images.
    """
    marked, readers = marked_images(readings)
    if len(marked) < FEWEST_IMAGES:
        return None
    evenly = np.full(len(marked), 1.0 / len(marked))
    draws = np.random.default_rng(0).multinomial(len(marked), evenly, size=N_BOOTSTRAP)
    replicates = krippendorff_alpha(marked, draws.astype(float))
    alpha = _with_interval(float(krippendorff_alpha(marked)[0]), replicates)
    statistics = reader_statistics(readings.marks, readings.readings, options=options)
    pairs = [_pair_of(row, marked, readers, draws) for row in statistics.pairs.to_dict("records")]
    judged = [_against_others(row) for row in statistics.readers.to_dict("records") if row["loo_n_readings"]]
    found = {"n_images": len(marked), "level": LEVEL, "alpha": alpha, "pairs": pairs, "readers": judged}
    return dict(to_json(found))


def marked_images(readings: MarkSet) -> tuple[Floats, list[str]]:
    """Matrix (images x readers) of whether something was marked, NaN if the image was not read; and the readers."""
    images = pd.Index(readings.readings["image_id"].unique())
    readers = sorted(readings.readings["reader_id"].unique())
    names = pd.Index(readers)
    marked = np.full((len(images), len(readers)), np.nan)

    def places(table: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return images.get_indexer(table["image_id"]), names.get_indexer(table["reader_id"])

    marked[places(readings.readings)] = 0.0
    marked[places(readings.marks)] = 1.0
    return marked, readers


def _pair_of(row: Any, marked: Floats, readers: list[str], draws: NDArray[np.int64]) -> dict[str, Any]:
    """Agreement of two readers."""
    a, b = (marked[:, readers.index(row[name])] for name in ("reader_a", "reader_b"))
    both = ~np.isnan(a) & ~np.isnan(b)
    counts = draws[:, both].astype(np.float64)
    a, b = a[both], b[both]
    replicates = cohen_kappa(counts.sum(axis=1), counts @ a, counts @ b, counts @ (a * b))
    return {
        "a": row["reader_a"],
        "b": row["reader_b"],
        "n_images": int(row["n_images"]),
        "kappa": _with_interval(row["image_kappa"], replicates),
        "positive_agreement": row["positive_agreement"],
    }


def _against_others(row: Any) -> dict[str, Any]:
    """Sensitivity and false positives of a reader against the objects that at least two others marked."""
    lower, upper = proportion_interval(row["loo_n_found"], row["loo_n_golden"])
    return {
        "name": row["reader_id"],
        "n_images": int(row["loo_n_readings"]),
        "n_objects": int(row["loo_n_golden"]),
        "sensitivity": {"estimate": row["loo_sensitivity"], "lower": float(lower), "upper": float(upper)},
        "fp_per_image": row["loo_fp_per_image"],
    }


def _with_interval(estimate: float, replicates: Floats) -> dict[str, float]:
    """Give an estimate the percentile interval of its replicates."""
    lower, upper = percentile_interval(replicates, LEVEL)
    return {"estimate": estimate, "lower": float(lower), "upper": float(upper)}


def repeat_agreement(first: MarkSet, again: MarkSet) -> list[dict[str, Any]]:
    """Agreement of each reader with themselves: number of repeated images, and kappa of "marked something"."""
    found = []
    for reader in sorted(again.readings["reader_id"].unique()):
        twice = again.readings.loc[again.readings["reader_id"] == reader, "image_id"]
        seen = [
            twice.isin(part.marks.loc[part.marks["reader_id"] == reader, "image_id"]).to_numpy()
            for part in (first, again)
        ]
        a, b = (part.astype(np.float64) for part in seen)
        n, sums = np.array([float(len(twice))]), (np.array([a.sum()]), np.array([b.sum()]), np.array([a @ b]))
        same, kappa = int((seen[0] == seen[1]).sum()), float(cohen_kappa(n, *sums)[0])
        found.append({"name": str(reader), "n_images": len(twice), "same": same, "kappa": kappa})
    return list(to_json(found))
