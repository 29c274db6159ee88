"""What a run's page says first: may the detector be used, how good it is, against the readers, and what next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median
from typing import Literal

from overread.report.lengths import name_object
from overread.report.results import StudyResults, Verdict
from overread.report.words import count, is_nested, percent, where_measured

__all__ = ["Answer", "Part", "give_answer", "sum_up"]

Tone = Literal["good", "limited", "bad", "unsure"]

TONES: Mapping[str, Tone] = {
    "among readers": "good",
    "below readers": "limited",
    "no readers": "limited",
    "chance": "bad",
    "too small": "unsure",
}
ADVICE = {
    "among readers": "Try it in a study in which readers use it, on images of the place where it shall work.",
    "below readers": "Train it on more images, and test it again.",
    "no readers": "Have the images read by three readers or more: each is judged by the others.",
    "chance": "Check that marks and images belong together, then train it on more images.",
    "too small": "Have more images read.",
}


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
    beside = f"keeps up with {_count_reached(verdict)} of {count(len(verdict.beside_readers), 'reader')}"
    if not _count_reached(verdict):
        beside = "finds fewer, but cannot be told from at least one of them"
    return {
        "among readers": f"Usable as a second reader: with as many false marks as each makes, it {beside}.",
        "below readers": "Do not use as a reader: with as many false marks as each of the readers makes, it finds less "
        "than each. At most it may point to places for a second look.",
        "no readers": "Do not use yet: it is better than chance, but no reader could be judged beside it.",
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
    verdict = results.verdict
    if not verdict.reader_sensitivities:
        return "No reader could be judged by the others: that takes three readings of an image or more."
    middle = median(verdict.reader_fp_per_image)
    return (
        f"Each judged by the others, the readers find {_name_range(verdict.reader_sensitivities)} with {middle:.2f} "
        f"false marks per image (median). Of the same objects, with as many false marks as each, the detector finds "
        f"{_name_range(verdict.beside_readers)}."
    )


def _count_reached(verdict: Verdict) -> int:
    """Count the readers of whose objects the detector finds no less than they do."""
    both = zip(verdict.beside_readers, verdict.reader_sensitivities, strict=True)
    return sum(own >= reader for own, reader in both)


def _name_range(shares: Sequence[float]) -> str:
    fewest, most = percent(min(shares), 0), percent(max(shares), 0)
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
