"""The page of a scenario, in the report's style, and every table of it as a CSV file.

What a scenario says, in sentences: how to spend a budget, where soft beats hard, and what this cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from overread import __version__
from overread._text import difference_with_limits, percent_with_limits
from overread.apps.scenario._contenders import CONTENDERS, KNOW_READERS
from overread.apps.scenario._design import Design
from overread.apps.scenario._figures import draw_scenario
from overread.apps.scenario._results import MEAN, ScenarioResults
from overread.files import to_json, write_atomically
from overread.report import head_run, render_page
from overread.tables import write_table

SIGNIFICANT = 0.05
LIMITS = ["estimate", "lower", "upper"]
JUDGES = {
    "known": "what is really there",
    "golden": "the golden objects of the test images' readers",
}


def give_answers(results: ScenarioResults, leading: str) -> list[str]:
    """Say what was found: a question, the answer in a few words, and the figures behind it."""
    return [
        *_tell_doubling(results.doubling, leading),
        *_tell_budget(results, leading),
        *_tell_overall(results.overall),
        *_tell_rules(results.comparisons),
        *_tell_per_reader(results.per_reader),
        *_tell_shares(results),
    ]


def _tell_doubling(doubling: pd.DataFrame, leading: str) -> Iterator[str]:
    own = doubling[doubling["model"] == leading].set_index("step")
    if own.empty:
        return
    told = {step: _points(*row[LIMITS]) for step, row in own.iterrows()}
    better = own.loc["images rather than readings"]
    if not better["p_value"] < SIGNIFICANT:
        verdict = "Which of the two is the better use of readings cannot be told"
    else:
        verdict = (
            f"Spend readings on {'more images' if better['estimate'] > 0 else 'more readings of an image'}"
        )
    yield (
        f"More images or more readings? {verdict}: doubling the images adds {told['images doubled']} points of"
        f" sensitivity, doubling the readings of each image {told['readings doubled']}; the difference is"
        f" {told['images rather than readings']}."
    )


def _tell_overall(overall: pd.DataFrame) -> Iterator[str]:
    told = [
        f"{difference_with_limits(row['estimate'], row['lower'], row['upper'], scale=100, digits=1)} against"
        f" {_title(row['rule'])}{' (told apart)' if row['p_holm'] < SIGNIFICANT else ''}"
        for _, row in overall.iterrows()
    ]
    if not told:
        return
    apart = overall[overall["p_holm"] < SIGNIFICANT]
    better, worse = (
        " and ".join(_title(rule) for rule in apart.loc[sign * apart["estimate"] > 0, "rule"])
        for sign in (1, -1)
    )
    verdicts = [f"Better than {better}"] * bool(better) + [
        f"{'w' if better else 'W'}orse than {worse}"
    ] * bool(worse)
    yield (
        f"Are soft labels better than hard ones? {', '.join(verdicts) or 'They cannot be told apart'}. Soft minus hard"
        f" in the mean of all training sets, in points of sensitivity: {', '.join(told)}."
    )


def _tell_budget(results: ScenarioResults, leading: str) -> Iterator[str]:
    budgets, title = results.budgets, _title(leading)
    if budgets.empty:
        yield (
            "How to spend a budget of readings? The design cannot say: no two of its training sets are known to cost"
            " the same."
        )
        return
    for budget in sorted(set(budgets["budget"]))[-2:]:
        ways = budgets[budgets["budget"] == budget]
        best = ways[ways["is_best"].astype(bool)].iloc[0]
        told = percent_with_limits(best["estimate"], best["lower"], best["upper"])
        worse = ways[ways["p_holm"] < SIGNIFICANT]
        others = ways[~ways["is_best"].astype(bool) & ~(ways["p_holm"] < SIGNIFICANT)]
        said = (
            f"What to do with about {budget:,} readings? {_name(best)} find most: {told} % of {JUDGES[results.judge]}"
            f" ({title}, mean of the false-positive targets)."
        )
        if len(worse):
            lost = "; ".join(
                f"{_name(row)} loses {100 * row['below_best']:.1f} points" for _, row in worse.iterrows()
            )
            said += f" {lost}."
        if len(others):
            said += (
                f" It cannot be told apart from {' or '.join(_name(row) for _, row in others.iterrows())}."
            )
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
        f"And in single training sets? Of {len(tested)} comparisons soft is better in {better} and worse in"
        f" {worse}; the other {len(tested) - better - worse} cannot be told apart (Holm, 5 %). The largest"
        f" difference is {limits} points against {_title(largest['rule'])}, with {_name(largest)}."
    )


def _tell_per_reader(table: pd.DataFrame) -> Iterator[str]:
    limited = table[table["images_per_reader"] > 0]
    if limited.empty:
        return
    fewest = int(limited["images_per_reader"].min())
    at = limited[limited["images_per_reader"] == fewest]
    told = "; ".join(_tell_one_per_reader(row) for _, row in at.iterrows())
    images = at["images_of_a_reader"].mean()
    in_the_mean = "" if isnan(images) else f" (in the mean {images:.1f})"
    yield (
        "What if each reader reads few images? Soft and hard labels stay what they are, as they do not ask who"
        f" marked. Models that do, with at most {fewest} images of a reader{in_the_mean}, in points of sensitivity"
        f" above soft: {told}."
    )


def _tell_one_per_reader(row: pd.Series[float]) -> str:
    if not row["n_sets"]:
        return f"{_title(row['model'])} could not be fitted to all seeds of any training set"
    against = _points(*row[LIMITS])
    said = f"{_title(row['model'])} {against}{' (told apart)' if row['p_holm'] < SIGNIFICANT else ''}"
    if not isnan(row["change"]):
        change = _points(row["change"], row["change_lower"], row["change_upper"])
        said += f", {change} from where readers read all"
    if row["n_sets"] < row["n_wanted"]:
        said += f", fitted to {int(row['n_sets'])} of {int(row['n_wanted'])} training sets"
    return said


def _tell_shares(results: ScenarioResults) -> Iterator[str]:
    table = results.prediction
    at = table[(table["images"] == table["images"].max()) & (table["readings"] == table["readings"].max())]
    chosen = at[at["figure"] == "deviance_explained"].drop_duplicates("model")
    told = ", ".join(
        f"{_title(row['model'])} {100 * row['estimate']:.0f} %"
        for _, row in chosen.sort_values("estimate", ascending=False).iterrows()
        if not isnan(row["estimate"])
    )
    if told:
        yield (
            "Which model foretells how many readers mark? Of the deviance of their share on unseen images, with the"
            f" most training images and readings, these explain: {told}."
        )


def list_warnings(design: Design) -> list[str]:
    """Say what the numbers cannot tell."""
    said = [
        "Seeds are training sets drawn from one cohort: the largest share most of their images (where one takes all of"
        " them, seeds differ only in who reads and marks), so that another cohort may differ by more than the"
        " intervals say.",
        "Conditions of one seed are nested, and all are judged on the same patients: curves are paired, not"
        " independent.",
    ]
    if design.seeds == 1:
        said.append("One seed: intervals are those of the test patients alone, and nothing is tested.")
    if design.source.kind == "run":
        return [
            *said,
            "Your own readings are left out, none are added: this tells how much the images and readings that you have"
            " gave, not what more of them would give.",
            "Nobody knows what is really there. Models are judged by the golden objects of the same readers, whose"
            " habits the labels share: what all of them miss counts as nothing.",
            "Images whose readings are fewer than the most of the design are not trained on."
            if design.readers.leave_out == "readings"
            else "Whole readers are left out, so that 'readings' are readers who are kept. Images that none of them"
            " read are not trained on, and budgets are told only where every kept reader read every image.",
        ]
    return [
        *said,
        "Readers are simulated: they see an object by one level that all share, and miss independently. Real readers"
        " share more, such as a place where nobody looks; then more readings tell less.",
    ]


PAGE = "scenario.html"
Rows = list[tuple[str, ...]]


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
    leading = next(name for name in design.fit.models if name in set(results.sensitivity["model"]))
    return render_page(
        "scenario.html.j2",
        head=head_run(design.name, "scenario", to_json(results.tables())),
        version=__version__,
        answers=give_answers(results, leading),
        warnings=list_warnings(design),
        judge=JUDGES[results.judge],
        leading=_title(leading),
        figures=draw_scenario(results, leading),
        contenders=[(CONTENDERS[name].title, CONTENDERS[name].summary) for name in design.fit.models],
        growth=_list_growth(results, design),
        growth_columns=_name_growth_columns(design),
        doubling=_list_doubling(results.doubling),
        overall=_list_overall(results.overall),
        per_reader=_list_per_reader(results.per_reader),
        budgets=_list_budgets(results.budgets),
        needed=_list_needed(results.needed),
        rules=_list_rules(results.comparisons),
        shares=_list_shares(results.prediction),
        kept=list_features(results.features),
        skills=_list_skills(results.skills),
        missing=_list_missing(results.missing),
        design=_list_design(design, words),
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


def _name_growth_columns(design: Design) -> list[str]:
    """Name the columns of `_list_growth`."""
    targets = [f"{target:g} FP, %" for target in design.fit.fp_targets]
    return ["model", "images", "readings", "pool reads", *targets, "mean, %"]


def _list_growth(results: ScenarioResults, design: Design) -> Rows:
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


def _list_doubling(doubling: pd.DataFrame) -> Rows:
    """List what doubling adds, for each model."""
    return [
        (_title(row.model), row.step, _points(row.estimate, row.lower, row.upper), _p(row.p_value))
        for row in _rows(doubling)
    ]


def _list_overall(overall: pd.DataFrame) -> Rows:
    """List soft against each hard rule in the mean of all training sets."""
    return [
        (_title(row.rule), _points(row.estimate, row.lower, row.upper), _p(row.p_value), _p(row.p_holm))
        for row in _rows(overall)
    ]


def _list_per_reader(table: pd.DataFrame) -> Rows:
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


def _list_budgets(budgets: pd.DataFrame) -> Rows:
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


def _list_needed(needed: pd.DataFrame) -> Rows:
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


def _list_rules(comparisons: pd.DataFrame) -> Rows:
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


def _list_shares(prediction: pd.DataFrame) -> Rows:
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


def _list_skills(skills: pd.DataFrame) -> Rows:
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


def _list_missing(missing: pd.DataFrame) -> Rows:
    """List what could not be fitted, each reason of a model and condition once."""
    counted = missing.groupby(
        ["model", "readings", "images", "images_per_reader", "reason"], sort=False
    ).size()
    return [
        (_title(row.model), *_where(row), str(row.n), row.reason)
        for row in _rows(counted.rename("n").reset_index())
    ]


def _list_design(design: Design, words: str) -> Sequence[tuple[str, str]]:
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
