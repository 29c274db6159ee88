"""Evaluate the models: compute every number of the report once, into ``results.json``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from overread import __version__
from overread.domains import Domain, get_domain
from overread.files import from_json, to_json
from overread.froc import (
    AlphaChoice,
    Calibration,
    Matching,
    PerformanceTable,
    SettingChoice,
    calibration,
    compare_figures,
    compare_models,
    froc_curve,
    performance_table,
    whole_curve_figures,
)
from overread.models import BagClassifier, count_features, name_as_in_files
from overread.report import (
    SCHEMA,
    FeatureWeight,
    Headline,
    ModelComparison,
    ModelResult,
    PaperChoice,
    PaperPerformance,
    Quarantined,
    SplitSummary,
    StudyResults,
    StudySummary,
)
from overread.study._calibration import ScoreCalibration
from overread.study._cohort import KEYS, Cohort, Split
from overread.study._presets import list_changes
from overread.study._settings import Settings, leave_out_unused
from overread.study.models import MODELS
from overread.study.models.base import StudyModel
from overread.study.stages.calibration import find_places
from overread.study.stages.claims import answer_claims
from overread.study.stages.fitting import SKIPPED_FILE
from overread.study.stages.gallery import (
    choose_examples,
    describe_images,
    evaluate_subgroups,
    find_examples,
    sort_gallery,
)
from overread.study.stages.performance import (
    count_draws,
    evaluate_counting,
    judge_readers,
    keep_corners,
    plan_test_set,
    reach_verdict,
    shown_point,
)
from overread.study.stages.scores import DETECTOR, TREATMENTS, MatchedScores, tabulate_objects
from overread.study.stages.stage import Inputs, Made, Stage
from overread.truth import DECISIONS, MergeOptions, ReaderStatistics

# What the rows of Table 1 are called that are not those of a test set.
NESTED = "all patients, each unseen (nested cross-validation)"


def tabulate_performance(
    matched: Mapping[str, MatchedScores], inputs: Inputs
) -> tuple[PerformanceTable, PaperPerformance]:
    """Make Table 1 with the detector's thresholds, and as in the paper."""
    settings = inputs.settings
    options = settings.evaluation
    titles = {name: MODELS[name].title for name in matched}
    models = {titles[name]: inputs[f"models/{name}.json"] for name in matched}
    nested: dict[str, Any] = {}
    if inputs["cohort"].is_nested:
        nested = {"test_thresholds": [-fp for fp in options.fp_targets], "test_name": NESTED}

    def tabulate(pairs: dict[str, tuple[Matching, Matching]], **how: Any) -> PerformanceTable:
        return performance_table(
            pairs,
            n_features={title: count_features(model) for title, model in models.items()},
            notes={
                title: f"lambda={model.alpha:.3g}"
                for title, model in models.items()
                if hasattr(model, "alpha")
            },
            **nested,
            **how,
            fp_targets=options.fp_targets,
            seed=settings.seed,
            level=options.level,
        )

    own = {titles[name]: one.under(settings.hits.single_reader) for name, one in matched.items()}
    paper = {titles[name]: one.as_in_paper() for name, one in matched.items()}
    return tabulate(
        {title: (one.training, one.test_at(options.thresholds)) for title, one in own.items()},
        objects=options.objects,
        thresholds_from=(
            {title: one.out_of_fold for title, one in own.items()}
            if options.thresholds == "out_of_fold"
            else None
        ),
        n_bootstrap=options.n_bootstrap,
    ), PaperPerformance(
        tabulate(paper, objects="reached", n_bootstrap=0),
        tabulate(paper, objects="all", n_bootstrap=0),
        *(
            {title: keep_corners(froc_curve(pair[part]).to_frame()) for title, pair in paper.items()}
            for part in (0, 1)
        ),
    )


def compare_all_models(matched: Mapping[str, MatchedScores], settings: Settings) -> list[ModelComparison]:
    """Compare every two models on the test set under both treatments; whole curves under the study's treatment."""
    options = settings.evaluation
    found = []
    for treatment, (first, second) in itertools.product(TREATMENTS, itertools.combinations(matched, 2)):
        one, two = (matched[name].under(treatment).test for name in (first, second))
        draws = count_draws(settings) | {"n_permutations": options.n_bootstrap}
        level = draws.pop("level")
        compared = compare_models(one, two, fp_targets=options.fp_targets, **draws)
        is_shown = treatment == settings.hits.single_reader and one.n_gts
        figures = (
            compare_figures(one, two, whole_curve_figures(one), level=level, **draws) if is_shown else ()
        )
        mean = compared.mean_difference("gt_sensitivity", level)
        found.append(ModelComparison(first, second, treatment, mean, compared.table(level), tuple(figures)))
    return found


SPLITS = ("training", "validation", "test")


def plain_settings(settings: Settings) -> dict[str, object]:
    """Return the declared settings that are used as plain values."""
    plain = {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        for name, value in vars(settings).items()
    }
    return leave_out_unused(plain)


def summarize_study(inputs: Inputs) -> StudySummary:
    """Count images, readings, marks and objects of the study."""
    cohort, settings = inputs["cohort"], inputs.settings
    images, readings, marks, truth = (
        inputs[f"tables/{name}.parquet"] for name in ("split", "readings", "marks", "truth")
    )
    per_image, facts = readings["image_id"].value_counts(), inputs["tables/image_facts.parquet"]
    adjudication = inputs["input/adjudication"]
    return StudySummary(
        n_images=len(images),
        n_patients=int(images["patient_id"].nunique()),
        n_readers=int(readings["reader_id"].nunique()),
        n_readings=len(readings),
        n_marks=len(marks),
        n_marked_images=int(marks["image_id"].nunique()),
        n_objects=len(truth),
        n_golden=int(truth["golden"].sum()),
        n_features=len(cohort.features.names),
        fewest_readings=int(per_image.min()),
        most_readings=int(per_image.max()),
        is_simulated=inputs["input/is_simulated"],
        own_candidates=settings.inputs.candidates is not None,
        own_features=settings.inputs.features is not None,
        decisions={}
        if adjudication is None
        else {decision: int((adjudication["decision"] == decision).sum()) for decision in DECISIONS},
        splits=[
            _summarize_split(name, cohort.split(name))
            for name in SPLITS
            if name != "test" or not cohort.is_nested
        ],
        quarantined=[Quarantined(**one) for one in inputs["quarantined"]],
        found=inputs["input/found_files"],
        compared=to_json(facts["compared"].value_counts().sort_index().to_dict()),
        description=describe_images(facts, inputs["input/description"], settings.units.unit),
    )


def _summarize_split(name: str, split: Split) -> SplitSummary:
    """Count images, patients and objects of a part."""
    golden = split.truth["golden"].astype(bool)
    return SplitSummary(
        name=name,
        n_images=len(split.images),
        n_patients=int(split.images["patient_id"].nunique()),
        n_images_with_golden=int(split.truth.loc[golden, "image_id"].nunique()),
        n_objects=len(split.truth),
        n_golden=int(golden.sum()),
        n_golden_reached=int(split.matching.gt_reached.sum()),
        n_candidates=len(split.candidates),
    )


FROM_STUDY = ("is_simulated", "found_files", "description", "subgroups", "known_nodules", "adjudication")
SETTINGS = (
    "preset",
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


def results_stage(wanted: Sequence[str], *, is_nested: bool, has_failed: bool = False) -> Stage:
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
            *(["failed_models"] if has_failed else []),
            *([f"tuning/nested_{DETECTOR}.json"] if is_nested else []),
            *(["tuning/paper.json"] if "soft" in wanted else []),
            "tables/image_facts.parquet",
            *(f"input/{name}" for name in FROM_STUDY),
        ),
        writes=("results.json",),
        settings=(*SETTINGS, *wanted),
        make=evaluate,
    )


def evaluate(inputs: Inputs) -> Made:
    """Compute every number of a run."""
    settings, matched = inputs.settings, inputs["matched"]
    options = settings.evaluation
    cohort: Cohort = inputs["cohort"]
    supported = inputs["supported.json"]["model"]
    models = [_evaluate_model(MODELS[name], inputs) for name in matched]
    detector: MatchedScores = inputs["matched_detector"]
    point = shown_point(detector, settings)
    headline = Headline("test", [], None)
    tables = inputs["tables/scores.parquet"], inputs["tables/objects.parquet"]
    if cohort.is_nested:
        # Of the detector as each outer fold supports it, by the scores of unseen patients.
        counted = evaluate_counting(detector, settings.hits.single_reader, inputs)
        headline = Headline("nested", inputs[f"tuning/nested_{DETECTOR}.json"], counted)
        scores = cohort.unseen.candidates[KEYS].assign(**{supported: detector.test.candidate_scores})
        tables = scores, tabulate_objects(cohort, scores, [supported])
    lists = [name for name in (SKIPPED_FILE, "failed_models") if name in inputs]
    skipped = {name: why for one in lists for name, why in inputs[one].items()}
    comparisons = compare_all_models(matched, settings)
    paper_choice = None
    if "soft" in matched:
        soft, record = settings.soft, from_json(AlphaChoice, inputs["tuning/paper.json"], "tuning/paper.json")
        paper_choice = PaperChoice(record, soft.choice_fp_targets, soft.tolerance, soft.max_gap, soft.pick)
    table, paper = tabulate_performance(matched, inputs)
    reader_points = judge_readers(
        inputs["tables/readers.parquet"]["reader_id"],
        cohort.unseen,
        np.asarray(detector.test.candidate_scores),
        MergeOptions(**dict(settings.merging), seed=settings.seed),
        **count_draws(settings),
    )
    plain = plain_settings(settings)
    results = StudyResults(
        schema=SCHEMA,
        version=__version__,
        unit=settings.units.unit,
        rule=cohort.rule.describe(),
        fp_targets=options.fp_targets,
        level=options.level,
        n_bootstrap=options.n_bootstrap,
        seed=settings.seed,
        settings=plain,
        preset_changes=list_changes(plain),
        study=summarize_study(inputs),
        readers=ReaderStatistics(
            *(inputs[f"tables/{name}.parquet"] for name in ("readings_per_image", "readers", "reader_pairs"))
        ),
        examples=choose_examples(inputs["tables/marks.parquet"], inputs["tables/truth.parquet"]),
        paper_choice=paper_choice,
        models=models,
        skipped_models={MODELS[name].title: why for name, why in skipped.items()},
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
        table=table,
        paper=paper,
        claims=answer_claims(
            models,
            [pair for pair in comparisons if pair.single_reader == settings.hits.single_reader],
            {name: inputs[f"tuning/{name}.json"]["fold_features"] for name in matched},
            paper_choice,
            inputs["tables/readers.parquet"],
            fp_target=point[0],
            level=options.level,
        ),
        comparisons=comparisons,
        gallery=sort_gallery(
            supported,
            cohort,
            *tables,
            point=point,
            known_nodules=inputs["input/known_nodules"],
        ),
        subgroups=evaluate_subgroups(detector.test, inputs["input/subgroups"], point[1], settings),
        feature_examples=find_examples(models, cohort.unseen),
    )
    return {"results.json": results}


def _evaluate_model(plug: StudyModel, inputs: Inputs) -> ModelResult:
    """Gather all that is known of one model."""
    cohort, model = inputs["cohort"], inputs[f"models/{plug.name}.json"]
    place = f"tuning/{plug.name}.json"
    map_place = f"tuning/{plug.name}_map.json"
    score_map = from_json(ScoreCalibration, inputs[map_place], map_place)
    report = getattr(model, "fit_report_", None)
    importance = getattr(model, "reader_importance_", pd.DataFrame())
    return ModelResult(
        name=plug.name,
        title=plug.title,
        summary=plug.summary,
        file=f"models/{plug.name}.json",
        parameters=to_json(dict(sorted(name_as_in_files(model.get_params(deep=False)).items()))),
        n_features=count_features(model),
        features=_rank_features(
            plug, model, cohort.split("training", "validation"), get_domain(inputs.settings.region.kind)
        ),
        importance_is=plug.importance_is,
        intercept=float(model.intercept_[0]) if hasattr(model, "intercept_") else float("nan"),
        converged=bool(getattr(model, "converged_", True) if report is None else report.converged),
        certificate={} if report is None else to_json(name_as_in_files(vars(report))),
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


def _rank_features(
    plug: StudyModel, model: BagClassifier, merged: Split, domain: type[Domain]
) -> list[FeatureWeight]:
    """Return the features that a model reads, the most important first."""
    found = plug.weigh_features(model, merged.features)
    order = np.argsort([-abs(importance) for _, _, importance in found], kind="stable")
    return [
        FeatureWeight(name, *domain.describe_feature(name), *found[i][1:])
        for i in order
        for name in found[i][:1]
    ]


def assess_calibration(
    inputs: Inputs, name: str, score_map: ScoreCalibration, *, as_it_comes: bool = False
) -> Calibration | None:
    """Assess the probabilities of unseen candidates, one per bag, through the score map or as they come from the model.

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
        # Without the map the slope alone is shown, and needs no interval.
        **count_draws(settings) | ({"n_bootstrap": 0} if as_it_comes else {}),
    )
