"""The features of candidates, checked once, from which the rows of any candidates are taken.

Bags ask for no more than `FeatureRows`, so that the features may as well lie on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags.instances import InstanceMatrix, read_instances, take_rows
from overread.bags.validation import refuse_repeated, require_columns
from overread.errors import InvalidInputError, TableError
from overread.one_line import print_as_one_line

__all__ = ["KEYS", "CandidateFeatures", "FeatureRows", "read_features"]

KEYS = ["image_id", "candidate_id"]


class FeatureRows(Protocol):
    """Where bags get the features of their candidates from."""

    def find_rows(self, image_ids: NDArray[Any], candidate_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the row of each of some candidates."""
        ...

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return some rows, in the order asked for."""
        ...


@print_as_one_line()
@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """A table of features, read: its rows are checked and can be found. Make one with :func:`read_features`.

    Attributes
    ----------
    matrix : InstanceMatrix
        The features in the order of the table; it shares memory with the table where it can.
    keys : pandas.MultiIndex
        Image and candidate of each row.
    """

    matrix: InstanceMatrix
    keys: pd.MultiIndex

    def __len__(self) -> int:
        return len(self.keys)

    def find_rows(self, image_ids: NDArray[Any], candidate_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the row of each of some candidates.

        Raises
        ------
        TableError
            If a candidate has no row.
        """
        rows = self.keys.get_indexer(pd.MultiIndex.from_arrays([image_ids, candidate_ids]))
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            image, candidate = image_ids[missing[0]], candidate_ids[missing[0]]
            raise TableError(f"features: no row for candidate {candidate!r} of image {image!r}")
        return rows.astype(np.int64)

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return some rows, in the order asked for; a copy only where they are not neighbours already."""
        return InstanceMatrix(take_rows(self.matrix.values, rows), self.matrix.feature_names)


def read_features(features: pd.DataFrame) -> CandidateFeatures:
    """Check a table of features.

    Parameters
    ----------
    features : pandas.DataFrame
        ``image_id``, ``candidate_id`` and one numeric column a feature; a row a candidate, in any order.

    Raises
    ------
    TableError
        For a missing key, a candidate that is there twice, or a cell that is not a finite number.
    """
    require_columns(features, "features", KEYS)
    refuse_repeated(features, "features", KEYS)
    try:
        matrix = read_instances(features.drop(columns=KEYS))
    except InvalidInputError as error:
        raise TableError(f"features: {error}") from error
    return CandidateFeatures(matrix, pd.MultiIndex.from_frame(features[KEYS]))
