"""Soft, B1 and B2 on simulated cohorts, each tuned by the same rule, compared by FROC on the test set.

    python -m benchmarks.three_models [--images 900] [--cohorts 5]

Thirds by patient: training, validation, test. Every setting is fitted on training and judged by the mean sensitivity
to golden GTs at the paper's FP targets on validation; the sparsest within 0.01 of the best is fitted to both. All
three models are judged against golden GTs, as in the paper. Writes two Markdown tables to standard output: the first
cohort with intervals, and the differences of all cohorts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from overread.bags import Bags, ReaderBags, make_bags, reader_bags, split_by_patient
from overread.froc import (
    FP_TARGETS,
    Counting,
    Matching,
    bootstrap,
    compare_models,
    froc_curve,
    match_detections,
    sensitivity_at,
)
from overread.models import (
    RVMMIL,
    ReaderMixture,
    SoftMILLogisticRegression,
    SoftMILPath,
    count_features,
    take_sparsest,
)
from overread.simulate import CandidateCohort, candidate_cohort
from overread.truth import merge_marks

KEYS = ["image_id", "candidate_id"]
TOLERANCE = 0.01
# prune_bound and alpha_init of B1 and of B2's readers.
PRIORS = ((1e1, 1.0), (1e2, 1.0), (1e2, 10.0), (1e4, 1.0), (1e4, 10.0), (1e6, 1.0))
MODELS = ("Soft", "B1", "B2")


@dataclass(frozen=True)
class Part:
    """One set of images: bags with soft and golden labels, bags by reader, and what FROC needs."""

    soft: Bags
    golden: Bags
    readers: ReaderBags
    candidates: Bags
    matching: Matching

    def scored(self, model: Any) -> Matching:
        """Candidates of the part under the model's scores."""
        return self.matching.with_scores(model.decision_function(self.candidates))


def make_part(cohort: CandidateCohort, truth: pd.DataFrame, image_ids: set[str]) -> Part:
    """Restrict every table to some images."""
    images, readings, marks, candidates, features, gts = (
        table[table["image_id"].isin(image_ids)].reset_index(drop=True)
        for table in (
            cohort.images,
            cohort.readings,
            cohort.marks,
            cohort.candidates,
            cohort.features,
            truth,
        )
    )
    rows = candidates[KEYS].merge(features, on=KEYS, validate="one_to_one").drop(columns=KEYS)
    return Part(
        soft=make_bags(candidates, features, gts, images=images),
        golden=make_bags(candidates, features, gts, labels="golden", images=images),
        readers=reader_bags(candidates, features, marks, readings, images=images),
        candidates=Bags.singletons(rows),
        matching=match_detections(
            candidates, gts, images, scores=np.zeros(len(candidates)), counting=Counting(single_reader="fp")
        ),
    )


def mean_sensitivity(model: Any, part: Part) -> float:
    """Mean over the paper's FP targets."""
    return float(sensitivity_at(froc_curve(part.scored(model)))["gt_sensitivity"].mean())


def tune(
    settings: Sequence[Any], fit: Callable[[Any, Part], Any], training: Part, validation: Part, merged: Part
) -> Any:
    """Fit the sparsest setting within `TOLERANCE` of the best on validation to both sets."""
    models = [clone(setting) for setting in settings]
    for model in models:
        fit(model, training)
    scores = np.array([mean_sensitivity(model, validation) for model in models])
    n_features = np.array([count_features(model) for model in models], dtype=float)
    chosen = clone(settings[take_sparsest(scores, n_features, np.full(len(scores), TOLERANCE), 1.0)])
    fit(chosen, merged)
    return chosen


def tuned_models(training: Part, validation: Part, merged: Part) -> dict[str, Any]:
    """Choose and fit the three models by one rule."""
    lambdas = SoftMILPath(n_alphas=12, min_ratio=0.02).fit(training.soft, training.soft.labels).alphas_
    priors = [{"prune_bound": bound, "alpha_init": start} for bound, start in PRIORS]
    choices = {
        "Soft": (
            [SoftMILLogisticRegression(float(lam)) for lam in lambdas[1:]],
            lambda model, part: model.fit(part.soft, part.soft.labels),
        ),
        "B1": (
            [RVMMIL(**prior) for prior in priors],
            lambda model, part: model.fit(part.golden, part.golden.labels),
        ),
        "B2": (
            [ReaderMixture(n_bootstrap=0, **prior) for prior in priors],
            lambda model, part: model.fit(part.golden, reader_bags=part.readers),
        ),
    }
    return {
        name: tune(settings, fit, training, validation, merged) for name, (settings, fit) in choices.items()
    }


def run_cohort(n_images: int, seed: int) -> tuple[dict[str, Any], dict[str, Matching]]:
    """Tuned models of one cohort, and each one's matching on the test set."""
    cohort = candidate_cohort(n_images, seed=seed)
    truth = merge_marks(cohort.marks, cohort.readings)
    part_of_image = split_by_patient(cohort.images, truth, random_state=seed)
    ids = {name: set(group) for name, group in cohort.images["image_id"].groupby(part_of_image)}
    training, validation, test = (
        make_part(cohort, truth, ids[name]) for name in ("training", "validation", "test")
    )
    merged = make_part(cohort, truth, ids["training"] | ids["validation"])
    models = tuned_models(training, validation, merged)
    return models, {name: test.scored(model) for name, model in models.items()}


def print_cohort(models: dict[str, Any], matchings: dict[str, Matching]) -> None:
    """Sensitivity to golden GTs at each FP target, with intervals over patients."""
    first = matchings["Soft"]
    print(f"\nCohort 0, test: {first.n_images} images, {first.n_gts} golden GTs\n")
    print("| model | setting | features | " + " | ".join(f"{fp:g} FP" for fp in FP_TARGETS) + " |")
    print("|---|---|---:|" + "---|" * len(FP_TARGETS))
    for name, model in models.items():
        intervals = bootstrap(matchings[name]).intervals()
        cells = [
            f"{row.estimate:.2f} ({row.lower:.2f} to {row.upper:.2f})"
            for row in intervals[intervals["measure"] == "gt_sensitivity"].itertuples()
        ]
        print(
            f"| {name} | {_setting(model)} | {count_features(model)} | " + " | ".join(cells) + " |",
            flush=True,
        )


def print_differences(cohorts: list[dict[str, Matching]]) -> None:
    """Soft less each baseline at every FP target: mean over cohorts, and how many cohorts' intervals exclude 0."""
    print("\n| difference | FP | cohorts' differences | mean | intervals above 0 | below 0 |")
    print("|---|---:|---|---:|---:|---:|")
    for name in MODELS[1:]:
        tables = [
            compare_models(matchings[name], matchings["Soft"], n_permutations=1).table()
            for matchings in cohorts
        ]
        rows = pd.concat([table[table["measure"] == "gt_sensitivity"] for table in tables])
        for fp, group in rows.groupby("fp_target"):
            each = ", ".join(f"{value:+.2f}" for value in group["difference"])
            above, below = (group["lower"] > 0).sum(), (group["upper"] < 0).sum()
            print(
                f"| Soft - {name} | {fp:g} | {each} | {group['difference'].mean():+.3f} | {above} | {below} |"
            )


def _setting(model: Any) -> str:
    chosen = model.get_params(deep=False)
    names = [name for name in ("alpha", "prune_bound", "alpha_init") if name in chosen]
    return ", ".join(f"{name} {chosen[name]:.3g}" for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=900, help="images of a cohort")
    parser.add_argument("--cohorts", type=int, default=5, help="cohorts, seeds 0, 1, ...")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    start, cohorts = time.process_time(), []
    for seed in range(arguments.cohorts):
        models, matchings = run_cohort(arguments.images, seed)
        if seed == 0:
            print_cohort(models, matchings)
        cohorts.append(matchings)
        sizes = {name: count_features(model) for name, model in models.items()}
        print(f"<!-- cohort {seed}: features {sizes}, {time.process_time() - start:.0f} s -->", flush=True)
    print_differences(cohorts)


if __name__ == "__main__":
    main()
