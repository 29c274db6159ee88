"""The model card and the CLAIM checklist of a run: plain texts of templates.

Every number and sentence is one of the page; what no run can know is left for the authors to say.
"""

from __future__ import annotations

import re
from functools import cache
from math import isnan
from typing import Any
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from overread._text import escape_markdown, join_lines, markdown_table, percent_with_limits
from overread.domains import domain_of
from overread.files import digest_of_value
from overread.froc import format_table
from overread.report._results import RunHead, StudyResults
from overread.report._words import (
    FEW_IN_GROUP,
    N_TOLD,
    give_answer,
    is_nested,
    make_environment,
    name_size_range,
    name_unit,
    percent,
    tell_direction,
)

CARD_FILE = "model_card.md"
"""Name of the card in the folder of a run."""


@cache
def _make_environment() -> Environment:
    """Make what fills plain texts: a name from the data goes through ``text`` (Markdown) or ``line``."""
    environment = make_environment(autoescape=False)
    environment.filters.update(text=escape_markdown, line=join_lines)
    environment.globals.update(table=_lay_out_table)
    return environment


def write_model_card(results: StudyResults, head: RunHead) -> str:
    """Fill the card, as Markdown; names are escaped."""
    model, told = results.model(results.supported), results.study.description
    unit, said = name_unit(results), model.calibration
    filled = _make_environment().get_template("model_card.md.j2").render(
        results=results,
        head=head,
        answer=give_answer(results),
        model=model,
        features=[
            (one.name, one.words or one.meaning or "–", tell_direction(one)) for one in model.features[:N_TOLD]
        ],
        numbers=[
            (name, *(f"{value:.4g}" for value in (spread.lowest, spread.median, spread.highest)))
            for name, spread in told.numbers.items()
        ],
        kinds=[
            (name.replace("_", " "), value, str(n)) for name, row in told.counts.items() for value, n in row.items()
        ],
        readers=[
            (
                str(point.reader_id),
                str(point.n_images),
                str(point.n_gts),
                f"{point.fp_per_image:.2f}",
                percent(point.sensitivity),
                percent(point.detector_sensitivity),
            )
            for point in list_rows(results.reader_points)
        ],
        performance=format_table(results.table, "markdown").rstrip(),
        sizes=[
            (name_size_range(row.stratum, unit), str(row.n_gts), _tell_found(row))
            for row in list_rows(results.detector.by_size)
        ],
        groups=[(group.column.replace("_", " "), _list_group(group.table)) for group in results.subgroups],
        slopes=[
            (name, *("–" if isnan(value) else f"{value:.2f}" for value in (one.estimate, one.lower, one.upper)))
            for name, one in ([] if said is None else [("slope", said.slope), ("intercept", said.intercept)])
        ],
        versions=[
            ("overread", results.version),
            ("layout of the results", results.schema),
            ("id of the results", f"{head.id} (begins the SHA-256 of results.json in canonical form)"),
            ("SHA-256 of the settings", digest_of_value(results.settings)),
            ("seed", str(results.seed)),
        ],
    )  # fmt: skip
    return re.sub(r"\n{3,}", "\n\n", filled).strip() + "\n"


def link_model_card(results: StudyResults, head: RunHead) -> Markup:
    """Make a link that saves the card, which is embedded in the page."""
    address = f"data:text/markdown;charset=utf-8,{quote(write_model_card(results, head))}"
    return Markup('<a class="card-link" download="{}" href="{}">Model card</a>').format(CARD_FILE, address)


def list_claim(results: StudyResults) -> list[tuple[int, str, str]]:
    """Give number, subject and what the run says of every item."""
    filled = _make_environment().get_template("claim.txt.j2").render(
        results=results,
        study=results.study,
        domain=domain_of(results.settings),
        nested=is_nested(results),
        linear=not any(isnan(feature.weight) for feature in results.models[0].features),
        penalized=", ".join(model.title for model in results.models if "lam" in model.parameters),
    )  # fmt: skip
    rows = (line.split(" | ", 2) for line in filled.splitlines())
    return [(int(number), subject, said) for number, subject, said in rows]


def _lay_out_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Write a table, or nothing of no rows."""
    return markdown_table(header, rows) if rows else ""


def _list_group(table: pd.DataFrame) -> list[tuple[str, ...]]:
    return [
        (
            str(row.stratum),
            str(row.n_images),
            str(row.n_gts),
            "too few to judge" if row.n_gts < FEW_IN_GROUP else _tell_found(row),
            f"{row.fp_per_image:.2f}",
        )
        for row in list_rows(table)
    ]


def _tell_found(row: Any) -> str:
    """Sensitivity with its interval, in per cent."""
    return percent_with_limits(row.gt_sensitivity, row.gt_sensitivity_lower, row.gt_sensitivity_upper)


def list_rows(table: pd.DataFrame) -> list[Any]:
    """Return rows with the columns as attributes."""
    return list(table.itertuples(index=False))
