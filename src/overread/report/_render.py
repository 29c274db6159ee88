"""The page of a study: templates over its results, escaped throughout, one file that fetches nothing.

Every table of the page as a CSV file that is part of the page: a link that works without a network.

The files hold the numbers as shown; raw numbers are in ``results.json``.

One page of several runs of a study, one for each group of labels: first a verdict of each, then a chapter each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from math import copysign, isnan
from typing import Any, Literal
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup, escape

from overread.froc import PerformanceTable, format_table
from overread.report._cards import link_model_card, list_claim, list_rows
from overread.report._figures import lay_out_explorer, list_steps
from overread.report._pictures import Pictures
from overread.report._results import FeatureWeight, RunHead, StudyResults
from overread.report._words import (
    FEW_IN_GROUP,
    N_TOLD,
    list_claims,
    make_environment,
    name_size_range,
    percent,
    tell_direction,
    where_measured,
)
from overread.tables import csv_text, guard_formula

# Without it, spreadsheets read a file in their default code page.
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


class _TableReader(HTMLParser):
    """Collects the cells of the rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def read_cells_of_table(html: str) -> list[list[str]]:
    """Return the texts of the cells of a table, row by row."""
    reader = _TableReader()
    # Plain text: markup would escape what is added to it.
    reader.feed(str(html))
    return [[" ".join(cell.split()) for cell in row] for row in reader.rows]


def link_csv(rows: Iterable[Sequence[str]], name: str) -> Markup:
    """Make a link that saves rows as ``name.csv``."""
    text = BYTE_ORDER_MARK + csv_text([[_guard(cell) for cell in row] for row in rows])
    address = f"data:text/csv;charset=utf-8,{quote(text)}"
    return Markup('<a class="csv" download="{}.csv" href="{}">CSV</a>').format(name, address)


def _guard(cell: str) -> str:
    """Keep a spreadsheet from running a cell as a formula; numbers stay numbers."""
    try:
        float(cell)
    except ValueError:
        return guard_formula(cell)
    return cell


def render_study(results: StudyResults, figures: Mapping[str, str], pictures: Pictures, head: RunHead) -> str:
    """Write the page of a run."""
    return render_page("study.html.j2", results=results, figures=figures, pictures=pictures, head=head)


def render_page(template: str, **values: Any) -> str:
    """Write a page of a template that extends ``page.html.j2``; ``head`` is among the values."""
    return _make_environment().get_template(template).render(**values)


def _list_sections(results: StudyResults, pictures: Pictures) -> list[tuple[str, str]]:
    """List the sections that the page of a run has: heading and template.

    First what the detector is worth and for whom, then where it comes from.
    """
    has_gallery = pictures.hits or pictures.misses or pictures.false_positives
    every = [
        ("Summary", "summary", True),
        ("Intended use and data", "use", True),
        ("Flow of images", "flow", True),
        ("Performance on unseen patients", "performance", True),
        ("Groups of images", "subgroups", results.subgroups),
        (f"Gallery of {where_measured(results)}", "gallery", has_gallery),
        ("The paper's claims", "paper_claims", list_claims(results)),
        ("Calibration", "calibration", results.models),
        ("Readers", "readers", True),
        ("Merged objects", "truth", True),
        ("Features", "features", True),
        ("Choice of settings", "choice", True),
        ("Results as in the paper", "paper", True),
        ("CLAIM checklist", "claim", True),
    ]
    return [(heading, template) for heading, template, is_there in every if is_there]


@cache
def _make_environment() -> Environment:
    """Make what fills templates, with the filters and functions that they use."""
    environment = make_environment(autoescape=True)
    environment.filters.update(
        percent=percent,
        number=_number,
        points=_points,
        interval=_interval,
        rows=list_rows,
        size_range=name_size_range,
        labelled=_label_svg,
        performance=_performance,
        signed_importance=_signed_importance,
        importance_text=_importance_text,
        csv_link=_link_table,
        direction=tell_direction,
        unbroken=_keep_units,
    )
    environment.globals.update(
        asset=_asset,
        few_objects=FEW_IN_GROUP,
        link_csv=link_csv,
        link_model_card=link_model_card,
        n_told=N_TOLD,
        list_sections=_list_sections,
        list_steps=list_steps,
        list_claim=list_claim,
        lay_out_explorer=lay_out_explorer,
        link_latex=_link_latex,
    )
    return environment


def _number(value: float, digits: int = 2) -> str:
    """Round a number; a dash where it does not exist."""
    return "–" if pd.isna(value) else f"{value:.{digits}f}"


def _points(value: float) -> str:
    """Write a difference of fractions in percentage points, with its sign."""
    return "–" if pd.isna(value) else f"{100 * value:+.1f}"


def _interval(limits: tuple[float, float], unit: Literal["percent", "points"] = "percent") -> str:
    """Write an interval; a dash where it does not exist."""
    lower, upper = limits
    write = percent if unit == "percent" else _points
    return "–" if pd.isna(lower) else f"{write(lower)} to {write(upper)}"


def _keep_units(text: str) -> str:
    """Keep a number and its sign of per cent in one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _signed_importance(feature: FeatureWeight) -> float:
    """Return the importance with the sign of the weight, where the model has weights."""
    return feature.importance if isnan(feature.weight) else copysign(feature.importance, feature.weight)


def _importance_text(feature: FeatureWeight) -> str:
    """Write the importance, with a sign only where it has one."""
    sign = "" if isnan(feature.weight) else "+"
    return f"{_signed_importance(feature):{sign}.3f}"


def _performance(table: PerformanceTable) -> Markup:
    """Lay out Table 1, which escapes names."""
    return Markup(format_table(table, "html"))


def write_latex(results: StudyResults) -> str:
    """Write Table 1 as LaTeX: as in the paper, the same of all consensus objects, and at the detector's thresholds."""
    tables = {
        "As in the paper, for reached consensus objects.": results.paper.of_reached,
        "As in the paper, for all consensus objects.": results.paper.of_all,
        "With the thresholds and the counting of the detector, for all consensus objects.": results.table,
    }
    return "\n".join(
        rf"""\begin{{table}}
\centering
{format_table(table, "latex")}\caption{{{caption}}}
\end{{table}}
"""
        for caption, table in tables.items()
    )


def _link_latex(table: PerformanceTable, name: str) -> Markup:
    """Make a link that saves Table 1 as ``name.tex``."""
    address = f"data:text/x-tex;charset=utf-8,{quote(format_table(table, 'latex'))}"
    return Markup(' <a class="tex" download="{}.tex" href="{}">LaTeX</a>').format(name, address)


def _link_table(html: str, name: str) -> Markup:
    """Give a table of the page a link that saves it."""
    return link_csv(read_cells_of_table(html), name)


def _label_svg(document: str, caption: str) -> Markup:
    """Embed an SVG document of ours, with a caption for screen readers."""
    drawing = document[document.index("<svg") :]
    return Markup(drawing.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1))


def _asset(name: str) -> Markup:
    """Return a file of this package that is CSS or a script already."""
    return Markup(files("overread.report").joinpath(name).read_text(encoding="utf-8"))


@dataclass(frozen=True, eq=False)
class GroupPart:
    """A group of the page: its name, and the parts of its own page."""

    group: str
    results: StudyResults
    figures: Mapping[str, str]
    pictures: Pictures
    head: RunHead


def render_groups(parts: Sequence[GroupPart], *, run: str) -> str:
    """Write the page."""
    head = replace(parts[0].head, run=run)
    return render_page("groups.html.j2", parts=parts, head=head)
