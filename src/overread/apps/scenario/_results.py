"""The tables of a scenario, computed from its points.

Means over seeds have intervals that cover both the choice of test patients and of training images.

A figure of a condition is a mean over S training sets, all judged on the same patients: training set s on patient p
gives mu + a_s + b_p + c_sp. The variance of the mean is

    var = (A + C) / S + B

where A, B and C are the variances of the mean over patients of the three terms. That between training sets is A + C.
Drawing patients again (the models stay) gives B + C / S for the mean of the training sets, and B + C for one of them;
so C is known, and B is the rest, at least 0. The quantile is Student's with the degrees of freedom of Welch and
Satterthwaite.

Points are grouped by model and condition.

Over all training sets together: the effect of doubling images or readings, and of soft labels.

A single training set has few seeds, and a test of each among many has little power. Together they answer the question:
sensitivity is fitted, seed by seed, by

    s = a + b log2(images) + c log2(readings)

so that b and c are the points that a doubling adds, and b - c is the advantage of images over readings of the same
cost. The training sets are those of one pool of readers.

Every model against soft labels, and the models that use reader identity when each reader reads few images.

Labels of the soft and hard rules do not depend on who marked, so the number of images per reader does not change them.
Crowd models and B2 learn about each reader, and have less data for it the fewer images they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr
from scipy.stats import t as student

from overread.apps.scenario._contenders import HARD_RULES, KNOW_READERS
from overread.apps.scenario._design import Condition, Design
from overread.apps.scenario._points import MeasuredPoint
from overread.errors import InvalidInputError

Floats = NDArray[np.float64]

LEVEL = 0.95
PLACE = ["images", "readings", "images_per_reader"]
# Fewer values have no variance.
FEWEST_DRAWS = 2


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, its 95 % interval, and the p-value of the mean being 0 (NaN of a single seed)."""

    value: float
    lower: float
    upper: float
    p_value: float
    n_seeds: int

    def cells(self, prefix: str = "") -> dict[str, Any]:
        """Cells of a row; a prefix distinguishes several figures in one row."""
        names = ("estimate", "lower", "upper", "p_value", "n_seeds")
        return {f"{prefix}{name}": value for name, value in zip(names, astuple(self), strict=True)}


def estimate_mean(values: ArrayLike, draws: ArrayLike | None, n_patients: int) -> Estimate:
    """Estimate the mean of a figure, or of a paired difference of two, over seeds."""
    given = np.asarray(values, dtype=np.float64)
    n_seeds = len(given)
    if not n_seeds:
        return Estimate(np.nan, np.nan, np.nan, np.nan, 0)
    mean = float(given.mean())
    of_seeds = float(given.var(ddof=1)) / n_seeds if n_seeds > 1 else 0.0
    of_patients = (
        0.0 if draws is None else _vary_with_patients(np.atleast_2d(np.asarray(draws, dtype=np.float64)))
    )
    total = of_seeds + of_patients
    if not total > 0:
        # Nothing varies: equal models, or a single value without draws.
        limit, p_value = (0.0, 1.0) if mean == 0 else (float("nan"), float("nan"))
        return Estimate(mean, limit, limit, p_value, n_seeds)
    freedom = total**2 / (of_seeds**2 / max(n_seeds - 1, 1) + of_patients**2 / max(n_patients - 1, 1))
    error = np.sqrt(total)
    half = float(student.ppf((1 + LEVEL) / 2, freedom) * error)
    # One training set gives no variance between sets, so there is no test.
    p_value = float(2 * student.sf(abs(mean) / error, freedom)) if n_seeds > 1 else float("nan")
    return Estimate(mean, mean - half, mean + half, p_value, n_seeds)


def _vary_with_patients(draws: Floats) -> float:
    """Return the variance of the mean over seeds that patients have in common for all seeds, no less than 0."""
    n_seeds = len(draws)
    # A draw of few patients may contain no objects.
    draws = draws[:, np.isfinite(draws).all(axis=0)]
    if draws.shape[1] < FEWEST_DRAWS:
        return 0.0
    of_mean = float(draws.mean(axis=0).var(ddof=1))
    if n_seeds == 1:
        return of_mean
    of_one = float(draws.var(axis=1, ddof=1).mean())
    return max((n_seeds * of_mean - of_one) / (n_seeds - 1), 0.0)


def adjust_by_holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979); NaN stays and does not count."""
    given = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(given), np.nan)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return adjusted.tolist()


def _list_tested(rows: Sequence[dict[str, Any]], columns: list[str], **adjusted: str) -> pd.DataFrame:
    """Make a table of rows; ``adjusted`` maps columns of Holm's p-values to their sources."""
    table = pd.DataFrame(rows, columns=list(dict.fromkeys([*columns, *adjusted.values()])))
    return table.assign(
        **{name: adjust_by_holm(table[p_value].tolist()) for name, p_value in adjusted.items()}
    )[columns]


Groups = dict[tuple[str, Condition], list[MeasuredPoint]]


def _place(model: str, condition: Condition) -> dict[str, Any]:
    return {"model": model, **{name: getattr(condition, name) for name in (*PLACE, "budget")}}


def _tabulate(
    groups: Groups, describe: Callable[[Sequence[MeasuredPoint]], Iterable[dict[str, Any]]]
) -> pd.DataFrame:
    """Table of a summary of the points of each model and condition."""
    return pd.DataFrame(
        [{**_place(*key), **cells} for key, points in groups.items() for cells in describe(points)]
    )


def group_points(points: Iterable[MeasuredPoint]) -> Groups:
    """Group fitted points by model and condition, seeds in order."""
    groups: Groups = {}
    for point in points:
        if point.measures is not None:
            groups.setdefault((point.model, point.condition), []).append(point)
    return groups


def choose_pool(images_per_reader: Iterable[int]) -> int:
    """Choose one pool: the one that reads all (0), else the one that reads most."""
    given = set(images_per_reader)
    return 0 if 0 in given else max(given, default=0)


def stack_found(points: Sequence[MeasuredPoint], judge: str, column: int | None) -> tuple[Floats, Floats]:
    """Return sensitivities of the seeds (S,) and of the draws (S, B); ``column`` None: the mean of the targets."""
    values = np.array([getattr(point.found, judge).sensitivity for point in points])
    draws = np.array([getattr(point.found, judge).draws for point in points])
    if column is None:
        return values.mean(axis=1), draws.mean(axis=2)
    return values[:, column], draws[:, :, column]


def stack_conditions(groups: Sequence[Sequence[MeasuredPoint]], judge: str) -> tuple[Floats, Floats, int]:
    """Return mean sensitivities of the seeds that all groups have (S, C), of the draws (S, B, C), and the patients."""
    by_seed = [{point.seed: point for point in points} for points in groups]
    seeds = sorted(set.intersection(*(set(own) for own in by_seed)))
    if not seeds:
        return np.zeros((0, len(groups))), np.zeros((0, 1, len(groups))), 0
    stacks = [stack_found([own[seed] for seed in seeds], judge, None) for own in by_seed]
    values, draws = (np.stack(parts, axis=-1) for parts in zip(*stacks, strict=True))
    return values, draws, getattr(groups[0][0].found, judge).n_patients


def estimate_difference(
    first: Sequence[Sequence[MeasuredPoint]], second: Sequence[Sequence[MeasuredPoint]], judge: str
) -> Estimate:
    """Estimate the mean of first minus second over training sets, paired by set, seed and patient."""
    values, draws, n_patients = stack_conditions([*first, *second], judge)
    signs = np.repeat([1.0, -1.0], len(first)) / len(first)
    return estimate_mean(values @ signs, draws @ signs, n_patients)


DOUBLING_COLUMNS = ["model", "step", "estimate", "lower", "upper", "p_value", "n_seeds", "n_sets"]
OVERALL_COLUMNS = ["rule", "estimate", "lower", "upper", "p_value", "p_holm", "n_seeds", "n_sets"]
STEPS = {
    "images doubled": (1.0, 0.0),
    "readings doubled": (0.0, 1.0),
    "images rather than readings": (1.0, -1.0),
}


def measure_doubling(groups: Groups, judge: str) -> pd.DataFrame:
    """Tabulate the effect of doubling images or readings on the mean sensitivity of each model."""
    rows = []
    for model in dict.fromkeys(name for name, _ in groups):
        own = {at: points for (name, at), points in groups.items() if name == model}
        columns = np.array([[1.0, np.log2(at.images), np.log2(at.readings)] for at in own])
        # A slope needs two numbers of images or of readings.
        if np.linalg.matrix_rank(columns) < columns.shape[1]:
            continue
        values, draws, n_patients = stack_conditions(list(own.values()), judge)
        solve = np.linalg.pinv(columns).T[:, 1:]
        for step, weights in STEPS.items():
            combine = solve @ np.array(weights)
            estimate = estimate_mean(values @ combine, draws @ combine, n_patients)
            rows.append({"model": model, "step": step, **estimate.cells(), "n_sets": len(own)})
    return pd.DataFrame(rows, columns=DOUBLING_COLUMNS)


def compare_overall(groups: Groups, judge: str) -> pd.DataFrame:
    """Compare soft labels with each hard rule in the mean of all training sets with two or more readings."""
    rows = []
    for rule in HARD_RULES:
        at = [
            condition
            for name, condition in groups
            if name == rule and condition.readings > 1 and ("soft", condition) in groups
        ]
        if not at:
            continue
        soft, hard = ([groups[name, condition] for condition in at] for name in ("soft", rule))
        estimate = estimate_difference(soft, hard, judge)
        rows.append({"rule": rule, **estimate.cells(), "n_sets": len(at)})
    return _list_tested(rows, OVERALL_COLUMNS, p_holm="p_value")


COLUMNS = [
    "model", "images_per_reader", "images_of_a_reader", "estimate", "lower", "upper", "p_value", "p_holm",
    "n_seeds", "n_sets", "n_wanted", "change", "change_lower", "change_upper", "change_p", "change_holm",
]  # fmt: skip


def compare_per_reader(groups: Groups, judge: str, conditions: Sequence[Condition]) -> pd.DataFrame:
    """Compare every model with soft labels in the mean of all training sets with two or more readings.

    Returns
    -------
    pandas.DataFrame
        A row for each model, and for each limit of images per reader if the model uses reader identity: ``estimate`` is
        the model minus soft over the ``n_sets`` of ``n_wanted`` sets that it was fitted to in every seed (NaN if none),
        ``change`` the model minus itself with a pool that reads all.
    """
    several = [at for at in conditions if at.readings > 1]
    limits = sorted({at.images_per_reader for at in several}, key=lambda own: own or np.inf, reverse=True)
    one_pool = [choose_pool(limits)]
    rows = []
    for model in dict.fromkeys(name for name, _ in groups if name != "soft"):
        for limit in limits if model in KNOW_READERS else one_pool:
            at = [one for one in several if one.images_per_reader == limit]
            rows.append(_compare(groups, judge, model, at))
    return _list_tested([row for row in rows if row], COLUMNS, p_holm="p_value", change_holm="change_p")


def _compare(groups: Groups, judge: str, model: str, wanted: Sequence[Condition]) -> dict[str, Any]:
    n_seeds = max((len(groups.get(("soft", at), ())) for at in wanted), default=0)
    if not n_seeds:
        return {}
    there = [at for at in wanted if len(groups.get((model, at), ())) == n_seeds]
    own = [groups[model, at] for at in there]
    soft = [groups["soft", at] for at in there]
    against = estimate_difference(own, soft, judge) if there else estimate_mean([], None, 0)
    change = _find_change(groups, judge, model, there)
    images = [one.found.images_of_a_reader for at in own for one in at]
    return {
        "model": model,
        "images_per_reader": wanted[0].images_per_reader,
        "images_of_a_reader": float(np.mean(images)) if images else float("nan"),
        **against.cells(),
        "n_seeds": n_seeds,
        "n_sets": len(there),
        "n_wanted": len(wanted),
        **change.cells("change_"),
        "change": change.value,
        "change_p": change.p_value,
    }


def _find_change(groups: Groups, judge: str, model: str, limited: Sequence[Condition]) -> Estimate:
    """Return the model minus itself with a pool that reads all; NaN if there is no such set, or it is this one."""
    pairs = [
        (groups[model, at], groups[whole])
        for at in limited
        if at.images_per_reader and (whole := (model, Condition(at.images, at.readings))) in groups
    ]
    if not pairs:
        return estimate_mean([], None, 0)
    return estimate_difference([few for few, _ in pairs], [every for _, every in pairs], judge)


MEAN = "mean"
# Equal budgets differ by no more than a reading in a hundred, so that 333 x 3 and 1,000 x 1 are the same.
SAME_BUDGET = 0.01
SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class ScenarioResults:
    """Tables of a scenario; each becomes a CSV file.

    Attributes
    ----------
    judge
        Reference of the compared sensitivities: "known" (known objects) or "golden" (consensus objects).
    leading
        The first model of the design that could be fitted; budgets refer to it.
    sensitivity
        Sensitivity of every model and condition, at each number of false positives and their mean.
    features, prediction
        Kept features, and the quality of probabilities as predictions of the share of readers.
    comparisons
        Soft against each hard rule, mean over the false positives; p-values by Holm.
    overall, doubling
        Soft against each hard rule, mean over all training sets; effect of doubling images or readings.
    per_reader
        Every model against soft, by images per reader.
    budgets
        Ways to spend a budget, compared with the best.
    skills
        Readers' sensitivities estimated by crowd models, against the simulated ones.
    missing
        Points that could not be fitted, with reasons.
    """

    judge: str
    leading: str
    sensitivity: pd.DataFrame
    features: pd.DataFrame
    prediction: pd.DataFrame
    comparisons: pd.DataFrame
    overall: pd.DataFrame
    per_reader: pd.DataFrame
    doubling: pd.DataFrame
    budgets: pd.DataFrame
    skills: pd.DataFrame
    missing: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by its name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, pd.DataFrame)}


def sum_up_points(
    points: Sequence[MeasuredPoint], design: Design, skills: pd.DataFrame | None
) -> ScenarioResults:
    """Make the tables."""
    groups = group_points(points)
    if not groups:
        told = points[0].reason if points else "no point is finished"
        raise InvalidInputError(f"no contender could be fitted to any training set: {told}")
    judge = "golden" if next(iter(groups.values()))[0].found.known is None else "known"
    leading = next(name for name in design.fit.models if any(model == name for model, _ in groups))
    pool = choose_pool(at.images_per_reader for _, at in groups)
    of_pool = {key: points for key, points in groups.items() if key[1].images_per_reader == pool}
    paid = _keep_paid(of_pool)
    return ScenarioResults(
        judge=judge,
        leading=leading,
        sensitivity=_tabulate_sensitivity(groups, design.fit.fp_targets),
        features=_tabulate(groups, _describe_features),
        prediction=_tabulate(groups, _describe_prediction),
        comparisons=_compare_rules(of_pool, judge),
        overall=compare_overall(of_pool, judge),
        per_reader=compare_per_reader(groups, judge, design.conditions),
        doubling=measure_doubling(paid, judge),
        budgets=_compare_budgets(paid, judge, leading),
        skills=_compare_skills(groups, skills),
        missing=_tabulate_missing(points),
    )


def _keep_paid(groups: Groups) -> Groups:
    """Keep training sets with all readings of their budget; some lack readings if whole readers are dropped."""
    return {
        (model, at): points
        for (model, at), points in groups.items()
        if all(point.found.n_readings == at.budget for point in points)
    }


def _estimate_found(points: Sequence[MeasuredPoint], judge: str, column: int | None) -> Estimate:
    """Estimate a sensitivity at a false-positive target; None: their mean. Its limits lie between 0 and 1."""
    values, draws = stack_found(points, judge, column)
    estimate = estimate_mean(values, draws, getattr(points[0].found, judge).n_patients)
    lower, upper = np.clip([estimate.lower, estimate.upper], 0.0, 1.0)
    return replace(estimate, lower=float(lower), upper=float(upper))


def _tabulate_sensitivity(groups: Groups, fp_targets: Sequence[float]) -> pd.DataFrame:
    columns = [*((f"{target:g}", place) for place, target in enumerate(fp_targets)), (MEAN, None)]

    def describe(points: Sequence[MeasuredPoint]) -> Iterator[dict[str, Any]]:
        for judge in ("known", "golden"):
            for name, column in columns if getattr(points[0].found, judge) else ():
                figures = _estimate_found(points, judge, column).cells()
                yield {"judge": judge, "fp_per_image": name, **figures}

    table = _tabulate(groups, describe).drop(columns="p_value")
    table.insert(0, "judge", table.pop("judge"))
    return table


def _describe_features(points: Sequence[MeasuredPoint]) -> Iterator[dict[str, Any]]:
    """Yield the mean number of kept features over seeds, and the sizes of the training sets."""
    found = [point.found for point in points]
    kept = [one.n_features for one in found]
    yield {
        "features": float(np.mean(kept)),
        "fewest": min(kept),
        "most": max(kept),
        "images_read": float(np.mean([one.n_images for one in found])),
        "readings_done": float(np.mean([one.n_readings for one in found])),
        "golden_objects": float(np.mean([one.n_golden for one in found])),
        "readers": float(np.mean([one.n_readers for one in found])),
        "images_of_a_reader": float(np.mean([one.images_of_a_reader for one in found])),
        "processor_seconds": float(np.mean([point.seconds for point in points])),
    }


def _describe_prediction(points: Sequence[MeasuredPoint]) -> Iterator[dict[str, Any]]:
    """Yield the quality of the predicted share of readers, one row per measure."""
    for name in ("deviance_explained", "deviance", "spearman", "slope"):
        values = [getattr(point.found.prediction, name) for point in points]
        cells = estimate_mean([value for value in values if np.isfinite(value)], None, 0).cells()
        del cells["p_value"]
        yield {"figure": name, **cells}


COMPARISON_COLUMNS = [
    "rule", *PLACE, "difference", "lower", "upper", "p_value", "p_holm", "n_seeds", "result",
]  # fmt: skip


def _compare_rules(groups: Groups, judge: str) -> pd.DataFrame:
    """Compare soft with each hard rule; equal labels are not tested."""
    rows = []
    for (model, condition), points in groups.items():
        soft = groups.get(("soft", condition))
        if model not in HARD_RULES or soft is None or condition.readings == 1:
            continue
        estimate = estimate_difference([soft], [points], judge)
        told = {"rule": model, **estimate.cells(), "difference": estimate.value}
        rows.append({**_place(model, condition), **told})
    table = _list_tested(rows, COMPARISON_COLUMNS, p_holm="p_value")
    signs = np.where(table["difference"] > 0, "soft better", "hard better")
    return table.assign(result=np.where(table["p_holm"] < SIGNIFICANT, signs, "not distinguished"))


BUDGET_COLUMNS = [
    "budget", "images", "readings", "estimate", "lower", "upper", "n_seeds", "is_best",
    "below_best", "below_lower", "below_upper", "p_holm",
]  # fmt: skip


def _compare_budgets(groups: Groups, judge: str, leading: str) -> pd.DataFrame:
    """List the ways to spend each budget, with their loss against the best."""
    own = {condition: points for (model, condition), points in groups.items() if model == leading}
    rows: list[dict[str, Any]] = []
    for budget, ways in _same_budgets(own):
        estimates = {way: _estimate_found(own[way], judge, None) for way in ways}
        best = max(ways, key=lambda way: estimates[way].value)
        for way in ways:
            lost = estimate_difference([own[best]], [own[way]], judge)
            told = {"is_best": way == best, "below_best": lost.value}
            told["p_value"] = float("nan") if way == best else lost.p_value
            figures = estimates[way].cells() | lost.cells("below_")
            rows.append({**_place(leading, way), "budget": budget, **figures, **told})
    return _list_tested(rows, BUDGET_COLUMNS, p_holm="p_value")


def _same_budgets(conditions: Iterable[Condition]) -> list[tuple[int, list[Condition]]]:
    """Group conditions with equal budgets, up to 1 %; single conditions are dropped."""
    groups: list[list[Condition]] = []
    for condition in sorted(conditions, key=lambda one: (one.budget, one.readings)):
        if groups and condition.budget <= groups[-1][0].budget * (1 + SAME_BUDGET):
            groups[-1].append(condition)
        else:
            groups.append([condition])
    return [(group[0].budget, group) for group in groups if len(group) > 1]


def _compare_skills(groups: Groups, skills: pd.DataFrame | None) -> pd.DataFrame:
    """Compare estimated sensitivities of readers with the simulated ones."""
    columns = ["model", *PLACE, "budget", "readers", "spearman", "bias", "n_seeds"]
    if skills is None:
        return pd.DataFrame(columns=columns)
    true = skills.set_index("reader_id")["true_sensitivity"]

    def describe(points: Sequence[MeasuredPoint]) -> Iterator[dict[str, Any]]:
        told = [_compare_one(point.found.skills, true) for point in points if point.found.skills]
        if told:
            readers, spearman, bias = np.nanmean(np.array(told), axis=0)
            yield {"readers": readers, "spearman": spearman, "bias": bias, "n_seeds": len(told)}

    return _tabulate(groups, describe).reindex(columns=columns)


def _compare_one(skills: list[dict[str, Any]], true: pd.Series[float]) -> tuple[float, float, float]:
    """Return number of readers, rank correlation of estimated and simulated sensitivity, and their mean difference."""
    table = pd.DataFrame(skills)
    # Names of readers in later pools end in the number of the pool.
    simulated = true[table["reader_id"].str.split(".").str[0]].to_numpy(np.float64)
    estimated = table["sensitivity"].to_numpy(np.float64)
    varies = len(table) > 2 and np.ptp(estimated) > 0 and np.ptp(simulated) > 0
    correlation = float(spearmanr(estimated, simulated).statistic) if varies else float("nan")
    return float(len(table)), correlation, float(np.mean(estimated - simulated))


def _tabulate_missing(points: Iterable[MeasuredPoint]) -> pd.DataFrame:
    rows = [
        {**_place(point.model, point.condition), "seed": point.seed, "reason": point.reason}
        for point in points
        if point.measures is None
    ]
    return pd.DataFrame(rows, columns=["model", *PLACE, "budget", "seed", "reason"])
