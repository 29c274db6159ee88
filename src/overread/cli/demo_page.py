"""The page at the end of `overread demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from overread.figures import empty_figure
from overread.froc import LambdaChoice, format_table
from overread.froc.plots import plot_froc, plot_lambda_choice
from overread.models import SoftMILPath
from overread.report import Page
from overread.truth import reader_statistics
from overread.truth.figures import marks_figure, readers_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from overread.cli.demo import DemoRun

__all__ = ["demo_page", "path_figure", "path_table"]

INFORMATIVE = "#D55E00"
NOISE = "#999999"


def path_table(path: SoftMILPath, choice: LambdaChoice) -> Table:
    """Every third penalty of the path, and the chosen one, for the terminal."""
    from rich.table import Table

    table = Table(title="The path: fewer features as lambda grows", title_justify="left")
    for column in ("lambda", "features", "objective", "KKT residual", "full passes over X", ""):
        table.add_column(column, justify="right")
    for index, report in enumerate(path.fit_reports_):
        chosen = index == choice.position
        if index % 3 == 0 or chosen:
            table.add_row(
                f"{report.lam:.3g}",
                str(report.n_features),
                f"{report.objective:.5f}",
                f"{report.kkt_residual:.0e}",
                f"{report.full_passes:.1f}",
                "chosen" if chosen else "",
                style="bold" if chosen else None,
            )
    return table


def path_figure(path: SoftMILPath, lam: float) -> Figure:
    """Coefficient of each feature against lambda."""
    figure = empty_figure(7.5, 3.8)
    axes = figure.subplots()
    names = path.feature_names_in_
    for is_informative in (False, True):
        columns = [j for j, name in enumerate(names) if name.startswith("informative") == is_informative]
        lines = axes.plot(
            path.lambdas_,
            path.coefs_[:, columns],
            color=INFORMATIVE if is_informative else NOISE,
            linewidth=1.4 if is_informative else 0.7,
        )
        lines[0].set_label("informative feature" if is_informative else "noise feature")
    axes.axvline(lam, color="black", linewidth=0.8, linestyle="--", label="chosen lambda")
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(xscale="log", xlabel="lambda", ylabel="coefficient")
    axes.invert_xaxis()
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def demo_page(run: DemoRun) -> Page:
    """Lay out the run."""
    page = Page(
        "Overread demo",
        "Simulated readers marked simulated lesions; there are no pixels and no patients here. What follows is "
        "the chain that runs on your own marks, candidates and features: marks, ground truth with soft labels, "
        "bags, the soft model with L1, FROC.",
    )
    _readers(page, run)
    _model(page, run)
    _performance(page, run)
    page.heading("Your own data")
    page.text("The commands (in .venv/bin of the clone), each with --help and an example:")
    page.code(
        "overread import FILE --mm-per-px 0.143 --out my_study\n"
        "    marks of Label Studio, CVAT, VinDr-CXR, LIDC, DICOM SR, COCO\n"
        "overread check my_study\n    every problem, by file and row\n"
        "overread merge my_study -o truth.csv\n    marks to ground truth with soft labels\n"
        "overread readers my_study\n    sensitivity, false positives and agreement of the readers\n"
        "overread froc scores.csv truth.csv --n-images 300\n    FROC with intervals, of any detector\n"
        "overread compare a.csv b.csv truth.csv --n-images 300\n    can two models be told apart?"
    )
    return page


def _readers(page: Page, run: DemoRun) -> None:
    marks, truth = run.cohort.marks, run.truth
    page.heading("Readers and ground truth")
    page.text(
        f"{len(marks)} marks by {run.cohort.readings['reader_id'].nunique()} readers on {len(run.cohort.images)} "
        f"images merge into {len(truth)} objects, {int(truth['golden'].sum())} of them golden (marked by at least "
        "two readers). The soft label of a golden object is the share of its image's readers who marked it; that of "
        "an object of a single reader is smaller (the paper, section 3)."
    )
    busiest = marks["image_id"].value_counts().index[:2].tolist()
    page.figure(
        marks_figure(marks, truth, busiest), "Marks in the colour of their reader, and the merged objects."
    )
    statistics = reader_statistics(marks, run.cohort.readings)
    page.figure(
        readers_figure(statistics), "Readings per image; sensitivity and false positives of each reader."
    )


def _model(page: Page, run: DemoRun) -> None:
    report, bags = run.model.fit_report_, run.parts["training + validation"]
    page.heading("The model")
    page.text(
        f"{len(bags)} bags with {bags.n_instances} candidates and {bags.n_features} features. Lambda "
        f"{run.choice.lam:.3g} was chosen on training and validation by the paper's rule; the model was then refitted "
        f"on both and has {report.n_features} features. Its optimality conditions hold to {report.kkt_residual:.0e} "
        "of lambda."
    )
    page.figure(
        path_figure(run.path, run.choice.lam),
        "Path of the coefficients: informative features enter first, noise when lambda is small.",
    )
    page.figure(
        plot_lambda_choice(run.choice), "Sensitivity on training and validation against lambda (Figure 3)."
    )
    chosen = np.flatnonzero(run.model.coef_[0])
    order = chosen[np.argsort(-np.abs(run.model.coef_[0, chosen]))]
    rows = "".join(
        f"<tr><td>{run.model.feature_names_in_[j]}</td><td>{run.model.coef_[0, j]:+.3f}</td></tr>"
        for j in order
    )
    page.table(f"<table><tr><th>feature</th><th>coefficient</th></tr>{rows}</table>")


def _performance(page: Page, run: DemoRun) -> None:
    page.heading("How good it is on unseen patients")
    page.text(
        "Thresholds are set on training + validation and carried to the test set, which gives the induced FP per "
        "image. Intervals are 95 %, by bootstrap over patients. Candidates on objects of a single reader count "
        "neither as hits nor as false positives."
    )
    page.figure(
        plot_froc({"Soft": (run.matchings["training + validation"], run.matchings["test"])}),
        "FROC: solid training + validation, dashed test, with its interval (Figure 4).",
    )
    page.table(format_table(run.table, "html"))
