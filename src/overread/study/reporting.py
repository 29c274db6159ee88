"""A finished run becomes the content of its page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from overread.froc import (
    Calibration,
    ChanceLevel,
    LambdaChoice,
    PerformanceTable,
    compare_figures,
    performance_table,
)
from overread.froc.merit.comparison import whole_curve_figures
from overread.froc.reliability import Interval, ReliabilityCurve
from overread.report import ModelContent, PairedComparison, StudyContent
from overread.study.evaluation import TITLES, Judged
from overread.study.finished import FinishedRun
from overread.study.report_pictures import Viewer, crops
from overread.study.report_words import SUMMARIES, claim, facts, limits
from overread.study.results import Choice, Counted, ModelResult, frame
from overread.truth import ReaderStatistics

__all__ = ["study_content"]

N_EXAMPLES = 2
SHOWN_FP = 1.0


def study_content(run: FinishedRun, *, title: str | None = None, lead: str | None = None) -> StudyContent:
    """Gather what the page of a run shows; images are opened for the pictures alone.

    Parameters
    ----------
    run
        A finished run.
    title, lead
        In place of the usual heading and first paragraph.
    """
    results, settings = run.results, run.settings
    judged = {model.name: run.judged(model.name) for model in results.models}
    first = results.models[0]
    viewer = Viewer(run)
    examples = telling_images(run.table("truth"))
    pictures = {
        image_id: picture for image_id in examples if (picture := viewer.picture(image_id)) is not None
    }
    sorted_crops = crops(run, viewer, first.name)
    return StudyContent(
        title=title or "Overread study",
        lead=lead
        or "Marks of several readers became ground truth with soft labels; models were trained on them and measured on "
        "patients that they had not seen.",
        facts=facts(run),
        marks=run.table("marks"),
        readings=run.table("readings"),
        truth=run.table("truth"),
        statistics=ReaderStatistics(
            *(run.table(name) for name in ("readings_per_image", "readers", "reader_pairs"))
        ),
        examples=tuple(examples),
        pictures=pictures,
        choice=None if results.choice is None else choice_of(results.choice),
        models=tuple(model_content(model, judged[model.name]) for model in results.models),
        table=table_1(judged, results.models, run, "fp"),
        table_ignoring=table_1(judged, results.models, run, "ignore"),
        table_out_of_fold=table_1(judged, results.models, run, settings.hits.single_reader, out_of_fold=True),
        fp_targets=tuple(results.fp_targets),
        level=results.level,
        n_bootstrap=results.n_bootstrap,
        seed=settings.seed,
        comparisons=paired(run, judged),
        chance=chance_of(first.counted[0]),
        by_size=sizes_of(first.counted[0]),
        reader_importance=next(
            (frame(m.reader_importance) for m in results.models if m.reader_importance), None
        ),
        gallery_threshold=sorted_crops.told,
        hits=sorted_crops.hits,
        misses=sorted_crops.misses,
        false_positives=sorted_crops.false_positives,
        quarantined=pd.DataFrame(
            [(one.image_id, one.reason) for one in results.study.quarantined], columns=["image_id", "reason"]
        ),
        limits=limits(run, settings.hits.single_reader),
        claim=claim(run),
    )


def telling_images(truth: pd.DataFrame) -> list[str]:
    """Images whose merging shows most: several objects, several marks."""
    weight = truth.groupby("image_id").agg(marks=("n_marks", "sum"), objects=("truth_id", "size"))
    weight = weight.assign(told=weight["marks"] + 2 * weight["objects"].clip(upper=3)).sort_index()
    return [
        str(name) for name in weight.sort_values("told", ascending=False, kind="stable").index[:N_EXAMPLES]
    ]


def choice_of(choice: Choice) -> LambdaChoice:
    """Make the choice of lambda anew from its record."""
    return LambdaChoice(
        position=0,
        lam=choice.lam,
        normalization=choice.normalization,
        n_features=choice.n_features,
        intersects=choice.intersects,
        widening=choice.widening,
        table=frame(choice.table),
        intervals=frame(choice.intervals),
        frequencies=frame(choice.frequencies),
        disjoint_share=float("nan") if choice.disjoint_share is None else choice.disjoint_share,
    )


def model_content(model: ModelResult, judged: Judged) -> ModelContent:
    """One model for the page."""
    meanings = feature_meanings()
    features = pd.DataFrame(
        [(one.name, one.standardized, meanings.get(one.name, "")) for one in model.features],
        columns=["feature", "weight", "meaning"],
    )
    return ModelContent(
        name=model.title,
        summary=SUMMARIES[model.name],
        training=judged.training,
        test=judged.test,
        features=features,
        calibration=calibration_of(model.calibration),
    )


def feature_meanings() -> dict[str, str]:
    """Look up formula and unit of every feature of the catalogue."""
    from overread.features import CATALOGUE

    return {
        name: feature.formula if feature.unit == "1" else f"{feature.formula} [{feature.unit}]"
        for name, feature in CATALOGUE.items()
    }


def calibration_of(record: dict[str, Any]) -> Calibration | None:
    """Make a calibration anew from its record."""
    if not record:
        return None
    values = {name: value for name, value in record.items() if name != "labels"}
    for name in ("brier", "kl", "slope", "intercept", "offset"):
        values[name] = Interval(**{key: number(value) for key, value in values[name].items()})
    for name in ("brier_of_the_mean", "kl_of_the_mean"):
        values[name] = number(values[name])
    arrays: dict[str, Any] = {
        key: np.array(value, dtype=np.float64) for key, value in values["reliability"].items()
    }
    values["reliability"] = ReliabilityCurve(**(arrays | {"n_bags": arrays["n_bags"].astype(np.intp)}))
    return Calibration(**values)


def number(value: float | None) -> float:
    """Undo JSON's null."""
    return float("nan") if value is None else value


def table_1(
    judged: dict[str, Judged],
    models: Sequence[ModelResult],
    run: FinishedRun,
    treatment: str,
    *,
    out_of_fold: bool = False,
) -> PerformanceTable:
    """Table 1 with thresholds from in-sample scores of training + validation, as in the paper, or out-of-fold ones."""
    results, settings = run.results, run.settings
    parts = {TITLES[name]: one.under(treatment) for name, one in judged.items()}
    return performance_table(
        {title: (one.training, one.test) for title, one in parts.items()},
        n_features={model.title: model.n_features for model in models},
        notes={
            model.title: f"lambda={model.parameters['lam']:.3g}"
            for model in models
            if "lam" in model.parameters
        },
        thresholds_from={title: one.out_of_fold for title, one in parts.items()} if out_of_fold else None,
        fp_targets=results.fp_targets,
        n_bootstrap=results.n_bootstrap,
        seed=settings.seed,
        level=results.level,
    )


def paired(run: FinishedRun, judged: dict[str, Judged]) -> tuple[PairedComparison, ...]:
    """Every two models on the test set."""
    results, settings = run.results, run.settings
    rows = frame(results.comparisons)
    pairs = []
    for first, second in combinations(judged, 2):
        one, two = judged[first].test, judged[second].test
        own = rows[
            (rows["first_model"] == first)
            & (rows["second_model"] == second)
            & (rows["single_reader"] == settings.hits.single_reader)
            & rows["measure"].isin(["gt_sensitivity", "image_sensitivity"])
        ]
        figures = (
            compare_figures(
                one,
                two,
                whole_curve_figures(one),
                n_bootstrap=results.n_bootstrap,
                n_permutations=results.n_bootstrap,
                seed=settings.seed,
                level=results.level,
            )
            if one.n_gts
            else ()
        )
        points = own.sort_values(["fp_target", "measure"]).reset_index(drop=True)
        pairs.append(PairedComparison(TITLES[first], TITLES[second], points, figures))
    return tuple(pairs)


def chance_of(counted: Counted) -> ChanceLevel | None:
    """Make the chance level anew from its record."""
    if counted.chance_reached is None or not counted.test.n_gts:
        return None
    return ChanceLevel(
        points=frame(counted.chance).astype("float64"),
        reached=counted.test.n_gts_reached / counted.test.n_gts,
        chance_reached=counted.chance_reached,
        n_shifts=0,
        exact=False,
    )


def sizes_of(counted: Counted) -> pd.DataFrame:
    """Sensitivity by size at the operating point nearest to 1 FP per image."""
    rows = frame(counted.by_size)
    if rows.empty:
        return pd.DataFrame(columns=["stratum"])
    nearest = min(rows["fp_target"], key=lambda fp: abs(fp - SHOWN_FP))
    return rows[rows["fp_target"] == nearest].reset_index(drop=True)
