"""The model card of a run: what the page says of the detector, in a Markdown file to publish with it.

The sections follow Mitchell et al., "Model Cards for Model Reporting" (FAT* 2019, doi:10.1145/3287560.3287596). Every
number and sentence is one of the page; what no run can know is left for the authors to say.

The CLAIM checklist: which of its items a run can fill.

Mongan, Moy and Kahn (2020), Checklist for Artificial Intelligence in Medical Imaging (CLAIM), Radiology: Artificial
Intelligence 2(2):e200029. The subjects are given in our words under the checklist's numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isnan
from typing import Any
from urllib.parse import quote

import pandas as pd
from markupsafe import Markup

from overread._text import escape_markdown, markdown_table, percent_with_limits
from overread.domains import domain_of
from overread.files import digest_of_value
from overread.froc import format_table
from overread.report._results import RunHead, StudyResults
from overread.report._words import (
    FEW_IN_GROUP,
    N_TOLD,
    count,
    give_answer,
    is_nested,
    list_cards,
    list_facts,
    list_limits,
    name_fp,
    name_range,
    name_size_range,
    name_unit,
    percent,
    tell_decisions,
    tell_direction,
    tell_exclusions,
    tell_flow,
    tell_intervals,
    tell_method,
    tell_use,
    where_measured,
)

CARD_FILE = "model_card.md"
"""Name of the card in the folder of a run."""

FOR_THE_AUTHORS = (
    ("who made it, and whom to ask", ""),
    ("licence of the detector", ""),
    ("where the images come from, and who allowed their use", ""),
    ("who the readers are: training, years of experience", ""),
    ("whom its mistakes would harm, and what is done about it", ""),
)


def write_model_card(results: StudyResults, head: RunHead) -> str:
    """Fill the card, as Markdown; names are escaped.

    Parameters
    ----------
    results
        Every number on the card.
    head
        Names, id and date of the run.
    """
    chapters = [
        ("Model", _describe_model(results, head)),
        ("Intended use", _list(tell_use(results))),
        ("Data", _describe_data(results)),
        ("Readers", _describe_readers(results)),
        ("Performance", _describe_performance(results)),
        ("Calibration", _describe_calibration(results)),
        ("Caveats and what next", _describe_caveats(results)),
        ("For the authors to say", [markdown_table(("what", "answer"), FOR_THE_AUTHORS)]),
        ("Versions and hashes", _list_versions(results, head)),
    ]
    parts = [
        f"# Model card: {escape_markdown(head.study)}",
        f"**{escape_markdown(give_answer(results).headline)}**",
    ]
    for heading, paragraphs in chapters:
        parts += [f"## {heading}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def link_model_card(results: StudyResults, head: RunHead) -> Markup:
    """Make a link that saves the card, which is part of the page and needs no file beside it."""
    address = f"data:text/markdown;charset=utf-8,{quote(write_model_card(results, head))}"
    return Markup('<a class="card-link" download="{}" href="{}">Model card</a>').format(CARD_FILE, address)


def _describe_model(results: StudyResults, head: RunHead) -> Iterator[str]:
    model = results.model(results.supported)
    yield escape_markdown(
        f"{model.title}: {model.summary} Of run {head.run} of the study {head.study}, {head.date}."
    )
    shown = model.features[:N_TOLD]
    more = f"; the first {len(shown)}" if len(shown) < model.n_features else ""
    yield escape_markdown(f"It reads {count(model.n_features, 'feature')} of a candidate{more}:")
    if shown:
        yield markdown_table(
            ("feature", "what it looks at", "what it does"),
            [(one.name, one.words or one.meaning or "–", tell_direction(one)) for one in shown],
        )


def _describe_data(results: StudyResults) -> Iterator[str]:
    told = results.study.description
    yield escape_markdown(f"From files to parts: {tell_flow(results)}.")
    yield markdown_table(("what", "value"), list_facts(results))
    if told.numbers:
        numbers = [
            (name, *(f"{value:.4g}" for value in (spread.lowest, spread.median, spread.highest)))
            for name, spread in told.numbers.items()
        ]
        yield markdown_table(("of an image", "lowest", "median", "highest"), numbers)
    if told.counts:
        kinds = [
            (name.replace("_", " "), value, str(n))
            for name, row in told.counts.items()
            for value, n in row.items()
        ]
        yield markdown_table(("what", "value", "images"), kinds)


def _describe_readers(results: StudyResults) -> Iterator[str]:
    yield from (
        escape_markdown(part.text)
        for part in give_answer(results).parts
        if part.about == "Against the readers"
    )
    points = [
        (
            str(point.reader_id),
            str(point.n_images),
            str(point.n_gts),
            f"{point.fp_per_image:.2f}",
            percent(point.sensitivity),
            percent(point.detector_sensitivity),
        )
        for point in _list_rows(results.reader_points)
    ]
    if points:
        header = ("reader", "images", "objects", "false marks per image", "reader finds", "detector finds")
        yield markdown_table(header, points)


def _describe_performance(results: StudyResults) -> Iterator[str]:
    yield escape_markdown(tell_method(results))
    yield escape_markdown(tell_intervals(results))
    yield from _list(f"{card.value} {card.label}" for card in list_cards(results))
    yield "At the thresholds that the detector has:"
    yield format_table(results.tables[-1].table, "markdown").rstrip()
    sizes = _list_rows(results.detector.by_size)
    if sizes:
        yield f"By size, at the threshold for {name_fp(sizes[0].fp_target)} per image:"
        unit = name_unit(results)
        yield markdown_table(
            ("diameter", "objects", "found, %"),
            [(name_size_range(row.stratum, unit), str(row.n_gts), _tell_found(row)) for row in sizes],
        )
    for group in results.subgroups:
        column = group.column.replace("_", " ")
        yield markdown_table(
            (column, "images", "objects", "found, %", "false positives per image"),
            [
                (
                    str(row.stratum),
                    str(row.n_images),
                    str(row.n_gts),
                    "too few to judge" if row.n_gts < FEW_IN_GROUP else _tell_found(row),
                    f"{row.fp_per_image:.2f}",
                )
                for row in _list_rows(group.table)
            ],
        )


def _describe_calibration(results: StudyResults) -> Iterator[str]:
    model = results.model(results.supported)
    if model.calibration is None:
        yield "Too little to calibrate with: places have ranks and no probabilities."
        return
    said = model.calibration
    yield escape_markdown(
        f"Probabilities of {count(said.n_bags, 'place')} of {where_measured(results)} against soft labels, after the "
        f"map {model.score_map!r}. A soft label is the share of the readers who marked the place, and for a place that "
        "a single reader marked what [labels] sets instead, by default less than the share. A slope of 1 and an "
        "intercept of 0 are perfect."
    )
    rows = [
        (name, *("–" if isnan(value) else f"{value:.2f}" for value in (one.estimate, one.lower, one.upper)))
        for name, one in (("slope", said.slope), ("intercept", said.intercept))
    ]
    yield markdown_table(("", "estimate", "lower", "upper"), rows)


def _describe_caveats(results: StudyResults) -> Iterator[str]:
    parts = [part for part in give_answer(results).parts if part.about in ("What next", "Bear in mind")]
    yield from _list([*(f"{part.about}: {part.text}" for part in parts), *list_limits(results)])


def _list_versions(results: StudyResults, head: RunHead) -> Iterator[str]:
    rows = [
        ("overread", results.version),
        ("layout of the results", results.schema),
        ("id of the results", f"{head.id} (begins the SHA-256 of results.json in canonical form)"),
        ("SHA-256 of the settings", digest_of_value(results.settings)),
        ("seed", str(results.seed)),
    ]
    yield markdown_table(("what", "value"), rows)
    yield (
        "The run's `provenance.json` names the versions of all packages. `detector.json` holds the SHA-256 of its own "
        "content; a file that was changed is refused."
    )


def _tell_found(row: Any) -> str:
    """Sensitivity with its interval, in per cent."""
    return percent_with_limits(row.gt_sensitivity, row.gt_sensitivity_lower, row.gt_sensitivity_upper)


def _list(sentences: Iterable[str]) -> Iterator[str]:
    yield "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences)


def _list_rows(table: pd.DataFrame) -> list[Any]:
    """Return rows with the columns as attributes."""
    return list(table.itertuples(index=False))


CLAIM_ITEMS: Mapping[int, str] = {
    7: "where the data came from",
    9: "processing of the images before use",
    10: "choice of parts of the data",
    13: "missing data",
    14: "definition of the reference standard",
    15: "why this reference standard",
    16: "who annotated",
    18: "differences between readers and how they were settled",
    19: "size of the sample",
    20: "assignment to parts",
    21: "level at which the parts are disjoint",
    22: "the model",
    23: "software and versions",
    24: "start of the parameters",
    25: "training and its settings",
    26: "choice of the final model",
    28: "measures of performance",
    29: "uncertainty and significance",
    31: "explanation of single answers",
    32: "external data",
    33: "flow of images",
    34: "patients in each part",
    35: "performance in unseen patients",
    36: "intervals of accuracy",
    37: "analysis of errors",
    38: "limits of the study",
}
BY_THE_AUTHORS = "for the authors to say"


def list_claim(results: StudyResults) -> list[tuple[int, str, str]]:
    """Give number, subject and what the run says of every item."""
    filled = _fill_data(results) | _fill_models(results) | _fill_evaluation(results)
    return [(number, subject, filled.get(number, BY_THE_AUTHORS)) for number, subject in CLAIM_ITEMS.items()]


def _fill_data(results: StudyResults) -> dict[int, str]:
    study = results.study
    readings = name_range(study.fewest_readings, study.most_readings)
    patients = ", ".join(f"{split.name} {split.n_patients}" for split in study.splits)
    return {
        9: "the study brings its own features"
        if study.own_features
        else domain_of(results.settings).describe_processing(results.settings),
        13: tell_exclusions(results),
        14: f"objects merged from readers' ellipses (T0 = {results.settings['merging']['t0']:g}); golden: marked by "
        f"two readers or more{', unless a chair decided otherwise' if study.decisions else ''}",
        18: f"{count(study.n_readers, 'reader')}, {readings} readings an image; disagreement is kept as the soft label"
        + (f"; {tell_decisions(results)}" if study.decisions else ""),
        19: f"{study.n_images} images, {study.n_golden} golden objects; no sample size was computed in advance",
        20: f"{_tell_folds(results)}by patient, balanced by golden objects with the seed above"
        + ("" if is_nested(results) else ", unless the images table gives the parts"),
        21: _tell_disjoint(results),
        33: tell_flow(results),
        34: f"patients: {patients}",
    }


def _tell_disjoint(results: StudyResults) -> str:
    """Say what no two parts have in common, and by what copies were looked for."""
    compared, parts = results.study.compared, "patients" if is_nested(results) else "parts"
    if "rows" in compared:
        return f"patient; no pixels were read; images with the same features in two {parts} are refused"
    if "" in compared:
        return (
            "patient; copies under another patient were not looked for: no pixels were read, and the features are too"
            " few, or take too few values"
        )
    said = f"patient; identical pixels in two {parts} are refused"
    if "picture" not in compared:
        return f"{said}; copies that differ in a pixel were not looked for"
    plain = f" ({compared['pixels']} images compared by pixels alone)" if "pixels" in compared else ""
    return f"{said}, and pictures that look the same{plain}; copies that were cropped or turned are not recognized"


def _fill_models(results: StudyResults) -> dict[int, str]:
    study = results.study
    own = study.own_candidates or study.own_features
    is_linear = not any(isnan(feature.weight) for feature in results.models[0].features)
    filled = {
        22: "; ".join(f"{model.title}: {model.summary}" for model in results.models),
        23: f"overread {results.version}; versions of all libraries in provenance.json",
        25: "settings in settings.json",
    }
    if is_linear:
        parts = "weights in section Features" if own else "overread explain shows each feature's part"
        filled[31] = f"linear score: {parts}"
    penalized = [model for model in results.models if "lam" in model.parameters]
    if penalized:
        titles = ", ".join(model.title for model in penalized)
        filled |= {
            24: f"{titles}: zero weights, intercept matched to the mean label",
            25: f"{titles}: Newton steps along a path of penalties; settings in settings.json",
        }
    over = "all patients, and again inside each outer fold" if is_nested(results) else "training + validation"
    filled[26] = (
        f"settings of every model by cross-validation over patients of {over}: the sparsest "
        f"within {results.models[0].choice.n_standard_errors:g} standard error of the best"
    )
    return filled


def _tell_folds(results: StudyResults) -> str:
    """Name the folds that stand in the place of a test set."""
    return (
        f"{len(results.headline.chosen)} outer folds for want of a test set, " if is_nested(results) else ""
    )


def _fill_evaluation(results: StudyResults) -> dict[int, str]:
    test = results.detector.test
    return {
        28: "sensitivity to golden objects and to images at fixed numbers of false positives per image (FROC)",
        29: f"{100 * results.level:g} % intervals by {results.n_bootstrap} bootstraps over patients; paired",
        32: "none",
        35: f"Table 1 on {test.n_images} images of {where_measured(results)} with {test.n_gts} golden objects"
        + (
            " (nested cross-validation; the detector fitted to all is not measured)"
            if is_nested(results)
            else ""
        ),
        36: "intervals in Table 1",
        37: "gallery of misses and false positives",
        38: "section Summary",
    }
