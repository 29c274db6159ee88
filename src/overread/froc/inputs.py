"""Checks of the tables and arrays that a user hands to :func:`overread.froc.match`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError, TableError

__all__ = [
    "candidate_scores",
    "check_codes",
    "check_image_ids",
    "check_scores",
    "dense_codes",
    "golden_targets",
    "image_codes",
    "patient_codes",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def check_image_ids(images: pd.DataFrame) -> NDArray[np.object_]:
    """Ids of the images, each once; no images at all is an error."""
    require_column("images", images, "image_id")
    if images.empty:
        raise TableError("images: no rows; FP per image needs every image that was read, found or not")
    ids = images["image_id"]
    missing_or_twice = ids.isna() | ids.duplicated()
    if missing_or_twice.any():
        row = int(np.flatnonzero(missing_or_twice)[0])
        raise TableError(f"images, row {row}, column image_id: {ids.iloc[row]!r} is missing or not unique")
    return ids.to_numpy(dtype=object)


def patient_codes(images: pd.DataFrame) -> Ints:
    """Code of each image's patient; without a patient_id column every image stands for itself."""
    if "patient_id" not in images.columns:
        return np.arange(len(images))
    patients = images["patient_id"]
    if patients.isna().any():
        row = int(np.flatnonzero(patients.isna())[0])
        raise TableError(
            f"images, row {row}, column patient_id: missing; fill it, or drop the column to resample images"
        )
    return np.asarray(pd.factorize(patients)[0], dtype=np.int64)


def image_codes(name: str, table: pd.DataFrame, index: pd.Index) -> Ints:
    """Position of each row's image in the images table."""
    require_column(name, table, "image_id")
    codes = np.asarray(index.get_indexer(pd.Index(table["image_id"])), dtype=np.int64)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise TableError(
            f"{name}, row {row}, column image_id: {table['image_id'].iloc[row]!r} is not in the images; "
            "add the image there, or keep only the rows of the images under test"
        )
    return codes


def golden_targets(truth: pd.DataFrame) -> Bools:
    """Which GTs at least two readers marked (paper section 5.1)."""
    if "golden" in truth.columns:
        golden = truth["golden"]
        if golden.isna().any() or not set(golden.unique()) <= {0, 1}:
            raise TableError("truth, column golden: values other than true and false")
        return golden.to_numpy(np.bool_)
    if "n_readers" in truth.columns:
        readers = pd.to_numeric(truth["n_readers"], errors="coerce").to_numpy(np.float64, na_value=np.nan)
        wrong = np.flatnonzero(~np.isfinite(readers))
        if len(wrong):
            row = int(wrong[0])
            raise TableError(
                f"truth, row {row}, column n_readers: {truth['n_readers'].iloc[row]!r:.40} is not a number of readers"
            )
        return np.asarray(readers >= 2)
    return np.ones(len(truth), dtype=np.bool_)


def candidate_scores(scores: str | ArrayLike | pd.DataFrame, candidates: pd.DataFrame) -> Floats:
    """One finite score per candidate row, from a column, an array or a scores table."""
    if isinstance(scores, str):
        require_column("candidates", candidates, scores)
        return check_scores(candidates[scores], len(candidates), f"candidates, column {scores}")
    if isinstance(scores, pd.DataFrame):
        return check_scores(join_scores(scores, candidates), len(candidates), "scores table")
    return check_scores(scores, len(candidates))


def join_scores(scores: pd.DataFrame, candidates: pd.DataFrame) -> pd.Series:
    """Scores in the candidates' order, joined by image_id and candidate_id."""
    keys = ["image_id", "candidate_id"]
    for key in keys:
        require_column("scores", scores, key)
        require_column("candidates", candidates, key)
    models = [column for column in scores.columns if column not in keys]
    if len(models) != 1:
        raise TableError(f"scores: {len(models)} model columns ({models}); pass a table with one")
    if scores.duplicated(keys).any():
        row = int(np.flatnonzero(scores.duplicated(keys))[0])
        raise TableError(f"scores, row {row}: the same image_id and candidate_id twice")
    joined = candidates[keys].merge(scores, on=keys, how="left", indicator=True)
    absent = np.flatnonzero(joined["_merge"] != "both")
    if len(absent):
        raise TableError(f"scores: no row for candidates row {int(absent[0])} ({len(absent)} in all)")
    return joined[models[0]]


def check_scores(scores: Any, n_candidates: int | None, name: str = "scores") -> Floats:
    """Finite float64 scores of the expected number."""
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TableError(f"{name}: not numbers ({error})") from None
    if values.ndim != 1 or (n_candidates is not None and len(values) != n_candidates):
        raise TableError(f"{name}: shape {values.shape}, but there are {n_candidates} candidates")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise TableError(
            f"{name}, row {int(bad[0])}: score is {values[bad[0]]}; scores must be finite numbers"
        )
    return values


def check_codes(name: str, codes: ArrayLike, length: int, n_images: int) -> Ints:
    """Image codes of the expected number and range."""
    values = np.asarray(codes, dtype=np.int64).ravel()
    if len(values) != length or (length and (values.min() < 0 or values.max() >= n_images)):
        raise InvalidInputError(f"{name}: need {length} codes in 0..{n_images - 1}")
    return values


def dense_codes(patients: ArrayLike, n_images: int) -> Ints:
    """Codes 0 .. n_patients - 1 of any patient labels."""
    labels = np.asarray(patients)
    if labels.shape != (n_images,):
        raise InvalidInputError(f"patients: need one per image ({n_images}), not shape {labels.shape}")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def require_column(name: str, table: pd.DataFrame, column: str) -> None:
    """Say which column of which table is missing."""
    if column not in table.columns:
        raise TableError(f"{name}: no column {column!r}; it has {', '.join(map(str, table.columns))}")
