"""One rule to choose the control parameters of Soft, B1 and B2, so that none of them is favoured.

The paper trained B1 on "training + validation" and took the setting with the best results there (section 6.2),
while it chose the soft model's lambda on validation. Here the rule is the same for every model:

- "validation" (default): fit every setting on training, score it on validation;
- "in_sample", the paper's way with B1: fit every setting on training + validation, and score it there.

Among the settings within a tolerance of the best score, the one with the fewest features is taken, and fitted to
training + validation. Without a normalization the loss is a sum over the bags, so that the penalty grows with the bags
of that last fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from overread._terminal import count_steps
from overread._text import short_repr
from overread.bags import Bags, soft_kl_scorer
from overread.errors import InvalidInputError

Floats = NDArray[np.float64]
Model = TypeVar("Model")

RULES = ("validation", "in_sample")


@short_repr("position", "rule", "model", "table")
@dataclass(frozen=True)
class Tuning(Generic[Model]):
    """The chosen setting, fitted to training + validation where that was given, and why.

    With the normalization "none" and a penalty judged on training, its ``alpha`` has grown with the weight of the bags.
    The validation score is NaN for the rule "in_sample", whose training score is on training + validation.
    """

    model: Model
    position: int
    rule: str
    table: pd.DataFrame


def tune(
    settings: Sequence[Model],
    *,
    training: Any,
    validation: Any,
    merged: Any = None,
    rule: Literal["validation", "in_sample"] = "validation",
    tolerance: float = 0.0,
    fit: Callable[[Model, Any], Any] | None = None,
    score: Callable[[Model, Any], float] | None = None,
) -> Tuning[Model]:
    """Choose one of several settings of a model by the rule of this module.

    Sets are `Bags` that carry labels, or whatever `fit` and `score` take; settings with the normalization "none" need
    `Bags`. Without the merged set nothing is fitted to it. Settings at most `tolerance` below the best score, larger
    being better and by default minus the mean soft KL divergence, are accepted.
    """
    if rule not in RULES:
        raise InvalidInputError(f"rule={rule!r} is unknown; choose one of {RULES}")
    if not len(settings):
        raise InvalidInputError("there is no setting to choose from")
    if rule == "in_sample" and merged is None:
        raise InvalidInputError('the rule "in_sample" needs the merged set')
    if rule == "validation" and merged is not None and any(map(_is_sum, settings)):
        growth = _weigh(merged) / _weigh(training)
    else:
        growth = 1.0
    fit, score = fit or _fit_bags, score or _soft_kl
    fitted_on, judged_on = (training, validation) if rule == "validation" else (merged, merged)
    rows = []
    for setting in count_steps("settings", settings):
        model = clone(setting)
        fit(model, fitted_on)
        inside = float(score(model, fitted_on))
        outside = float(score(model, judged_on)) if rule == "validation" else np.nan
        rows.append((inside, outside, count_features(model)))
    table = pd.DataFrame(rows, columns=["training_score", "validation_score", "n_features"])
    judged = table["validation_score" if rule == "validation" else "training_score"].to_numpy()
    if np.isnan(judged).any():
        raise InvalidInputError(f"the score of setting {int(np.isnan(judged).argmax())} is NaN")
    table["accepted"] = judged >= judged.max() - tolerance
    order = np.lexsort((-judged, table["n_features"], ~table["accepted"]))
    position = int(order[0])
    table["chosen"] = np.arange(len(table)) == position
    chosen = clone(settings[position])
    if merged is not None:
        if _is_sum(chosen):
            chosen.set_params(alpha=chosen.alpha * growth)
        fit(chosen, merged)
    return Tuning(chosen, position, rule, pd.concat([_differences(settings), table], axis=1))


# Scores closer than this are equal.
ROUNDING = 1e-9


def find_best(values: Floats, sparsity: Floats) -> int:
    """Position of the highest value; of equal ones the sparsest."""
    return int(np.lexsort((sparsity, -np.round(values, 9)))[0])


def take_sparsest(values: Floats, sparsity: Floats, errors: Floats, n_standard_errors: float) -> int:
    """Of the settings within so many standard errors of the best, take the sparsest; of equally sparse ones the better.

    Breiman et al., Classification and Regression Trees (1984), section 3.4.3; `errors` are those of the paired
    differences from the best, because the same patients judge all settings.
    """
    accepted = np.flatnonzero(values - values.max() >= -n_standard_errors * errors - ROUNDING)
    order = np.lexsort((-np.round(values[accepted], 9), sparsity[accepted]))
    return int(accepted[order[0]])


def count_features(model: Any) -> int:
    """Features that a fitted model reads: the union over readers for a mixture."""
    return int(model.n_features_) if hasattr(model, "n_features_") else int(np.count_nonzero(model.coef_))


def _is_sum(model: Any) -> bool:
    """Whether a model's penalty stands beside a loss that grows with the bags; without a number it follows them."""
    return getattr(model, "normalization", None) == "none" and model.alpha is not None


def _weigh(part: Any) -> float:
    """Sum of the weights of the bags of a set."""
    if not isinstance(part, Bags):
        raise InvalidInputError(
            f'normalization="none": the penalty grows with the bags, and a set of type {type(part).__name__} does not '
            'tell their weights (give Bags, or the normalization "bags" or "class")'
        )
    return float(len(part) if part.reader_weight is None else np.sum(part.reader_weight))


def _fit_bags(model: Any, bags: Bags) -> None:
    model.fit(bags, bags.labels)


def _soft_kl(model: Any, bags: Bags) -> float:
    return soft_kl_scorer(model, bags, bags.labels)


def _differences(settings: Sequence[Any]) -> pd.DataFrame:
    """Parameters that are not the same in all settings, one row a setting."""
    parameters = [setting.get_params(deep=False) for setting in settings]
    names = {name for each in parameters for name in each}
    differing = [name for name in sorted(names) if len({repr(each.get(name)) for each in parameters}) > 1]
    return pd.DataFrame([{name: each.get(name) for name in differing} for each in parameters])
