"""The tables of a scenario, made of its points.

Means over seeds with intervals that hold both what patients are tested and what images were trained on.

A figure of a condition is a mean over S training sets, all judged on the same patients: training set s on patient p
gives mu + a_s + b_p + c_sp. The variance of the mean is

    var = (A + C) / S + B

where A, B and C are the variances of the mean over patients of the three terms. That between training sets is A + C.
Drawing patients again (the models stay) gives B + C / S for the mean of the training sets, and B + C for one of them;
so C is known, and B is what is left, no less than 0. The quantile is Student's with the degrees of freedom of Welch and
Satterthwaite.

Points by model and condition, and the sensitivities of their seeds put together.

Over all training sets at once: what doubling images or readings adds, and what soft labels add to hard ones.

A single training set has few seeds, and a test of each among many has little power. Taken together they answer the
question itself: sensitivity is fitted, seed by seed, by

    s = a + b log2(images) + c log2(readings)

so that b and c are the points that a doubling adds, and b - c what images add more than readings of the same cost.
The training sets are those of one pool of readers.

Every model against soft labels, and what becomes of those that know who marked when each reader reads little.

Labels of the soft and hard rules are the same whoever marked, so that the number of images of a reader cannot change
them. Crowd models and B2 learn something of each reader, and have the less to learn it from the fewer images he reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr
from scipy.stats import t as student

from overread.apps.scenario._contenders import HARD_RULES, KNOW_READERS
from overread.apps.scenario._design import Condition, Design
from overread.apps.scenario._points import Found, MeasuredPoint
from overread.errors import InvalidInputError

Floats = NDArray[np.float64]

LEVEL = 0.95
# Of fewer there is no variance.
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
        """Cells of a row; those of another figure of the same row have names with a prefix."""
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
        # Nothing varies: models that are the same, or a single figure without draws, of which nothing more is known.
        limit, p_value = (0.0, 1.0) if mean == 0 else (float("nan"), float("nan"))
        return Estimate(mean, limit, limit, p_value, n_seeds)
    freedom = total**2 / (of_seeds**2 / max(n_seeds - 1, 1) + of_patients**2 / max(n_patients - 1, 1))
    error = np.sqrt(total)
    half = float(student.ppf((1 + LEVEL) / 2, freedom) * error)
    # One training set says nothing of another one, so nothing is tested.
    p_value = float(2 * student.sf(abs(mean) / error, freedom)) if n_seeds > 1 else float("nan")
    return Estimate(mean, mean - half, mean + half, p_value, n_seeds)


def _vary_with_patients(draws: Floats) -> float:
    """Return the variance of the mean over seeds that patients have in common for all seeds, no less than 0."""
    n_seeds = len(draws)
    # A draw of few patients may have nothing to find in it.
    draws = draws[:, np.isfinite(draws).all(axis=0)]
    if draws.shape[1] < FEWEST_DRAWS:
        return 0.0
    of_mean = float(draws.mean(axis=0).var(ddof=1))
    if n_seeds == 1:
        return of_mean
    of_one = float(draws.var(axis=1, ddof=1).mean())
    return max((n_seeds * of_mean - of_one) / (n_seeds - 1), 0.0)


def adjust_by_holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979); NaN stays, and counts as no test."""
    given = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(given), np.nan)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return adjusted.tolist()


Groups = dict[tuple[str, Condition], list[MeasuredPoint]]


def group_points(points: Iterable[MeasuredPoint]) -> Groups:
    """Group points that have figures by model and condition, seeds in order."""
    groups: Groups = {}
    for point in points:
        if point.measures is not None:
            groups.setdefault((point.model, point.condition), []).append(point)
    return groups


def choose_pool(images_per_reader: Iterable[int]) -> int:
    """Choose the pool that is told of where one must do: that which reads all (0), else that which reads most."""
    given = set(images_per_reader)
    return 0 if 0 in given else max(given, default=0)


def get_found(point: MeasuredPoint, judge: str) -> Found:
    """Return what a point found, judged by "known" or "golden"."""
    found = None if point.measures is None else getattr(point.measures, judge)
    assert isinstance(found, Found)
    return found


def stack_found(
    points: Sequence[MeasuredPoint], judge: str, column: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sensitivities of the seeds (S,) and of the draws (S, B); ``column`` None: the mean of the targets."""
    values = np.array([get_found(point, judge).sensitivity for point in points])
    draws = np.array([get_found(point, judge).draws for point in points])
    if column is None:
        return values.mean(axis=1), draws.mean(axis=2)
    return values[:, column], draws[:, :, column]


def stack_conditions(
    groups: Sequence[Sequence[MeasuredPoint]], judge: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return mean sensitivities of the seeds that all groups have (S, C), of the draws (S, B, C), and the patients."""
    by_seed = [{point.seed: point for point in points} for points in groups]
    seeds = sorted(set.intersection(*(set(own) for own in by_seed)))
    if not seeds:
        return np.zeros((0, len(groups))), np.zeros((0, 1, len(groups))), 0
    stacks = [stack_found([own[seed] for seed in seeds], judge, None) for own in by_seed]
    values, draws = (np.stack(parts, axis=-1) for parts in zip(*stacks, strict=True))
    return values, draws, get_found(groups[0][0], judge).n_patients


def estimate_difference(
    first: Sequence[Sequence[MeasuredPoint]], second: Sequence[Sequence[MeasuredPoint]], judge: str
) -> Estimate:
    """Estimate first minus second in the mean of some training sets, paired by set, seed and patient."""
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
    """Tabulate what doubling images, or readings, adds to the mean sensitivity of each model."""
    rows = []
    for model in dict.fromkeys(name for name, _ in groups):
        own = {at: points for (name, at), points in groups.items() if name == model}
        columns = np.array([[1.0, np.log2(at.images), np.log2(at.readings)] for at in own])
        # One number of images, or of readings, tells nothing of a second one.
        if not own or np.linalg.matrix_rank(columns) < columns.shape[1]:
            continue
        values, draws, n_patients = stack_conditions(list(own.values()), judge)
        solve = np.linalg.pinv(columns).T[:, 1:]
        for step, weights in STEPS.items():
            combine = solve @ np.array(weights)
            estimate = estimate_mean(values @ combine, draws @ combine, n_patients)
            rows.append({"model": model, "step": step, **estimate.cells(), "n_sets": len(own)})
    return pd.DataFrame(rows, columns=DOUBLING_COLUMNS)


def compare_overall(groups: Groups, judge: str) -> pd.DataFrame:
    """Compare soft labels with each hard rule in the mean of all training sets with two readings or more."""
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
    table = pd.DataFrame(rows, columns=[name for name in OVERALL_COLUMNS if name != "p_holm"])
    return table.assign(p_holm=adjust_by_holm(table["p_value"].tolist()))[OVERALL_COLUMNS]


COLUMNS = [
    *("model", "images_per_reader", "images_of_a_reader", "estimate", "lower", "upper", "p_value", "p_holm"),
    *("n_seeds", "n_sets", "n_wanted", "change", "change_lower", "change_upper", "change_p", "change_holm"),
]


def compare_per_reader(groups: Groups, judge: str, conditions: Sequence[Condition]) -> pd.DataFrame:
    """Compare every model with soft labels in the mean of all training sets with two readings or more.

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
    against = estimate_difference(own, soft, judge) if there else estimate_mean([], None, 0)
    change = _find_change(groups, judge, model, there)
    images = [
        one.measures.n_readings / one.measures.n_readers
        for at in own
        for one in at
        if one.measures is not None
    ]
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
    """Return the model minus itself where the pool reads all; NaN where there is no such set, or it is this one."""
    pairs = [
        (groups[model, at], groups[model, Condition(at.images, at.readings)])
        for at in limited
        if at.images_per_reader and (model, Condition(at.images, at.readings)) in groups
    ]
    if not pairs:
        return estimate_mean([], None, 0)
    return estimate_difference([few for few, _ in pairs], [every for _, every in pairs], judge)


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


def sum_up_points(
    points: Sequence[MeasuredPoint], design: Design, skills: pd.DataFrame | None
) -> ScenarioResults:
    """Make the tables."""
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
    return {"model": model, **{name: getattr(condition, name) for name in (*PLACE, "budget")}}


def _estimate_found(points: Sequence[MeasuredPoint], judge: str, column: int | None) -> Estimate:
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
                told = _estimate_found(points, judge, column).cells()
                rows.append({"judge": judge, **_place(model, condition), "fp_per_image": name, **told})
    return pd.DataFrame(rows).drop(columns="p_value")


def _tabulate_features(groups: Groups) -> pd.DataFrame:
    rows = []
    for (model, condition), points in groups.items():
        told = [point.measures for point in points if point.measures is not None]
        kept = [one.n_features for one in told]
        means: dict[str, list[float]] = {
            "images_read": [one.n_images for one in told],
            "readings_done": [one.n_readings for one in told],
            "golden_objects": [one.n_golden for one in told],
            "readers": [one.n_readers for one in told],
            "images_of_a_reader": [one.n_readings / one.n_readers for one in told],
            "processor_seconds": [point.seconds for point in points],
        }
        of_features = {"features": float(np.mean(kept)), "fewest": min(kept), "most": max(kept)}
        told_means = {name: float(np.mean(values)) for name, values in means.items()}
        rows.append({**_place(model, condition), **of_features, **told_means})
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
            rows.append({**_place(model, condition), "figure": name, **estimate.cells()})
    return pd.DataFrame(rows).drop(columns="p_value")


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
        estimate = estimate_difference([soft], [points], judge)
        told = {"rule": model, **estimate.cells(), "difference": estimate.value}
        rows.append({**_place(model, condition), **told})
    table = pd.DataFrame(rows, columns=[c for c in COMPARISON_COLUMNS if c not in ("p_holm", "result")])
    adjusted = adjust_by_holm(table["p_value"].tolist())
    signs = np.where(table["difference"] > 0, "soft better", "hard better")
    result = np.where(np.array(adjusted) < SIGNIFICANT, signs, "not told apart")
    return table.assign(p_holm=adjusted, result=result)[COMPARISON_COLUMNS]


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
            lost = estimate_difference([own[best]], [own[way]], judge)
            told = {"is_best": way == best, "below_best": lost.value}
            told["p_value"] = float("nan") if way == best else lost.p_value
            figures = estimates[way].cells() | lost.cells("below_")
            rows.append({**_place(leading, way), "budget": budget, **figures, **told})
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
            rows.append((level, readings, images, images * readings))
    return pd.DataFrame(rows, columns=["sensitivity", "readings", "images", "budget"])


def _choose_levels(values: NDArray[np.float64]) -> list[float]:
    """Choose a few round sensitivities in the upper half of what was reached."""
    if not len(values):
        return []
    low, high = float(np.median(values)), float(values.max())
    return np.unique(np.round(np.linspace(low, high, N_LEVELS + 1)[:-1], 2)).tolist()


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
        found = {"readers": readers, "spearman": spearman, "bias": bias, "n_seeds": len(told)}
        rows.append({**_place(model, condition), **found})
    return pd.DataFrame(rows, columns=SKILL_COLUMNS)


def _compare_one(point: MeasuredPoint, true: pd.Series[float]) -> tuple[float, float, float]:
    """Return number of readers, rank correlation of estimated and simulated sensitivity, and their mean difference."""
    assert point.measures is not None
    table = pd.DataFrame(point.measures.skills)
    # Names of later pools end in the number of the pool.
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
