"""The paper's claims, asked of a study: yes, no or undecided, with the numbers that the answer rests on.

An answer is "yes" or "no" only where an interval or all folds say so; everything else is "undecided". Nothing is
resampled here: differences, intervals and folds are those that the run has already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import atanh, isnan, sqrt, tanh

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import spearmanr

from overread.report import (
    AlikeClaim,
    ClaimAnswer,
    Claims,
    CompactClaim,
    ModelComparison,
    ModelResult,
    PaperChoice,
    PenaltyClaim,
    ShiftClaim,
    WeightsClaim,
)

# The paper calls models alike whose sensitivities on its test set (Table 1) differ by up to 4.2 points in the mean.
MARGIN = 0.05
# Rule of three: of n objects on which two models never differ, they may still differ in 3 / n of all.
RULE_OF_THREE = 3.0
SOFT = "soft"
# Rank correlations of penalty and number of features: nearly always falling, and almost not falling.
CONTROLS, BARELY_CONTROLS = -0.9, -0.5
# A large correlation by Cohen's convention (1988, Statistical Power Analysis for the Behavioral Sciences, section 3.2).
LARGE_CORRELATION = 0.5
FEWEST_FOR_INTERVAL = 4


def answer_claims(
    models: Sequence[ModelResult],
    comparisons: Sequence[ModelComparison],
    fold_features: Mapping[str, Sequence[Sequence[int]]],
    paper_choice: PaperChoice | None,
    readers: pd.DataFrame,
    *,
    fp_target: float,
    level: float,
) -> Claims:
    """Answer what the run can answer."""
    return Claims(
        alike=judge_alike(comparisons, models[0].counted[0].test.n_gts, level),
        compact=judge_compact(models, fold_features),
        penalty=None if paper_choice is None else judge_penalty(paper_choice.choice.table),
        false_positives=judge_shift(models, fp_target),
        weights=judge_weights(models, readers, level),
    )


def _decide(is_so: object, is_not: object) -> ClaimAnswer:
    """Answer a claim: yes, else no, else undecided."""
    return "yes" if is_so else "no" if is_not else "undecided"


def judge_alike(comparisons: Sequence[ModelComparison], n_gts: int, level: float) -> AlikeClaim | None:
    """Ask whether all models perform alike: the interval of every difference lies within the margin."""
    known = [pair for pair in comparisons if not isnan(pair.mean.lower)]
    if not known or len(known) < len(comparisons):
        return None
    widest = max(known, key=lambda pair: max(-pair.mean.lower, pair.mean.upper))
    surest = min(known, key=lambda pair: pair.mean.p_value)
    within = max(-widest.mean.lower, widest.mean.upper) <= MARGIN
    differs = not within and len(known) * surest.mean.p_value < 1 - level
    answer = _decide(within and n_gts * MARGIN >= RULE_OF_THREE, differs)
    told = surest if answer == "no" else widest
    return AlikeClaim(answer, MARGIN, n_gts, told.first, told.second, told.mean)


def judge_compact(
    models: Sequence[ModelResult], fold_features: Mapping[str, Sequence[Sequence[int]]]
) -> CompactClaim | None:
    """Ask whether Soft has the fewest features at equal sensitivity, fold by fold."""
    tables = {model.name: model.choice.table for model in models}
    if SOFT not in tables or len(tables) < 2:
        return None
    reached = min(float(table["sensitivity"].max()) for table in tables.values())
    counts = {}
    for name, table in tables.items():
        as_good = np.flatnonzero(table["sensitivity"].to_numpy() >= reached)
        position = as_good[table["n_features"].to_numpy()[as_good].argmin()]
        counts[name] = [int(fold[position]) for fold in fold_features[name]]
    own = np.array(counts[SOFT])
    fewer = [own < others for name, others in counts.items() if name != SOFT]
    more = [own > others for name, others in counts.items() if name != SOFT]
    answer = _decide(len(own) > 1 and np.all(fewer), len(own) > 1 and any(one.all() for one in more))
    return CompactClaim(answer, reached, counts)


def judge_penalty(path: pd.DataFrame) -> PenaltyClaim:
    """Ask whether a larger penalty leaves fewer features, on the path of each normalization."""
    once = path[path["fp_target"] == path["fp_target"].iloc[0]]
    paths = [part for _, part in once.groupby("normalization", dropna=False)]
    # A path on which nothing varies has no correlation.
    found = [
        float(spearmanr(part["lam"], part["n_features"]).statistic)
        if part["n_features"].nunique() > 1
        else 0.0
        for part in paths
    ]
    weakest = max(found)
    answer = _decide(weakest <= CONTROLS, weakest >= BARELY_CONTROLS)
    features = once["n_features"]
    return PenaltyClaim(answer, weakest, max(map(len, paths)), int(features.min()), int(features.max()))


def judge_shift(models: Sequence[ModelResult], fp_target: float) -> ShiftClaim | None:
    """Ask whether locked thresholds give more false positives per image in unseen patients."""
    rows = []
    for model in models:
        locked = model.counted[0].locked
        at = locked[
            (locked["source"] == "out_of_fold")
            & (locked["fp_target"] == fp_target)
            & (locked["measure"] == "fp_per_image")
        ]
        rows += [(model.name, *ends) for ends in at[["estimate", "lower", "upper"]].itertuples(index=False)]
    table = pd.DataFrame(rows, columns=["model", "estimate", "lower", "upper"]).dropna(ignore_index=True)
    if table.empty:
        return None
    answer = _decide((table["lower"] > fp_target).all(), (table["upper"] <= fp_target).all())
    return ShiftClaim(answer, fp_target, table)


def judge_weights(models: Sequence[ModelResult], readers: pd.DataFrame, level: float) -> WeightsClaim | None:
    """Test whether the mixture gives more weight to readers who find more."""
    weights = next((model.reader_importance for model in models if len(model.reader_importance)), None)
    if weights is None:
        return None
    both = weights.merge(readers, on="reader_id").dropna(subset=["importance", "sensitivity"])
    if both["importance"].nunique() < 2 or both["sensitivity"].nunique() < 2:
        return None
    correlation = float(spearmanr(both["importance"], both["sensitivity"]).statistic)
    lower, upper = rank_correlation_interval(correlation, len(both), level)
    answer = _decide(lower > 0, upper < LARGE_CORRELATION)
    return WeightsClaim(answer, correlation, lower, upper, len(both))


def rank_correlation_interval(correlation: float, n: int, level: float) -> tuple[float, float]:
    """Return the interval of Spearman's rank correlation; NaN with fewer than four pairs.

    Fisher's z with the variance (1 + r^2 / 2) / (n - 3) (Bonett and Wright 2000, Psychometrika 65:23). Ranks that agree
    throughout would have no width: they are taken as if two neighbours were swapped.
    """
    if n < FEWEST_FOR_INTERVAL:
        return float("nan"), float("nan")
    largest = 1 - 12 / (n * (n**2 - 1))
    r = min(max(correlation, -largest), largest)
    width = float(ndtri(0.5 + level / 2)) * sqrt((1 + r**2 / 2) / (n - 3))
    return tanh(atanh(r) - width), tanh(atanh(r) + width)
