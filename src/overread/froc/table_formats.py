"""The performance table as text, Markdown, HTML, LaTeX and JSON; names are escaped for each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from html import escape
from typing import Any, Literal

from overread.errors import InvalidInputError
from overread.froc.table import ModelPerformance, PerformanceRows, PerformanceTable, fp_header, printed_rows

__all__ = ["TableFormat", "format_table"]

TableFormat = Literal["text", "markdown", "html", "latex", "json"]

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def format_table(table: PerformanceTable, format: TableFormat = "text") -> str:
    """Print the table; JSON has fractions, the others per cent as the paper has them."""
    if format not in FORMATS:
        raise InvalidInputError(f"format={format!r}: use one of {', '.join(FORMATS)}")
    return FORMATS[format](table)


def as_text(table: PerformanceTable) -> str:
    """Columns aligned by blanks."""
    lines = []
    for model in table.models:
        lines += ["", one_line(heading(model))]
        for rows in model.rows:
            lines += ["", f"  {rows.set_name}{sizes(rows)}"]
            lines += [
                f"  {label:<21}" + "".join(f"{cell:>11}" for cell in cells)
                for label, cells in all_rows(rows, table.level)
            ]
    return "\n".join([*lines[1:], "", *footnotes(table)]).rstrip() + "\n"


def as_markdown(table: PerformanceTable) -> str:
    """One Markdown table a model and set."""
    lines = []
    for model in table.models:
        lines += ["", f"**{markdown_escape(heading(model))}**"]
        for rows in model.rows:
            (label, cells), *others = all_rows(rows, table.level)
            lines += ["", markdown_escape(rows.set_name + sizes(rows)), ""]
            lines += [markdown_row([label, *cells]), "|---|" + "---:|" * len(cells)]
            lines += [markdown_row([name, *values]) for name, values in others]
    return "\n".join([*lines[1:], "", *map(markdown_escape, footnotes(table))]).rstrip() + "\n"


def as_html(table: PerformanceTable) -> str:
    """One HTML table; its look is the page's business (class "performance")."""
    width = 1 + n_points(table)
    body = []
    for model in table.models:
        body.append(f'<tr class="model"><th colspan="{width}">{escape(heading(model))}</th></tr>')
        for rows in model.rows:
            title = escape(rows.set_name + sizes(rows))
            body.append(f'<tr class="set"><th colspan="{width}">{title}</th></tr>')
            (label, cells), *others = all_rows(rows, table.level)
            body.append(html_row(label, cells, "th"))
            body += [html_row(name, values, "td") for name, values in others]
    notes = "<br>".join(escape(note) for note in footnotes(table))
    foot = f'<tfoot><tr><td colspan="{width}">{notes}</td></tr></tfoot>' if notes else ""
    return '<table class="performance">\n' + "\n".join(body) + f"\n{foot}</table>\n"


def as_latex(table: PerformanceTable) -> str:
    """Lay it out as the paper does, as a tabular."""
    width = 1 + n_points(table)
    lines = [rf"\begin{{tabular}}{{|{'l|' * width}}} \hline"]
    for model in table.models:
        name = rf"{{\bf {latex_escape(model_name(model))}}}"
        lines += [rf"\multicolumn{{{width}}}{{|c|}}{{{name} {latex_escape(features(model))}}} \\ \hline"]
        for rows in model.rows:
            (_, cells), *others = all_rows(rows, table.level)
            lines += [
                rf"\multicolumn{{{width}}}{{|l|}}{{\sf {latex_escape(rows.set_name)}}} \\ \hline",
                rf"& \multicolumn{{{width - 1}}}{{|c|}}{{{fp_header(rows)}}} \\ \hline",
                latex_row("", cells),
                *(latex_row(latex_escape(name), values) for name, values in others),
                r"\hline",
            ]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def as_json(table: PerformanceTable) -> str:
    """Everything the table holds; fractions, null where undefined."""
    return json.dumps(without_nan(asdict(table)), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS: dict[str, Callable[[PerformanceTable], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "html": as_html,
    "latex": as_latex,
    "json": as_json,
}


def all_rows(rows: PerformanceRows, level: float | None) -> Iterator[tuple[str, list[str]]]:
    """FP per image, then sensitivities and their intervals."""
    yield fp_header(rows), [f"{value:.2f}" for value in rows.fp_per_image]
    yield from printed_rows(rows, level)


def heading(model: ModelPerformance) -> str:
    """Name, note and number of features."""
    return f"{model_name(model)} {features(model)}".strip()


def model_name(model: ModelPerformance) -> str:
    """Name and note."""
    return f"{model.name}: {model.note}" if model.note else f"{model.name}:"


def features(model: ModelPerformance) -> str:
    """Tell the number of selected features in the paper's words."""
    return "" if model.n_features is None else f"Number selected features {model.n_features}"


def sizes(rows: PerformanceRows) -> str:
    """Sizes of the set, where they are known."""
    if rows.n_images is None:
        return ""
    return f" ({rows.n_images} images, {rows.n_gts} GTs in {rows.n_positive_images} of them)"


def footnotes(table: PerformanceTable) -> list[str]:
    """Say what a hit is, how hits are counted, what the intervals are."""
    notes = [f"Hit: {table.rule}." if table.rule else "", f"{table.counting}." if table.counting else ""]
    if table.level is not None:
        notes.append("Sensitivities in per cent; intervals by bootstrap over patients.")
    return [note[0].upper() + note[1:] for note in notes if note]


def n_points(table: PerformanceTable) -> int:
    """Count the operating points."""
    return max((len(rows.fp_per_image) for model in table.models for rows in model.rows), default=0)


def html_row(label: str, cells: list[str], tag: str) -> str:
    """One row of an HTML table."""
    inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr><th>{escape(label)}</th>{inner}</tr>"


def markdown_row(cells: list[str]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(markdown_escape(cell) for cell in cells) + " |"


def latex_row(label: str, cells: list[str]) -> str:
    """One row of a tabular; a range gets an en dash."""
    return (
        " & ".join([label, *(cell.replace("-", "--") if len(cell) > 1 else cell for cell in cells)]) + r" \\"
    )


def latex_escape(text: str) -> str:
    """Text without LaTeX's active characters."""
    return "".join(LATEX.get(character, character) for character in one_line(text))


def markdown_escape(text: str) -> str:
    """Text without Markdown's active characters."""
    return "".join("\\" + c if c in r"\`*_{}[]<>|#" else c for c in one_line(text))


def one_line(text: str) -> str:
    """Text without line breaks and control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def without_nan(value: Any) -> Any:
    """Replace numbers that JSON does not know by null."""
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
