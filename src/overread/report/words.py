"""What a run's page says in sentences: the headline, what was run on what, what must not be concluded."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan, sqrt

from overread import words
from overread.report.lengths import name_object
from overread.report.results import Comparison, FeatureWeight, ModelResult, StudyResults, Table1

__all__ = [
    "FEW_IN_GROUP",
    "N_TOLD",
    "Card",
    "count",
    "find_comparisons",
    "find_mixture",
    "is_nested",
    "list_cards",
    "list_facts",
    "list_limits",
    "name_fp",
    "name_range",
    "name_size_range",
    "name_table",
    "nearest_to_one",
    "percent",
    "tell_decisions",
    "tell_direction",
    "tell_gallery",
    "tell_intervals",
    "tell_method",
    "tell_use",
    "where_measured",
]

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


def nearest_to_one(fp_targets: list[float]) -> float:
    """Choose the FP target nearest to 1 per image."""
    return min(fp_targets, key=lambda fp: abs(fp - 1.0))


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
    """Give the supported model's locked operating point nearest to 1 FP per image, and its size."""
    model, counted = results.model(results.supported), results.detector
    target = nearest_to_one(results.fp_targets)
    locked = counted.locked
    here = locked[(locked["source"] == "out_of_fold") & (locked["fp_target"] == target)]
    values = {
        str(measure): tuple(float(value) for value in row)
        for measure, *row in here[["measure", "estimate", "lower", "upper"]].itertuples(index=False)
    }

    def limits(measure: str) -> str:
        _, lower, upper = values[measure]
        return "" if isnan(lower) else f" ({100 * results.level:g} %: {percent(lower)} to {percent(upper)})"

    return [
        Card(
            percent(values["gt_sensitivity"][0]),
            f"of {count(counted.test.n_gts, 'golden object')} of {where_measured(results)} found"
            f"{limits('gt_sensitivity')}",
        ),
        Card(
            percent(values["image_sensitivity"][0]),
            f"of {count(counted.test.n_positive_images, 'image')} with one found{limits('image_sensitivity')}",
        ),
        Card(
            f"{values['fp_per_image'][0]:.2f}",
            f"false positives per {'' if is_nested(results) else 'test '}image, at the "
            f"{'thresholds' if is_nested(results) else 'threshold'} locked for {target:g} before",
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
        ("marks", f"{study.n_marks}, merged into {study.n_objects} objects, {study.n_golden} golden"),
        *([("adjudication", tell_decisions(results))] if study.decisions else []),
        ("candidates", f"{found}; some candidate hits {reached} of {golden} golden objects"),
        (
            "figures",
            f"of {where_measured(results)}{' (nested cross-validation)' if is_nested(results) else ''}",
        ),
        ("features", f"{study.n_features}" + (", the study's own" if study.own_features else "")),
        ("a hit is", results.rule),
        ("intervals", f"{100 * results.level:g} %, from {results.n_bootstrap:,} bootstraps over patients"),
        ("seed", str(results.seed)),
        ("version", f"overread {results.version}"),
    ]


def list_limits(results: StudyResults) -> list[str]:
    """Say what must not be concluded."""
    counted = results.detector
    limits = [
        "The truth here is the readers' agreement, not a biopsy: an object that all readers missed counts as a false "
        "positive where it is found."
    ]
    n_gts = counted.test.n_gts
    if n_gts < FEW_OBJECTS:
        width = 100 * 1.96 * sqrt(0.25 / max(n_gts, 1))
        limits.append(
            f"{count(n_gts, 'golden object')} of {where_measured(results)}: a sensitivity near one half is known to "
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


def name_table(table: Table1) -> str:
    """Say how a version of Table 1 differs from that of the detector."""
    if table.single_reader == "fp":
        return (
            "As in the paper: thresholds from the scores of the images that the models were fitted to, and candidates "
            "on objects of a single reader count as false positives"
        )
    return "With thresholds from the scores of the images that the models were fitted to"


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


def find_comparisons(results: StudyResults) -> list[Comparison]:
    """Return the comparisons under the study's own treatment of single-reader objects."""
    own = results.models[0].counted[0]
    return [pair for pair in results.comparisons if pair.single_reader == own.single_reader]


def find_mixture(results: StudyResults) -> ModelResult | None:
    """Return the first model that weighs readers, if there is one."""
    return next((model for model in results.models if len(model.reader_importance)), None)
