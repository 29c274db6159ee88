"""Splits that keep a patient whole and share the soft labels evenly.

Both splitters place whole groups one by one, the heaviest first, each where it adds least to

    sum over parts f and totals s of (load[f, s] / total[s])^2 / fraction[f]

that is, with equal parts, into the part whose loads overlap least with the group's. The totals are the number of
rows, the number of positive rows, the sum of the labels and the sum of their squares, so that parts agree in the
first two moments of the labels, not only in how many there are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from overread.bags._bags import Bags
from overread.bags._labels import read_labels
from overread.bags._validation import read_ids
from overread.errors import DataWarning, InvalidInputError, LeakageError, TableError

# Three thirds of three digits are 0.999; set by judgement, just above.
LARGEST_GAP = 0.0015


class SoftStratifiedGroupKFold(BaseCrossValidator):
    """K folds with whole groups and evenly shared soft labels.

    scikit-learn's stratified splitters refuse soft labels, and its grouped ones ignore labels. Groups are the
    ``groups`` argument; where it is None, the groups that ``X`` carries if it is a :class:`Bags`; else every
    row is a group of its own.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds, at least 2.
    shuffle : bool, default False
        Whether to draw the order of groups of equal weight, and which fold is the first.
    random_state : int, RandomState or None
        Seed of the shuffling; only with ``shuffle=True``.
    """

    # scikit-learn's metadata routing reads this: groups are always wanted.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    n_splits: int
    shuffle: bool
    random_state: Any

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        if not isinstance(n_splits, Integral) or n_splits < 2:
            raise InvalidInputError(f"n_splits must be an integer of at least 2, got {n_splits!r}")
        if not shuffle and random_state is not None:
            raise InvalidInputError("random_state has no effect without shuffle=True; set that or drop this")
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows of the training and the test side of every fold.

        Parameters
        ----------
        X : Bags or sequence
            Only its length and the groups it carries matter.
        y : array-like of shape (n,), optional
            Two classes or soft labels; the labels that ``X`` carries where None.
        groups : sequence of hashable of shape (n,), optional
            Rows of one group stay together.
        """
        folds = self._fold_of_row(X, y, groups)
        rows = np.arange(len(folds))
        for fold in range(self.n_splits):
            yield rows[folds != fold], rows[folds == fold]

    def _fold_of_row(self, X: Any, y: Any, groups: Any) -> NDArray[np.int64]:
        labels = getattr(X, "labels", None) if y is None else y
        if labels is None:
            raise InvalidInputError("soft stratification needs the labels: pass y")
        probability = read_labels(labels).probability
        group_of_row = group_codes(X, groups, len(probability))
        n_groups = int(group_of_row.max()) + 1
        if n_groups < self.n_splits:
            raise InvalidInputError(
                f"{self.n_splits} folds need at least as many groups; there are {n_groups}"
            )
        columns = (np.ones_like(probability), probability > 0, probability, probability**2)
        loads = _sum_by_group(columns, group_of_row)
        positive_groups = int((loads[:, 1] > 0).sum())
        if 0 < positive_groups < self.n_splits:
            warnings.warn(
                f"only {positive_groups} groups have a positive label, for {self.n_splits} folds: "
                "some folds have none",
                DataWarning,
                stacklevel=3,
            )
        generator = check_random_state(self.random_state) if self.shuffle else None
        return _balance_groups(loads, self.n_splits, generator=generator)[group_of_row]


def group_codes(X: Any, groups: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the group number of each row: by ``groups``, else as ``X`` carries them, else each row alone."""
    if groups is None and isinstance(X, Bags):
        groups = X.groups
    if groups is None:
        return np.arange(n_rows)
    return read_ids(groups, n_rows=n_rows, name="groups")[0]


def _sum_by_group(columns: Sequence[NDArray[Any]], group: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.stack([np.bincount(group, weights=column).astype(np.float64) for column in columns], axis=1)


def _balance_groups(
    loads: NDArray[np.float64], n_parts: int, *, generator: Any = None, fractions: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Place every group in the part where it adds least to the sum of squared loads over the parts' fractions."""
    totals = loads.sum(axis=0)
    shares = loads / np.where(totals > 0, totals, 1.0)
    start = np.arange(len(shares)) if generator is None else generator.permutation(len(shares))
    order = start[np.argsort(-shares[start].sum(axis=1), kind="stable")]
    # Of equal parts the first one is filled first: which one that is, is drawn.
    names = np.arange(n_parts) if generator is None else generator.permutation(n_parts)
    weights = (
        np.full(n_parts, 1.0 / n_parts)
        if fractions is None
        else np.asarray(fractions, dtype=np.float64)[names]
    )
    filled = np.zeros((n_parts, shares.shape[1]))
    part_of_group = np.empty(len(shares), dtype=np.int64)
    for group in order:
        part = int(np.argmin((filled @ shares[group] + shares[group] @ shares[group] / 2) / weights))
        filled[part] += shares[group]
        part_of_group[group] = part
    return np.asarray(names[part_of_group], dtype=np.int64)


def split_by_patient(
    images: pd.DataFrame,
    truth: pd.DataFrame,
    *,
    names: Sequence[str] = ("training", "validation", "test"),
    fractions: Sequence[float] | None = None,
    random_state: int = 0,
) -> pd.Series[Any]:
    """Split images by patient, with consensus objects shared evenly (paper, "Results").

    Parameters
    ----------
    images : pandas.DataFrame
        ``image_id`` and ``patient_id``; an image without a patient id stands for itself.
    truth : pandas.DataFrame
        ``image_id`` and ``golden``, one row a ground-truth object.
    names : sequence of str
        Names of the parts.
    fractions : sequence of float, optional
        Share of images and of golden GTs of each part, above 0 and together 1; equal parts by default.
    random_state : int
        Seed; the same seed and tables give the same parts, whatever the order of the rows.

    Returns
    -------
    pandas.Series
        Name of the part of each row of ``images``, on the index of ``images``.
    """
    unknown = truth.loc[~truth["image_id"].isin(images["image_id"]), "image_id"]
    if len(unknown):
        raise TableError(f"truth: image_id {unknown.iloc[0]!r} is not in the images table")
    golden = truth.loc[truth["golden"].astype(bool), "image_id"].value_counts()
    golden_of_image = images["image_id"].map(golden).fillna(0).to_numpy(dtype=np.float64)
    patients, patient_of_image = np.unique(_patients(images), return_inverse=True)
    if len(patients) < len(names):
        raise InvalidInputError(
            f"{len(names)} parts need at least as many patients; there are {len(patients)}"
        )
    if fractions is not None and (len(fractions) != len(names) or not is_division(fractions)):
        raise InvalidInputError(
            f"fractions={list(fractions)}: need a number above 0 for each of {len(names)} parts, together 1"
        )
    columns = (np.ones_like(golden_of_image), golden_of_image > 0, golden_of_image)
    generator = np.random.RandomState(random_state)
    loads = _sum_by_group(columns, patient_of_image)
    parts = _balance_groups(loads, len(names), generator=generator, fractions=fractions)
    return pd.Series(
        np.asarray(names, dtype=object)[parts[patient_of_image]], index=images.index, name="split"
    )


def is_division(fractions: Sequence[float]) -> bool:
    """Whether these are positive numbers that add up to 1, thirds that were rounded to 0.333 included."""
    return min(fractions) > 0 and abs(sum(fractions) - 1) <= LARGEST_GAP


def refuse_leakage(images: pd.DataFrame) -> None:
    """Refuse a patient, or identical pixels (``pixel_hash``), in two parts; two images at fault are named."""
    checks = [("the same patient", _patients(images))] if "patient_id" in images else []
    if "pixel_hash" in images:
        checks.append(("identical pixels", images["pixel_hash"].to_numpy(dtype=object)))
    for what, keys in checks:
        known = images[["image_id", "split"]].assign(key=keys).dropna(subset="key")
        first = known.groupby("key", sort=False)[["split", "image_id"]].transform("first")
        leaks = np.flatnonzero((known["split"] != first["split"]).to_numpy())
        if len(leaks):
            here, there = known.iloc[leaks[0]], first.iloc[leaks[0]]
            raise LeakageError(
                f"{what} in two parts: image {there['image_id']!r} is in {there['split']!r}, "
                f"image {here['image_id']!r} in {here['split']!r}; put them in one part"
            )


def _patients(images: pd.DataFrame) -> NDArray[Any]:
    # A patient and an image may have the same id: the prefix keeps them apart.
    alone = "image " + images["image_id"].astype(str)
    if "patient_id" not in images:
        return alone.to_numpy(dtype=object)
    known = "patient " + images["patient_id"].astype(str)
    return known.where(images["patient_id"].notna(), alone).to_numpy(dtype=object)
