"""From bags back to tables of candidates and of the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from overread.bags.bags import Bags
from overread.bags.candidate_features import KEYS
from overread.errors import InvalidInputError

__all__ = ["score_table", "truth_without_bag"]


def truth_without_bag(bags: Bags, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the truth that have no bag: missed by all candidates, but part of a denominator."""
    if bags.bag_table is None:
        raise InvalidInputError("these bags were not made by make_bags: they carry no truth ids")
    positive = bags.bag_table[bags.bag_table["truth_id"].notna()]
    with_bag = pd.MultiIndex.from_frame(positive[["image_id", "truth_id"]])
    return truth[~pd.MultiIndex.from_frame(truth[["image_id", "truth_id"]]).isin(with_bag)]


def score_table(bags: Bags, **scores: Any) -> pd.DataFrame:
    """Return a table of scores: ``image_id``, ``candidate_id`` and one column a model.

    Parameters
    ----------
    bags : Bags
        Made by :func:`make_bags`.
    **scores : array-like of shape (n_instances,)
        Scores of the instances under the model's name, in the order of ``bags.instances``.
    """
    if bags.instance_ids is None:
        raise InvalidInputError("these bags carry no candidate ids: make them with make_bags")
    table = pd.DataFrame(bags.instance_ids.tolist(), columns=KEYS)
    for name, values in scores.items():
        column = np.asarray(values, dtype=np.float64)
        if column.shape != (bags.n_instances,):
            raise InvalidInputError(
                f"scores {name} have shape {column.shape} for {bags.n_instances} instances"
            )
        table[name] = column
    return table
