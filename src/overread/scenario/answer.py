"""What a scenario says, in sentences: how to spend a budget, where soft beats hard, and what this cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

import pandas as pd

from overread.scenario.contenders import CONTENDERS
from overread.scenario.design import Design
from overread.scenario.results import ScenarioResults
from overread.words import difference_with_limits, percent_with_limits

__all__ = ["JUDGES", "give_answers", "list_warnings"]

SIGNIFICANT = 0.05
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
    told = {
        step: difference_with_limits(row["estimate"], row["lower"], row["upper"], scale=100, digits=1)
        for step, row in own.iterrows()
    }
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
        f" {CONTENDERS[str(row['rule'])].title}{' (told apart)' if row['p_holm'] < SIGNIFICANT else ''}"
        for _, row in overall.iterrows()
    ]
    if not told:
        return
    apart = overall[overall["p_holm"] < SIGNIFICANT]
    better, worse = (
        " and ".join(CONTENDERS[str(rule)].title for rule in apart.loc[sign * apart["estimate"] > 0, "rule"])
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
    budgets, title = results.budgets, CONTENDERS[leading].title
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
    limits = difference_with_limits(
        largest["difference"], largest["lower"], largest["upper"], scale=100, digits=1
    )
    yield (
        f"And in single training sets? Of {len(tested)} comparisons soft is better in {better} and worse in"
        f" {worse}; the other {len(tested) - better - worse} cannot be told apart (Holm, 5 %). The largest"
        f" difference is {limits} points against {CONTENDERS[str(largest['rule'])].title}, with {_name(largest)}."
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
        return f"{CONTENDERS[str(row['model'])].title} could not be fitted to all seeds of any training set"
    against = difference_with_limits(row["estimate"], row["lower"], row["upper"], scale=100, digits=1)
    said = f"{CONTENDERS[str(row['model'])].title} {against}{' (told apart)' if row['p_holm'] < SIGNIFICANT else ''}"
    if not isnan(row["change"]):
        change = difference_with_limits(
            row["change"], row["change_lower"], row["change_upper"], scale=100, digits=1
        )
        said += f", {change} from where readers read all"
    if row["n_sets"] < row["n_wanted"]:
        said += f", fitted to {int(row['n_sets'])} of {int(row['n_wanted'])} training sets"
    return said


def _tell_shares(results: ScenarioResults) -> Iterator[str]:
    table = results.prediction
    at = table[(table["images"] == table["images"].max()) & (table["readings"] == table["readings"].max())]
    chosen = at[at["figure"] == "deviance_explained"].drop_duplicates("model")
    told = ", ".join(
        f"{CONTENDERS[str(row['model'])].title} {100 * row['estimate']:.0f} %"
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
