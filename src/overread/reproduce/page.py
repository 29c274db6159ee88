"""A run beside the paper: Table 1, the counts of the cohort, and what each normalization makes of lambda."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from overread import __version__
from overread.reproduce.paper import PAPER_COUNTS, PAPER_LAMBDA, PAPER_MODELS, PaperSet
from overread.study.cohort import Part
from overread.study.finished import FinishedRun
from overread.study.fits import choose, fit_soft
from overread.study.results import Counted, ModelResult, Rows
from overread.study.settings import Settings

__all__ = ["NormalizationRow", "normalization_rows", "reproduction_page"]

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
        Of the model.
    lambda_max
        Smallest penalty without any feature, on training.
    chosen, n_features
        Penalty that the paper's rule chooses on this path alone, and features of the refitted model.
    at_paper
        Features of the model refitted with the paper's penalty; None where that lies below the end of the path,
        whose model has `at_end` features.
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


def normalization_rows(run: FinishedRun) -> list[NormalizationRow]:
    """Choose lambda for each normalization of the run by itself, with and without the division by d.

    Dividing the penalty by the number of features d multiplies every lambda of a path by d and leaves its models as
    they are.
    """
    cohort, settings = run.cohort(with_features=True), run.settings
    training, validation = cohort.part("training"), cohort.part("validation")
    merged = cohort.part("training", "validation")
    rows = []
    for name in settings.soft.normalizations:
        path = run.model(f"path_{name}")
        choice = choose({name: path}, training, validation, settings)
        n_features = fit_soft(merged, choice.lam, name, settings).fit_report_.n_features
        at_end, end = int(path.n_features_[-1]), float(path.lambdas_[-1])
        for divide, d in ((False, 1), (True, path.n_features_in_)):
            in_reach = PAPER_LAMBDA / d >= end
            rows.append(
                NormalizationRow(
                    name,
                    divide,
                    float(path.lambda_max_) * d,
                    choice.lam * d,
                    n_features,
                    features_at_paper(merged, name, settings, divide=divide) if in_reach else None,
                    at_end,
                )
            )
    return rows


def features_at_paper(merged: Part, normalization: str, settings: Settings, *, divide: bool) -> int:
    """Count the features of the model with the paper's lambda, fitted to training + validation."""
    soft = settings.soft.model_copy(update={"divide_by_features": divide})
    model = fit_soft(merged, PAPER_LAMBDA, normalization, settings.model_copy(update={"soft": soft}))
    return int(model.fit_report_.n_features)


def reproduction_page(run: FinishedRun, rows: Sequence[NormalizationRow]) -> str:
    """Write the run beside the paper, as Markdown."""
    results = run.results
    parts = [
        "# This run beside the paper",
        f"overread {__version__}, seed {results.seed}. A hit: {results.rule}. Intervals: {100 * results.level:g} %, "
        f"{results.n_bootstrap} bootstraps over patients. The paper's numbers are those of its section 5.2 and its "
        "Table 1; its images are not public, these are simulated.",
        "## The cohort",
        counts_table(run),
        "## Number of features",
        markdown(
            ("", *(model.title for model in results.models)),
            [
                ("paper", *(str(PAPER_MODELS[model.name].n_features) for model in results.models)),
                ("this run", *(str(model.n_features) for model in results.models)),
            ],
        ),
    ]
    for treatment, words in TREATMENTS.items():
        parts += [f"## Table 1, {words}"]
        parts += [part for model in results.models for part in model_tables(model, treatment)]
    parts += ["## Normalization", normalization_words(rows), normalization_table(rows)]
    return "\n\n".join(parts) + "\n"


def counts_table(run: FinishedRun) -> str:
    """Tabulate the counts of section 5.2."""
    study = run.results.study
    counts = {
        "images": study.n_images,
        "images with a mark": int(run.table("marks")["image_id"].nunique()),
        "readers": study.n_readers,
        "marks": study.n_marks,
        "golden GTs": study.n_golden,
        "features": study.n_features,
    }
    return markdown(
        ("", "paper", "this run"),
        [(name, f"{PAPER_COUNTS[name]:,}", f"{value:,}") for name, value in counts.items()],
    )


def model_tables(model: ModelResult, treatment: str) -> list[str]:
    """Both sets of one model; thresholds come from the in-sample scores, as in the paper."""
    counted = next(one for one in model.counted if one.single_reader == treatment)
    paper = PAPER_MODELS[model.name]
    test = [row for row in counted.locked if row["source"] == "in_sample"]
    return [
        f"**{model.title}, training + validation**",
        set_table(paper.training, counted.training.band, None),
        f"**{model.title}, test** ({sizes(counted)})",
        set_table(paper.test, test, [row for row in test if row["measure"] == "fp_per_image"]),
    ]


def sizes(counted: Counted) -> str:
    """Denominators of the test set."""
    test = counted.test
    return (
        f"{test.n_images} images; {test.n_gts} golden GTs, {test.n_gts_reached} of them reached by a candidate; "
        f"{test.n_positive_images} images with one, {test.n_positive_images_reached} of them reached"
    )


def set_table(paper: PaperSet, rows: Rows, induced: Rows | None) -> str:
    """One set: the paper's rows, and the run's of reached and of all golden GTs."""
    targets = PAPER_MODELS["soft"].training.fp_per_image
    lines = [("FP per image, paper", *(f"{fp:.2f}" for fp in paper.fp_per_image))]
    if induced is not None:
        lines.append(("FP per image, this run", *(f"{row['estimate']:.2f}" for row in at(induced, targets))))
    for measure, title in MEASURES.items():
        lines.append((f"{title}, paper, of reached", *(f"{value:.1f}" for value in getattr(paper, measure))))
        for name, words in ((f"{measure}_reached", "of reached"), (measure, "of all")):
            own = at([row for row in rows if row["measure"] == name], targets)
            lines.append((f"{title}, this run, {words}", *(with_interval(row) for row in own)))
    return markdown(("threshold at", *(f"{fp:g}" for fp in targets)), lines)


def at(rows: Rows, targets: Iterable[float]) -> Rows:
    """Rows at the FP targets, in their order."""
    by_target = {row["fp_target"]: row for row in rows}
    return [by_target[target] for target in targets]


def with_interval(row: dict[str, float | None]) -> str:
    """Per cent with limits."""
    value, low, high = (row[name] for name in ("estimate", "lower", "upper"))
    if value is None:
        return "–"
    limits = "" if low is None or high is None else f" ({100 * low:.0f}–{100 * high:.0f})"
    return f"{100 * value:.1f}{limits}"


def normalization_words(rows: Sequence[NormalizationRow]) -> str:
    """Say what the table shows, and which row comes near the paper."""
    said = (
        f"The paper does not say how it normalizes the objective. It reports lambda = {PAPER_LAMBDA} with "
        f"{PAPER_MODELS['soft'].n_features} features. The rule chooses lambda on each path by itself; the models are "
        "then refitted on training + validation."
    )
    known = [row for row in rows if row.at_paper is not None]
    if not known:
        return f"{said} The paper's lambda lies below the end of every path."
    nearest = min(known, key=lambda row: abs((row.at_paper or 0) - PAPER_MODELS["soft"].n_features))
    divided = ", penalty divided by d" if nearest.divide_by_features else ""
    return f"{said} At the paper's lambda, {nearest.normalization}{divided} comes nearest: {nearest.at_paper} features."


def normalization_table(rows: Sequence[NormalizationRow]) -> str:
    """One row a normalization."""
    return markdown(
        (
            "normalization",
            "penalty divided by d",
            "lambda_max",
            "chosen lambda",
            "features there",
            f"features at lambda = {PAPER_LAMBDA}",
        ),
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


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table in Markdown."""
    lines = [header, ["---", *(["---:"] * (len(header) - 1))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
