"""Results of a small study without pixels: one fitted model, the same with noise, and a mixture by hand."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from overread.bags import Bags, make_bags, score_table, split_by_patient
from overread.froc import (
    AlphaChoice,
    Matching,
    PathModels,
    PerformanceTable,
    ScoredSplit,
    SettingChoice,
    StudySize,
    bootstrap,
    calibration,
    chance_level,
    choose_alpha,
    choose_setting,
    compare_figures,
    compare_models,
    estimate_figures,
    froc_curve,
    lesion_sizes,
    match_detections,
    operating_points,
    performance_by,
    performance_table,
    sensitivity_by,
)
from overread.images import Radiograph, SpacingSource
from overread.models import SoftMILLogisticRegression, SoftMILPath
from overread.report import (
    SCHEMA,
    Counted,
    Description,
    FeatureWeight,
    FoundFiles,
    Gallery,
    Headline,
    ModelComparison,
    ModelResult,
    PaperChoice,
    PaperPerformance,
    Quarantined,
    SetResult,
    SplitSummary,
    Spread,
    StudyResults,
    StudySummary,
    Subgroup,
)
from overread.simulate import CandidateCohort, candidate_cohort
from overread.study.stages.claims import answer_claims
from overread.study.stages.gallery import choose_examples
from overread.study.stages.performance import reach_verdict
from overread.tables import plain
from overread.truth import merge_marks, reader_statistics

MERGED = "training + validation"
FP_TARGETS = [0.5, 1.5, 3.0]
GRID = sorted({*np.linspace(0, 3, 61).tolist(), 4.0, *FP_TARGETS})
LEVEL, N_BOOTSTRAP, SEED = 0.9, 60, 3
TREATMENTS = ("ignore", "fp")
ELLIPSE = ["x", "y", "semi_major", "semi_minor", "angle_deg"]
RESAMPLING = {"n_bootstrap": N_BOOTSTRAP, "seed": SEED}


@dataclass(frozen=True, eq=False)
class Chain:
    """Marks, truth, bags, path, choice of lambda, refit, scores."""

    cohort: CandidateCohort
    truth: pd.DataFrame
    split: pd.Series
    parts: dict[str, Bags]
    paper_choice: AlphaChoice
    choice: SettingChoice
    model: SoftMILLogisticRegression
    matchings: dict[str, Matching]


def run_chain(n_images: int) -> Chain:
    cohort = candidate_cohort(n_images, seed=SEED)
    truth = merge_marks(cohort.marks, cohort.readings)
    split = split_by_patient(cohort.images, truth, random_state=SEED).set_axis(cohort.images["image_id"])
    bags = make_bags(
        cohort.candidates, cohort.features, truth, readings=cohort.readings, images=cohort.images
    )
    part_of_bag = pd.Series([bag_id[0] for bag_id in bags.bag_ids]).map(split).to_numpy()
    parts = {part: bags[part_of_bag == part] for part in ("training", "validation", "test")}
    parts[MERGED] = bags[part_of_bag != "test"]

    def matching(part, scores):
        inside = split.index[split.isin(part.split(" + "))]
        tables = [
            table[table["image_id"].isin(inside)] for table in (cohort.candidates, truth, cohort.images)
        ]
        return match_detections(*tables, scores=score_table(parts[part], soft=scores))

    path = SoftMILPath(n_alphas=25, min_ratio=0.02).fit(parts["training"], parts["training"].labels)
    columns = {part: path.instance_decision_function(parts[part]) for part in ("training", "validation")}
    scored = [
        # Bags gather what was apart.
        ScoredSplit(matching(part, scores[:, 0]), scores[parts[part].source_rows.argsort()])
        for part, scores in columns.items()
    ]
    paper_choice = choose_alpha(PathModels(path.alphas_, path.n_features_), *scored, **RESAMPLING)
    # One fold is enough for a table: fitted to training, judged on validation.
    choice = choose_setting(
        scored[1].matching, scored[1].scores, path.n_features_, fp_targets=FP_TARGETS, **RESAMPLING
    )
    choice = replace(choice, table=pd.concat([pd.DataFrame({"lam": path.alphas_}), choice.table], axis=1))
    model = path.model(choice.position).fit(parts[MERGED], parts[MERGED].labels)
    matchings = {
        part: matching(part, model.instance_decision_function(parts[part])) for part in (MERGED, "test")
    }
    return Chain(cohort, truth, split, parts, paper_choice, choice, model, matchings)


def set_result(matching: Matching) -> SetResult:
    curve = froc_curve(matching)
    counts = ("n_images", "n_gts", "n_gts_reached", "n_positive_images", "n_positive_images_reached")
    return SetResult(
        **{name: getattr(curve, name) for name in counts},
        curve=curve.to_frame(),
        band=bootstrap(matching, fp_targets=GRID, **RESAMPLING).intervals(LEVEL),
        figures=estimate_figures(matching, level=LEVEL, **RESAMPLING),
    )


def locked_rows(training: Matching, test: Matching) -> pd.DataFrame:
    points = operating_points(training, fp_targets=FP_TARGETS)
    found = bootstrap(test, thresholds=points["threshold"].to_numpy(), **RESAMPLING).intervals(LEVEL)
    found["fp_target"] = np.tile(FP_TARGETS, len(found) // len(FP_TARGETS))
    return pd.concat([found.assign(source=source) for source in ("in_sample", "out_of_fold")])


def counted(chain: Chain, training: Matching, test: Matching, treatment: str) -> Counted:
    training, test = (part.with_counting(single_reader=treatment) for part in (training, test))
    inside = set(test.image_ids)
    tables = [
        table[table["image_id"].isin(inside)]
        for table in (chain.cohort.candidates, chain.truth, chain.cohort.images)
    ]
    sizes = sensitivity_by(
        test, lesion_sizes(test), fp_target=1.5, bins=[0, 10, 20, 1e3], level=LEVEL, **RESAMPLING
    )
    trained = set_result(training)
    return Counted(
        single_reader=treatment,
        training=trained,
        out_of_fold=trained,
        test=set_result(test),
        locked=locked_rows(training, test),
        by_size=sizes.assign(fp_target=1.5),
        chance=chance_level(
            *tables, scores=test.candidate_scores, fp_targets=FP_TARGETS, n_shifts=3, counting=test.counting
        ),
    )


def model_result(chain: Chain, name: str, test: Matching) -> ModelResult:
    coefficients = chain.model.coef_[0]
    names = np.asarray(chain.model.feature_names_in_)
    features = [
        FeatureWeight(
            str(names[i]),
            "a <b>made-up</b> number",
            f"what {i} shows" if i else "",
            coefficients[i],
            abs(2 * coefficients[i]),
        )
        for i in np.flatnonzero(coefficients)
    ]
    bags = chain.parts["test"]
    probabilities = chain.model.predict_proba(bags)[:, 1]
    return ModelResult(
        name=name,
        title=name.capitalize(),
        summary=f"The model {name} & nothing else.",
        file=f"models/{name}.json",
        parameters={"lam": chain.model.alpha} if name == "soft" else {},
        n_features=len(features),
        features=features,
        importance_is="weight per standard deviation",
        intercept=float(chain.model.intercept_[0]),
        converged=True,
        certificate={},
        choice=chain.choice,
        reader_importance=pd.DataFrame(columns=["reader_id", "importance", "low", "high"]),
        left_out_readers={},
        score_map="sigmoid",
        calibration=calibration(probabilities, bags.labels, n_bootstrap=30),
        uncalibrated=calibration(probabilities**2, bags.labels, n_bootstrap=30),
        counted=[counted(chain, chain.matchings[MERGED], test, treatment) for treatment in TREATMENTS],
    )


PAPER = {"single_reader": "fp", "repeats": "count"}


def tables(chain: Chain, tests: dict[str, Matching]) -> tuple[PerformanceTable, PaperPerformance]:
    def table(counting, **options):
        pairs = {name.capitalize(): (chain.matchings[MERGED], test) for name, test in tests.items()}
        counted = {
            title: tuple(part.with_counting(**counting) for part in pair) for title, pair in pairs.items()
        }
        return performance_table(counted, fp_targets=FP_TARGETS, level=LEVEL, seed=SEED, **options)

    def curves(parts):
        return {
            name.capitalize(): froc_curve(one.with_counting(**PAPER)).to_frame()
            for name, one in parts.items()
        }

    own = table({"single_reader": "ignore"}, n_bootstrap=N_BOOTSTRAP)
    paper = PaperPerformance(
        table(PAPER, objects="reached", n_bootstrap=0),
        table(PAPER, n_bootstrap=0),
        curves(dict.fromkeys(tests, chain.matchings[MERGED])),
        curves(tests),
    )
    return own, paper


def comparison(first: str, second: str, tests: dict[str, Matching], treatment: str) -> ModelComparison:
    pair = [tests[name].with_counting(single_reader=treatment) for name in (first, second)]
    options = {"n_permutations": 30, **RESAMPLING}
    compared = compare_models(*pair, fp_targets=FP_TARGETS, **options)
    return ModelComparison(
        first,
        second,
        treatment,
        compared.mean_difference("gt_sensitivity", LEVEL),
        compared.table(LEVEL),
        compare_figures(*pair, level=LEVEL, **options),
    )


def summary(chain: Chain) -> StudySummary:
    cohort, truth = chain.cohort, chain.truth
    golden = truth[truth["golden"]]
    per_image = cohort.readings["image_id"].value_counts()

    def split_summary(name):
        inside = chain.split.index[chain.split == name]
        own, own_golden = (table[table["image_id"].isin(inside)] for table in (truth, golden))
        return SplitSummary(
            name, len(inside), len(inside), own_golden["image_id"].nunique(), len(own), len(own_golden), 1, 2
        )

    return StudySummary(
        n_images=len(cohort.images),
        n_patients=cohort.images["patient_id"].nunique(),
        n_readers=cohort.readings["reader_id"].nunique(),
        n_readings=len(cohort.readings),
        n_marks=len(cohort.marks),
        n_marked_images=cohort.marks["image_id"].nunique(),
        n_objects=len(truth),
        n_golden=len(golden),
        n_features=cohort.features.shape[1] - 2,
        fewest_readings=int(per_image.min()),
        most_readings=int(per_image.max()),
        is_simulated=True,
        own_candidates=False,
        own_features=False,
        decisions={},
        splits=[split_summary(name) for name in ("training", "validation", "test")],
        quarantined=[Quarantined("i7", "unreadable", "cut short & broken")],
        found=FoundFiles(160, {"no pixels & no hope": 7, "no spacing": 3}, 1, 1),
        compared={"picture": 150},
        description=Description(
            {"pixel size, mm": Spread(0.14, 0.2, 0.7)}, {"manufacturer": {"A & B": 100, "not stated": 50}}
        ),
    )


def gallery(chain: Chain) -> Gallery:
    """Ten golden GTs as hits, one miss without a candidate, and two false positives of one image."""
    golden, _ = plain(chain.truth[chain.truth["golden"]].reset_index(drop=True))
    columns = ["image_id", *ELLIPSE, "n_readers", "n_readings"]
    place = {f"candidate_{name}": golden[name] for name in ("x", "y")}
    hits = golden[columns].assign(score=np.linspace(3, 1, len(golden)), **place, candidate_radius=6.0)
    nothing = ["score", "candidate_x", "candidate_y", "candidate_radius"]
    misses = hits.tail(1).assign(**dict.fromkeys(nothing, np.nan))
    wrong = pd.DataFrame(
        {
            "image_id": hits["image_id"].iloc[0],
            "x": [20.0, 90.0],
            "y": [30.0, 40.0],
            "radius": 5.0,
            "score": [2.0, 1.5],
            "is_nodule": [True, False],
        }
    )
    return Gallery("soft", 0.5, 0.75, hits.head(10), misses, wrong)


def subgroup(test: Matching) -> Subgroup:
    """Every ninth image of the test set belongs to a group that is too small."""
    groups = ["rare <i>" if number % 9 == 0 else "common" for number in range(test.n_images)]
    return Subgroup("scanner", performance_by(test, groups, threshold=0.0, level=LEVEL, **RESAMPLING))


def feature_examples(chain: Chain, features: list[FeatureWeight]) -> pd.DataFrame:
    """Two candidates for each of the first features."""
    rows = []
    for number, feature in enumerate(features[:5]):
        for end, row in (("low", 2 * number), ("high", 2 * number + 1)):
            candidate = plain(chain.cohort.candidates)[0].iloc[row]
            place = candidate[["image_id", "x", "y", "radius"]]
            rows.append({"feature": feature.name, "end": end, **place, "value": float(row)})
    return pd.DataFrame(rows)


def support(tests: dict[str, Matching], models: list[ModelResult]) -> SettingChoice:
    """Compare the models as settings are."""
    columns = np.column_stack([one.candidate_scores for one in tests.values()])
    choice = choose_setting(
        next(iter(tests.values())), columns, [one.n_features for one in models], **RESAMPLING
    )
    return replace(choice, table=choice.table.assign(model=list(tests)))


def reader_points(readers: pd.DataFrame) -> pd.DataFrame:
    """Put a detector beside the readers that finds nine tenths of what they find."""
    judged = readers.dropna(subset=["loo_sensitivity"]).reset_index(drop=True)
    difference = -0.1 * judged["loo_sensitivity"]
    return pd.DataFrame(
        {
            "reader_id": judged["reader_id"],
            "n_images": judged["n_readings"],
            "n_gts": 40,
            "sensitivity": judged["loo_sensitivity"],
            "fp_per_image": judged["loo_fp_per_image"],
            "detector_sensitivity": 0.9 * judged["loo_sensitivity"],
            "difference": difference,
            "lower": difference - 0.1,
            "upper": difference + 0.1,
        }
    )


def small_results() -> StudyResults:
    chain = run_chain(150)
    statistics = reader_statistics(chain.cohort.marks, chain.cohort.readings)
    test = chain.matchings["test"]
    noise = np.random.default_rng(0).normal(0, 1.0, len(test.candidate_scores))
    tests = {"soft": test, "noisy": test.with_scores(test.candidate_scores + noise)}
    models = [model_result(chain, name, matching) for name, matching in tests.items()]
    weights = pd.DataFrame(
        {"reader_id": ["R1", "R2"], "importance": [0.5, 0.3], "low": [0.2, 0.1], "high": [0.8, 0.5]}
    )
    # As a model of trees: it has no weights.
    trees = [replace(one, weight=np.nan) for one in models[1].features[:2]]
    models[1] = replace(models[1], reader_importance=weights, features=trees, converged=False)
    table, paper = tables(chain, tests)
    paper_choice = PaperChoice(chain.paper_choice, [0.5, 1.0], 0.02, 0.05, "sparsest")
    comparisons = [
        comparison(first, second, tests, treatment)
        for treatment in TREATMENTS
        for first, second in combinations(tests, 2)
    ]
    return StudyResults(
        schema=SCHEMA,
        version="1.2.3",
        unit="mm",
        rule="the centre lies in the ellipse",
        fp_targets=FP_TARGETS,
        level=LEVEL,
        n_bootstrap=N_BOOTSTRAP,
        seed=SEED,
        settings={"candidates": {"limit": 60}, "merging": {"t0": 0.63}, "labels": {"score": "readers"}},
        study=summary(chain),
        readers=statistics,
        examples=choose_examples(*(plain(table)[0] for table in (chain.cohort.marks, chain.truth))),
        paper_choice=paper_choice,
        models=models,
        skipped_models={},
        headline=Headline("test", [], None),
        reader_points=reader_points(statistics.readers),
        verdict=reach_verdict(
            models[0].name,
            models[0].counted[0],
            reader_points(statistics.readers),
            [],
            min(FP_TARGETS, key=lambda fp: abs(fp - 1.0)),
            StudySize(patients=10, images=20, gts=30),
        ),
        supported="soft",
        support=support(tests, models),
        table=table,
        paper=paper,
        claims=answer_claims(
            models,
            comparisons[:1],
            {model.name: [model.choice.table["n_features"].astype(int).tolist()] * 3 for model in models},
            paper_choice,
            statistics.readers,
            fp_target=FP_TARGETS[0],
            level=LEVEL,
        ),
        comparisons=comparisons,
        gallery=gallery(chain),
        subgroups=[subgroup(test)],
        feature_examples=feature_examples(chain, models[0].features),
    )


def ramp(mm_per_px: float = 0.7) -> Radiograph:
    """Make a radiograph that gets brighter to the right."""
    rows, columns = np.mgrid[:600, :600]
    return Radiograph(
        pixels=(columns / 600 + 0.1 * np.sin(rows / 9)).astype(np.float32),
        mm_per_px=mm_per_px,
        valid=np.ones((600, 600), dtype=bool),
        spacing_source=SpacingSource.GIVEN,
        source_mm_per_px=(mm_per_px, mm_per_px),
        source_shape=(600, 600),
    )
