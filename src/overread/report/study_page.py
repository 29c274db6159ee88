"""The page of a study, section by section, in the order of the flow of data."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd

from overread.froc import format_table, verdict
from overread.froc.plots import plot_calibration, plot_froc, plot_lambda_choice
from overread.models.plots import reader_importance_figure
from overread.report.claim import claim_rows
from overread.report.content import ModelContent, PairedComparison, StudyContent
from overread.report.froc_explorer import froc_explorer
from overread.report.gallery import gallery
from overread.report.page import Page, html_table
from overread.truth.plots import marks_figure, readers_figure

__all__ = ["study_page"]

N_FEATURES_SHOWN = 25
NO_LIMIT_MM = 500.0
POSITIVE, NEGATIVE = "#D55E00", "#0072B2"


def study_page(content: StudyContent) -> Page:
    """Lay out all results of a run."""
    page = Page(content.title, content.lead)
    summary(page, content)
    readers(page, content)
    truth(page, content)
    choice(page, content)
    performance(page, content)
    comparisons(page, content)
    importance(page, content)
    features(page, content)
    calibration(page, content)
    pictures(page, content)
    problems(page, content)
    claim(page, content)
    return page


def summary(page: Page, content: StudyContent) -> None:
    """Say what was run on what, and the answer in four numbers."""
    page.heading("Summary")
    page.cards(headline(content))
    page.table(html_table(("what", "value"), content.facts, words=("value",)))
    for limit in content.limits:
        page.note(limit)


def headline(content: StudyContent) -> list[tuple[str, str]]:
    """Give the first model's locked operating point nearest to 1 FP per image, and its size."""
    model = content.table_out_of_fold.models[0]
    rows = model.rows[-1]
    index = int(np.argmin(np.abs(np.array(content.fp_targets) - 1)))
    target = f"{content.fp_targets[index]:g}"
    gt, image = rows.gt_sensitivity, rows.image_sensitivity
    return [
        (
            percent(gt.values[index]),
            f"of {rows.n_gts} golden objects of the test set found{limits_of(gt, index, content.level)}",
        ),
        (
            percent(image.values[index]),
            f"of {rows.n_positive_images} images with one found{limits_of(image, index, content.level)}",
        ),
        (
            f"{rows.fp_per_image[index]:.2f}",
            f"false positives per test image, at the threshold locked for {target} before",
        ),
        (str(model.n_features), f"features in the model {model.name}"),
    ]


def limits_of(measure: object, index: int, level: float) -> str:
    """Interval in words, where there is one."""
    lower, upper = getattr(measure, "lower", None), getattr(measure, "upper", None)
    if lower is None or upper is None or np.isnan(lower[index]):
        return ""
    return f" ({100 * level:g} %: {percent(lower[index])} to {percent(upper[index])})"


def records(table: pd.DataFrame) -> list[Any]:
    """Rows with the columns as attributes."""
    return list(table.itertuples())


def percent(value: float) -> str:
    """Fraction as per cent."""
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"


def readers(page: Page, content: StudyContent) -> None:
    """Figure 2 and the readers' agreement."""
    page.heading("Readers")
    statistics = content.statistics
    page.text(
        f"{len(content.marks)} marks by {statistics.readers.shape[0]} readers in {len(content.readings)} readings. A "
        "bar compares a reader with the golden objects of all readers, as the paper does; a diamond with those that "
        "the others make without this reader, which flatters nobody."
    )
    page.figure(
        readers_figure(statistics),
        "Readings per image; sensitivity and false positives of each reader (Figure 2).",
    )
    pairs = statistics.pairs
    if len(pairs):
        rows = [
            (
                f"{row.reader_a} and {row.reader_b}",
                str(row.n_images),
                number(row.positive_agreement),
                number(row.image_kappa),
            )
            for row in records(pairs)
        ]
        table = html_table(("readers", "images in common", "positive agreement", "kappa of images"), rows)
        page.details(f"Agreement of {len(pairs)} pairs of readers", f'<div class="scroll">{table}</div>')


def number(value: float, digits: int = 2) -> str:
    """Round a number; a dash where it does not exist."""
    return "–" if pd.isna(value) else f"{value:.{digits}f}"


def truth(page: Page, content: StudyContent) -> None:
    """How marks became objects, on examples (Figure 1)."""
    objects = content.truth
    golden = int(objects["golden"].sum())
    page.heading("Ground truth")
    page.text(
        f"Marks that hit each other became {len(objects)} objects; {golden} are golden: marked by two readers or more. "
        "The soft label of a golden object is the share of its image's readers who marked it; that of an object of a "
        "single reader is smaller (the paper, section 3)."
    )
    if content.examples:
        figure = marks_figure(
            content.marks, objects, list(content.examples), pictures=dict(content.pictures) or None
        )
        page.figure(figure, "Marks in the colour of their reader, and the merged objects (Figure 1).")


def choice(page: Page, content: StudyContent) -> None:
    """Figure 3."""
    chosen = content.choice
    if chosen is None:
        return
    page.heading("Choice of lambda")
    normalization = f" with normalization {chosen.normalization}" if chosen.normalization else ""
    page.text(
        f"Lambda {chosen.lam:.3g}{normalization} keeps {chosen.n_features} features. It lies within tolerance of the "
        "best validation sensitivity at every FP value and its training and validation sensitivities are close."
        if chosen.intersects
        else f"No lambda is accepted at every FP value; {chosen.lam:.3g}{normalization} with {chosen.n_features} "
        f"features needs the smallest widening of the bounds, {100 * chosen.widening:.1f} points."
    )
    page.figure(
        plot_lambda_choice(chosen),
        "Sensitivity against lambda on training and validation, their difference, and how often resampled data choose "
        "each lambda (Figure 3).",
    )


def performance(page: Page, content: StudyContent) -> None:
    """Figure 4, the explorer, Table 1, chance and size."""
    page.heading("Performance on unseen patients")
    page.text(
        "Thresholds are set on training + validation and carried to the test set, where they induce another number of "
        "false positives per image. "
        f"Intervals are {100 * content.level:g} %, by bootstrap over patients."
    )
    page.html_part(
        froc_explorer(
            {model.name: model.test for model in content.models},
            n_bootstrap=content.n_bootstrap,
            seed=content.seed,
            level=content.level,
        )
    )
    page.figure(
        plot_froc(
            {model.name: (model.training, model.test) for model in content.models},
            fp_targets=content.fp_targets,
            n_bootstrap=content.n_bootstrap,
            seed=content.seed,
            level=content.level,
        ),
        "FROC: solid training + validation, dashed test, diamonds at the operating points (Figure 4).",
    )
    page.subheading("Table 1")
    page.table(format_table(content.table, "html"))
    page.text(
        "As in the paper: thresholds from the scores of the images that the models were fitted to, and candidates on "
        "objects of a single reader count as false positives."
    )
    page.details(
        "The same with candidates on single-reader objects neither right nor wrong",
        f'<div class="scroll">{format_table(content.table_ignoring, "html")}</div>',
    )
    page.details(
        "The same with thresholds from out-of-fold scores, as the detector has them",
        f'<div class="scroll">{format_table(content.table_out_of_fold, "html")}</div>',
    )
    if content.chance is not None:
        page.subheading("Chance")
        page.text(
            f"Some candidate hits {percent(content.chance.reached)} of the golden objects; candidates taken from other "
            f"images would hit {percent(content.chance.chance_reached)}. At the operating points:"
        )
        rows = [
            (f"{row.fp_target:g}", percent(row.gt_sensitivity), percent(row.chance_gt_sensitivity))
            for row in records(content.chance.points)
        ]
        page.table(html_table(("FP per image", "GT sensitivity", "by chance"), rows))
    sizes(page, content)


def sizes(page: Page, content: StudyContent) -> None:
    """Sensitivity by size of the object."""
    if not len(content.by_size):
        return
    target = content.by_size["fp_target"].iloc[0]
    page.subheading(f"By size, {content.models[0].name} at the threshold for {target:g} FP per image")
    rows = [
        (
            size_range(str(row.stratum)),
            str(row.n_gts),
            percent(row.gt_sensitivity),
            f"{percent(row.gt_sensitivity_lower)} to {percent(row.gt_sensitivity_upper)}",
        )
        for row in records(content.by_size)
    ]
    page.table(html_table(("diameter", "objects", "GT sensitivity", interval_heading(content)), rows))


def interval_heading(content: StudyContent) -> str:
    """Heading of a column of intervals."""
    return f"{100 * content.level:g} % interval"


def size_range(stratum: str) -> str:
    """Write a range of sizes, "[10, 15)", in words; the outermost ones are open."""
    low, high = (float(part) for part in stratum.strip("[]()").split(","))
    if low <= 0:
        return f"under {high:g} mm"
    return f"{low:g} mm and more" if high >= NO_LIMIT_MM else f"{low:g} to {high:g} mm"


def comparisons(page: Page, content: StudyContent) -> None:
    """Every two models in words, with the numbers folded away."""
    if not content.comparisons:
        return
    page.heading("Can the models be told apart?")
    for pair in content.comparisons:
        page.subheading(f"{pair.second} against {pair.first}")
        page.text(" ".join(verdict(pair.first, pair.second, pair.figures)))
        page.details(
            "At each FP value", f'<div class="scroll">{differences(pair, interval_heading(content))}</div>'
        )


def differences(pair: PairedComparison, interval: str) -> str:
    """Table of paired differences."""
    rows = [
        (
            f"{row.fp_target:g}",
            str(row.measure).replace("_", " "),
            percent(row.first),
            percent(row.second),
            f"{100 * row.difference:+.1f}",
            f"{100 * row.lower:+.1f} to {100 * row.upper:+.1f}" if np.isfinite(row.lower) else "–",
            number(row.p_bootstrap, 3),
        )
        for row in records(pair.points)
    ]
    return html_table(
        ("FP per image", "measure", pair.first, pair.second, "difference, points", interval, "p"), rows
    )


def importance(page: Page, content: StudyContent) -> None:
    """Figure 5."""
    if content.reader_importance is None or not len(content.reader_importance):
        return
    page.heading("Importance of the readers")
    page.text(
        "Weights of the readers' own models in the mixture B2. A weight says how much the mixture listens to a model "
        "trained on that reader's marks."
    )
    page.figure(
        reader_importance_figure(content.reader_importance),
        "Weight of each reader in the mixture (Figure 5).",
    )


def features(page: Page, content: StudyContent) -> None:
    """Show the selected features of each model with weight and meaning."""
    page.heading("Features")
    for model in content.models:
        page.subheading(f"{model.name}: {len(model.features)} features")
        page.text(model.summary)
        if len(model.features):
            page.table(weights(model.features.head(N_FEATURES_SHOWN)))
        rest = model.features.iloc[N_FEATURES_SHOWN:]
        if len(rest):
            page.details(f"{len(rest)} more", f'<div class="scroll">{weights(rest)}</div>')


def weights(table: pd.DataFrame) -> str:
    """Table of weights with bars."""
    widest = max(float(table["weight"].abs().max()), 1e-12)
    rows = "".join(
        f"<tr><td>{escape(str(row.feature))}</td><td>{row.weight:+.3f}</td>"
        f'<td style="text-align:left"><span class="bar" style="--share:{abs(row.weight) / widest:.3f};'
        f'background:{POSITIVE if row.weight > 0 else NEGATIVE}"></span></td>'
        f'<td class="words">{escape(str(row.meaning))}</td></tr>'
        for row in records(table)
    )
    return (
        '<table class="weights"><thead><tr><th>feature</th><th>weight</th><th></th><th class="words">meaning</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )


def calibration(page: Page, content: StudyContent) -> None:
    """Reliability of the probabilities."""
    calibrated: dict[str, ModelContent] = {m.name: m for m in content.models if m.calibration is not None}
    if not calibrated:
        return
    page.heading("Calibration")
    page.text(
        "Probabilities of bags of the test set against their soft labels; a slope of 1 on the diagonal is perfect."
    )
    page.figure(
        plot_calibration(
            {name: m.calibration for name, m in calibrated.items() if m.calibration is not None}
        ),
        "Mean soft label against mean probability, and the number of bags.",
    )


def pictures(page: Page, content: StudyContent) -> None:
    """Gallery of hits, misses and false positives."""
    if not (content.hits or content.misses or content.false_positives):
        return
    page.heading("Gallery of the test set")
    page.text(
        f"{content.gallery_threshold} Solid orange: the golden object. Dashed blue: the candidate. Sides are 60 mm; "
        "contrast is stretched to the crop."
    )
    for title, crops in (
        ("Found, by falling score", content.hits),
        ("Missed, largest first", content.misses),
        ("False positives, by falling score", content.false_positives),
    ):
        if crops:
            page.subheading(title)
            page.html_part(gallery(crops))


def problems(page: Page, content: StudyContent) -> None:
    """Images that could not be used."""
    page.heading("Images that could not be used")
    if not len(content.quarantined):
        page.text("None: every image of the study was read and used.")
        return
    rows = [(str(row.image_id), str(row.reason)) for row in records(content.quarantined)]
    page.table(html_table(("image", "reason"), rows, words=("reason",)))


def claim(page: Page, content: StudyContent) -> None:
    """Items of the CLAIM checklist."""
    page.heading("CLAIM checklist")
    page.text(
        "Items of the Checklist for Artificial Intelligence in Medical Imaging (Mongan, Moy and Kahn 2020) that this "
        "run can fill, for whoever writes it up."
    )
    table = html_table(
        ("item", "subject", "this run"), claim_rows(content.claim), words=("subject", "this run")
    )
    page.details("The items", f'<div class="scroll">{table}</div>')
