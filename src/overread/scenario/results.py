"""The tables of a scenario, made of its points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from overread.errors import InvalidInputError
from overread.scenario.contenders import HARD_RULES
from overread.scenario.design import Condition, Design
from overread.scenario.groups import (
    Groups,
    choose_pool,
    estimate_difference,
    get_found,
    group_points,
    stack_found,
)
from overread.scenario.overall import compare_overall, measure_doubling
from overread.scenario.per_reader import compare_per_reader
from overread.scenario.points import Point
from overread.scenario.statistics import Estimate, adjust_by_holm, estimate_mean

__all__ = ["MEAN", "ScenarioResults", "sum_up_points"]

MEAN = "mean"
PLACE = ["images", "readings", "images_per_reader"]
# Equal budgets differ by no more than a reading in a hundred, so that 333 x 3 and 1,000 x 1 are the same.
SAME_BUDGET = 0.01
N_LEVELS = 4
SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class ScenarioResults:
    """Tables of a scenario; each becomes a CSV file.

    Attributes
    ----------
    judge
        What the sensitivities that are compared are about: "known" (what is really there) or "golden".
    sensitivity
        Of every model and condition, at each number of false positives and in the mean of them.
    features, prediction
        Features kept, and how well probabilities foretell the share of readers.
    comparisons
        Soft against each hard rule, in the mean of the false positives; p-values by Holm.
    overall, doubling
        Soft against each hard rule in the mean of all training sets; what doubling images or readings adds.
    per_reader
        Every model against soft, by the number of images that a reader reads.
    budgets
        Ways to spend a budget, beside the best of them.
    needed
        Images, and readings in all, that a sensitivity takes with each number of readings.
    skills
        Readers' sensitivities as crowd models see them, against the simulated ones.
    missing
        What could not be fitted, and why.
    """

    judge: str
    sensitivity: pd.DataFrame
    features: pd.DataFrame
    prediction: pd.DataFrame
    comparisons: pd.DataFrame
    overall: pd.DataFrame
    per_reader: pd.DataFrame
    doubling: pd.DataFrame
    budgets: pd.DataFrame
    needed: pd.DataFrame
    skills: pd.DataFrame
    missing: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by its name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, pd.DataFrame)}


def sum_up_points(points: Sequence[Point], design: Design, skills: pd.DataFrame | None) -> ScenarioResults:
    """Make the tables.

    Parameters
    ----------
    points
        All points of the design.
    design
        Of them.
    skills
        reader_id and true_sensitivity of the simulated readers; None for real ones.
    """
    groups = group_points(points)
    if not groups:
        told = points[0].reason if points else "no point is there"
        raise InvalidInputError(f"no contender could be fitted to any training set: {told}")
    first = next(iter(groups.values()))[0].measures
    assert first is not None
    judge = "golden" if first.known is None else "known"
    # The first model of the design is the one that budgets are told of.
    leading = next(name for name in design.fit.models if any(model == name for model, _ in groups))
    sensitivity = _tabulate_sensitivity(groups, design.fit.fp_targets)
    pool = choose_pool(at.images_per_reader for _, at in groups)
    of_pool = {key: points for key, points in groups.items() if key[1].images_per_reader == pool}
    paid = _keep_paid(of_pool)
    return ScenarioResults(
        judge=judge,
        sensitivity=sensitivity,
        features=_tabulate_features(groups),
        prediction=_tabulate_prediction(groups),
        comparisons=_compare_rules(of_pool, judge),
        overall=compare_overall(of_pool, judge),
        per_reader=compare_per_reader(groups, judge, design.conditions),
        doubling=measure_doubling(paid, judge),
        budgets=_compare_budgets(paid, judge, leading),
        needed=_find_needed(paid, judge, leading),
        skills=_compare_skills(groups, skills),
        missing=_tabulate_missing(points),
    )


def _keep_paid(groups: Groups) -> Groups:
    """Keep training sets that hold all the readings of their budget: with whole readers left out some are missing."""
    return {
        (model, at): points
        for (model, at), points in groups.items()
        if all(point.measures is not None and point.measures.n_readings == at.budget for point in points)
    }


def _place(model: str, condition: Condition) -> dict[str, Any]:
    return {
        "model": model,
        "images": condition.images,
        "readings": condition.readings,
        "images_per_reader": condition.images_per_reader,
        "budget": condition.budget,
    }


def _tell(estimate: Estimate) -> dict[str, Any]:
    return {
        "estimate": estimate.value,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "n_seeds": estimate.n_seeds,
    }


def _estimate_found(points: Sequence[Point], judge: str, column: int | None) -> Estimate:
    """Estimate a sensitivity at a false-positive target; None: their mean. Its limits lie between 0 and 1."""
    values, draws = stack_found(points, judge, column)
    estimate = estimate_mean(values, draws, get_found(points[0], judge).n_patients)
    lower, upper = np.clip([estimate.lower, estimate.upper], 0.0, 1.0)
    return replace(estimate, lower=float(lower), upper=float(upper))


def _tabulate_sensitivity(groups: Groups, fp_targets: Sequence[float]) -> pd.DataFrame:
    rows = []
    columns: list[tuple[str, int | None]] = [
        (f"{target:g}", place) for place, target in enumerate(fp_targets)
    ]
    for (model, condition), points in groups.items():
        for judge in ("known", "golden"):
            if points[0].measures is None or getattr(points[0].measures, judge) is None:
                continue
            for name, column in [*columns, (MEAN, None)]:
                told = _tell(_estimate_found(points, judge, column))
                rows.append({"judge": judge, **_place(model, condition), "fp_per_image": name, **told})
    return pd.DataFrame(rows)


def _tabulate_features(groups: Groups) -> pd.DataFrame:
    rows = []
    for (model, condition), points in groups.items():
        told = [point.measures for point in points if point.measures is not None]
        kept = [one.n_features for one in told]
        rows.append(
            {
                **_place(model, condition),
                "features": float(np.mean(kept)),
                "fewest": min(kept),
                "most": max(kept),
                "images_read": float(np.mean([one.n_images for one in told])),
                "readings_done": float(np.mean([one.n_readings for one in told])),
                "golden_objects": float(np.mean([one.n_golden for one in told])),
                "readers": float(np.mean([one.n_readers for one in told])),
                "images_of_a_reader": float(np.mean([one.n_readings / one.n_readers for one in told])),
                "processor_seconds": float(np.mean([point.seconds for point in points])),
            }
        )
    return pd.DataFrame(rows)


def _tabulate_prediction(groups: Groups) -> pd.DataFrame:
    rows = []
    for (model, condition), points in groups.items():
        told = [point.measures.prediction for point in points if point.measures is not None]
        figures = {
            "deviance_explained": [1 - one.deviance / one.deviance_of_mean for one in told],
            "deviance": [one.deviance for one in told],
            "spearman": [one.spearman for one in told],
            "slope": [one.slope for one in told],
        }
        for name, values in figures.items():
            known = [value for value in values if np.isfinite(value)]
            estimate = estimate_mean(known, None, 0)
            rows.append({**_place(model, condition), "figure": name, **_tell(estimate)})
    return pd.DataFrame(rows)


COMPARISON_COLUMNS = [
    *("rule", *PLACE, "difference", "lower", "upper", "p_value", "p_holm", "n_seeds", "result"),
]


def _compare_rules(groups: Groups, judge: str) -> pd.DataFrame:
    """Compare soft with each hard rule; where the labels are the same there is nothing to test."""
    rows = []
    for (model, condition), points in groups.items():
        soft = groups.get(("soft", condition))
        if model not in HARD_RULES or soft is None or condition.readings == 1:
            continue
        estimate = estimate_difference(soft, points, judge)
        rows.append(
            {
                "rule": model,
                **{name: getattr(condition, name) for name in PLACE},
                "difference": estimate.value,
                "lower": estimate.lower,
                "upper": estimate.upper,
                "p_value": estimate.p_value,
                "n_seeds": estimate.n_seeds,
            }
        )
    table = pd.DataFrame(rows, columns=[c for c in COMPARISON_COLUMNS if c not in ("p_holm", "result")])
    adjusted = adjust_by_holm(table["p_value"].tolist())
    signs = np.where(table["difference"] > 0, "soft better", "hard better")
    told = np.where(np.array(adjusted) < SIGNIFICANT, signs, "not told apart")
    return table.assign(p_holm=adjusted, result=told)[COMPARISON_COLUMNS]


BUDGET_COLUMNS = [
    *("budget", "images", "readings", "estimate", "lower", "upper", "n_seeds", "is_best"),
    *("below_best", "below_lower", "below_upper", "p_holm"),
]


def _compare_budgets(groups: Groups, judge: str, leading: str) -> pd.DataFrame:
    """List the ways to spend each budget that has several, with what each loses against the best."""
    own = {condition: points for (model, condition), points in groups.items() if model == leading}
    rows: list[dict[str, Any]] = []
    for budget, ways in _same_budgets(own):
        estimates = {way: _estimate_found(own[way], judge, None) for way in ways}
        best = max(ways, key=lambda way: estimates[way].value)
        for way in ways:
            lost = estimate_difference(own[best], own[way], judge)
            rows.append(
                {
                    "budget": budget,
                    "images": way.images,
                    "readings": way.readings,
                    **_tell(estimates[way]),
                    "is_best": way == best,
                    "below_best": lost.value,
                    "below_lower": lost.lower,
                    "below_upper": lost.upper,
                    "p_value": float("nan") if way == best else lost.p_value,
                }
            )
    table = pd.DataFrame(rows, columns=[*(c for c in BUDGET_COLUMNS if c != "p_holm"), "p_value"])
    return table.assign(p_holm=adjust_by_holm(table["p_value"].tolist()))[BUDGET_COLUMNS]


def _same_budgets(conditions: Iterable[Condition]) -> list[tuple[int, list[Condition]]]:
    """Group conditions whose budgets are the same, but for a hundredth; those with one way are left out."""
    groups: list[list[Condition]] = []
    for condition in sorted(conditions, key=lambda one: (one.budget, one.readings)):
        if groups and condition.budget <= groups[-1][0].budget * (1 + SAME_BUDGET):
            groups[-1].append(condition)
        else:
            groups.append([condition])
    return [(group[0].budget, group) for group in groups if len(group) > 1]


def _find_needed(groups: Groups, judge: str, leading: str) -> pd.DataFrame:
    """Find the images that some sensitivities take with each number of readings, between those that were tried."""
    found = {
        at: stack_found(points, judge, None)[0].mean()
        for (name, at), points in groups.items()
        if name == leading
    }
    rows = []
    for level in _choose_levels(np.array(list(found.values()))):
        for readings in sorted({at.readings for at in found}):
            curve = sorted((at.images, value) for at, value in found.items() if at.readings == readings)
            tried, reached = np.array(curve, dtype=np.float64).T
            images = _reach(tried, reached, level)
            rows.append(
                {"sensitivity": level, "readings": readings, "images": images, "budget": images * readings}
            )
    return pd.DataFrame(rows, columns=["sensitivity", "readings", "images", "budget"])


def _choose_levels(values: NDArray[np.float64]) -> list[float]:
    """Choose a few round sensitivities in the upper half of what was reached."""
    if not len(values):
        return []
    low, high = float(np.median(values)), float(values.max())
    levels = np.unique(np.round(np.linspace(low, high, N_LEVELS + 1)[:-1], 2))
    return [float(level) for level in levels]


def _reach(images: NDArray[np.float64], curve: NDArray[np.float64], level: float) -> float:
    """Find where a curve, made rising, passes a level, by the logarithm of the images; NaN where it does not."""
    rising = np.maximum.accumulate(curve)
    if level > rising[-1] or level < rising[0]:
        return float("nan")
    place = int(np.searchsorted(rising, level))
    if place == 0 or rising[place] == level:
        return float(images[place])
    share = (level - rising[place - 1]) / (rising[place] - rising[place - 1])
    return float(np.exp(np.log(images[place - 1]) + share * np.log(images[place] / images[place - 1])))


SKILL_COLUMNS = [*("model", *PLACE, "budget", "readers", "spearman", "bias", "n_seeds")]


def _compare_skills(groups: Groups, skills: pd.DataFrame | None) -> pd.DataFrame:
    """Compare estimated sensitivities of readers with the simulated ones."""
    if skills is None:
        return pd.DataFrame(columns=SKILL_COLUMNS)
    true = skills.set_index("reader_id")["true_sensitivity"]
    rows = []
    for (model, condition), points in groups.items():
        told = [_compare_one(point, true) for point in points if point.measures and point.measures.skills]
        if not told:
            continue
        readers, spearman, bias = np.nanmean(np.array(told), axis=0)
        rows.append(
            {
                **_place(model, condition),
                "readers": readers,
                "spearman": spearman,
                "bias": bias,
                "n_seeds": len(told),
            }
        )
    return pd.DataFrame(rows, columns=SKILL_COLUMNS)


def _compare_one(point: Point, true: pd.Series[float]) -> tuple[float, float, float]:
    """Return number of readers, rank correlation of estimated and simulated sensitivity, and their mean difference."""
    assert point.measures is not None
    table = pd.DataFrame(point.measures.skills)
    # Names of later pools end in the number of the pool.
    simulated = true[table["reader_id"].str.split(".").str[0]].to_numpy(np.float64)
    estimated = table["sensitivity"].to_numpy(np.float64)
    varies = len(table) > 2 and np.ptp(estimated) > 0 and np.ptp(simulated) > 0
    correlation = float(spearmanr(estimated, simulated).statistic) if varies else float("nan")
    return float(len(table)), correlation, float(np.mean(estimated - simulated))


def _tabulate_missing(points: Iterable[Point]) -> pd.DataFrame:
    rows = [
        {**_place(point.model, point.condition), "seed": point.seed, "reason": point.reason}
        for point in points
        if point.measures is None
    ]
    return pd.DataFrame(rows, columns=["model", *PLACE, "budget", "seed", "reason"])
