"""How good the models are: every number that the report shows, computed once, into ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from overread import __version__
from overread.features import CATALOGUE
from overread.features.plain_words import say_in_words
from overread.fields import GENERIC_FEATURES
from overread.files.records import from_json, to_json
from overread.froc import Calibration, SettingChoice, calibration
from overread.models.tuning import count_features
from overread.report.lengths import UNIT_WORDS, name_in_unit
from overread.report.results import SCHEMA, FeatureWeight, Headline, ModelResult, StudyResults
from overread.study.cohort import KEYS, Cohort, Split
from overread.study.models import MODELS, StudyModel
from overread.study.score_map import ScoreMap
from overread.study.stages.calibration import find_places
from overread.study.stages.comparisons import compare_models, tabulate_performance
from overread.study.stages.description import evaluate_subgroups
from overread.study.stages.feature_examples import find_examples
from overread.study.stages.fits import SKIPPED_FILE
from overread.study.stages.gallery import sort_gallery
from overread.study.stages.performance import evaluate_counting, plan_test_set, shown_point
from overread.study.stages.reader_points import judge_readers
from overread.study.stages.scores import DETECTOR, TREATMENTS, MatchedScores, tabulate_objects
from overread.study.stages.stage import Inputs, Stage
from overread.study.stages.summary import (
    choose_examples,
    describe_paper_choice,
    plain_settings,
    summarize_study,
)
from overread.study.stages.verdict import reach_verdict
from overread.truth import MergeOptions, ReaderStatistics

__all__ = ["assess_calibration", "evaluate", "results_stage"]

FROM_STUDY = ("is_simulated", "found_files", "description", "subgroups", "known_nodules", "adjudication")
SETTINGS = (
    "inputs",
    "split",
    "region",
    "units",
    "images",
    "merging",
    "labels",
    "candidates",
    "features",
    "hits",
    "models",
    "evaluation",
    "seed",
)


def results_stage(wanted: Sequence[str], *, is_nested: bool) -> Stage:
    """Return the stage that evaluates the models of these names."""
    return Stage(
        "results",
        reads=(
            "cohort",
            "matched",
            "matched_detector",
            "quarantined",
            "tables/scores.parquet",
            "tables/objects.parquet",
            *(f"tables/{name}.parquet" for name in ("split", "readings", "marks", "truth")),
            *(f"tables/{name}.parquet" for name in ("readings_per_image", "readers", "reader_pairs")),
            *(f"{place}/{name}.json" for name in wanted for place in ("models", "tuning")),
            *(f"tuning/{name}_map.json" for name in wanted),
            "supported.json",
            SKIPPED_FILE,
            *([f"tuning/nested_{DETECTOR}.json"] if is_nested else []),
            *(["tuning/paper.json"] if "soft" in wanted else []),
            "tables/image_facts.parquet",
            *(f"input/{name}" for name in FROM_STUDY),
        ),
        writes=("results.json",),
        settings=(*SETTINGS, *wanted),
        make=evaluate,
    )


def evaluate(inputs: Inputs) -> Mapping[str, Any]:
    """Compute every number of a run."""
    settings, matched = inputs.settings, inputs["matched"]
    options = settings.evaluation
    cohort: Cohort = inputs["cohort"]
    supported = inputs["supported.json"]["model"]
    models = [evaluate_model(MODELS[name], inputs) for name in matched]
    detector: MatchedScores = inputs["matched_detector"]
    point = shown_point(detector, settings)
    headline = find_headline(inputs)
    comparisons = compare_models(matched, settings)
    reader_points = judge_readers(
        inputs["tables/readers.parquet"]["reader_id"],
        cohort.unseen,
        np.asarray(detector.test.candidate_scores),
        MergeOptions(**dict(settings.merging), seed=settings.seed),
        n_bootstrap=options.n_bootstrap,
        seed=settings.seed,
        level=options.level,
    )
    results = StudyResults(
        schema=SCHEMA,
        version=__version__,
        rule=name_in_unit(cohort.rule.describe(), UNIT_WORDS[settings.units.unit]),
        fp_targets=options.fp_targets,
        level=options.level,
        n_bootstrap=options.n_bootstrap,
        seed=settings.seed,
        settings=plain_settings(settings),
        study=summarize_study(inputs),
        readers=ReaderStatistics(
            *(inputs[f"tables/{name}.parquet"] for name in ("readings_per_image", "readers", "reader_pairs"))
        ),
        examples=choose_examples(inputs["tables/marks.parquet"], inputs["tables/truth.parquet"]),
        paper_choice=describe_paper_choice(inputs["tuning/paper.json"], settings)
        if "soft" in matched
        else None,
        models=models,
        skipped_models={MODELS[name].title: why for name, why in inputs[SKIPPED_FILE].items()},
        headline=headline,
        reader_points=reader_points,
        verdict=reach_verdict(
            supported,
            headline.counted or next(model for model in models if model.name == supported).counted[0],
            reader_points,
            comparisons,
            point[0],
            plan_test_set(detector.test, point[1], settings),
        ),
        supported=supported,
        support=from_json(SettingChoice, inputs["supported.json"]["choice"], "supported.json"),
        tables=tabulate_performance(matched, inputs),
        comparisons=comparisons,
        gallery=sort_gallery(
            supported,
            cohort,
            *tabulate_unseen(cohort, detector, supported, inputs),
            point=point,
            known_nodules=inputs["input/known_nodules"],
        ),
        subgroups=evaluate_subgroups(
            detector.test, inputs["input/subgroups"], point[1], options, settings.seed
        ),
        feature_examples=find_examples(models, cohort.unseen),
    )
    return {"results.json": to_json(results)}


def find_headline(inputs: Inputs) -> Headline:
    """Say what kind of figures the run has; of a nested run measure the detector as each outer fold supports it."""
    if not inputs["cohort"].is_nested:
        return Headline("test", [], None)
    treatment = inputs.settings.hits.single_reader
    counted = evaluate_counting(inputs["matched_detector"], treatment, inputs)
    return Headline("nested", inputs[f"tuning/nested_{DETECTOR}.json"], counted)


def tabulate_unseen(
    cohort: Cohort, detector: MatchedScores, name: str, inputs: Inputs
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the run's tables of scores and objects; of a nested run by the scores of unseen patients."""
    if not cohort.is_nested:
        return inputs["tables/scores.parquet"], inputs["tables/objects.parquet"]
    scores = cohort.unseen.candidates[KEYS].assign(**{name: detector.test.candidate_scores})
    return scores, tabulate_objects(cohort, scores, [name])


def evaluate_model(plug: StudyModel, inputs: Inputs) -> ModelResult:
    """Gather all that is known of one model."""
    cohort, model = inputs["cohort"], inputs[f"models/{plug.name}.json"]
    place = f"tuning/{plug.name}.json"
    score_map = from_json(ScoreMap, inputs[f"tuning/{plug.name}_map.json"], f"tuning/{plug.name}_map.json")
    report = getattr(model, "fit_report_", None)
    importance = getattr(model, "reader_importance_", pd.DataFrame())
    return ModelResult(
        name=plug.name,
        title=plug.title,
        summary=plug.summary,
        file=f"models/{plug.name}.json",
        parameters=to_json(model.get_params(deep=False)),
        n_features=count_features(model),
        features=rank_features(
            plug,
            model,
            cohort.split("training", "validation"),
            is_chest=inputs.settings.region.is_chest,
        ),
        importance_is=plug.importance_is,
        intercept=float(model.intercept_[0]) if hasattr(model, "intercept_") else float("nan"),
        converged=bool(getattr(model, "converged_", True) if report is None else report.converged),
        certificate={} if report is None else to_json(report),
        choice=from_json(SettingChoice, inputs[place]["choice"], place),
        reader_importance=importance,
        left_out_readers=getattr(model, "left_out_readers_", {}),
        score_map=score_map.method,
        calibration=assess_calibration(inputs, plug.name, score_map),
        uncalibrated=assess_calibration(inputs, plug.name, score_map, as_it_comes=True),
        counted=[
            evaluate_counting(inputs["matched"][plug.name], treatment, inputs)
            for treatment in sorted(TREATMENTS, key=lambda name: name != inputs.settings.hits.single_reader)
        ],
    )


def rank_features(plug: StudyModel, model: Any, merged: Split, *, is_chest: bool) -> list[FeatureWeight]:
    """Return the features that a model reads, the most important first; names of chests mean other features."""
    found = plug.weigh_features(model, merged.features)
    order = np.argsort([-abs(importance) for _, _, importance in found], kind="stable")
    return [
        FeatureWeight(name, *explain_feature(name, is_chest=is_chest), *found[i][1:])
        for i in order
        for name in found[i][:1]
    ]


def explain_feature(name: str, *, is_chest: bool) -> tuple[str, str]:
    """Look up a feature of the catalogue, or of pictures in general: formula with unit, and plain words."""
    if not is_chest:
        return GENERIC_FEATURES.get(name, ""), GENERIC_FEATURES.get(name, "")
    return explain_formula(name), say_in_words(name)


def explain_formula(name: str) -> str:
    """Look up formula and unit of a feature of the catalogue."""
    feature = CATALOGUE.get(name)
    if feature is None:
        return ""
    return feature.formula if feature.unit == "1" else f"{feature.formula} [{feature.unit}]"


def assess_calibration(
    inputs: Inputs, name: str, score_map: ScoreMap, *, as_it_comes: bool = False
) -> Calibration | None:
    """Assess the probabilities of unseen marks, one a place, through the score map or as they come from the model.

    In a nested run every outer fold has a map of its own; a fold with too little to calibrate with has none, and its
    places are left out. None where there are ranks and no probabilities.
    """
    settings, cohort = inputs.settings, inputs["cohort"]
    order = np.asarray(inputs["matched"][name].test.candidate_scores)
    places = find_places(cohort.unseen, order)
    if cohort.is_nested:
        table = inputs["tables/scores.parquet"]
        own, mapped = (table[f"{name}_nested{end}"].to_numpy() for end in ("", "_probability"))
    else:
        own, mapped = order, score_map.apply(order)
    known = ~np.isnan(mapped[places.rows])
    if not score_map.is_probability or not known.any():
        return None
    return calibration(
        (expit(own) if as_it_comes else mapped)[places.rows][known],
        places.labels[known],
        patients=places.patients[known],
        # Without the map the slope alone is told, and needs no interval.
        n_bootstrap=0 if as_it_comes else settings.evaluation.n_bootstrap,
        seed=settings.seed,
        level=settings.evaluation.level,
    )
