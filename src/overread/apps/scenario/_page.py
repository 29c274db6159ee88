"""The page of a scenario, in the report's style, and every table of it as a CSV file.

It also summarizes a scenario in sentences: how to spend a budget, and where soft beats hard labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isnan
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from overread import __version__
from overread._text import difference_with_limits, percent_with_limits
from overread.apps.scenario._contenders import CONTENDERS, KNOW_READERS, title_of
from overread.apps.scenario._design import Design
from overread.apps.scenario._figures import draw_scenario
from overread.apps.scenario._results import MEAN, ScenarioResults
from overread.files import to_json, write_atomically
from overread.report import head_run, render_page
from overread.tables import write_table

SIGNIFICANT = 0.05
LIMITS = ["estimate", "lower", "upper"]
JUDGES = {
    "known": "the known objects",
    "golden": "the consensus objects of the test images' readers",
}


def give_answers(results: ScenarioResults) -> list[str]:
    """Summarize the results: a question, the answer in a few words, and the numbers behind it."""
    return [
        *_tell_doubling(results),
        *_tell_budget(results),
        *_tell_overall(results.overall),
        *_tell_rules(results.comparisons),
        *_tell_per_reader(results.per_reader),
        *_tell_shares(results),
    ]


def _tell_doubling(results: ScenarioResults) -> Iterator[str]:
    own = results.doubling[results.doubling["model"] == results.leading].set_index("step")
    if own.empty:
        return
    told = {step: _points(*row[LIMITS]) for step, row in own.iterrows()}
    better = own.loc["images rather than readings"]
    if not better["p_value"] < SIGNIFICANT:
        verdict = "No difference between the two is shown"
    else:
        verdict = (
            f"Spend readings on {'more images' if better['estimate'] > 0 else 'more readings of an image'}"
        )
    yield (
        f"More images or more readings? {verdict}: doubling the images adds {told['images doubled']} points of"
        f" sensitivity, doubling the readings per image adds {told['readings doubled']}; the difference is"
        f" {told['images rather than readings']}."
    )


def _tell_overall(overall: pd.DataFrame) -> Iterator[str]:
    told = [
        f"{_points(*row[LIMITS])} against {title_of(row['rule'])}"
        f"{' (significant)' if row['p_holm'] < SIGNIFICANT else ''}"
        for _, row in overall.iterrows()
    ]
    if not told:
        return
    apart = overall[overall["p_holm"] < SIGNIFICANT]
    better, worse = (
        " and ".join(title_of(rule) for rule in apart.loc[sign * apart["estimate"] > 0, "rule"])
        for sign in (1, -1)
    )
    verdicts = [f"Better than {better}"] * bool(better) + [
        f"{'w' if better else 'W'}orse than {worse}"
    ] * bool(worse)
    yield (
        f"Are soft labels better than hard ones? {', '.join(verdicts) or 'No difference is shown'}. Soft minus hard"
        f" in the mean of all training sets, in points of sensitivity: {', '.join(told)}."
    )


def _tell_budget(results: ScenarioResults) -> Iterator[str]:
    budgets = results.budgets
    if budgets.empty:
        yield (
            "How to spend a budget of readings? The design does not answer this: no two of its training sets cost"
            " the same."
        )
        return
    for budget in sorted(set(budgets["budget"]))[-2:]:
        ways = budgets[budgets["budget"] == budget]
        is_best, is_worse = ways["is_best"].astype(bool), ways["p_holm"] < SIGNIFICANT
        best, worse, others = ways[is_best].iloc[0], ways[is_worse], ways[~is_best & ~is_worse]
        told = percent_with_limits(*best[LIMITS])
        said = (
            f"How to use about {budget:,} readings? {_name(best)} find most: {told} % of {JUDGES[results.judge]}"
            f" ({title_of(results.leading)}, mean of the false-positive targets)."
        )
        if len(worse):
            lost = "; ".join(
                f"{_name(row)} loses {100 * row['below_best']:.1f} points" for _, row in worse.iterrows()
            )
            said += f" {lost}."
        if len(others):
            said += f" It does not differ significantly from {' or '.join(_name(row) for _, row in others.iterrows())}."
        yield said


def _name(row: pd.Series[float]) -> str:
    times = {1: "once", 2: "twice"}.get(int(row["readings"]), f"{int(row['readings'])} times")
    return f"{int(row['images']):,} images read {times}"


def _tell_rules(comparisons: pd.DataFrame) -> Iterator[str]:
    tested = comparisons[~comparisons["p_holm"].isna()]
    if tested.empty:
        return
    counts = tested["result"].value_counts()
    better, worse = int(counts.get("soft better", 0)), int(counts.get("hard better", 0))
    largest = tested.iloc[int(tested["difference"].abs().to_numpy().argmax())]
    limits = _points(largest["difference"], largest["lower"], largest["upper"])
    yield (
        f"And in single training sets? In {len(tested)} comparisons soft is better in {better} and worse in"
        f" {worse}; the other {len(tested) - better - worse} show no difference (Holm, 5 %). The largest"
        f" difference is {limits} points against {title_of(largest['rule'])}, with {_name(largest)}."
    )


def _tell_per_reader(table: pd.DataFrame) -> Iterator[str]:
    limited = table[table["images_per_reader"] > 0]
    if limited.empty:
        return
    fewest = int(limited["images_per_reader"].min())
    at = limited[limited["images_per_reader"] == fewest]
    told = "; ".join(_tell_one_per_reader(row) for _, row in at.iterrows())
    images = at["images_of_a_reader"].mean()
    in_the_mean = "" if isnan(images) else f" (mean {images:.1f})"
    yield (
        "What if each reader reads few images? Soft and hard labels do not change, because they do not depend on who"
        f" marked. Models that use it, with at most {fewest} images per reader{in_the_mean}, in points of sensitivity"
        f" above soft: {told}."
    )


def _tell_one_per_reader(row: pd.Series[float]) -> str:
    if not row["n_sets"]:
        return f"{title_of(row['model'])} could not be fitted to all seeds of any training set"
    against = _points(*row[LIMITS])
    said = f"{title_of(row['model'])} {against}{' (significant)' if row['p_holm'] < SIGNIFICANT else ''}"
    if not isnan(row["change"]):
        change = _points(row["change"], row["change_lower"], row["change_upper"])
        said += f", {change} compared with readers who read all"
    if row["n_sets"] < row["n_wanted"]:
        said += f", fitted to {int(row['n_sets'])} of {int(row['n_wanted'])} training sets"
    return said


def _tell_shares(results: ScenarioResults) -> Iterator[str]:
    table = results.prediction
    at = table[(table["images"] == table["images"].max()) & (table["readings"] == table["readings"].max())]
    chosen = at[at["figure"] == "deviance_explained"].drop_duplicates("model")
    told = ", ".join(
        f"{title_of(row['model'])} {100 * row['estimate']:.0f} %"
        for _, row in chosen.sort_values("estimate", ascending=False).iterrows()
        if not isnan(row["estimate"])
    )
    if told:
        yield (
            "Which model predicts how many readers mark? Explained deviance of their share on unseen images, with the"
            f" most training images and readings: {told}."
        )


PAGE = "scenario.html"
Rows = list[tuple[str, ...]]
Cell = Callable[[Any], str]


def _name_model(row: Any) -> str:
    return title_of(row.model)


def _name_rule(row: Any) -> str:
    return title_of(row.rule)


PLACE = ["model", "readings", "images", "images_per_reader"]


def write_scenario(results: ScenarioResults, design: Design, words: str, folder: Path) -> Path:
    """Write the page and the tables of a scenario; return the path of the page."""
    place = folder / "tables"
    place.mkdir(exist_ok=True)
    for name, table in results.tables().items():
        write_table(table, place / f"{name}.csv")
    page = _render_scenario(results, design, words)
    return write_atomically(folder / PAGE, page.encode(), within=folder)


def _render_scenario(results: ScenarioResults, design: Design, words: str) -> str:
    """Write the page."""
    images, readings = _number("images", ",.0f"), _number("readings", ".0f")
    where = (_name_model, images, readings, _name_pool)
    targets = [f"{target:g} FP, %" for target in design.fit.fp_targets]
    shares = ("deviance_explained", "spearman", "slope")
    counts = ("images_read", "readings_done", "golden_objects", "readers")
    return render_page(
        "scenario.html.j2",
        head=head_run(design.name, "scenario", to_json(results.tables())),
        version=__version__,
        answers=give_answers(results),
        design=design,
        judge=JUDGES[results.judge],
        leading=title_of(results.leading),
        figures=draw_scenario(results),
        contenders=[(CONTENDERS[name].title, CONTENDERS[name].summary) for name in design.fit.models],
        growth=_list_growth(results, design, where),
        growth_columns=["model", "images", "readings", "pool reads", *targets, "mean, %"],
        doubling=_list_rows(
            results.doubling, _name_model, attrgetter("step"), _difference("estimate"), _p_value("p_value")
        ),
        overall=_list_rows(
            results.overall, _name_rule, _difference("estimate"), _p_value("p_value"), _p_value("p_holm")
        ),
        per_reader=_list_per_reader(results.per_reader),
        budgets=_list_budgets(results.budgets, images, readings),
        rules=_list_rows(
            results.comparisons,
            *(_name_rule, images, readings, _difference("difference")),
            *(_p_value("p_value"), _p_value("p_holm"), attrgetter("result")),
        ),
        shares=_list_rows(
            results.prediction.pivot_table(index=PLACE, columns="figure", values="estimate", sort=False)
            .reset_index()
            .reindex(columns=[*PLACE, *shares]),
            *where,
            *(_number(name, ".2f") for name in shares),
        ),
        kept=_list_rows(
            results.features,
            *where,
            lambda row: f"{row.features:.1f} ({row.fewest} to {row.most})",
            *(_number(name, ",.0f") for name in counts),
            _number("images_of_a_reader", ",.1f"),
        ),
        skills=_list_rows(
            results.skills,
            *where,
            *(_number("readers", ".0f"), _number("spearman", ".2f"), _number("bias", "+.1f", 100)),
        ),
        missing=_list_rows(
            results.missing.groupby([*PLACE, "reason"], sort=False).size().rename("n").reset_index(),
            *(*where, _number("n", ".0f"), attrgetter("reason")),
        ),
        asked=[("images", words), *_list_keys(design.model_dump())],
    )


def _name_pool(row: Any) -> str:
    """Images that a reader of the pool reads."""
    return f"{int(row.images_per_reader)}" if row.images_per_reader else "all"


def _number(name: str, form: str, scale: float = 1) -> Cell:
    """Make a cell of a number; a dash if there is none."""
    return lambda row: "–" if isnan(getattr(row, name)) else format(scale * getattr(row, name), form)


def _difference(name: str, limits: str = "") -> Cell:
    """Make a cell of points of sensitivity with their limits; a dash if there are none."""
    cells = attrgetter(name, f"{limits}lower", f"{limits}upper")
    return lambda row: "–" if isnan(getattr(row, name)) else _points(*cells(row))


def _p_value(name: str) -> Cell:
    """Make a cell of a p-value; a dash if there was no test."""
    show = _number(name, ".3f")
    return lambda row: "< 0.001" if getattr(row, name) < 0.001 else show(row)


def _list_rows(table: pd.DataFrame, *cells: Cell) -> Rows:
    """List the rows of a table as text."""
    return [tuple(cell(row) for cell in cells) for row in table.itertuples(index=False)]


def _list_growth(results: ScenarioResults, design: Design, where: Sequence[Cell]) -> Rows:
    """List the sensitivity of every model and condition at each number of false positives."""
    table = results.sensitivity[results.sensitivity["judge"] == results.judge]
    names = [*(f"{target:g}" for target in design.fit.fp_targets), MEAN]
    rows: Rows = []
    for _, own in table.groupby(PLACE, sort=False):
        by_name: dict[str, Any] = {str(row.fp_per_image): row for row in own.itertuples(index=False)}
        cells = [percent_with_limits(*(getattr(by_name[n], limit) for limit in LIMITS)) for n in names]
        rows.append((*(cell(by_name[names[0]]) for cell in where), *cells))
    return rows


def _list_per_reader(table: pd.DataFrame) -> Rows:
    """List every model against soft; models that use reader identity by images per reader."""

    def asks(cell: Cell, otherwise: str) -> Cell:
        return lambda row: cell(row) if row.model in KNOW_READERS else otherwise

    return _list_rows(
        table,
        *(_name_model, asks(_name_pool, "any"), asks(_number("images_of_a_reader", ",.1f"), "–")),
        *(lambda row: f"{row.n_sets} of {row.n_wanted}", _difference("estimate"), _p_value("p_holm")),
        *(_difference("change", "change_"), _p_value("change_holm")),
    )


def _list_budgets(budgets: pd.DataFrame, images: Cell, readings: Cell) -> Rows:
    """List the ways to spend each budget."""
    below, p_value = _difference("below_best", "below_"), _p_value("p_holm")
    return _list_rows(
        budgets,
        *(_number("budget", ",.0f"), images, readings),
        lambda row: percent_with_limits(row.estimate, row.lower, row.upper),
        lambda row: "best" if row.is_best else below(row),
        lambda row: "" if row.is_best else p_value(row),
    )


def _points(value: float, lower: float, upper: float) -> str:
    return difference_with_limits(value, lower, upper, scale=100, digits=1)


def _list_keys(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """List the keys of a design that have a value."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _list_keys(value, f"{path}{name}.")
        elif value is not None:
            yield path + name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
