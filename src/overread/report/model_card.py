"""The model card of a run: what the page says of the detector, in a Markdown file to publish with it.

The sections follow Mitchell et al., "Model Cards for Model Reporting" (FAT* 2019, doi:10.1145/3287560.3287596). Every
number and sentence is one of the page; what no run can know is left for the authors to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isnan
from typing import Any
from urllib.parse import quote

import pandas as pd
from markupsafe import Markup

from overread.files.digests import digest_of_value
from overread.froc import format_table
from overread.report.answer import give_answer
from overread.report.flow import tell_flow
from overread.report.head import RunHead
from overread.report.lengths import name_unit
from overread.report.results import StudyResults
from overread.report.words import (
    FEW_IN_GROUP,
    N_TOLD,
    count,
    list_cards,
    list_facts,
    list_limits,
    name_fp,
    name_size_range,
    percent,
    tell_direction,
    tell_intervals,
    tell_method,
    tell_use,
    where_measured,
)
from overread.words import escape_markdown, markdown_table, percent_with_limits

__all__ = ["CARD_FILE", "link_model_card", "write_model_card"]

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
