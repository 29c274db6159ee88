"""Every model against soft labels, and what becomes of those that know who marked when each reader reads little.

Labels of the soft and hard rules are the same whoever marked, so that the number of images of a reader cannot change
them. Crowd models and B2 learn something of each reader, and have the less to learn it from the fewer images he reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from overread.scenario.contenders import KNOW_READERS
from overread.scenario.design import Condition
from overread.scenario.groups import Groups, choose_pool, estimate_mean_difference
from overread.scenario.points import Point
from overread.scenario.statistics import Estimate, adjust_by_holm, estimate_mean

__all__ = ["compare_per_reader"]

COLUMNS = [
    *("model", "images_per_reader", "images_of_a_reader", "estimate", "lower", "upper", "p_value", "p_holm"),
    *("n_seeds", "n_sets", "n_wanted", "change", "change_lower", "change_upper", "change_p", "change_holm"),
]


def compare_per_reader(groups: Groups, judge: str, conditions: Sequence[Condition]) -> pd.DataFrame:
    """Compare every model with soft labels in the mean of all training sets with two readings or more.

    Parameters
    ----------
    groups
        Points by model and condition.
    judge
        "known" or "golden".
    conditions
        All of the design, also those that some model cannot be fitted to.

    Returns
    -------
    pandas.DataFrame
        A row for each model, and for each limit of the images of a reader where the model knows readers:
        ``estimate`` is the model minus soft over the ``n_sets`` of ``n_wanted`` sets that it was fitted to in every
        seed (NaN of none), ``change`` the model minus itself where the pool reads all.
    """
    several = [at for at in conditions if at.readings > 1]
    limits = sorted({at.images_per_reader for at in several}, key=lambda own: own or np.inf, reverse=True)
    one_pool = [choose_pool(limits)]
    rows = []
    for model in dict.fromkeys(name for name, _ in groups if name != "soft"):
        for limit in limits if model in KNOW_READERS else one_pool:
            at = [one for one in several if one.images_per_reader == limit]
            rows.append(_compare(groups, judge, model, at))
    table = pd.DataFrame([row for row in rows if row], columns=[c for c in COLUMNS if "holm" not in c])
    return table.assign(
        p_holm=adjust_by_holm(table["p_value"].tolist()),
        change_holm=adjust_by_holm(table["change_p"].tolist()),
    )[COLUMNS]


def _compare(groups: Groups, judge: str, model: str, wanted: Sequence[Condition]) -> dict[str, Any]:
    n_seeds = max((len(groups.get(("soft", at), ())) for at in wanted), default=0)
    if not n_seeds:
        return {}
    there = [at for at in wanted if len(groups.get((model, at), ())) == n_seeds]
    own = [groups[model, at] for at in there]
    soft = [groups["soft", at] for at in there]
    against = estimate_mean_difference(own, soft, judge) if there else estimate_mean([], None, 0)
    change = _find_change(groups, judge, model, there)
    images = [_count_images_of_a_reader(one) for at in own for one in at]
    return {
        "model": model,
        "images_per_reader": wanted[0].images_per_reader,
        "images_of_a_reader": float(np.mean(images)) if images else float("nan"),
        "estimate": against.value,
        "lower": against.lower,
        "upper": against.upper,
        "p_value": against.p_value,
        "n_seeds": n_seeds,
        "n_sets": len(there),
        "n_wanted": len(wanted),
        "change": change.value,
        "change_lower": change.lower,
        "change_upper": change.upper,
        "change_p": change.p_value,
    }


def _find_change(groups: Groups, judge: str, model: str, limited: Sequence[Condition]) -> Estimate:
    """Return the model minus itself where the pool reads all; NaN where there is no such set, or it is this one."""
    pairs = [
        (groups[model, at], groups[model, Condition(at.images, at.readings)])
        for at in limited
        if at.images_per_reader and (model, Condition(at.images, at.readings)) in groups
    ]
    if not pairs:
        return estimate_mean([], None, 0)
    return estimate_mean_difference([few for few, _ in pairs], [every for _, every in pairs], judge)


def _count_images_of_a_reader(point: Point) -> float:
    assert point.measures is not None
    return point.measures.n_readings / point.measures.n_readers
