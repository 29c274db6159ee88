"""What a run's page says first: may the detector be used, how good it is, against the readers, and what next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, Literal

import pandas as pd

from overread.report.lengths import name_object
from overread.report.results import StudyResults, Verdict
from overread.report.words import count, is_nested, percent, where_measured
from overread.words import difference_with_limits

__all__ = ["Answer", "Part", "give_answer", "sum_up"]

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
    "among readers": "Try it in a study in which readers use it, on images of the place where it shall work.",
    "below readers": "Train it on more images, and test it again. Until then it may at most point to places for a "
    "second look.",
    "too few readers": "Have more images read, by three readers or more: each is judged by what two others marked.",
    "undecided": "Have more images read: the comparison with the readers is not sharp enough.",
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
    """The first thing on the page.

    Attributes
    ----------
    headline
        One sentence: whether to use the detector.
    tone
        What colour and sign follow from: "good", "limited", "bad" or "unsure".
    parts
        How good it is, against the readers, what next, and what to mind.
    """

    headline: str
    tone: Tone
    parts: tuple[Part, ...]


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
        f"Golden is an object with two marks or more{chair}."
        if marks
        else f"Golden is an object that two readers or more marked{chair}."
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
        f"It finds {percent(verdict.sensitivity, 0)} of {count(n_gts, 'golden object')} of {unseen} ({limits}), with "
        f"{verdict.fp_per_image:.2f} false positives per image."
    )


def _tell_sensitivity(results: StudyResults) -> str:
    verdict, model = results.verdict, results.model(results.verdict.model)
    said = [
        f"The detector is {model.title}, with {count(model.n_features, 'feature')}.",
        _tell_numbers(results),
        _define_golden(results),
    ]
    if not isnan(verdict.chance):
        said.append(f"By chance it would find {percent(verdict.chance, 0)}.")
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
        "Each reader is judged by the objects that two of the others marked, and the detector by the same objects with "
        f"as many false marks: {_name_all(len(points))} found {_name_range(points['sensitivity'])}, the detector "
        f"{_name_range(points['detector_sensitivity'])}."
    ]
    left_out = len(points) - verdict.n_readers
    if left_out:
        said.append(
            f"{count(left_out, 'reader')} judged on fewer than {verdict.fewest_objects} objects "
            f"{'does' if left_out == 1 else 'do'} not count in the verdict."
        )
    if verdict.median_reader is None:
        return " ".join(said)
    at = _find_median(results)
    said.append(
        f"The {'median reader' if verdict.n_readers > 1 else 'reader compared'} is {verdict.median_reader}, with "
        f"{at.fp_per_image:.2f} false marks per image. Detector minus reader, in points: "
        f"{difference_with_limits(at.difference, at.lower, at.upper, scale=100, digits=0)}, with its "
        f"{100 * results.level:g} % interval. It keeps up if the whole interval lies above "
        f"-{100 * verdict.margin:.0f}. A reader found clearly more where the whole interval lies below 0."
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
    to_know = f"To know the sensitivity to \N{PLUS-MINUS SIGN}{100 * verdict.wanted_half_width:.0f} points"
    if verdict.objects_needed > n_gts:
        return (
            f"{said} {to_know} takes up to {count(verdict.objects_needed, 'golden object')} of unseen patients, in "
            f"{count(verdict.images_needed, 'image')} like these; here are {n_gts} (overread plan --locked)."
        )
    return f"{said} {to_know} these {count(n_gts, 'golden object')} are enough." if n_gts else said


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
