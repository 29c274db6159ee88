"""The page of a reader study, in the report's style: what the detector changed, for whom, at what cost of time."""

from __future__ import annotations

from math import isnan

from overread import __version__
from overread.files.records import to_json
from overread.froc.plots import plot_reader_study
from overread.reading.reader_study import Comparison
from overread.report import head_run
from overread.report.figures import write_svg
from overread.report.render import render_page
from overread.truth import HIT
from overread.words import difference_with_limits, percent_with_limits

__all__ = ["list_cautions", "render_reader_study", "tell_result"]

DESIGNS = {
    "sequential": (
        "Each image was read without the detector, locked, and read again at once with its marks. The readings with "
        "the detector start from those without it, so they hold what a reader had found already."
    ),
    "independent": (
        "Each image was read without the detector in one session and with its marks in a later one, in another order."
    ),
}


def render_reader_study(study_name: str, comparison: Comparison) -> str:
    """Write the page.

    Parameters
    ----------
    study_name
        Name of the study.
    comparison
        Every number on the page.
    """
    head = head_run(study_name, "reader-study", to_json([comparison.readers, comparison.decisions]))
    drawn = comparison.study
    figure = "" if drawn is None else write_svg("reader_study", lambda: plot_reader_study(drawn))
    return render_page(
        "reader_study.html.j2",
        head=head,
        version=__version__,
        comparison=comparison,
        design=DESIGNS.get(comparison.design, ""),
        rule=HIT.describe(),
        result=tell_result(comparison),
        cautions=list_cautions(comparison),
        figure=figure,
        reader_rows=reader_rows(comparison),
    )


def tell_result(comparison: Comparison) -> str:
    """Say in one sentence or two what the comparison shows."""
    study = comparison.study
    if study is None:
        return f"The two ways to read cannot be compared by a test: {comparison.why_no_study}."
    gain = study.differences[0]
    if isnan(study.p_value) and not gain.estimate:
        return (
            f"{study.figure} of every reader is the same without and with the detector: the two ways to read are "
            "identical here, and there is nothing to test."
        )
    numbers = difference_with_limits(gain.estimate, gain.lower, gain.upper)
    p = (
        "no p-value: the data give no estimate of error"
        if isnan(study.p_value)
        else f"p = {study.p_value:.3g}"
    )
    base = f"Aided minus unaided, {study.figure} differs by {numbers}; {p}."
    if isnan(study.p_value) or study.p_value >= 1.0 - study.level:
        return f"{base} That is not proof that the detector helps, nor that it does not."
    return f"{base} The readers read {'better' if gain.estimate > 0 else 'worse'} with the detector."


def list_cautions(comparison: Comparison) -> list[str]:
    """Say what speaks against the result, to stand right under it."""
    said = []
    if not comparison.reference.is_independent:
        said.append(
            f"What was to be found is {comparison.reference.words}: that reference is made of the readings that it "
            "judges, which flatters the reading without the detector. Give an independent one with --truth."
        )
    if comparison.n_trained_on:
        said.append(
            f"The detector was trained on {comparison.n_trained_on} of these images: what it adds there "
            "does not show what it adds in new ones."
        )
    if comparison.n_unrated:
        n_unrated = comparison.n_unrated
        marks = (
            "1 mark without a confidence counts"
            if n_unrated == 1
            else f"{n_unrated} marks without a confidence count"
        )
        said.append(f"{marks} as 100, as sure as can be.")
    return said


def reader_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Table of the readers, as text."""
    return [
        (
            row.reader,
            row.arm,
            f"{row.n_found} of {row.n_objects}",
            percent_with_limits(row.sensitivity, row.lower, row.upper),
            f"{row.fp_per_image:.2f}",
            "–" if isnan(row.figure) else f"{row.figure:.3f}",
            "–" if isnan(row.median_seconds) else f"{row.median_seconds:.0f}",
        )
        for row in comparison.readers
    ]
