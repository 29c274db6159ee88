"""Scores of the same candidates by many settings of a model, of which one setting is looked at after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError

__all__ = ["ScoreColumns", "Scores", "read_score_columns"]

Floats = NDArray[np.float64]


@runtime_checkable
class ScoreColumns(Protocol):
    """Scores that need not be in memory together.

    Attributes
    ----------
    shape
        Candidates and settings.
    """

    shape: tuple[int, int]

    def read_columns(self) -> Iterator[Floats]:
        """Give the scores of each setting, one setting after the other."""
        ...


Scores = ArrayLike | pd.DataFrame | ScoreColumns
"""A row a candidate and a column a setting, or what gives such columns."""


def read_score_columns(scores: Scores, n_settings: int, name: str) -> Iterator[Floats]:
    """Give the scores of each setting.

    Parameters
    ----------
    scores
        Of all settings.
    n_settings
        How many there should be.
    name
        Of the scores, for errors.

    Raises
    ------
    InvalidInputError
        If there are not as many columns as settings.
    """
    given = scores if isinstance(scores, ScoreColumns) else np.asarray(scores, dtype=np.float64)
    if len(given.shape) != 2 or given.shape[1] != n_settings:
        raise InvalidInputError(
            f"{name}: shape {given.shape}; need a row per candidate and a column for each of {n_settings} settings"
        )
    return iter(given.T) if isinstance(given, np.ndarray) else given.read_columns()
