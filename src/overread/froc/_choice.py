"""Choice among settings of a model, by the paper's rule or by cross-validation over patients.

The paper (section 6.1, Figure 3) looks, for FP = 0.5 and FP = 1.0, for the interval of lambda "where regularized soft
models have large sensitivity values and relatively small difference in sensitivity" between training and validation,
and takes a value where the intervals cross. `choose_alpha` makes it exact: at FP value f, lambda is accepted when, for
GT and for image sensitivity,

    V(f, best) - V(f, lambda) <= max(tolerance, k e)    and    |T(f, lambda) - V(f, lambda)| <= max(max_gap, k g),

V on validation and T on training, each set at its own threshold. e is the standard error of the difference on the left,
over resampled patients of validation, who judge both models; g that of T - V, over resampled patients of both sets. A
difference within a standard error is one that the data cannot distinguish from none: with a third of the paper's 322
golden GTs in each set e is about the tolerance, with fewer it is larger. The accepted sets are intersected over f.

`choose_setting` judges by scores of models that did not see a candidate's patient: GT sensitivity, averaged over a few
numbers of false positives per image. Of all settings whose shortfall against the best is at most one standard error of
that paired difference, patients resampled, it takes the one with the fewest features (Breiman et al., Classification
and Regression Trees, 1984, section 3.4.3, for the rule; paired, because the same patients judge all settings).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import (
    ROUNDING,
    estimates_at,
    replicate_at_targets,
)
from overread.froc._curve import check_targets
from overread.froc._defaults import ALPHA_FP_TARGETS, CHOICE_FP_TARGETS, N_BOOTSTRAP, N_CHOICE_BOOTSTRAP
from overread.froc._matching import Matching
from overread.models import find_best, take_sparsest

Floats = NDArray[np.float64]


@runtime_checkable
class ScoreColumns(Protocol):
    """Scores that need not be in memory together; ``shape`` counts candidates and settings."""

    shape: tuple[int, int]

    def read_columns(self) -> Iterator[Floats]:
        """Give the scores of each setting, one setting after the other."""
        ...


Scores = ArrayLike | pd.DataFrame | ScoreColumns
"""A row a candidate and a column a setting, or what gives such columns."""


def read_score_columns(scores: Scores, n_settings: int, name: str) -> Iterator[Floats]:
    """Give the scores of each setting."""
    given = scores if isinstance(scores, ScoreColumns) else np.asarray(scores, dtype=np.float64)
    if len(given.shape) != 2 or given.shape[1] != n_settings:
        raise InvalidInputError(
            f"{name}: shape {given.shape}; need a row per candidate and a column for each of {n_settings} settings"
        )
    return iter(given.T) if isinstance(given, np.ndarray) else given.read_columns()


JUDGED = ("gt_sensitivity", "image_sensitivity")


class Path(Protocol):
    """A fitted path of penalties, such as :class:`overread.models.SoftMILPath`."""

    alphas_: Any
    n_features_: Any


@short_repr("alpha", "normalization", "n_features", "position", "intersects", "table")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AlphaChoice:
    """The chosen model and why; in files the penalty is called ``lam``.

    ``table`` has a row per FP value and model, ``intervals`` the smallest and largest accepted lambda of each FP value,
    ``frequencies`` the share of bootstraps that choose each model. Where no model is accepted at every FP value
    (``intersects``; ``disjoint_share`` of bootstraps), the choice needs the smallest ``widening`` of all bounds.
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

    @property
    def alpha(self) -> float:
        """Penalty of the chosen model."""
        return self.lam


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class PathModels:
    """The models to choose from: lambda, number of features and normalization of each column of scores."""

    alphas: Floats
    n_features: NDArray[np.int64]
    normalizations: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        counts = np.atleast_1d(np.asarray(self.n_features, dtype=np.int64))
        if (
            alphas.ndim != 1
            or not len(alphas)
            or counts.shape != alphas.shape
            or not np.isfinite(alphas).all()
        ):
            raise InvalidInputError("alphas, n_features: need one finite value per model, at least one model")
        names = None if self.normalizations is None else tuple(self.normalizations)
        if names is not None and len(names) != len(alphas):
            raise InvalidInputError(f"normalizations: {len(names)} for {len(alphas)} models")
        for name, value in (("alphas", alphas), ("n_features", counts), ("normalizations", names)):
            object.__setattr__(self, name, value)

    @classmethod
    def of_paths(cls, paths: Mapping[str, Path]) -> PathModels:
        """All models of fitted paths, by the name of their normalization."""
        return cls(
            np.concatenate([path.alphas_ for path in paths.values()]),
            np.concatenate([path.n_features_ for path in paths.values()]),
            tuple(name for name, path in paths.items() for _ in path.alphas_),
        )

    def __len__(self) -> int:
        return len(self.alphas)

    def frame(self) -> pd.DataFrame:
        """Return one row per model."""
        names = [None] * len(self) if self.normalizations is None else list(self.normalizations)
        return pd.DataFrame({"lam": self.alphas, "normalization": names, "n_features": self.n_features})


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class ScoredSplit:
    """One set of images, whose matching's own scores are not used, and its scores: a column per model."""

    matching: Matching
    scores: Scores

    def matchings(self, name: str, n_models: int) -> Iterator[Matching]:
        """Give the matching of each model, one after the other; ``name`` is that of the set, for errors."""
        columns = read_score_columns(self.scores, n_models, f"{name}_scores")
        return (self.matching.with_scores(column) for column in columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaRule:
    """The paper's rule with its bounds, which are fractions and are widened to ``n_standard_errors`` where smaller.

    Of the accepted, ``pick="sparsest"`` takes the fewest features, then the higher mean validation sensitivity, then
    the larger lambda; ``"best"`` the highest mean validation sensitivity, then fewest features, then larger lambda.
    """

    fp_targets: Sequence[float] = ALPHA_FP_TARGETS
    # Set by judgement: the paper says "large" and "relatively small" and gives no numbers.
    tolerance: float = 0.02
    max_gap: float = 0.05
    n_standard_errors: float = 1.0
    pick: Literal["sparsest", "best"] = "sparsest"

    def __post_init__(self) -> None:
        if self.pick not in ("sparsest", "best"):
            raise InvalidInputError(f"pick={self.pick!r}: use 'sparsest' or 'best'")
        if not min(self.tolerance, self.max_gap, self.n_standard_errors) >= 0:
            raise InvalidInputError("tolerance, max_gap, n_standard_errors: need numbers >= 0")

    def excess(self, train: Floats, valid: Floats, errors: tuple[Floats, Floats] | None = None) -> Floats:
        """By how much each model breaks the rule at each FP value; not above 0 where it is accepted.

        ``errors`` are the standard errors of shortfalls and gaps, as `_find_errors` gives them; None: bounds stay.
        """
        of_shortfall, of_gap = (0.0, 0.0) if errors is None else errors
        shortfall = valid.max(axis=0) - valid
        shortfall -= np.maximum(self.tolerance, self.n_standard_errors * of_shortfall)
        gap = np.abs(train - valid) - np.maximum(self.max_gap, self.n_standard_errors * of_gap)
        return np.asarray(np.maximum(shortfall, gap).max(axis=2))

    def choose(self, excess: Floats, valid: Floats, models: PathModels) -> int:
        """Position of the choice among the models accepted at every FP value, or nearest to it."""
        worst = excess.max(axis=1)
        eligible = np.flatnonzero(worst <= max(worst.min(), 0.0) + ROUNDING)
        mean = np.round(valid.mean(axis=(1, 2))[eligible], 9)
        features, alphas = models.n_features[eligible], models.alphas[eligible]
        keys = (-alphas, -mean, features) if self.pick == "sparsest" else (-alphas, features, -mean)
        return int(eligible[np.lexsort(keys)[0]])


def choose_alpha(
    models: PathModels,
    training: ScoredSplit,
    validation: ScoredSplit,
    rule: AlphaRule | None = None,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> AlphaChoice:
    """Choose lambda, and the normalization where several were tried, by the paper's rule.

    Patients of both sets are drawn independently for the distribution of the choice.
    """
    rule = rule or AlphaRule()
    targets = check_targets(rule.fp_targets)
    sets = (training.matchings("training", len(models)), validation.matchings("validation", len(models)))
    (train, train_replicates), (valid, valid_replicates) = (
        _judge(matchings, targets, n_bootstrap, child)
        for matchings, child in zip(sets, np.random.SeedSequence(seed).spawn(2), strict=True)
    )
    errors = _find_errors(valid, train_replicates, valid_replicates)
    excess = rule.excess(train, valid, errors)
    position = rule.choose(excess, valid, models)
    widening = float(excess.max(axis=1)[position])
    intersects = widening <= ROUNDING
    if not intersects:
        warnings.warn(
            "choose_alpha: the accepted intervals of lambda do not intersect; "
            f"the choice would need all bounds {widening:.3f} wider",
            stacklevel=2,
        )
    tables, intervals = [], []
    for f, target in enumerate(targets):
        table, accepted = models.frame(), excess[:, f] <= ROUNDING
        table.insert(0, "fp_target", target)
        for k, measure in enumerate(JUDGED):
            table[f"training_{measure}"] = train[:, f, k]
            table[f"validation_{measure}"] = valid[:, f, k]
            table[f"{measure}_gap"] = train[:, f, k] - valid[:, f, k]
        tables.append(table.assign(accepted=accepted))
        alphas = table["lam"][accepted]
        intervals.append((target, alphas.min(), alphas.max(), len(alphas)))
    frequencies, disjoint_share = _bootstrap_choices(train_replicates, valid_replicates, errors, models, rule)
    return AlphaChoice(
        position=position,
        lam=float(models.alphas[position]),
        normalization=None if models.normalizations is None else models.normalizations[position],
        n_features=int(models.n_features[position]),
        intersects=intersects,
        widening=0.0 if intersects else widening,
        table=pd.concat(tables, ignore_index=True),
        intervals=pd.DataFrame(intervals, columns=["fp_target", "lowest", "highest", "n_accepted"]),
        frequencies=models.frame().assign(frequency=frequencies),
        disjoint_share=disjoint_share,
    )


def _judge(
    matchings: Iterable[Matching], targets: Floats, n_bootstrap: int, seed: int | np.random.SeedSequence
) -> tuple[Floats, Floats]:
    """Sensitivities (model, FP value, GT or image), each model at its own threshold, and their replicates.

    Of the replicates (replicate, model, FP value, GT or image) each has the same patients for every model. One model is
    held at a time: what is known of all candidates under each of them would be many times the scores.
    """
    estimates, replicates = [], []
    for matching in matchings:
        if not matching.n_gts:
            raise InvalidInputError("there is no target to find: every set that a choice rests on needs one")
        estimates.append(estimates_at(matching, targets)[list(JUDGED)].to_numpy())
        values = replicate_at_targets(matching, targets, n_bootstrap, seed)
        replicates.append(np.stack([values[measure] for measure in JUDGED], axis=2))
    return np.stack(estimates), np.stack(replicates, axis=1)


def _find_errors(valid: Floats, train_replicates: Floats, valid_replicates: Floats) -> tuple[Floats, Floats]:
    """Find the standard errors (model, FP value, measure) of the shortfall against the best, and of the gap."""
    best = np.expand_dims(valid.argmax(axis=0), (0, 1))
    shortfalls = np.take_along_axis(valid_replicates, best, axis=1) - valid_replicates
    # The two sets are resampled independently of each other.
    gaps = np.hypot(*(_deviation(one) for one in (train_replicates, valid_replicates)))
    return _deviation(shortfalls), gaps


def _deviation(replicates: Floats) -> Floats:
    """Compute the standard deviation over the replicates that exist; 0 where there are fewer than two."""
    usable = replicates[~np.isnan(replicates).any(axis=tuple(range(1, replicates.ndim)))]
    return usable.std(axis=0, ddof=1) if len(usable) > 1 else np.zeros(replicates.shape[1:])


def _bootstrap_choices(
    train: Floats, valid: Floats, errors: tuple[Floats, Floats], models: PathModels, rule: AlphaRule
) -> tuple[Floats, float]:
    """Share of bootstraps that choose each model, and share in which the accepted sets do not intersect."""
    usable = ~(np.isnan(train).any(axis=(1, 2, 3)) | np.isnan(valid).any(axis=(1, 2, 3)))
    if not usable.any():
        return np.full(len(models), np.nan), np.nan
    chosen = np.zeros(len(models))
    disjoint = 0
    for one_train, one_valid in zip(train[usable], valid[usable], strict=True):
        excess = rule.excess(one_train, one_valid, errors)
        chosen[rule.choose(excess, one_valid, models)] += 1
        disjoint += excess.max(axis=1).min() > ROUNDING
    return chosen / usable.sum(), float(disjoint / usable.sum())


@short_repr("position", "best", "fp_targets", "n_standard_errors", "table")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SettingChoice:
    """Positions of the chosen and the best setting, and why; ``table`` has one row per setting.

    Its columns: n_features, sensitivity, standard_error (of the sensitivity), difference (to the best),
    difference_error (its standard error), accepted, chosen, frequency (share of resamplings that choose it).
    """

    position: int
    best: int
    fp_targets: tuple[float, ...]
    n_standard_errors: float
    table: pd.DataFrame


def choose_setting(
    matching: Matching,
    scores: Scores,
    n_features: ArrayLike,
    *,
    fp_targets: Sequence[float] = CHOICE_FP_TARGETS,
    n_standard_errors: float = 1.0,
    n_bootstrap: int = N_CHOICE_BOOTSTRAP,
    seed: int = 0,
) -> SettingChoice:
    """Choose the sparsest setting that cannot be distinguished from the best.

    Parameters
    ----------
    matching : Matching
        Matched candidates; their own scores are not used.
    scores : Scores
        Out-of-fold scores: one row a candidate, one column a setting, or `ScoreColumns`.
    n_features : array-like
        Features of each setting, on the average of its folds.
    fp_targets : sequence of float, default=CHOICE_FP_TARGETS
        FP per image over which GT sensitivities are averaged.
    n_standard_errors : float, default=1.0
        Accepted shortfall against the best; 0 takes the best itself.
    n_bootstrap, seed
        Resamplings of patients for the standard errors.
    """
    targets = check_targets(fp_targets)
    sparsity = np.atleast_1d(np.asarray(n_features, dtype=np.float64))
    if not len(sparsity):
        raise InvalidInputError("n_features: there is no setting to choose from")
    columns = read_score_columns(scores, len(sparsity), "scores")
    scored = (matching.with_scores(column) for column in columns)
    estimates, replicates = _judge(scored, targets, n_bootstrap, seed)
    values, replicates = estimates[..., 0].mean(axis=1), replicates[..., 0].mean(axis=2)
    best = find_best(values, sparsity)
    usable = replicates[~np.isnan(replicates).any(axis=1)]
    errors = _deviation(replicates - replicates[:, [best]])
    position = take_sparsest(values, sparsity, errors, n_standard_errors)
    chosen = [take_sparsest(one, sparsity, errors, n_standard_errors) for one in usable]
    difference = values - values[best]
    table = pd.DataFrame(
        {
            "n_features": sparsity,
            "sensitivity": values,
            "standard_error": np.nanstd(replicates, axis=0, ddof=1) if len(replicates) > 1 else np.nan,
            "difference": difference,
            "difference_error": errors,
            "accepted": difference >= -n_standard_errors * errors - ROUNDING,
            "chosen": np.arange(len(values)) == position,
            "frequency": np.bincount(chosen, minlength=len(sparsity)) / max(len(chosen), 1),
        }
    )
    return SettingChoice(
        position=position,
        best=best,
        fp_targets=tuple(float(target) for target in targets),
        n_standard_errors=float(n_standard_errors),
        table=table,
    )
