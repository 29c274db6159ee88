"""The page of a study: templates over its results, escaped throughout, one file that fetches nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import copysign, isnan
from typing import Any, Literal

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from overread.froc import format_table, verdict
from overread.report.answer import give_answer
from overread.report.claim import list_claim
from overread.report.csv_links import link_csv, read_cells_of_table
from overread.report.flow import lay_out_flow
from overread.report.froc_explorer import lay_out_explorer, list_steps
from overread.report.head import RunHead
from overread.report.lengths import find_crop_side, name_unit
from overread.report.model_card import link_model_card
from overread.report.pictures import Pictures
from overread.report.results import FeatureWeight, StudyResults, Table1
from overread.report.words import (
    FEW_IN_GROUP,
    N_TOLD,
    count,
    find_comparisons,
    find_mixture,
    is_nested,
    list_cards,
    list_facts,
    list_limits,
    name_fp,
    name_size_range,
    name_table,
    percent,
    tell_decisions,
    tell_direction,
    tell_gallery,
    tell_intervals,
    tell_method,
    tell_use,
    where_measured,
)

__all__ = ["render_page", "render_study"]


def render_study(results: StudyResults, figures: Mapping[str, str], pictures: Pictures, head: RunHead) -> str:
    """Write the page of a run.

    Parameters
    ----------
    results
        Every number on the page.
    figures
        SVG documents by name, as `draw_figures` gives them; one that is missing is left out.
    pictures
        Crops for the gallery, as `cut_pictures` gives them.
    head
        Names, id and date of the run.
    """
    return render_page("study.html.j2", results=results, figures=figures, pictures=pictures, head=head)


def render_page(template: str, **values: Any) -> str:
    """Write a page of a template that extends ``page.html.j2``; ``head`` is among the values."""
    return _make_environment().get_template(template).render(**values)


def list_sections(results: StudyResults, pictures: Pictures) -> list[tuple[str, str]]:
    """List the sections that the page of a run has: heading and template.

    First what the detector is worth and for whom, then where it comes from.
    """
    has_gallery = pictures.hits or pictures.misses or pictures.false_positives
    every = [
        ("Summary", "summary", True),
        ("Intended use and data", "use", True),
        ("From files to parts", "flow", True),
        ("Performance on unseen patients", "performance", True),
        ("Groups of images", "subgroups", results.subgroups),
        (f"Gallery of {where_measured(results)}", "gallery", has_gallery),
        ("Can the models be told apart?", "comparisons", find_comparisons(results)),
        ("Calibration", "calibration", results.models),
        ("Readers", "readers", True),
        ("Ground truth", "truth", True),
        ("Features", "features", True),
        ("Choice of settings", "choice", True),
        ("Importance of the readers", "importance", find_mixture(results) is not None),
        ("CLAIM checklist", "claim", True),
    ]
    return [(heading, template) for heading, template, is_there in every if is_there]


@cache
def _make_environment() -> Environment:
    """Make what fills templates, with the filters and functions that they use."""
    environment = Environment(
        loader=PackageLoader("overread.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent,
        number=_number,
        points=_points,
        interval=_interval,
        rows=_rows,
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
        lay_out_flow=lay_out_flow,
        list_sections=list_sections,
        list_steps=list_steps,
        tell_use=tell_use,
        count=count,
        find_crop_side=find_crop_side,
        name_unit=name_unit,
        name_fp=name_fp,
        list_cards=list_cards,
        give_answer=give_answer,
        list_facts=list_facts,
        list_limits=list_limits,
        list_claim=list_claim,
        lay_out_explorer=lay_out_explorer,
        name_table=name_table,
        find_comparisons=find_comparisons,
        find_mixture=find_mixture,
        is_nested=is_nested,
        tell_decisions=tell_decisions,
        tell_gallery=tell_gallery,
        tell_intervals=tell_intervals,
        tell_method=tell_method,
        where_measured=where_measured,
        verdict=verdict,
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


def _rows(table: pd.DataFrame) -> list[Any]:
    """Return rows with the columns as attributes."""
    return list(table.itertuples(index=False))


def _signed_importance(feature: FeatureWeight) -> float:
    """Return the importance with the sign of the weight, where the model has weights."""
    return feature.importance if isnan(feature.weight) else copysign(feature.importance, feature.weight)


def _importance_text(feature: FeatureWeight) -> str:
    """Write the importance, with a sign only where it has one."""
    sign = "" if isnan(feature.weight) else "+"
    return f"{_signed_importance(feature):{sign}.3f}"


def _performance(table: Table1) -> Markup:
    """Lay out Table 1, which escapes its own names."""
    return Markup(format_table(table.table, "html"))


def _link_table(html: str, name: str) -> Markup:
    """Give a table of the page a link that saves it."""
    return link_csv(read_cells_of_table(html), name)


def _label_svg(document: str, caption: str) -> Markup:
    """Make an SVG document of ours a part of the page, with a caption for those who cannot see it."""
    drawing = document[document.index("<svg") :]
    return Markup(drawing.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1))


def _asset(name: str) -> Markup:
    """Return a file of this package that is CSS or a script already."""
    return Markup(files("overread.report").joinpath(name).read_text(encoding="utf-8"))
