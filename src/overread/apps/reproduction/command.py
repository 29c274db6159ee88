"""``overread reproduce``: the paper's experiment at the paper's size, compared with the paper.

Stainvas, Manevitch and Leichter, "Cancer Detection with Multiple Radiologists via Soft Multiple Instance Logistic
Regression and L1 Regularization": section 5.2 (counts), section 6.1 (lambda) and Table 1. Sensitivities are in per cent
of the consensus objects, or images, that a candidate reaches (its footnote in section 6.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from overread import __version__, simulate
from overread._commands import (
    WITH_BAD_IMAGES,
    OutputPath,
    at_least_one,
    print_plain,
    print_report,
    run_simulated,
)
from overread._terminal import ProgressBar, begin_work
from overread._text import markdown_table
from overread.errors import UsageError
from overread.files import write_atomically
from overread.froc import proportion_interval
from overread.report import ModelResult
from overread.study import (
    MODELS,
    Run,
    Settings,
    Split,
    carry_penalty,
    choose_by_paper,
    count_processors,
    fit_path,
    open_run,
)

BENCHMARK = "phantom-1978"
# The paper's number of images (section 6).
N_IMAGES = 1978
# Three parts of 20 images. Set by judgement.
FEWEST_IMAGES = 60
SETTINGS = """\
# The paper's experiment by the paper's rules.
preset = "paper"
seed = 0

[candidates]
limit = 60

# The baselines use the 400 features that are individually most informative; without this B2 alone takes half an hour.
[b1]
screen = 400
prune_bounds = [1e2, 1e4]

[b2]
screen = 400
prune_bounds = [1e2, 1e4]

[models]
folds = 3
"""


def reproduce(
    *,
    output: OutputPath = Path("reproduction"),
    backgrounds: Path | None = None,
    images_csv: Path | None = None,
    images: int | None = None,
    workers: int | None = None,
) -> int:
    """Repeat the paper's experiment on simulated images and compare its Table 1 with the paper's.

    By default on the benchmark phantom-1978, with the paper's number of images and about its number of marks. Run the
    same command again to continue after an interruption. Writes reproduction.md to the folder.

    Parameters
    ----------
    output
        Folder of the study.
    backgrounds
        Folder of real radiographs as backgrounds for the nodules, instead of phantoms.
    images_csv
        Table of the backgrounds: path or file, mm_per_px_x and mm_per_px_y, patient_id.
    images
        Number of images, for a trial; by default 1978.
    workers
        Number of worker processes; by default one per processor.
    """
    if images is not None and images < FEWEST_IMAGES:
        raise UsageError(
            f"--images {images}: give at least {FEWEST_IMAGES}; fewer images have too few objects for training"
        )
    at_least_one(workers=workers)
    if images_csv is not None and backgrounds is None:
        raise UsageError("--images-csv needs --backgrounds too")
    n_workers = count_processors() if workers is None else workers
    how: dict[str, Any] = {"format": "png", "workers": n_workers}

    def make() -> Path:
        if backgrounds is None and images is None:
            return simulate.benchmark(BENCHMARK, output, **how)
        how.update(backgrounds=backgrounds, images_csv=images_csv)
        return simulate.cohort(output, n_images=images or N_IMAGES, **how)

    report = run_simulated(make, SETTINGS, workers=n_workers)
    print_report(report)
    run = open_run(report.folder)
    with ProgressBar(), begin_work("lambda under each normalization", None):
        page = reproduction_page(run, normalization_rows(run))
    target = write_atomically(output / "reproduction.md", page.encode())
    print_plain(f"Comparison with the paper: {target}")
    return WITH_BAD_IMAGES if report.n_quarantined else 0


@dataclass(frozen=True)
class PaperSet:
    """One model on one set: FP per image, and both sensitivities in per cent of the reached objects and images.

    The paper does not give these numbers; ``n_gts`` and ``n_images`` are the smallest counts that give all its
    percentages (`tests/reproduce/test_page.py`).
    """

    n_gts: int
    n_images: int
    fp_per_image: tuple[float, ...]
    gt_sensitivity: tuple[float, ...]
    image_sensitivity: tuple[float, ...]


@dataclass(frozen=True)
class PaperModel:
    """One model of Table 1."""

    n_features: int
    training: PaperSet
    test: PaperSet


PAPER_LAMBDA = 0.06

PAPER_COUNTS: Mapping[str, int] = {
    "images": 1978,
    "images with a mark": 1072,
    "readers": 8,
    "marks": 2364,
    "golden GTs": 322,
    "features": 1150,
}

# Objects, and images with one, that a candidate reaches: 307 of the 322 consensus objects.
PAPER_TRAINING = (203, 140)
PAPER_TEST = (104, 77)

PAPER_MODELS: Mapping[str, PaperModel] = {
    "soft": PaperModel(
        67,
        PaperSet(
            *PAPER_TRAINING,
            (0.50, 1.00, 1.50, 2.00, 2.50, 3.00),
            (49.75, 58.62, 62.56, 66.01, 70.44, 71.92),
            (57.14, 64.29, 67.14, 70.00, 75.71, 75.71),
        ),
        PaperSet(
            *PAPER_TEST,
            (0.58, 1.19, 1.69, 2.24, 2.84, 3.37),
            (44.23, 55.77, 64.42, 67.31, 71.15, 75.96),
            (54.55, 62.34, 72.73, 75.32, 79.22, 80.52),
        ),
    ),
    "b1": PaperModel(
        88,
        PaperSet(
            *PAPER_TRAINING,
            (0.50, 1.00, 1.50, 2.00, 2.50, 3.00),
            (50.25, 60.10, 65.52, 68.47, 73.40, 74.38),
            (58.57, 67.14, 70.71, 72.86, 75.71, 77.14),
        ),
        PaperSet(
            *PAPER_TEST,
            (0.54, 1.07, 1.62, 2.13, 2.70, 3.17),
            (47.12, 57.69, 63.46, 68.27, 69.23, 70.19),
            (55.84, 63.64, 70.13, 76.62, 77.92, 77.92),
        ),
    ),
    "b2": PaperModel(
        203,
        PaperSet(
            *PAPER_TRAINING,
            (0.50, 1.00, 1.49, 1.99, 2.48, 3.00),
            (53.20, 64.53, 72.91, 74.88, 76.35, 79.80),
            (60.71, 67.14, 77.14, 79.29, 80.71, 82.86),
        ),
        PaperSet(
            *PAPER_TEST,
            (0.61, 1.14, 1.75, 2.23, 2.70, 3.28),
            (47.12, 60.58, 66.35, 70.19, 77.88, 78.85),
            (54.55, 66.23, 72.73, 76.62, 84.42, 84.42),
        ),
    ),
}


MEASURES = {"gt_sensitivity": "GT sensitivity", "image_sensitivity": "Image sensitivity"}
TREATMENTS = {
    "fp": "candidates on single-reader GTs are false positives",
    "ignore": "candidates on single-reader GTs are not counted",
}


@dataclass(frozen=True)
class NormalizationRow:
    """One way to normalize the objective (paper, section 4.1).

    Attributes
    ----------
    normalization, divide_by_features
        Normalization of the model.
    lambda_max
        Smallest penalty without features, on training.
    chosen, n_features
        Penalty that the paper's rule chooses on this path, and features of the refitted model.
    at_paper
        Features of the model refitted with the paper's penalty; None if that is below the end of the path, whose model
        has `at_end` features.
    at_end
        Features at the end of the path.
    """

    normalization: str
    divide_by_features: bool
    lambda_max: float
    chosen: float
    n_features: int
    at_paper: int | None
    at_end: int


def normalization_rows(run: Run) -> list[NormalizationRow]:
    """Choose lambda for each normalization of the run, with and without the division by d.

    Dividing the penalty by the number of features d multiplies every lambda of a path by d and does not change its
    models.
    """
    cohort, settings = run.cohort, _divide_penalty(run.settings, divide=False)
    training, merged = cohort.split("training"), cohort.split("training", "validation")
    rows = []
    for name in settings.soft.normalizations:
        path = fit_path(training, settings, name)
        choice = choose_by_paper(cohort, settings, {name: path})
        refitted = carry_penalty(choice.alpha, name, [training], merged)
        n_features = _count_selected(merged, refitted, name, settings)
        for divide, d in ((False, 1), (True, path.n_features_in_)):
            at_paper = None
            if PAPER_LAMBDA / d >= path.alphas_[-1]:
                own = _divide_penalty(settings, divide=divide)
                at_paper = _count_selected(merged, PAPER_LAMBDA, name, own)
            largest, chosen = float(path.alpha_max_) * d, choice.alpha * d
            at_end = int(path.n_features_[-1])
            rows.append(NormalizationRow(name, divide, largest, chosen, n_features, at_paper, at_end))
    return rows


def _count_selected(merged: Split, alpha: float, normalization: str, settings: Settings) -> int:
    """Count the features of the soft model with a penalty, fitted to training + validation."""
    plug = MODELS["soft"]
    model = plug.build({"lam": alpha, "normalization": normalization}, settings)
    plug.fit(model, merged)
    return int(model.fit_report_.n_features)


def _divide_penalty(settings: Settings, *, divide: bool) -> Settings:
    """Return settings whose penalty is, or is not, divided by the number of features."""
    soft = settings.soft.model_copy(update={"divide_by_features": divide})
    return settings.model_copy(update={"soft": soft})


def reproduction_page(run: Run, rows: Sequence[NormalizationRow]) -> str:
    """Write the comparison with the paper as Markdown."""
    results = run.results
    parts = [
        "# This run compared with the paper",
        f"overread {__version__}, seed {results.seed}. A hit: {results.rule}. Intervals: {100 * results.level:g} %, "
        f"{results.n_bootstrap} bootstraps over patients. The paper's numbers are from its section 5.2 and its "
        "Table 1, with Wilson intervals for as many independent objects; its images are not public, these are "
        "simulated.",
        "## The cohort",
        _counts_table(run),
        "## Number of features",
        markdown_table(
            ("", *(model.title for model in results.models)),
            [
                (
                    "paper",
                    *(
                        str(PAPER_MODELS[m.name].n_features) if m.name in PAPER_MODELS else "–"
                        for m in results.models
                    ),
                ),
                ("this run", *(str(model.n_features) for model in results.models)),
            ],
        ),
    ]
    for treatment, words in TREATMENTS.items():
        parts += [f"## Table 1, {words}"]
        parts += [part for model in results.models for part in _model_tables(model, treatment)]
    parts += ["## Normalization", _normalization_words(rows), _normalization_table(rows)]
    return "\n\n".join(parts) + "\n"


def _counts_table(run: Run) -> str:
    """Tabulate the counts of section 5.2."""
    study = run.results.study
    counts = {
        "images": study.n_images,
        "images with a mark": study.n_marked_images,
        "readers": study.n_readers,
        "marks": study.n_marks,
        "golden GTs": study.n_golden,
        "features": study.n_features,
    }
    return markdown_table(
        ("", "paper", "this run"),
        [(name, f"{PAPER_COUNTS[name]:,}", f"{value:,}") for name, value in counts.items()],
    )


def _model_tables(model: ModelResult, treatment: str) -> list[str]:
    """Both sets of one model; thresholds are from in-sample scores, as in the paper."""
    counted = next(one for one in model.counted if one.single_reader == treatment)
    paper = PAPER_MODELS.get(model.name)
    locked = counted.locked[counted.locked["source"] == "in_sample"]
    test = counted.test
    return [
        f"**{model.title}, training + validation**",
        _set_table(paper.training if paper else None, counted.training.band, induces=False),
        f"**{model.title}, test** ({test.n_images} images; {test.n_gts} golden GTs, {test.n_gts_reached} of them "
        f"reached by a candidate; {test.n_positive_images} images with one, {test.n_positive_images_reached} of them "
        "reached)",
        _set_table(paper.test if paper else None, locked, induces=True),
    ]


def _set_table(paper: PaperSet | None, rows: pd.DataFrame, *, induces: bool) -> str:
    """One set: the paper's rows if it has the model, and the run's for reached and for all consensus objects."""
    targets = PAPER_MODELS["soft"].training.fp_per_image
    lines: list[tuple[str, ...]] = []
    if paper is not None:
        lines.append(("FP per image, paper", *(f"{fp:.2f}" for fp in paper.fp_per_image)))
    if induces:
        own = _rows_at(rows, "fp_per_image", targets)
        lines.append(("FP per image, this run", *(f"{row['estimate']:.2f}" for row in own)))
    for measure, title in MEASURES.items():
        if paper is not None:
            n = paper.n_gts if measure == "gt_sensitivity" else paper.n_images
            told = (_with_own_interval(value, n) for value in getattr(paper, measure))
            lines.append((f"{title}, paper, of reached", *told))
        for name, words in ((f"{measure}_reached", "of reached"), (measure, "of all")):
            own = _rows_at(rows, name, targets)
            lines.append((f"{title}, this run, {words}", *(_with_interval(row) for row in own)))
    return markdown_table(("threshold at", *(f"{fp:g}" for fp in targets)), lines)


def _rows_at(rows: pd.DataFrame, measure: str, targets: Iterable[float]) -> list[dict[str, float]]:
    """Rows of a measure at the FP targets, in their order."""
    own: list[Any] = rows[rows["measure"] == measure].to_dict("records")
    by_target = {row["fp_target"]: row for row in own}
    return [by_target[target] for target in targets]


def _with_interval(row: dict[str, float]) -> str:
    """Per cent with limits."""
    value, low, high = (row[name] for name in ("estimate", "lower", "upper"))
    if isnan(value):
        return "–"
    limits = "" if isnan(low) or isnan(high) else f" ({100 * low:.0f}–{100 * high:.0f})"
    return f"{100 * value:.1f}{limits}"


def _with_own_interval(per_cent: float, n: int) -> str:
    """Per cent of the paper with the limits for this number of independent objects."""
    low, high = proportion_interval(round(per_cent * n / 100), n)
    return _with_interval({"estimate": per_cent / 100, "lower": float(low), "upper": float(high)})


def _normalization_words(rows: Sequence[NormalizationRow]) -> str:
    """Summarize the table, and name the row closest to the paper."""
    said = (
        f"The paper does not say how it normalizes the objective. It reports lambda = {PAPER_LAMBDA} with "
        f"{PAPER_MODELS['soft'].n_features} features. The rule chooses lambda on each path separately; the models are "
        "then refitted on training + validation."
    )
    known = [row for row in rows if row.at_paper is not None]
    if not known:
        return f"{said} The paper's lambda lies below the end of every path."
    nearest = min(known, key=lambda row: abs((row.at_paper or 0) - PAPER_MODELS["soft"].n_features))
    divided = ", penalty divided by d" if nearest.divide_by_features else ""
    return f"{said} At the paper's lambda, {nearest.normalization}{divided} is closest: {nearest.at_paper} features."


def _normalization_table(rows: Sequence[NormalizationRow]) -> str:
    """Table with one row per normalization."""
    header = ("normalization", "penalty divided by d", "lambda_max", "chosen lambda", "features there")
    return markdown_table(
        (*header, f"features at lambda = {PAPER_LAMBDA}"),
        [
            (
                row.normalization,
                "yes" if row.divide_by_features else "no",
                f"{row.lambda_max:.3g}",
                f"{row.chosen:.3g}",
                str(row.n_features),
                f"more than {row.at_end}" if row.at_paper is None else str(row.at_paper),
            )
            for row in rows
        ],
    )
