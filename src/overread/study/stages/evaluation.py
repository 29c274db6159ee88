"""How good the models are: every number that the report shows, computed once, into ``results.json``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from overread import __version__
from overread.features import CATALOGUE
from overread.features.plain_words import say_in_words
from overread.files.records import from_json, to_json
from overread.froc import (
    MEASURES,
    Calibration,
    ChanceLevel,
    LambdaChoice,
    Matching,
    SettingChoice,
    StudySize,
    bootstrap,
    calibration,
    chance_level,
    compare,
    compare_figures,
    estimate_figures,
    froc_curve,
    lesion_sizes_mm,
    performance_table,
    pilot_sensitivity,
    sensitivity_by,
)
from overread.froc.merit.comparison import FigureEstimate, whole_curve_figures
from overread.models.tuning import count_features
from overread.report.results import (
    SCHEMA,
    Comparison,
    Counted,
    Example,
    FeatureWeight,
    ModelResult,
    PaperChoice,
    Quarantined,
    SetResult,
    SplitSummary,
    StudyResults,
    StudySummary,
    Table1,
)
from overread.study.cohort import Cohort, Split
from overread.study.models import MODELS, StudyModel
from overread.study.score_map import ScoreMap
from overread.study.stages.calibration import score_bags
from overread.study.stages.description import describe_images, evaluate_subgroups
from overread.study.stages.feature_examples import find_examples
from overread.study.stages.gallery import sort_gallery
from overread.study.stages.scores import SOURCES, TREATMENTS, MatchedScores
from overread.study.stages.stage import Inputs, Stage
from overread.study.stages.verdict import WANTED_HALF_WIDTH, reach_verdict
from overread.truth import ReaderStatistics

__all__ = ["evaluate", "results_stage"]

# FP per image at which bands are drawn beside the study's targets; and the steps of the page's slider.
BAND = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
SLIDER = tuple(round(0.05 * step, 2) for step in range(61))
# The operating point that the page speaks of is the one nearest to this many FP per image.
SHOWN_FP = 1.0
N_EXAMPLES = 2
SPLITS = ("training", "validation", "test")
FROM_STUDY = ("is_simulated", "found_files", "description", "subgroups", "known_nodules")
SETTINGS = ("inputs", "merging", "labels", "candidates", "features", "hits", "models", "evaluation", "seed")


def results_stage(wanted: Sequence[str]) -> Stage:
    """Return the stage that evaluates the models of these names."""
    return Stage(
        "results",
        reads=(
            "cohort",
            "matched",
            "quarantined",
            "operating_points.json",
            "tables/scores.parquet",
            "tables/objects.parquet",
            *(f"tables/{name}.parquet" for name in ("images", "readings", "marks", "truth")),
            *(f"tables/{name}.parquet" for name in ("readings_per_image", "readers", "reader_pairs")),
            *(f"{place}/{name}.json" for name in wanted for place in ("models", "tuning")),
            *(f"tuning/{name}_map.json" for name in wanted),
            "supported.json",
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
    points = pd.DataFrame(inputs["operating_points.json"])
    supported = inputs["supported.json"]["model"]
    models = [evaluate_model(MODELS[name], inputs, points[points["model"] == name]) for name in matched]
    comparisons = compare_models(matched, settings)
    results = StudyResults(
        schema=SCHEMA,
        version=__version__,
        rule=cohort.rule.describe(),
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
        verdict=reach_verdict(
            next(model for model in models if model.name == supported),
            inputs["tables/readers.parquet"],
            comparisons,
            nearest_target(options.fp_targets),
            settings.hits.single_reader,
            plan_test_set(matched[supported].test, shown_point(points, supported, settings)[1], settings),
        ),
        supported=supported,
        support=from_json(SettingChoice, inputs["supported.json"]["choice"], "supported.json"),
        tables=tabulate_performance(matched, inputs),
        comparisons=comparisons,
        gallery=sort_gallery(
            supported,
            cohort.split("test"),
            inputs["tables/scores.parquet"],
            inputs["tables/objects.parquet"],
            shown_point(points, supported, settings),
            inputs["input/known_nodules"],
        ),
        subgroups=evaluate_subgroups(
            matched[supported].test,
            inputs["input/subgroups"],
            shown_point(points, supported, settings)[1],
            options,
            settings.seed,
        ),
        feature_examples=find_examples(models, cohort.split("test")),
    )
    return {"results.json": to_json(results)}


def plain_settings(settings: Any) -> dict[str, Any]:
    """Return the declared settings as plain values."""
    return {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        for name, value in vars(settings).items()
    }


def summarize_study(inputs: Inputs) -> StudySummary:
    """Count what the study is made of."""
    cohort, settings = inputs["cohort"], inputs.settings
    images, readings, marks, truth = (
        inputs[f"tables/{name}.parquet"] for name in ("images", "readings", "marks", "truth")
    )
    per_image = readings["image_id"].value_counts()
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
        splits=[summarize_split(name, cohort.split(name)) for name in SPLITS],
        quarantined=[Quarantined(**one) for one in inputs["quarantined"]],
        n_unread=int((~images["image_id"].isin(readings["image_id"])).sum()),
        found=inputs["input/found_files"],
        description=describe_images(inputs["tables/image_facts.parquet"], inputs["input/description"]),
    )


def summarize_split(name: str, split: Split) -> SplitSummary:
    """Count what a split is made of."""
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


def choose_examples(marks: pd.DataFrame, truth: pd.DataFrame) -> list[Example]:
    """Take the images whose merging shows most: several objects, several marks."""
    weight = truth.groupby("image_id").agg(marks=("n_marks", "sum"), objects=("truth_id", "size"))
    weight = weight.assign(told=weight["marks"] + 2 * weight["objects"].clip(upper=3)).sort_index()
    names = weight.sort_values("told", ascending=False, kind="stable").index[:N_EXAMPLES]
    return [
        Example(
            str(name),
            *(table[table["image_id"] == name].reset_index(drop=True) for table in (marks, truth)),
        )
        for name in names
    ]


def describe_paper_choice(record: dict[str, Any], settings: Any) -> PaperChoice:
    """Return the choice of lambda by the paper's rule with its bounds."""
    soft = settings.soft
    choice = from_json(LambdaChoice, record, "tuning/paper.json")
    return PaperChoice(choice, soft.choice_fp_targets, soft.tolerance, soft.max_gap, soft.pick)


def evaluate_model(plug: StudyModel, inputs: Inputs, points: pd.DataFrame) -> ModelResult:
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
        features=rank_features(plug, model, cohort.split("training", "validation")),
        importance_is=plug.importance_is,
        intercept=float(model.intercept_[0]) if hasattr(model, "intercept_") else float("nan"),
        converged=bool(getattr(model, "converged_", True) if report is None else report.converged),
        certificate={} if report is None else to_json(report),
        choice=from_json(SettingChoice, inputs[place]["choice"], place),
        reader_importance=importance,
        left_out_readers=getattr(model, "left_out_readers_", {}),
        score_map=score_map.method,
        calibration=assess_calibration(inputs, plug.name, score_map),
        uncalibrated=assess_calibration(inputs, plug.name, None),
        counted=[
            evaluate_counting(plug.name, treatment, inputs, points)
            for treatment in sorted(TREATMENTS, key=lambda name: name != inputs.settings.hits.single_reader)
        ],
    )


def rank_features(plug: StudyModel, model: Any, merged: Split) -> list[FeatureWeight]:
    """Return the features that a model reads, the most important first."""
    found = plug.weigh_features(model, merged.features)
    order = np.argsort([-abs(importance) for _, _, importance in found], kind="stable")
    return [
        FeatureWeight(name, explain_feature(name), say_in_words(name), *found[i][1:])
        for i in order
        for name in found[i][:1]
    ]


def explain_feature(name: str) -> str:
    """Look up formula and unit of a feature of the catalogue."""
    feature = CATALOGUE.get(name)
    if feature is None:
        return ""
    return feature.formula if feature.unit == "1" else f"{feature.formula} [{feature.unit}]"


def assess_calibration(inputs: Inputs, name: str, score_map: ScoreMap | None) -> Calibration:
    """Assess the probabilities of bags of the test set, through the score map or as they come."""
    settings = inputs.settings
    scores = inputs["matched"][name].test.candidate_scores
    bags, decision = score_bags(inputs["cohort"].split("test"), scores)
    return calibration(
        expit(decision) if score_map is None else score_map.apply(decision),
        bags.labels,  # type: ignore[arg-type]
        patients=bags.groups,
        # Without the map the slope alone is told, and needs no interval.
        n_bootstrap=0 if score_map is None else settings.evaluation.n_bootstrap,
        seed=settings.seed,
        level=settings.evaluation.level,
    )


def evaluate_counting(name: str, treatment: Any, inputs: Inputs, points: pd.DataFrame) -> Counted:
    """Measure one model under one treatment of single-reader GTs."""
    settings = inputs.settings
    matched: MatchedScores = inputs["matched"][name].under(treatment)
    own = points[points["single_reader"] == treatment]
    is_shown = treatment == settings.hits.single_reader
    return Counted(
        single_reader=treatment,
        training=evaluate_set(matched.training, settings),
        out_of_fold=evaluate_set(matched.out_of_fold, settings),
        test=evaluate_set(matched.test, settings, SLIDER),
        locked=evaluate_locked(matched.test, own, settings),
        by_size=evaluate_by_size(matched.test, own, settings) if is_shown else pd.DataFrame(),
        chance=evaluate_chance(inputs["cohort"].split("test"), matched.test, settings),
    )


def evaluate_set(matching: Matching, settings: Any, steps: Sequence[float] = ()) -> SetResult:
    """Compute curve, band and figures of merit of one set."""
    options = settings.evaluation
    grid = sorted({*BAND, *options.fp_targets, *steps})
    curve = froc_curve(matching)
    band = bootstrap(matching, fp_targets=grid, n_bootstrap=options.n_bootstrap, seed=settings.seed)
    return SetResult(
        n_images=curve.n_images,
        n_gts=curve.n_gts,
        n_gts_reached=curve.n_gts_reached,
        n_positive_images=curve.n_positive_images,
        n_positive_images_reached=curve.n_positive_images_reached,
        curve=keep_corners(curve.to_frame()),
        band=band.intervals(options.level),
        figures=evaluate_figures(matching, settings),
    )


def keep_corners(curve: pd.DataFrame) -> pd.DataFrame:
    """Keep the points of a step curve where a sensitivity changes, the points before them, and both ends."""
    values = curve[list(MEASURES)].fillna(0.0).to_numpy()
    changes = np.zeros(len(curve), dtype=bool)
    changes[1:] = (np.diff(values, axis=0) != 0).any(axis=1)
    kept = changes.copy()
    kept[:-1] |= changes[1:]
    kept[[0, -1]] = True
    return curve[kept]


def evaluate_figures(matching: Matching, settings: Any) -> tuple[FigureEstimate, ...]:
    """Whole-curve figures of merit, as `overread froc` gives them; none where there is nothing to find."""
    if not matching.n_gts:
        return ()
    options = settings.evaluation
    return tuple(
        estimate_figures(
            matching,
            whole_curve_figures(matching),
            n_bootstrap=options.n_bootstrap,
            level=options.level,
            seed=settings.seed,
        )
    )


def evaluate_locked(test: Matching, points: pd.DataFrame, settings: Any) -> pd.DataFrame:
    """Measure the test set at locked thresholds."""
    options = settings.evaluation
    tables = []
    for source in SOURCES:
        own = points[points["source"] == source]
        thresholds = own["threshold"].astype("float64").fillna(np.inf).to_numpy()
        found = bootstrap(
            test, thresholds=thresholds, n_bootstrap=options.n_bootstrap, seed=settings.seed
        ).intervals(options.level)
        n_measures = len(found) // len(own)
        found["fp_target"] = np.tile(own["fp_target"].to_numpy(), n_measures)
        found.insert(0, "source", source)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def nearest_target(fp_targets: Sequence[float]) -> float:
    """Return the FP target that the page speaks of."""
    return float(min(fp_targets, key=lambda fp: abs(fp - SHOWN_FP)))


def shown_point(points: pd.DataFrame, model: str, settings: Any) -> tuple[float, float]:
    """Return FP target and threshold of the operating point that the page speaks of; NaN where nothing is shown."""
    target = nearest_target(settings.evaluation.fp_targets)
    own = points[
        (points["model"] == model)
        & (points["source"] == "out_of_fold")
        & (points["single_reader"] == settings.hits.single_reader)
        & (points["fp_target"] == target)
    ]
    return target, float(own["threshold"].astype("float64").iloc[0])


def plan_test_set(test: Matching, threshold: float, settings: Any) -> StudySize | None:
    """Return the test set that would know the sensitivity as well as the page's advice has it."""
    if not test.n_gts or np.isnan(threshold):
        return None
    options = settings.evaluation
    pilot = pilot_sensitivity(
        test, threshold=threshold, n_bootstrap=options.n_bootstrap, seed=settings.seed, level=options.level
    )
    return pilot.size_for(WANTED_HALF_WIDTH, level=options.level)


def evaluate_by_size(test: Matching, points: pd.DataFrame, settings: Any) -> pd.DataFrame:
    """Sensitivity by size of the GT at the operating point that the page speaks of, among those that exist."""
    options = settings.evaluation
    own = points[(points["source"] == "out_of_fold") & points["threshold"].notna()]
    if not test.n_gts or own.empty:
        return pd.DataFrame()
    target = nearest_target(own["fp_target"].tolist())
    bins = [*options.size_bins_mm]
    # Sizes beyond the last edge belong to the last bin; none may be lost.
    sizes = np.clip(lesion_sizes_mm(test), bins[0], np.nextafter(bins[-1], 0))
    table = sensitivity_by(
        test,
        sizes,
        threshold=float(own.loc[own["fp_target"] == target, "threshold"].iloc[0]),
        bins=bins,
        n_bootstrap=options.n_bootstrap,
        level=options.level,
        seed=settings.seed,
    )
    table.insert(0, "fp_target", target)
    return table


def evaluate_chance(split: Split, test: Matching, settings: Any) -> ChanceLevel | None:
    """Compare with candidates moved to other images."""
    if not test.n_gts or test.candidate_scores is None:
        return None
    return chance_level(
        split.candidates,
        split.truth,
        split.images,
        scores=test.candidate_scores,
        counting=test.counting,
        fp_targets=settings.evaluation.fp_targets,
        n_shifts=settings.evaluation.chance_shifts,
        seed=settings.seed,
    )


def tabulate_performance(matched: Mapping[str, MatchedScores], inputs: Inputs) -> list[Table1]:
    """Make Table 1: as in the paper, with single-reader GTs ignored, and with the detector's thresholds."""
    settings = inputs.settings
    wanted = [
        ("in_sample", "fp"),
        ("in_sample", "ignore"),
        ("out_of_fold", settings.hits.single_reader),
    ]
    models = {name: inputs[f"models/{name}.json"] for name in matched}
    titles = {name: MODELS[name].title for name in matched}
    options = settings.evaluation
    tables = []
    for source, treatment in wanted:
        sets = {titles[name]: one.under(treatment) for name, one in matched.items()}
        table = performance_table(
            {title: (one.training, one.test) for title, one in sets.items()},
            n_features={titles[name]: count_features(model) for name, model in models.items()},
            notes={
                titles[name]: f"lambda={model.lam:.3g}"
                for name, model in models.items()
                if hasattr(model, "lam")
            },
            thresholds_from=(
                {title: one.out_of_fold for title, one in sets.items()} if source == "out_of_fold" else None
            ),
            fp_targets=options.fp_targets,
            n_bootstrap=options.n_bootstrap,
            seed=settings.seed,
            level=options.level,
        )
        tables.append(Table1(source, treatment, table))  # type: ignore[arg-type]
    return tables


def compare_models(matched: Mapping[str, MatchedScores], settings: Any) -> list[Comparison]:
    """Compare every two models on the test set under both treatments; whole curves under the study's own."""
    options = settings.evaluation
    found = []
    for treatment, (first, second) in itertools.product(TREATMENTS, itertools.combinations(matched, 2)):
        one, two = (matched[name].under(treatment).test for name in (first, second))
        draws: dict[str, Any] = {
            "n_bootstrap": options.n_bootstrap,
            "n_permutations": options.n_bootstrap,
            "seed": settings.seed,
        }
        points = compare(one, two, fp_targets=options.fp_targets, **draws).table(options.level)
        is_shown = treatment == settings.hits.single_reader and one.n_gts
        figures = (
            compare_figures(one, two, whole_curve_figures(one), level=options.level, **draws)
            if is_shown
            else ()
        )
        found.append(Comparison(first, second, treatment, points, tuple(figures)))
    return found
