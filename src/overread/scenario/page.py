"""The page of a scenario, in the report's style, and every table of it as a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from overread import __version__
from overread.files.atomic import write_atomically
from overread.files.records import to_json
from overread.report import head_run
from overread.report.render import render_page
from overread.scenario.answer import JUDGES, give_answers, list_warnings
from overread.scenario.contenders import CONTENDERS, KNOW_READERS
from overread.scenario.design import Design
from overread.scenario.figures import draw_scenario
from overread.scenario.results import MEAN, ScenarioResults
from overread.tables import write_table
from overread.words import difference_with_limits, percent_with_limits

__all__ = ["write_scenario"]

PAGE = "scenario.html"
Rows = list[tuple[str, ...]]


def write_scenario(results: ScenarioResults, design: Design, words: str, folder: Path) -> Path:
    """Write the page and the tables of a scenario; return the path of the page.

    Parameters
    ----------
    results
        Every number.
    design
        What was asked for.
    words
        What the images are.
    folder
        Gets ``scenario.html`` and ``tables/NAME.csv``.
    """
    place = folder / "tables"
    place.mkdir(exist_ok=True)
    for name, table in results.tables().items():
        write_table(table, place / f"{name}.csv")
    page = render_scenario(results, design, words)
    return write_atomically(folder / PAGE, page.encode(), within=folder)


def render_scenario(results: ScenarioResults, design: Design, words: str) -> str:
    """Write the page."""
    leading = next(name for name in design.fit.models if name in set(results.sensitivity["model"]))
    return render_page(
        "scenario.html.j2",
        head=head_run(design.name, "scenario", to_json(results.tables())),
        version=__version__,
        answers=give_answers(results, leading),
        warnings=list_warnings(design),
        judge=JUDGES[results.judge],
        leading=CONTENDERS[leading].title,
        figures=draw_scenario(results, leading),
        contenders=[(CONTENDERS[name].title, CONTENDERS[name].summary) for name in design.fit.models],
        growth=list_growth(results, design),
        growth_columns=name_growth_columns(design),
        doubling=list_doubling(results.doubling),
        overall=list_overall(results.overall),
        per_reader=list_per_reader(results.per_reader),
        budgets=list_budgets(results.budgets),
        needed=list_needed(results.needed),
        rules=list_rules(results.comparisons),
        shares=list_shares(results.prediction),
        kept=list_features(results.features),
        skills=list_skills(results.skills),
        missing=list_missing(results.missing),
        design=list_design(design, words),
    )


def _title(model: Any) -> str:
    return CONTENDERS[str(model)].title


def _rows(table: pd.DataFrame) -> list[Any]:
    """Return rows with the columns as attributes."""
    return list(table.itertuples(index=False))


def _where(row: Any) -> tuple[str, str, str]:
    """Images, readings, and images a reader, as text."""
    own = int(row.images_per_reader)
    return f"{int(row.images):,}", str(int(row.readings)), f"{own}" if own else "all"


def name_growth_columns(design: Design) -> list[str]:
    """Name the columns of `list_growth`."""
    targets = [f"{target:g} FP, %" for target in design.fit.fp_targets]
    return ["model", "images", "readings", "pool reads", *targets, "mean, %"]


def list_growth(results: ScenarioResults, design: Design) -> Rows:
    """List the sensitivity of every model and condition at each number of false positives."""
    table = results.sensitivity[results.sensitivity["judge"] == results.judge]
    names = [*(f"{target:g}" for target in design.fit.fp_targets), MEAN]
    rows: Rows = []
    for _, own in table.groupby(["model", "readings", "images", "images_per_reader"], sort=False):
        by_name = {row.fp_per_image: row for row in _rows(own)}
        cells = [percent_with_limits(by_name[n].estimate, by_name[n].lower, by_name[n].upper) for n in names]
        first = by_name[names[0]]
        rows.append((_title(first.model), *_where(first), *cells))
    return rows


def list_doubling(doubling: pd.DataFrame) -> Rows:
    """List what doubling adds, for each model."""
    return [
        (_title(row.model), row.step, _points(row.estimate, row.lower, row.upper), _p(row.p_value))
        for row in _rows(doubling)
    ]


def list_overall(overall: pd.DataFrame) -> Rows:
    """List soft against each hard rule in the mean of all training sets."""
    return [
        (_title(row.rule), _points(row.estimate, row.lower, row.upper), _p(row.p_value), _p(row.p_holm))
        for row in _rows(overall)
    ]


def list_per_reader(table: pd.DataFrame) -> Rows:
    """List every model against soft, those that know readers by the images of a reader."""
    return [
        (
            _title(row.model),
            (f"{row.images_per_reader}" if row.images_per_reader else "all")
            if row.model in KNOW_READERS
            else "any",
            f"{row.images_of_a_reader:,.1f}" if row.model in KNOW_READERS and row.n_sets else "–",
            f"{row.n_sets} of {row.n_wanted}",
            _points(row.estimate, row.lower, row.upper) if row.n_sets else "–",
            _p(row.p_holm),
            "–" if isnan(row.change) else _points(row.change, row.change_lower, row.change_upper),
            _p(row.change_holm),
        )
        for row in _rows(table)
    ]


def list_budgets(budgets: pd.DataFrame) -> Rows:
    """List the ways to spend each budget."""
    return [
        (
            f"{int(row.budget):,}",
            f"{int(row.images):,}",
            str(int(row.readings)),
            percent_with_limits(row.estimate, row.lower, row.upper),
            "best" if row.is_best else _points(row.below_best, row.below_lower, row.below_upper),
            "" if row.is_best else _p(row.p_holm),
        )
        for row in _rows(budgets)
    ]


def _points(value: float, lower: float, upper: float) -> str:
    return difference_with_limits(value, lower, upper, scale=100, digits=1)


def _p(value: float) -> str:
    return "–" if isnan(value) else ("< 0.001" if value < 0.001 else f"{value:.3f}")


def list_needed(needed: pd.DataFrame) -> Rows:
    """List images and readings that a sensitivity takes; a dash where it lies outside of what was tried."""
    return [
        (
            f"{100 * row.sensitivity:.0f}",
            str(int(row.readings)),
            "–" if isnan(row.images) else f"{row.images:,.0f}",
            "–" if isnan(row.budget) else f"{row.budget:,.0f}",
        )
        for row in _rows(needed)
    ]


def list_rules(comparisons: pd.DataFrame) -> Rows:
    """List soft against each hard rule."""
    return [
        (
            _title(row.rule),
            f"{int(row.images):,}",
            str(int(row.readings)),
            _points(row.difference, row.lower, row.upper),
            _p(row.p_value),
            _p(row.p_holm),
            row.result,
        )
        for row in _rows(comparisons)
    ]


def list_shares(prediction: pd.DataFrame) -> Rows:
    """List how well probabilities foretell shares."""
    wide = prediction.pivot_table(
        index=["model", "readings", "images", "images_per_reader"],
        columns="figure",
        values="estimate",
        sort=False,
    ).reset_index()
    names = ("deviance_explained", "spearman", "slope")
    wide = wide.reindex(columns=["model", "readings", "images", "images_per_reader", *names])
    return [
        (
            _title(row.model),
            *_where(row),
            *("–" if isnan(getattr(row, name)) else f"{getattr(row, name):.2f}" for name in names),
        )
        for row in _rows(wide)
    ]


def list_features(features: pd.DataFrame) -> Rows:
    """List features kept, and what the training sets were."""
    return [
        (
            _title(row.model),
            *_where(row),
            f"{row.features:.1f} ({row.fewest} to {row.most})",
            f"{row.images_read:,.0f}",
            f"{row.readings_done:,.0f}",
            f"{row.golden_objects:,.0f}",
            f"{row.readers:,.0f}",
            f"{row.images_of_a_reader:,.1f}",
        )
        for row in _rows(features)
    ]


def list_skills(skills: pd.DataFrame) -> Rows:
    """List how well the readers' skill is recovered."""
    return [
        (
            _title(row.model),
            *_where(row),
            f"{row.readers:.0f}",
            "–" if isnan(row.spearman) else f"{row.spearman:.2f}",
            f"{100 * row.bias:+.1f}",
        )
        for row in _rows(skills)
    ]


def list_missing(missing: pd.DataFrame) -> Rows:
    """List what could not be fitted, each reason of a model and condition once."""
    counted = missing.groupby(
        ["model", "readings", "images", "images_per_reader", "reason"], sort=False
    ).size()
    return [
        (_title(row.model), *_where(row), str(row.n), row.reason)
        for row in _rows(counted.rename("n").reset_index())
    ]


def list_design(design: Design, words: str) -> Sequence[tuple[str, str]]:
    """List what was asked for."""
    own, readers, fit = design.source, design.readers, design.fit
    real = own.kind == "run"
    who = "real readers" if real else (
        f"pools of {readers.pool}, skill over ±{readers.skill_spread:g} and threshold over"
        f" ±{readers.threshold_spread:g}, {readers.false_marks:g} false marks a reading"
    )  # fmt: skip
    changes = ", ".join(str(number) if number else "all" for number in readers.images_per_reader)
    return [
        ("Images", words),
        ("Candidates, features", f"{own.candidates or 'all'} an image, {own.features or 'all'} features"),
        ("Readers", who),
        *([] if real else [("Images of a reader at the most readings", changes)]),
        *([] if real else [("Readings of a test image", str(readers.test_readings))]),
        ("Training images", ", ".join(f"{number:,}" for number in design.grid.images)),
        ("Readings of an image", ", ".join(str(number) for number in design.grid.readings)),
        ("Seeds", str(design.seeds)),
        (
            "Choice of settings",
            f"{fit.folds} folds by patient, at {_join(fit.choice_fp_targets)} FP per image",
        ),
        (
            "Penalties",
            f"{fit.n_lambdas}, down to {fit.min_ratio:g} of the largest, by {', '.join(fit.normalizations)}",
        ),
        ("Draws of test patients", str(fit.n_bootstrap)),
    ]


def _join(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
