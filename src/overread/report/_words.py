"""Sentences of a run's page and model card: first screen, claims, flow of images.

The sentences are macros of the template ``words.txt.j2``; this module supplies their numbers and records.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite, isnan
from typing import Any, Literal, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from overread import _text as words
from overread._text import count, difference_with_limits
from overread.domains import FINDERS, domain_of
from overread.features import CATALOGUE
from overread.report._results import FeatureWeight, ModelComparison, ModelResult, StudyResults
from overread.tables import UNIT_WORDS

# Sizes have no end; the last edge of the default bins, 1000 mm, means no limit.
NO_LIMIT_MM = 500.0
# In other units, in which no image is so wide.
NO_LIMIT = 1e6
# Number of features that the page describes with examples; the others are folded.
N_TOLD = 5
# With fewer the interval of a sensitivity is wider than 20 points to each side (Wilson's, at one half).
FEW_IN_GROUP = 20
# More reasons than this are counted together: the chart has to be read.
MOST_REASONS = 6


def tell(what: str, results: StudyResults, *given: Any) -> str:
    """Fill a macro of ``words.txt.j2`` with a run's results."""
    return str(getattr(_read_sentences(), what)(results, *given))


def tell_lines(what: str, results: StudyResults) -> list[str]:
    """Fill a macro of several sentences; return one per line."""
    return tell(what, results).splitlines()


@cache
def _read_sentences() -> Any:
    return make_environment(autoescape=False).get_template("words.txt.j2").module


def make_environment(*, autoescape: bool) -> Environment:
    """Make what fills the templates of this package, with the functions that all of them may call."""
    environment = Environment(
        loader=PackageLoader("overread.report"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(SENTENCES)
    return environment


def name_unit(results: StudyResults) -> str:
    """Name the unit of all lengths."""
    return UNIT_WORDS[results.unit]


def name_object(results: StudyResults) -> str:
    """Name the objects of the domain, such as nodule."""
    return domain_of(results.settings).thing


def find_crop_side(results: StudyResults) -> float:
    """Return the side of a crop around a position, in the unit."""
    return domain_of(results.settings).crop_side(results.settings)


def percent(value: float | None, digits: int = 1) -> str:
    """Write a fraction as per cent; a dash where it does not exist."""
    return words.percent(float("nan") if value is None else value, digits, unit=" %", undefined="–")


def name_range(lowest: int, highest: int) -> str:
    """Write a range of numbers; one number where its ends are the same."""
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"


def is_nested(results: StudyResults) -> bool:
    """Return whether results are cross-validated over all patients, without a test set."""
    return results.headline.kind == "nested"


def where_measured(results: StudyResults) -> str:
    """Name the patients that the figures are about."""
    return "all patients, each unseen" if is_nested(results) else "the test set"


def name_level(results: StudyResults) -> str:
    """Write the level of the intervals."""
    return f"{100 * results.level:g} %"


class Card(NamedTuple):
    """A key number and its label."""

    value: str
    label: str


def list_cards(results: StudyResults) -> list[Card]:
    """List the locked operating point of the detector, and its number of features."""
    model, counted = results.model(results.supported), results.detector
    target, points = results.verdict.fp_target, counted.points
    here: dict[str, Any] = {
        str(row.measure): row for row in points[points["fp_target"] == target].itertuples()
    }
    nested = is_nested(results)

    def limits(measure: str) -> str:
        ends = here[measure].lower, here[measure].upper
        return (
            "" if isnan(ends[0]) else f" ({name_level(results)} interval {' to '.join(map(percent, ends))})"
        )

    found = f"sensitivity: of {count(counted.test.n_gts, 'consensus object')} in {where_measured(results)}"
    images = f"image sensitivity: of {count(counted.test.n_positive_images, 'image')} with a consensus object"
    locked = f"at the {'thresholds' if nested else 'threshold'} locked for {target:g}"
    features = f"{'feature' if model.n_features == 1 else 'features'} in the model {model.title}"
    fps = f"false positives per {'' if nested else 'test '}image, {locked}"
    return [
        Card(percent(here["gt_sensitivity"].estimate), found + limits("gt_sensitivity")),
        Card(percent(here["image_sensitivity"].estimate), images + limits("image_sensitivity")),
        Card(f"{here['fp_per_image'].estimate:.2f}", fps),
        Card(str(model.n_features), features),
    ]


def describe_preset(name: str, changes: Mapping[str, object]) -> str:
    """Name a preset of the settings and the keys whose values differ from it."""
    changed = ", ".join(f"{key} = {json.dumps(value)}" for key, value in changes.items())
    return f"{name}; changed: {changed}" if changed else f"{name}, unchanged"


def list_facts(results: StudyResults) -> list[list[str]]:
    """List the data and settings of the run."""
    return [line.split(" | ", 1) for line in tell_lines("facts", results)]


def list_training(results: StudyResults) -> list[str]:
    """List the pretrained parts and their training data: the finder, and learned features that a model uses."""
    study, said = results.study, []
    finder = FINDERS.get(results.settings["candidates"].get("finder", ""))
    # Settings of a picture that name no finder still have the default one, which is of chests.
    used = finder is not None and finder.domain == domain_of(results.settings).name
    if finder is not None and used and finder.trained_on and not (study.own_candidates or study.own_features):
        said.append(f"the ranking of the candidates, on {finder.trained_on}")
    read = {feature.name for model in results.models for feature in model.features}
    families = [] if study.own_features else CATALOGUE.families_with(read)
    return said + [
        f"the {family.features[0].family} features, on {family.trained_on}"
        for family in families
        if family.trained_on
    ]


def name_size_range(stratum: str, unit: str = "mm") -> str:
    """Write a range of sizes, "[10, 15)", in words; the outermost ones are open."""
    low, high = (float(part) for part in stratum.strip("[]()").split(","))
    if low <= 0:
        return f"under {high:g} {unit}"
    has_end = high < (NO_LIMIT_MM if unit == "mm" else NO_LIMIT)
    return f"{low:g} to {high:g} {unit}" if has_end else f"{low:g} {unit} and more"


def name_fp(fp: float) -> str:
    """Write a number of false positives."""
    return f"{fp:g} false positive{'' if fp == 1 else 's'}"


def tell_direction(feature: FeatureWeight) -> str:
    """Say how a high value of a feature changes the score."""
    if isnan(feature.weight):
        return "The trees use both high and low values."
    return f"A high value {'raises' if feature.weight > 0 else 'lowers'} the score."


def find_comparisons(results: StudyResults) -> list[ModelComparison]:
    """Return the comparisons under the study's treatment of single-reader objects."""
    own = results.models[0].counted[0]
    return [pair for pair in results.comparisons if pair.single_reader == own.single_reader]


def find_mixture(results: StudyResults) -> ModelResult | None:
    """Return the first model that weighs readers, if there is one."""
    return next((model for model in results.models if len(model.reader_importance)), None)


@dataclass(frozen=True)
class ClaimLine:
    """A question, its answer in one word, and the evidence."""

    question: str
    answer: str
    evidence: str


QUESTIONS = {
    "alike": "Do the models perform equally well?",
    "compact": "Is Soft the most compact model?",
    "penalty": "Does the penalty control the number of features?",
    "false_positives": "Do false positives rise in unseen patients?",
    "weights": "Do the readers' weights follow their sensitivities?",
}
"""By field of the results' claims, which is also the macro that says what an answer rests on."""


def list_claims(results: StudyResults) -> list[ClaimLine]:
    """Answer the paper's claims for this study, as far as the run can."""
    return [
        ClaimLine(question, claim.answer, tell(name, results, claim))
        for name, question in QUESTIONS.items()
        if (claim := getattr(results.claims, name)) is not None
    ]


def name_fp_range(results: StudyResults) -> str:
    """Write the range of the study's FP targets."""
    targets = results.fp_targets
    ends = f"{min(targets):g} to {max(targets):g}" if len(targets) > 1 else f"{targets[0]:g}"
    return f"{ends} false positives per image"


Tone = Literal["good", "limited", "bad", "unsure"]

TONES: Mapping[str, Tone] = {
    "among readers": "good",
    "below readers": "limited",
    "too few readers": "limited",
    "undecided": "unsure",
    "chance": "bad",
    "too small": "unsure",
}


@dataclass(frozen=True)
class Part:
    """Some sentences of the answer, and what they are about."""

    about: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The first screen of the page."""

    headline: str  # One sentence: whether to use the detector
    tone: Tone  # What colour and sign follow from: "good", "limited", "bad" or "unsure"
    parts: tuple[Part, ...]  # Result, against the readers, next step, cautions


def give_answer(results: StudyResults) -> Answer:
    """Give the answer of the first screen."""
    return Answer(
        headline=tell("headline", results),
        tone=TONES[results.verdict.grade],
        parts=(
            Part("Result", tell("sensitivity", results)),
            Part("Against the readers", tell("readers", results)),
            Part("Next step", tell("next", results)),
            *(Part("Caution", text) for text in tell_lines("cautions", results)),
        ),
    )


def sum_up(results: StudyResults) -> tuple[str, str]:
    """Return the answer in two lines, for a terminal and for the detector's file."""
    simulated = " The study is simulated." if results.study.is_simulated else ""
    return tell("headline", results), tell("numbers", results) + simulated


def find_median(results: StudyResults) -> Any:
    """Return the row of the median reader."""
    points = results.reader_points
    return points[points["reader_id"] == results.verdict.median_reader].iloc[0]


def name_shares(shares: pd.Series[float]) -> str:
    """Write the range of some shares; one number where its ends are the same."""
    fewest, most = percent(shares.min(), 0), percent(shares.max(), 0)
    return f"{fewest.removesuffix(' %')} to {most}" if fewest != most else most


@dataclass(frozen=True)
class FlowStep:
    """A box of the chart."""

    label: str  # What is counted
    n: int | None  # Their number; None if not recorded
    note: str = ""  # What else is to be said, or empty
    # Numbers and reasons of what goes no further.
    left_out: list[tuple[int, str]] = field(default_factory=list)


def lay_out_flow(results: StudyResults) -> list[FlowStep]:
    """List the steps from the files that were found to the images that were used."""
    study = results.study
    n_used = study.n_images - len(study.quarantined)
    reasons = Counter(one.reason for one in study.quarantined)
    return [
        *([] if study.is_simulated else [_found_step(results)]),
        FlowStep(
            "images in the study",
            study.n_images,
            f"of {count(study.n_patients, 'patient')}",
            _shorten(dict(reasons.most_common())),
        ),
        FlowStep("images used", n_used),
    ]


def _found_step(results: StudyResults) -> FlowStep:
    found = results.study.found
    if found is None:
        return FlowStep("image files found", None, "not recorded, because init did not make the images table")
    left_out = _shorten(found.left_out)
    if found.n_taken_out:
        left_out.append((found.n_taken_out, "removed from the images table after init"))
    added = (
        f"{count(found.n_added, 'more file')} added to the images table after init" if found.n_added else ""
    )
    return FlowStep("image files found by init", found.n_found, added, left_out)


def _shorten(reasons: dict[str, int]) -> list[tuple[int, str]]:
    """Count the rarest reasons together where there are many."""
    told = [(n, reason) for reason, n in reasons.items()]
    if len(told) <= MOST_REASONS:
        return told
    kept, others = told[: MOST_REASONS - 1], told[MOST_REASONS - 1 :]
    return [*kept, (sum(n for n, _ in others), f"{len(others)} other reasons")]


_NAMES = re.compile("(count|describe|find|give|is|lay_out|list|name|percent|tell|where)(_|$)")
SENTENCES = {name: value for name, value in globals().items() if _NAMES.match(name)} | {
    "difference_with_limits": difference_with_limits,
    "isfinite": isfinite,
    "isnan": isnan,
}
"""Functions that templates call by their names."""
