"""The paper's choice of the regularization parameter, made exact (section 6.1, Figure 3).

The paper looks, for FP = 0.5 and FP = 1.0, for the interval of lambda "where regularized soft models have
large sensitivity values and relatively small difference in sensitivity" between training and validation, and
takes a value where the intervals cross. Here: at FP value f, lambda is accepted when, for GT and for image
sensitivity,

    max over lambda' of V(f, lambda') - V(f, lambda) <= tolerance    and    |T(f, lambda) - V(f, lambda)| <=
    max_gap,

V on validation and T on training, each set at its own threshold. The accepted sets are intersected over f.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.froc.bootstraps import (
    SortedEvents,
    estimates_at,
    needed_fps,
    patient_counts,
    replicate_sensitivities,
    stacked,
)
from overread.froc.curve import checked_targets
from overread.froc.matching import Matching

__all__ = ["LambdaChoice", "choose_lambda"]

Floats = NDArray[np.float64]

JUDGED = ("gt_sensitivity", "image_sensitivity")
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LambdaChoice:
    """The chosen model and why.

    Attributes
    ----------
    position, lam, normalization, n_features
        The choice: its column in the scores, and what belongs to that column.
    intersects
        Whether any model is accepted at every FP value. If not, the choice is the model that would be
        accepted at every FP value with the smallest widening of both bounds, and ``widening`` says by how
        much.
    table
        One row per FP value and model: fp_target, lam, normalization, n_features, training and validation
        sensitivities, gaps, accepted.
    intervals
        Per FP value: smallest and largest accepted lambda, number accepted.
    frequencies
        Per model: share of bootstraps that choose it.
    disjoint_share
        Share of bootstraps in which no model is accepted at every FP value.
    """

    position: int
    lam: float
    normalization: str | None
    n_features: int
    intersects: bool
    widening: float
    table: pd.DataFrame
    intervals: pd.DataFrame
    frequencies: pd.DataFrame
    disjoint_share: float


def choose_lambda(
    training: Matching,
    validation: Matching,
    *,
    training_scores: ArrayLike | pd.DataFrame,
    validation_scores: ArrayLike | pd.DataFrame,
    lambdas: ArrayLike,
    n_features: ArrayLike,
    normalizations: Sequence[str] | None = None,
    fp_targets: ArrayLike = (0.5, 1.0),
    tolerance: float = 0.02,
    max_gap: float = 0.05,
    pick: Literal["sparsest", "best"] = "sparsest",
    n_bootstrap: int = 200,
    seed: int = 0,
) -> LambdaChoice:
    """Choose lambda, and the normalization where several were tried, by the paper's rule.

    Parameters
    ----------
    training, validation
        Matched candidates of the two sets; their own scores are not used.
    training_scores, validation_scores
        One row per candidate of the set, one column per model.
    lambdas, n_features, normalizations
        Of each column: regularization parameter, number of selected features, name of the normalization.
    fp_targets
        FP per image at which the rule has to hold.
    tolerance, max_gap
        Bounds of the rule, as fractions.
    pick
        Among the accepted, ``"sparsest"``: fewest features, then the higher mean validation sensitivity,
        then the larger lambda; ``"best"``: highest mean validation sensitivity, then fewest features, then
        larger lambda.
    n_bootstrap, seed
        Replicates for the distribution of the choice; patients of both sets are drawn independently.
    """
    rule = SelectionRule(tolerance, max_gap, pick)
    targets = checked_targets(fp_targets)
    models = ModelList.of(lambdas, n_features, normalizations)
    sets = [
        models.matchings("training", training, training_scores),
        models.matchings("validation", validation, validation_scores),
    ]
    train, valid = (estimates(matchings, targets) for matchings in sets)
    if np.isnan(train).any() or np.isnan(valid).any():
        raise InvalidInputError("choose_lambda: the training or the validation set has no target to find")
    excess = rule.excess(train, valid)
    position = rule.picked(excess, valid, models)
    widening = float(excess.max(axis=1)[position])
    intersects = widening <= ROUNDING
    if not intersects:
        warnings.warn(
            "choose_lambda: the accepted intervals of lambda do not intersect; "
            f"the choice would need both bounds {widening:.3f} wider",
            stacklevel=2,
        )
    chosen, disjoint_share = bootstrap_choices(sets, targets, models, rule, n_bootstrap, seed)
    table = models.table(targets, train, valid, excess <= ROUNDING)
    return LambdaChoice(
        position=position,
        lam=float(models.lambdas[position]),
        normalization=None if models.normalizations is None else models.normalizations[position],
        n_features=int(models.n_features[position]),
        intersects=intersects,
        widening=0.0 if intersects else widening,
        table=table,
        intervals=accepted_intervals(table),
        frequencies=models.frame().assign(frequency=chosen),
        disjoint_share=disjoint_share,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ModelList:
    """Lambda, number of features and normalization of each column of scores."""

    lambdas: Floats
    n_features: NDArray[np.int64]
    normalizations: tuple[str, ...] | None

    @classmethod
    def of(cls, lambdas: ArrayLike, n_features: ArrayLike, normalizations: Sequence[str] | None) -> ModelList:
        """Check that there is one of each per model."""
        lams = np.atleast_1d(np.asarray(lambdas, dtype=np.float64))
        counts = np.atleast_1d(np.asarray(n_features, dtype=np.int64))
        names = None if normalizations is None else tuple(normalizations)
        if lams.ndim != 1 or not len(lams) or counts.shape != lams.shape or not np.isfinite(lams).all():
            raise InvalidInputError(
                "lambdas, n_features: need one finite value per model, at least one model"
            )
        if names is not None and len(names) != len(lams):
            raise InvalidInputError(f"normalizations: {len(names)} for {len(lams)} models")
        return cls(lams, counts, names)

    def frame(self) -> pd.DataFrame:
        """Return one row per model."""
        names = [None] * len(self.lambdas) if self.normalizations is None else list(self.normalizations)
        return pd.DataFrame({"lam": self.lambdas, "normalization": names, "n_features": self.n_features})

    def matchings(self, name: str, matching: Matching, scores: ArrayLike | pd.DataFrame) -> list[Matching]:
        """Return the matching of each model."""
        columns = np.asarray(scores, dtype=np.float64)
        if columns.ndim != 2 or columns.shape[1] != len(self.lambdas):
            raise InvalidInputError(
                f"{name}_scores: shape {columns.shape}; need a row per candidate, {len(self.lambdas)} columns"
            )
        return [matching.with_scores(column) for column in columns.T]

    def table(
        self, targets: Floats, train: Floats, valid: Floats, accepted: NDArray[np.bool_]
    ) -> pd.DataFrame:
        """Return one row per FP value and model, as Figure 3 shows them."""
        rows = []
        for f, target in enumerate(targets):
            columns = self.frame()
            columns.insert(0, "fp_target", target)
            for k, measure in enumerate(JUDGED):
                columns[f"training_{measure}"] = train[:, f, k]
                columns[f"validation_{measure}"] = valid[:, f, k]
                columns[f"{measure}_gap"] = train[:, f, k] - valid[:, f, k]
            rows.append(columns.assign(accepted=accepted[:, f]))
        return pd.concat(rows, ignore_index=True)


def estimates(matchings: Sequence[Matching], targets: Floats) -> Floats:
    """Sensitivities (model, FP value, GT or image), each model at its own threshold."""
    return np.stack([estimates_at(model, targets)[list(JUDGED)].to_numpy() for model in matchings])


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """The two bounds and what to prefer among the accepted."""

    tolerance: float
    max_gap: float
    pick: Literal["sparsest", "best"]

    def __post_init__(self) -> None:
        if self.pick not in ("sparsest", "best"):
            raise InvalidInputError(f"pick={self.pick!r}: use 'sparsest' or 'best'")
        if not (self.tolerance >= 0 and self.max_gap >= 0):
            raise InvalidInputError("tolerance, max_gap: need numbers >= 0")

    def excess(self, train: Floats, valid: Floats) -> Floats:
        """By how much each model breaks the rule at each FP value; not above 0 where it is accepted."""
        shortfall = valid.max(axis=0) - valid - self.tolerance
        gap = np.abs(train - valid) - self.max_gap
        return np.asarray(np.maximum(shortfall, gap).max(axis=2))

    def picked(self, excess: Floats, valid: Floats, models: ModelList) -> int:
        """Position of the choice among the models accepted at every FP value, or nearest to it."""
        worst = excess.max(axis=1)
        eligible = np.flatnonzero(worst <= max(worst.min(), 0.0) + ROUNDING)
        mean = np.round(valid.mean(axis=(1, 2))[eligible], 9)
        features, lams = models.n_features[eligible], models.lambdas[eligible]
        keys = (-lams, -mean, features) if self.pick == "sparsest" else (-lams, features, -mean)
        return int(eligible[np.lexsort(keys)[0]])


def bootstrap_choices(
    sets: list[list[Matching]],
    targets: Floats,
    models: ModelList,
    rule: SelectionRule,
    n_bootstrap: int,
    seed: int,
) -> tuple[Floats, float]:
    """Share of bootstraps that choose each model, and share in which the accepted sets do not intersect."""
    seeds = np.random.SeedSequence(seed).spawn(2)
    train, valid = (
        replicates(matchings, targets, n_bootstrap, child)
        for matchings, child in zip(sets, seeds, strict=True)
    )
    usable = ~(np.isnan(train).any(axis=(1, 2, 3)) | np.isnan(valid).any(axis=(1, 2, 3)))
    if not usable.any():
        return np.full(len(models.lambdas), np.nan), np.nan
    chosen = np.zeros(len(models.lambdas))
    disjoint = 0
    for one_train, one_valid in zip(train[usable], valid[usable], strict=True):
        excess = rule.excess(one_train, one_valid)
        chosen[rule.picked(excess, one_valid, models)] += 1
        disjoint += excess.max(axis=1).min() > ROUNDING
    return chosen / usable.sum(), float(disjoint / usable.sum())


def replicates(
    matchings: list[Matching], targets: Floats, n_bootstrap: int, seed: np.random.SeedSequence
) -> Floats:
    """Sensitivities (replicate, model, FP value, GT or image), the same patients for every model."""
    per_model = []
    for matching in matchings:
        events = SortedEvents.of(matching, needed_fps(matching, targets))
        counts = patient_counts(matching.n_patients, n_bootstrap, seed)
        values = stacked([replicate_sensitivities(events, block, targets) for block in counts])
        per_model.append(np.stack([values[measure] for measure in JUDGED], axis=2))
    return np.stack(per_model, axis=1)


def accepted_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Smallest and largest accepted lambda of each FP value; NaN where none is accepted."""
    rows = []
    for target, part in table.groupby("fp_target", sort=False):
        lams = part.loc[part["accepted"], "lam"]
        rows.append(
            {"fp_target": target, "lowest": lams.min(), "highest": lams.max(), "n_accepted": len(lams)}
        )
    return pd.DataFrame(rows)
