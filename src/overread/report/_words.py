"""What a run's page says in sentences: the headline, what was run on what, what must not be concluded.

What lengths and things are called on the page of a run: its unit, and whether its images are chests.

What a run's page says first: may the detector be used, how good it is, against the readers, and what next.

From files to parts: what each step took and what it left out, as a flow chart and in words.

The chart, CLAIM 13 and CLAIM 33 are made of the same steps.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite, isnan, sqrt
from typing import Any, Literal

import pandas as pd

from overread import _text as words
from overread._text import difference_with_limits
from overread.domains import FINDERS, domain_of
from overread.features import CATALOGUE
from overread.report._results import (
    AlikeClaim,
    CompactClaim,
    FeatureWeight,
    ModelComparison,
    ModelResult,
    PenaltyClaim,
    ShiftClaim,
    StudyResults,
    Verdict,
    WeightsClaim,
)
from overread.tables import UNIT_WORDS


def name_unit(results: StudyResults) -> str:
    """Name the unit of all lengths."""
    return UNIT_WORDS[results.unit]


def name_object(results: StudyResults) -> str:
    """Name what is looked for, where more than "object" is known of it."""
    return domain_of(results.settings).thing


def find_crop_side(results: StudyResults) -> float:
    """Return the side of a crop around a place, in the unit."""
    return domain_of(results.settings).crop_side(results.settings)


# Sizes have no end; the last edge of the default bins, 1000 mm, stands for that.
NO_LIMIT_MM = 500.0
# In other units, in which no image is so wide.
NO_LIMIT = 1e6
# With 400 objects the interval of a share of one half is 5 points to each side.
FEW_OBJECTS = 400
# Features that the page tells in words with examples; the others are folded away.
N_TOLD = 5
# With fewer the interval of a sensitivity is wider than 20 points to each side (Wilson's, at one half).
FEW_IN_GROUP = 20


USES = {
    "too small": "This study is too small to say what else it may be used for.",
    "chance": "On unseen patients it cannot be told from chance: it is for nothing yet.",
    "below readers": "At matched false positives the readers find more: it may point to places for a second look, and "
    "replaces no reader.",
    "too few readers": "It was compared with fewer than two readers: it replaces none.",
    "undecided": "This study is too small to say whether it keeps up with the median reader: it replaces no reader.",
    "among readers": "At matched false positives it keeps up with the median reader: it may be a second reader, and is "
    "worth a study in which readers use it.",
}


@dataclass(frozen=True)
class Card:
    """A number that matters, and what it is."""

    value: str
    label: str


def percent(value: float | None, digits: int = 1) -> str:
    """Write a fraction as per cent; a dash where it does not exist."""
    return words.percent(float("nan") if value is None else value, digits, unit=" %", undefined="–")


def count(number: int, thing: str) -> str:
    """Write a number of things."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def name_range(lowest: int, highest: int) -> str:
    """Write a range of numbers; one number where its ends are the same."""
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"


def is_nested(results: StudyResults) -> bool:
    """Whether the figures are cross-validated over all patients, for want of a test set."""
    return results.headline.kind == "nested"


def where_measured(results: StudyResults) -> str:
    """Name the patients that the figures are about."""
    return "all patients, each unseen" if is_nested(results) else "the test set"


def tell_method(results: StudyResults) -> str:
    """Say what kind of figures these are."""
    if not is_nested(results):
        return "Figures are those of the test set, which no choice has seen; the other patients trained the detector."
    chosen = results.headline.chosen
    models = ", ".join(f"{results.model(name).title} {chosen.count(name)}" for name in dict.fromkeys(chosen))
    return (
        f"Figures are cross-validated: the study is too small for a test set, or asks for it. In each of {len(chosen)} "
        "folds model, settings, thresholds and probabilities were made without its patients "
        f"(model of the folds: {models}), and the folds are counted together. The detector is fitted to all patients "
        "by the same rule, so that it has itself not been measured."
    )


def tell_intervals(results: StudyResults) -> str:
    """Say how the intervals are made."""
    return (
        f"Intervals are {100 * results.level:g} %. Of sensitivities: Wilson's, for as many objects as "
        f"{results.n_bootstrap:,} bootstraps over patients show these to be worth; where none or all are found, for as "
        "many as there are patients with one. Of false positives per image: from the same bootstraps, on a logarithmic "
        "scale."
    )


def list_cards(results: StudyResults) -> list[Card]:
    """Give the supported model's locked operating point, and its size."""
    model, counted = results.model(results.supported), results.detector
    target, points = results.verdict.fp_target, counted.points
    here = points[points["fp_target"] == target]
    values = {
        str(measure): tuple(float(value) for value in row)
        for measure, *row in here[["measure", "estimate", "lower", "upper"]].itertuples(index=False)
    }

    def limits(measure: str) -> str:
        _, lower, upper = values[measure]
        return (
            ""
            if isnan(lower)
            else f" ({100 * results.level:g} % interval {percent(lower)} to {percent(upper)})"
        )

    return [
        Card(
            percent(values["gt_sensitivity"][0]),
            f"of {count(counted.test.n_gts, 'golden object')} in {where_measured(results)} found"
            f"{limits('gt_sensitivity')}",
        ),
        Card(
            percent(values["image_sensitivity"][0]),
            f"of {count(counted.test.n_positive_images, 'image')} with one found{limits('image_sensitivity')}",
        ),
        Card(
            f"{values['fp_per_image'][0]:.2f}",
            f"false positives per {'' if is_nested(results) else 'test '}image, at the "
            f"{'thresholds' if is_nested(results) else 'threshold'} locked for {target:g}",
        ),
        Card(
            str(model.n_features),
            f"{'feature' if model.n_features == 1 else 'features'} in the model {model.title}",
        ),
    ]


def tell_decisions(results: StudyResults) -> str:
    """Say how many objects a chair decided on, and how."""
    said = results.study.decisions
    decided, left = said["lesion"] + said["not"], said["unsure"] + said["open"]
    return (
        f"a chair decided on {count(decided, 'object')} on which readers disagreed: {said['lesion']} golden with "
        f"probability 1, {said['not']} taken out"
        + (f"; {left} left as the readers marked them" if left else "")
    )


def describe_preset(name: str, changes: Mapping[str, object]) -> str:
    """Name a preset of the settings and the keys whose values differ from it."""
    changed = ", ".join(f"{key} = {json.dumps(value)}" for key, value in changes.items())
    return f"{name}; different from it: {changed}" if changed else f"{name}, every key as it has it"


def list_facts(results: StudyResults) -> list[tuple[str, str]]:
    """Say what was run on what."""
    study = results.study
    splits = ", ".join(f"{split.name} {split.n_images}" for split in study.splits)
    reached = sum(split.n_golden_reached for split in study.splits)
    golden = sum(split.n_golden for split in study.splits)
    # A table of features names its candidates, so they are the study's own as well.
    own_candidates = study.own_candidates or study.own_features
    found = (
        "the study's own" if own_candidates else f"at most {results.settings['candidates']['limit']} an image"
    )
    return [
        (
            "images",
            f"{study.n_images} of {count(study.n_patients, 'patient')}"
            f"{', simulated' if study.is_simulated else ''} ({splits})",
        ),
        (
            "readings",
            f"{study.n_readings} by {count(study.n_readers, 'reader')}, "
            f"{name_range(study.fewest_readings, study.most_readings)} an image",
        ),
        (
            "marks",
            f"{study.n_marks} in {study.n_marked_images} of the images, merged into {study.n_objects} objects, "
            f"{study.n_golden} golden",
        ),
        *([("adjudication", tell_decisions(results))] if study.decisions else []),
        ("candidates", f"{found}; some candidate hits {reached} of {golden} golden objects"),
        (
            "figures",
            f"of {where_measured(results)}{' (nested cross-validation)' if is_nested(results) else ''}",
        ),
        ("features", f"{study.n_features}" + (", the study's own" if study.own_features else "")),
        *(("trained before", said) for said in _list_training(results)),
        ("a hit is", results.rule),
        *(
            []
            if results.preset_changes is None
            else [("preset", describe_preset(results.settings["preset"], results.preset_changes))]
        ),
        ("intervals", f"{100 * results.level:g} %, from {results.n_bootstrap:,} bootstraps over patients"),
        ("seed", str(results.seed)),
        ("version", f"overread {results.version}"),
    ]


def _list_training(results: StudyResults) -> list[str]:
    """Say what the parts that this study did not train were trained on: the finder, and features that a model reads."""
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


def list_limits(results: StudyResults) -> list[str]:
    """Say what must not be concluded."""
    counted = results.detector
    limits = [
        "The reference is the agreement of readers, not a biopsy: an object that all readers missed counts as a false "
        "positive when the detector finds it."
    ]
    n_gts = counted.test.n_gts
    if n_gts < FEW_OBJECTS:
        width = 100 * 1.96 * sqrt(0.25 / max(n_gts, 1))
        limits.append(
            f"With {count(n_gts, 'golden object')} in {where_measured(results)}, a sensitivity near 50 % is known to "
            f"about \N{PLUS-MINUS SIGN}{width:.0f} points."
        )
    if counted.single_reader == "ignore":
        limits.append(
            "Candidates on objects that a single reader marked count neither as hits nor as false positives, unless a "
            "table says otherwise."
        )
    unfinished = ", ".join(model.title for model in results.models if not model.converged)
    if unfinished:
        limits.append(f"Not converged: {unfinished}. Raise max_iter in study.toml.")
    return limits


def name_size_range(stratum: str, unit: str = "mm") -> str:
    """Write a range of sizes, "[10, 15)", in words; the outermost ones are open."""
    low, high = (float(part) for part in stratum.strip("[]()").split(","))
    if low <= 0:
        return f"under {high:g} {unit}"
    has_end = high < (NO_LIMIT_MM if unit == "mm" else NO_LIMIT)
    return f"{low:g} to {high:g} {unit}" if has_end else f"{low:g} {unit} and more"


def tell_gallery(results: StudyResults) -> str:
    """Say at which threshold the crops are sorted."""
    gallery = results.gallery
    if is_nested(results):
        said = (
            f"At each fold's own threshold for {name_fp(gallery.fp_target)} per image. A score of -0.5 says that the "
            "place is shown from half a false positive per image on."
        )
    else:
        at = f"At the out-of-fold threshold for {name_fp(gallery.fp_target)} per image"
        if not isfinite(gallery.threshold):
            return f"{at}, which no score reaches."
        said = f"{at}: a score of {gallery.threshold:.2f}."
    n_nodules, n_wrong = int(gallery.false_positives["is_nodule"].sum()), len(gallery.false_positives)
    if n_nodules:
        thing = name_object(results)
        real = f"is a simulated {thing}" if n_nodules == 1 else f"are simulated {thing}s"
        said += (
            f" Of {count(n_wrong, 'false positive')} of {where_measured(results)} {n_nodules} {real} that no reader "
            "marked: real, but counted as false because the readers are the truth here."
        )
    return said


def name_fp(fp: float) -> str:
    """Write a number of false positives."""
    return f"{fp:g} false positive{'' if fp == 1 else 's'}"


def tell_direction(feature: FeatureWeight) -> str:
    """Say what more of a feature does to the score, where it does one thing."""
    if isnan(feature.weight):
        return "The trees use it both ways."
    return f"A high value {'raises' if feature.weight > 0 else 'lowers'} the score."


def tell_use(results: StudyResults) -> list[str]:
    """Say what the detector is for and what it is not for."""
    study, verdict = results.study, results.verdict
    readers = name_range(study.fewest_readings, study.most_readings)
    certainty = (
        "puts them in order (the study had too little to say how likely a reader would)"
        if results.model(verdict.model).score_map == "rank"
        else "says how likely a reader would"
    )
    said = [
        f"It marks places that several readers of such images would mark, and {certainty}. It gives no diagnosis: the "
        "truth it learned from is the agreement of readers.",
        USES[verdict.grade],
        f"Tested on {count(results.models[0].counted[0].test.n_images, 'image')} of this study, each read by {readers} "
        "readers; not on images of other hospitals, scanners or kinds of patients than those described below, not with "
        "readers who use it, and not against a known outcome.",
        "Not for images outside the ranges below, nor for views or parts of the body that the study does not hold; not "
        "as the only reader.",
    ]
    if study.own_candidates or study.own_features:
        said.append(
            "The study brought candidates or features of its own: who uses the model has to make them, too."
        )
    return said


def find_comparisons(results: StudyResults) -> list[ModelComparison]:
    """Return the comparisons under the study's own treatment of single-reader objects."""
    own = results.models[0].counted[0]
    return [pair for pair in results.comparisons if pair.single_reader == own.single_reader]


def find_mixture(results: StudyResults) -> ModelResult | None:
    """Return the first model that weighs readers, if there is one."""
    return next((model for model in results.models if len(model.reader_importance)), None)


@dataclass(frozen=True)
class ClaimLine:
    """A question, its answer in a word, and what the answer rests on."""

    question: str
    answer: str
    evidence: str


def _tell_alike(results: StudyResults, claim: AlikeClaim) -> str:
    first, second = (results.model(name).title for name in (claim.first, claim.second))
    mean = claim.mean
    numbers = difference_with_limits(mean.difference, mean.lower, mean.upper, scale=100, digits=1)
    margin = f"\N{PLUS-MINUS SIGN}{100 * claim.margin:g} points"
    said = (
        f"{second} minus {first}, the pair that decides: {numbers} points of GT sensitivity, mean over "
        f"{name_fp_range(results)}, with its {100 * results.level:g} % interval. Models are alike if the interval of "
        f"every pair lies within {margin}."
    )
    if claim.answer == "undecided" and max(-mean.lower, mean.upper) <= claim.margin:
        said += f" It does, but {count(claim.n_gts, 'golden object')} are too few to show it."
    return said


def _tell_compact(results: StudyResults, claim: CompactClaim) -> str:
    counts = ", ".join(
        f"{results.model(name).title} {name_range(min(folds), max(folds))}"
        for name, folds in claim.n_features.items()
    )
    n_folds = len(next(iter(claim.n_features.values())))
    return (
        f"Features over {count(n_folds, 'fold')}, where every model finds at least {percent(claim.sensitivity)} out of "
        f"fold: {counts}. The answer has to hold in every fold; folds share most of their patients, so this is thin "
        "evidence."
    )


def _tell_penalty(_: StudyResults, claim: PenaltyClaim) -> str:
    return (
        f"{claim.most} to {claim.fewest} features along {claim.n_penalties} rising penalties; rank correlation "
        f"{claim.correlation:.2f}, where -1 means that the number falls throughout."
    )


def _tell_shift(results: StudyResults, claim: ShiftClaim) -> str:
    models = "; ".join(
        f"{results.model(str(row.model)).title} {row.estimate:.2f} ({row.lower:.2f} to {row.upper:.2f})"
        for row in claim.table.itertuples(index=False)
    )
    return (
        f"False positives per image at the thresholds locked for {claim.fp_target:g}, with "
        f"{100 * results.level:g} % intervals: {models}."
    )


def _tell_weights(results: StudyResults, claim: WeightsClaim) -> str:
    limits = (
        "too few for an interval"
        if isnan(claim.lower)
        else f"{100 * results.level:g} % interval {claim.lower:.2f} to {claim.upper:.2f}"
    )
    return (
        f"Rank correlation of weight and sensitivity {claim.correlation:.2f} over {count(claim.n_readers, 'reader')} "
        f"({limits}). Yes needs an interval above 0, no an interval below 0.5."
    )


QUESTIONS: Mapping[str, tuple[str, Callable[[StudyResults, Any], str]]] = {
    "alike": ("Do the models perform alike?", _tell_alike),
    "compact": ("Is Soft the most compact model?", _tell_compact),
    "penalty": ("Does the penalty control the number of features?", _tell_penalty),
    "false_positives": ("Do false positives rise in unseen patients?", _tell_shift),
    "weights": ("Do the readers' weights follow their sensitivities?", _tell_weights),
}
"""By field of the results' claims: the question, and what says what its answer rests on."""


def list_claims(results: StudyResults) -> list[ClaimLine]:
    """Answer the paper's claims for this study, as far as the run can."""
    return [
        ClaimLine(question, claim.answer, tell(results, claim))
        for name, (question, tell) in QUESTIONS.items()
        if (claim := getattr(results.claims, name)) is not None
    ]


def tell_correlation(results: StudyResults) -> str:
    """Give the rank correlation of weights and sensitivities, with a blank before it; nothing where there is none."""
    claim = results.claims.weights
    return "" if claim is None else f" Their rank correlation is {claim.correlation:.2f}."


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
ADVICE = {
    "among readers": "Try it in a study in which readers use it, on images from the site where it will be used.",
    "below readers": "Train it on more images and test it again. Until then it may at most suggest places for a "
    "second look.",
    "too few readers": "Have more images read, by three readers or more: each is judged by what two others marked.",
    "undecided": "Have more images read: this study is too small to compare the detector with the readers.",
    "chance": "Check that marks and images belong together, then train it on more images.",
    "too small": "Have more images read.",
}
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Part:
    """Some sentences of the answer, and what they are about."""

    about: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The first thing on the page."""

    headline: str  # One sentence: whether to use the detector
    tone: Tone  # What colour and sign follow from: "good", "limited", "bad" or "unsure"
    parts: tuple[Part, ...]  # How good it is, against the readers, what next, and what to mind


def give_answer(results: StudyResults) -> Answer:
    """Say whether the detector may be used, and what that rests on."""
    return Answer(
        headline=_tell_headline(results),
        tone=TONES[results.verdict.grade],
        parts=(
            Part("How good", _tell_sensitivity(results)),
            Part("Against the readers", _tell_readers(results)),
            Part("What next", _tell_next(results)),
            *(Part("Bear in mind", text) for text in _list_cautions(results)),
        ),
    )


def sum_up(results: StudyResults) -> tuple[str, str]:
    """Return the answer in two lines, for a terminal and for the detector's file."""
    simulated = " The study is simulated." if results.study.is_simulated else ""
    return _tell_headline(results), _tell_numbers(results) + simulated


def _tell_headline(results: StudyResults) -> str:
    verdict, n_gts = results.verdict, results.detector.test.n_gts
    possible = (
        f"leave {_name_interval(verdict.lower, verdict.upper)} possible"
        if not isnan(verdict.lower)
        else "say too little"
    )
    beside = _tell_median(results)
    return {
        "among readers": f"Usable as a second reader: it keeps up with the median reader. {beside}",
        "below readers": f"Do not use as a second reader: it is below {_name_better(verdict)}. {beside}",
        "undecided": f"Too small to tell whether it keeps up with the median reader. {beside} Do not rely on it yet.",
        "too few readers": "Do not use yet: it is better than chance, but "
        + (
            f"only one reader could be compared with it. {beside}"
            if verdict.n_readers
            else f"no reader could be compared with it on {verdict.fewest_objects} objects or more."
        ),
        "chance": "Do not use: in unseen patients it cannot be told from chance.",
        "too small": f"Too small to tell: {count(n_gts, 'object')} to find in unseen patients {possible}. Do not "
        "rely on it yet.",
    }[verdict.grade]


def _name_interval(lower: float, upper: float) -> str:
    return f"{100 * lower:.0f} to {percent(upper, 0)}"


def _define_golden(results: StudyResults) -> str:
    """Say what the objects are that are counted."""
    marks = results.settings.get("labels", {}).get("score") == "marks"
    chair = ", unless a chair decided otherwise" if results.study.decisions else ""
    return (
        f"An object is golden if it has at least two marks{chair}."
        if marks
        else f"An object is golden if at least two readers marked it{chair}."
    )


def _tell_numbers(results: StudyResults) -> str:
    """Give the operating point in a sentence."""
    verdict, n_gts = results.verdict, results.detector.test.n_gts
    if not n_gts or isnan(verdict.sensitivity):
        return f"There is no golden object in {where_measured(results)} to measure it on."
    unseen = "unseen patients, cross-validated" if is_nested(results) else "unseen patients"
    level = f"{100 * results.level:g} % interval"
    limits = (
        f"no {level}" if isnan(verdict.lower) else f"{level} {_name_interval(verdict.lower, verdict.upper)}"
    )
    return (
        f"It finds {percent(verdict.sensitivity, 0)} of {count(n_gts, 'golden object')} in {unseen} ({limits}), with "
        f"{verdict.fp_per_image:.2f} false positives per image."
    )


def _tell_sensitivity(results: StudyResults) -> str:
    verdict, model = results.verdict, results.model(results.verdict.model)
    said = [
        f"The detector is the model {model.title} with {count(model.n_features, 'feature')}.",
        _tell_numbers(results),
        _define_golden(results),
    ]
    if not isnan(verdict.chance):
        said.append(f"Chance alone would find {percent(verdict.chance, 0)}.")
    if is_nested(results) and verdict.sensitivity == 0 and verdict.fp_per_image == 0:
        said.append(
            "In the folds the models mark nothing at this threshold, so this says nothing of the detector, which is "
            "fitted to all patients."
        )
    return " ".join(said)


def _tell_readers(results: StudyResults) -> str:
    verdict, points = results.verdict, results.reader_points
    if not len(points):
        return "No reader could be judged by the others: that takes three readings of an image or more."
    said = [
        "Each reader is compared with the detector on the objects that at least two other readers marked, at the same "
        f"number of false positives: {_name_all(len(points))} found {_name_range(points['sensitivity'])}, the detector "
        f"{_name_range(points['detector_sensitivity'])}."
    ]
    left_out = len(points) - verdict.n_readers
    if left_out:
        said.append(
            f"{count(left_out, 'reader')} with fewer than {verdict.fewest_objects} objects "
            f"{'does' if left_out == 1 else 'do'} not count in the verdict."
        )
    if verdict.median_reader is None:
        return " ".join(said)
    at = _find_median(results)
    said.append(
        f"Detector minus {'median reader' if verdict.n_readers > 1 else 'reader'} ({verdict.median_reader}, "
        f"{at.fp_per_image:.2f} false positives per image), in points with the {100 * results.level:g} % interval: "
        f"{difference_with_limits(at.difference, at.lower, at.upper, scale=100, digits=0)}. The detector keeps up if "
        f"this interval lies above -{100 * verdict.margin:.0f}; a reader found clearly more if theirs lies below 0."
    )
    return " ".join(said)


def _find_median(results: StudyResults) -> Any:
    """Return the row of the median reader."""
    points = results.reader_points
    return points[points["reader_id"] == results.verdict.median_reader].iloc[0]


def _tell_median(results: StudyResults) -> str:
    """Say what the detector and the median reader found, and how many readers found clearly more."""
    verdict = results.verdict
    if verdict.median_reader is None:
        return ""
    at, n_readers, n_better = _find_median(results), verdict.n_readers, verdict.n_better
    own, reader = percent(at.detector_sensitivity, 0), percent(at.sensitivity, 0)
    beside = f"At matched false positives it found {own} of the objects"
    if n_readers == 1:
        return f"{beside} and this reader {reader}{', clearly more' if n_better else ''}."
    beside = f"{beside} and the median reader {reader}"
    if verdict.grade == "undecided" and not isnan(at.lower):
        return f"{beside}, but the detector may be up to {-100 * at.lower:.0f} points behind."
    if verdict.n_worse == n_readers:
        return f"{beside}; it found clearly more than {_name_all(n_readers)}."
    if n_better == n_readers:
        return f"{beside}; {_name_all(n_readers)} found clearly more."
    is_short = n_readers <= len(NUMBERS)
    some = "none" if not n_better else _spell(n_better) if is_short else n_better
    return f"{beside}; {some} of {_spell(n_readers)} readers found clearly more."


def _name_better(verdict: Verdict) -> str:
    """Name whom the detector is below."""
    if verdict.n_readers == 1:
        return "the only reader who could be compared with it"
    return "most readers" if 2 * verdict.n_better > verdict.n_readers else "the median reader"


def _name_all(n_readers: int) -> str:
    return {1: "the reader", 2: "both readers"}.get(n_readers, f"all {_spell(n_readers)} readers")


def _spell(number: int) -> str:
    """Write a number from 1 to ten as a word."""
    return NUMBERS[number - 1] if number <= len(NUMBERS) else str(number)


def _name_range(shares: pd.Series[float]) -> str:
    fewest, most = percent(shares.min(), 0), percent(shares.max(), 0)
    return f"{fewest.removesuffix(' %')} to {most}" if fewest != most else most


def _tell_next(results: StudyResults) -> str:
    verdict, n_gts = results.verdict, results.detector.test.n_gts
    said = ADVICE[verdict.grade]
    width = f"\N{PLUS-MINUS SIGN}{100 * verdict.wanted_half_width:.0f} points"
    if verdict.objects_needed > n_gts:
        return (
            f"{said} A sensitivity known to {width} takes up to {count(verdict.objects_needed, 'golden object')} in "
            f"unseen patients, or {count(verdict.images_needed, 'image')} like these; this study has {n_gts} "
            "(overread plan --locked)."
        )
    return (
        f"{said} The {count(n_gts, 'golden object')} suffice to know the sensitivity to {width}."
        if n_gts
        else said
    )


def _list_cautions(results: StudyResults) -> list[str]:
    said = []
    if results.study.is_simulated:
        said.append(
            f"The {name_object(results)}s and the readers are simulated: this shows that the system works, not how "
            "well it would do on patients."
        )
    if results.verdict.better_on_test is not None:
        said.append(
            f"{results.model(results.verdict.better_on_test).title} does better in {where_measured(results)}; out of "
            "fold, where the choice is made, it could not be told from the detector or was worse. Name it alone in "
            "[models] wanted to take it."
        )
    return said


# More reasons than this are counted together: the chart has to be read.
MOST_REASONS = 6


@dataclass(frozen=True)
class FlowStep:
    """A box of the chart."""

    label: str  # What is counted
    n: int | None  # How many; None where nobody recorded it
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
        return FlowStep("image files found", None, "not recorded: the images table was not made by init")
    left_out = _shorten(found.left_out)
    if found.n_taken_out:
        left_out.append((found.n_taken_out, "taken out of the images table after init"))
    added = (
        f"{count(found.n_added, 'more file')} put into the images table after init" if found.n_added else ""
    )
    return FlowStep("image files found by init", found.n_found, added, left_out)


def _shorten(reasons: dict[str, int]) -> list[tuple[int, str]]:
    """Count the rarest reasons together where there are many."""
    told = [(n, reason) for reason, n in reasons.items()]
    if len(told) <= MOST_REASONS:
        return told
    kept, others = told[: MOST_REASONS - 1], told[MOST_REASONS - 1 :]
    return [*kept, (sum(n for n, _ in others), f"{len(others)} other reasons")]


def tell_exclusions(results: StudyResults) -> str:
    """Say how many files and images were left out, and where."""
    *before, study, _ = lay_out_flow(results)
    told = [
        f"before the run {step.note}" if step.n is None else _tell_left_out(step, "by init or by hand")
        for step in before
    ]
    return "; ".join([*told, _tell_left_out(study, "in the run")])


def tell_flow(results: StudyResults) -> str:
    """Say the numbers of the whole chart in a line."""
    steps = [step for step in lay_out_flow(results) if step.n is not None]
    boxes = [
        f"{step.n} {step.label}" + (f" ({_tell_left_out(step, '')})" if step.left_out else "")
        for step in steps
    ]
    return f"{'; '.join(boxes)}: {', '.join(f'{part.name} {part.n_images}' for part in results.study.splits)}"


def _tell_left_out(step: FlowStep, where: str) -> str:
    total = sum(n for n, _ in step.left_out)
    told = f"{total} of {step.n} {step.label} left out{f' {where}' if where else ''}"
    return told + (
        f" ({'; '.join(f'{n} {reason}' for n, reason in step.left_out)})" if step.left_out and where else ""
    )


_NAMES = re.compile("(count|find|give|is|lay_out|list|name|tell|where)(_|$)")
SENTENCES = {name: value for name, value in globals().items() if _NAMES.match(name)}
"""Functions that templates call by their names."""
