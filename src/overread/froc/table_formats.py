"""The performance table as text, Markdown, HTML, LaTeX and JSON; names are escaped for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from html import escape
from typing import Literal

from overread.errors import InvalidInputError
from overread.files.strict_json import json_text
from overread.froc.table import ModelPerformance, PerformanceRows, PerformanceTable, format_rows, fp_header
from overread.words import escape_markdown, join_lines, markdown_table

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


def _as_text(table: PerformanceTable) -> str:
    """Columns aligned by blanks."""
    lines = []
    for model in table.models:
        lines += ["", join_lines(_heading(model))]
        for rows in model.rows:
            lines += ["", f"  {rows.set_name}{_sizes(rows)}"]
            lines += [
                f"  {label:<21}" + "".join(f"{cell:>11}" for cell in cells)
                for label, cells in _all_rows(rows, table.level)
            ]
    return "\n".join([*lines[1:], "", *_footnotes(table)]).rstrip() + "\n"


def _as_markdown(table: PerformanceTable) -> str:
    """One Markdown table a model and set."""
    lines = []
    for model in table.models:
        lines += ["", f"**{escape_markdown(_heading(model))}**"]
        for rows in model.rows:
            (label, cells), *others = _all_rows(rows, table.level)
            lines += ["", escape_markdown(rows.set_name + _sizes(rows)), ""]
            lines += [markdown_table([label, *cells], ([name, *values] for name, values in others))]
    return "\n".join([*lines[1:], "", *map(escape_markdown, _footnotes(table))]).rstrip() + "\n"


def _as_html(table: PerformanceTable) -> str:
    """One HTML table; its look is the page's business (class "performance")."""
    width = 1 + _n_points(table)
    body = []
    for model in table.models:
        body.append(f'<tr class="model"><th colspan="{width}">{escape(_heading(model))}</th></tr>')
        for rows in model.rows:
            title = escape(rows.set_name + _sizes(rows))
            body.append(f'<tr class="set"><th colspan="{width}">{title}</th></tr>')
            (label, cells), *others = _all_rows(rows, table.level)
            body.append(_html_row(label, cells, "th"))
            body += [_html_row(name, values, "td") for name, values in others]
    notes = "<br>".join(escape(note) for note in _footnotes(table))
    foot = f'<tfoot><tr><td colspan="{width}">{notes}</td></tr></tfoot>' if notes else ""
    return '<table class="performance">\n' + "\n".join(body) + f"\n{foot}</table>\n"


def _as_latex(table: PerformanceTable) -> str:
    """Lay it out as the paper does, as a tabular."""
    width = 1 + _n_points(table)
    lines = [rf"\begin{{tabular}}{{|{'l|' * width}}} \hline"]
    for model in table.models:
        name = rf"{{\bf {_latex_escape(_model_name(model))}}}"
        lines += [rf"\multicolumn{{{width}}}{{|c|}}{{{name} {_latex_escape(_features(model))}}} \\ \hline"]
        for rows in model.rows:
            (_, cells), *others = _all_rows(rows, table.level)
            lines += [
                rf"\multicolumn{{{width}}}{{|l|}}{{\sf {_latex_escape(rows.set_name)}}} \\ \hline",
                rf"& \multicolumn{{{width - 1}}}{{|c|}}{{{fp_header(rows)}}} \\ \hline",
                _latex_row("", cells),
                *(_latex_row(_latex_escape(name), values) for name, values in others),
                r"\hline",
            ]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def _as_json(table: PerformanceTable) -> str:
    """Everything the table holds; fractions, null where undefined."""
    return json_text(asdict(table), indent=2) + "\n"


FORMATS: dict[str, Callable[[PerformanceTable], str]] = {
    "text": _as_text,
    "markdown": _as_markdown,
    "html": _as_html,
    "latex": _as_latex,
    "json": _as_json,
}


def _all_rows(rows: PerformanceRows, level: float | None) -> Iterator[tuple[str, list[str]]]:
    """FP per image, then sensitivities and their intervals."""
    yield fp_header(rows), [f"{value:.2f}" for value in rows.fp_per_image]
    yield from format_rows(rows, level)


def _heading(model: ModelPerformance) -> str:
    """Name, note and number of features."""
    return f"{_model_name(model)} {_features(model)}".strip()


def _model_name(model: ModelPerformance) -> str:
    """Name and note."""
    return f"{model.name}: {model.note}" if model.note else f"{model.name}:"


def _features(model: ModelPerformance) -> str:
    """Tell the number of selected features in the paper's words."""
    return "" if model.n_features is None else f"Number selected features {model.n_features}"


def _sizes(rows: PerformanceRows) -> str:
    """Sizes of the set, where they are known."""
    if rows.n_images is None:
        return ""
    return f" ({rows.n_images} images, {rows.n_gts} GTs in {rows.n_positive_images} of them)"


def _footnotes(table: PerformanceTable) -> list[str]:
    """Say what a hit is, how hits are counted, what the intervals are."""
    notes = [f"Hit: {table.rule}." if table.rule else "", f"{table.counting}." if table.counting else ""]
    if table.level is not None:
        notes.append("Sensitivities in per cent; intervals by bootstrap over patients.")
    return [note[0].upper() + note[1:] for note in notes if note]


def _n_points(table: PerformanceTable) -> int:
    """Count the operating points."""
    return max((len(rows.fp_per_image) for model in table.models for rows in model.rows), default=0)


def _html_row(label: str, cells: list[str], tag: str) -> str:
    """One row of an HTML table."""
    inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr><th>{escape(label)}</th>{inner}</tr>"


def _latex_row(label: str, cells: list[str]) -> str:
    """One row of a tabular; a range gets an en dash."""
    return (
        " & ".join([label, *(cell.replace("-", "--") if len(cell) > 1 else cell for cell in cells)]) + r" \\"
    )


def _latex_escape(text: str) -> str:
    """Text without LaTeX's active characters."""
    return "".join(LATEX.get(character, character) for character in join_lines(text))
