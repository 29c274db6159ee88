"""Table 1 of the paper: models x {training + validation, test} x FP per image, with intervals; in three forms.

Thresholds come from the training + validation set at each FP target and are carried to the test set,
where they induce another FP per image (section 6.2). Sensitivities are fractions here and per cent when
printed; names are escaped for each form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from overread._text import escape_markdown, join_lines, markdown_table, percent, short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import bootstrap
from overread.froc._curve import check_targets, operating_points
from overread.froc._defaults import FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.froc._matching import Matching

TRAINING = '"training+validation" data'
TEST = "test data"
Objects = Literal["all", "reached"]
OF_OBJECTS: dict[Objects, str] = {"all": "", "reached": "; without objects that no candidate reaches"}


@dataclass(frozen=True, slots=True)
class Sensitivities:
    """One measure at every operating point, with limits where they were computed; NaN where undefined."""

    values: tuple[float, ...]
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class PerformanceRows:
    """One model on one set of images.

    ``induced`` says that the thresholds came from another set, so that FP per image is a result. The
    denominators are None where only percentages are known.
    """

    set_name: str
    induced: bool
    fp_per_image: tuple[float, ...]
    gt_sensitivity: Sensitivities
    image_sensitivity: Sensitivities
    n_images: int | None = None
    n_gts: int | None = None
    n_positive_images: int | None = None


@dataclass(frozen=True, slots=True)
class ModelPerformance:
    """One model: its name, what else is said of it, its number of features, its rows."""

    name: str
    rows: tuple[PerformanceRows, ...]
    note: str = ""
    n_features: int | None = None


@short_repr("models", "level", "rule")
@dataclass(frozen=True, slots=True)
class PerformanceTable:
    """The whole table; ``rule`` and ``counting`` say what a hit is and how hits were counted."""

    models: tuple[ModelPerformance, ...]
    level: float | None = None
    rule: str = ""
    counting: str = ""

    def __post_init__(self) -> None:
        lengths = {len(rows.fp_per_image) for model in self.models for rows in model.rows}
        if len(lengths) > 1:
            raise InvalidInputError(
                "a performance table needs the same number of operating points in every row"
            )


def performance_table(
    models: Mapping[str, tuple[Matching, Matching | None]],
    *,
    n_features: Mapping[str, int] | None = None,
    notes: Mapping[str, str] | None = None,
    thresholds_from: Mapping[str, Matching] | None = None,
    test_thresholds: ArrayLike | None = None,
    test_name: str = TEST,
    objects: Objects = "all",
    fp_targets: ArrayLike = FP_TARGETS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> PerformanceTable:
    """Make Table 1 from matched scores.

    Parameters
    ----------
    models : mapping
        By name: the training + validation set and the test set, or None instead of the latter.
    n_features, notes : mapping, optional
        By name: number of selected features, and what to print after the name (say "lambda=0.06").
    thresholds_from : mapping, optional
        By name: the training + validation set with out-of-fold scores, to take thresholds from it instead of
        from the in-sample scores.
    test_thresholds : array-like, optional
        Thresholds on the test set's own scale, one for each of ``fp_targets``, in place of those of training +
        validation: for scores by :func:`~overread.froc.to_fp_scale`.
    test_name : str, default=TEST
        What the test set is called.
    objects : str, default='all'
        Sensitivities are shares of ``"all"`` GTs and images with one, or, as in the paper (footnote of section 6.1), of
        those that some candidate ``"reached"``.
    fp_targets : array-like, default=FP_TARGETS
        FP per image of the thresholds.
    n_bootstrap, seed, level
        Bootstrap of the intervals: on training + validation the threshold is estimated again in each replicate, on
        the test set it is fixed. 0 replicates: no intervals.
    """
    targets = check_targets(fp_targets)
    if not models:
        raise InvalidInputError("a performance table needs at least one model")
    if objects not in OF_OBJECTS:
        raise InvalidInputError(f"objects={objects!r}: use one of {', '.join(map(repr, OF_OBJECTS))}")
    options: dict[str, Any] = {"objects": objects, "n_bootstrap": n_bootstrap, "seed": seed, "level": level}
    results = []
    for name, (training, test) in models.items():
        source = (thresholds_from or {}).get(name, training)
        thresholds = operating_points(source, fp_targets=targets)["threshold"].to_numpy()
        carried = thresholds if source is not training else None
        rows = [_rows_of(training, TRAINING, targets, carried, **options)]
        if test is not None:
            carried_to = thresholds if test_thresholds is None else test_thresholds
            rows.append(_rows_of(test, test_name, targets, carried_to, **options))
        note, n_selected = (notes or {}).get(name, ""), (n_features or {}).get(name)
        results.append(ModelPerformance(name, tuple(rows), note, n_selected))
    counting = next(iter(models.values()))[0].counting
    return PerformanceTable(
        models=tuple(results),
        level=level if n_bootstrap else None,
        rule="" if counting.rule is None else counting.rule.describe(),
        counting=f"candidates on single-reader objects: {counting.single_reader}{OF_OBJECTS[objects]}",
    )


def _rows_of(
    matching: Matching,
    set_name: str,
    targets: ArrayLike,
    thresholds: ArrayLike | None,
    *,
    objects: Objects,
    n_bootstrap: int,
    seed: int,
    level: float,
) -> PerformanceRows:
    """Rows of one set: at its own FP targets, or at thresholds that were carried to it."""
    where = {"fp_targets": targets} if thresholds is None else {"thresholds": thresholds}
    result = bootstrap(matching, n_bootstrap=max(n_bootstrap, 1), seed=seed, **where)
    sensitivities, totals = [], []
    for kind, items in (("gt", matching.targets()), ("image", matching.positive_images())):
        measure = f"{kind}_sensitivity" + ("_reached" if objects == "reached" else "")
        limits = result.interval_of(measure, level) if n_bootstrap else ()
        columns = (result.points[measure], *limits)
        sensitivities.append(Sensitivities(*(tuple(np.asarray(column).tolist()) for column in columns)))
        totals.append(int(items.reached.sum()) if objects == "reached" else len(items.reached))
    return PerformanceRows(
        set_name=set_name,
        induced=thresholds is not None,
        fp_per_image=tuple(result.points["fp_per_image"].tolist()),
        gt_sensitivity=sensitivities[0],
        image_sensitivity=sensitivities[1],
        n_images=matching.n_images,
        n_gts=totals[0],
        n_positive_images=totals[1],
    )


TableFormat = Literal["markdown", "html", "latex"]

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


def format_table(table: PerformanceTable, format: TableFormat) -> str:
    """Write the table in per cent, as the paper has them."""
    return FORMATS[format](table)


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
    width = 1 + len(table.models[0].rows[0].fp_per_image)
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
    width = 1 + len(table.models[0].rows[0].fp_per_image)
    lines = [rf"\begin{{tabular}}{{|{'l|' * width}}} \hline"]
    for model in table.models:
        name = rf"{{\bf {_latex_escape(_model_name(model))}}}"
        lines += [rf"\multicolumn{{{width}}}{{|c|}}{{{name} {_latex_escape(_features(model))}}} \\ \hline"]
        for rows in model.rows:
            (_, cells), *others = _all_rows(rows, table.level)
            lines += [
                rf"\multicolumn{{{width}}}{{|l|}}{{\sf {_latex_escape(rows.set_name)}}} \\ \hline",
                rf"& \multicolumn{{{width - 1}}}{{|c|}}{{{_fp_header(rows)}}} \\ \hline",
                _latex_row("", cells),
                *(_latex_row(_latex_escape(name), values) for name, values in others),
                r"\hline",
            ]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


FORMATS: dict[str, Callable[[PerformanceTable], str]] = {
    "markdown": _as_markdown,
    "html": _as_html,
    "latex": _as_latex,
}


def _fp_header(rows: PerformanceRows) -> str:
    return "induced FP per image" if rows.induced else "FP per image"


def _all_rows(rows: PerformanceRows, level: float | None) -> Iterator[tuple[str, list[str]]]:
    """Labels and cells: FP per image, then sensitivities and their intervals, in per cent."""
    yield _fp_header(rows), [f"{value:.2f}" for value in rows.fp_per_image]
    for label, measure in (
        ("Sensitivity", rows.gt_sensitivity),
        ("Image sensitivity", rows.image_sensitivity),
    ):
        yield label, [percent(value, 2) for value in measure.values]
        if level is not None and measure.lower is not None and measure.upper is not None:
            yield (
                f"{100 * level:g} % interval",
                [
                    "-" if np.isnan(low) else f"{percent(low, 1)}-{percent(high, 1)}"
                    for low, high in zip(measure.lower, measure.upper, strict=True)
                ],
            )


def _heading(model: ModelPerformance) -> str:
    """Name, note and number of features."""
    comma = "," if model.note and model.n_features is not None else ""
    return f"{_model_name(model)}{comma} {_features(model)}".strip()


def _model_name(model: ModelPerformance) -> str:
    """Name and note."""
    return f"{model.name}: {model.note}" if model.note else f"{model.name}:"


def _features(model: ModelPerformance) -> str:
    """Give the number of selected features."""
    return "" if model.n_features is None else f"{model.n_features} features"


def _sizes(rows: PerformanceRows) -> str:
    """Sizes of the set, if they are known."""
    if rows.n_images is None:
        return ""
    return f" ({rows.n_images} images, {rows.n_gts} objects in {rows.n_positive_images} of them)"


def _footnotes(table: PerformanceTable) -> list[str]:
    """Write the footnotes: hit rule, counting and intervals."""
    notes = [f"Hit: {table.rule}." if table.rule else "", f"{table.counting}." if table.counting else ""]
    intervals = "" if table.level is None else "; Wilson intervals, sized by bootstraps over patients"
    notes.append(f"Sensitivities in per cent{intervals}.")
    return [note[0].upper() + note[1:] for note in notes if note]


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
