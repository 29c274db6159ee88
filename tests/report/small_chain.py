"""The chain on a cohort without pixels, small enough for tests of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from overread.bags import Bags, make_bags, score_table, split_by_patient
from overread.froc import (
    LambdaChoice,
    Matching,
    PathModels,
    PerformanceTable,
    ScoredSplit,
    choose_lambda,
    match,
    performance_table,
)
from overread.models import SoftMILLogisticRegression, SoftMILPath
from overread.simulate import CandidateCohort, candidate_cohort
from overread.truth import merge_marks

MERGED = "training + validation"


@dataclass(frozen=True, eq=False)
class SmallRun:
    """What the tests look at."""

    cohort: CandidateCohort
    truth: pd.DataFrame
    parts: dict[str, Bags]
    choice: LambdaChoice
    model: SoftMILLogisticRegression
    matchings: dict[str, Matching]
    table: PerformanceTable


def small_run(n_images: int, seed: int) -> SmallRun:
    """Marks, truth, bags, path, choice of lambda, refit, test."""
    cohort = candidate_cohort(n_images, seed=seed)
    truth = merge_marks(cohort.marks, cohort.readings)
    split = split_by_patient(cohort.images, truth, random_state=seed).set_axis(cohort.images["image_id"])
    bags = make_bags(
        cohort.candidates, cohort.features, truth, readings=cohort.readings, images=cohort.images
    )
    part_of_bag = pd.Series([bag_id[0] for bag_id in bags.bag_ids]).map(split).to_numpy()
    parts = {part: bags[part_of_bag == part] for part in ("training", "validation", "test")}
    parts[MERGED] = bags[part_of_bag != "test"]

    def matching(part: str, scores: Any) -> Matching:
        inside = split.index[split.isin(part.split(" + "))]
        tables = [
            table[table["image_id"].isin(inside)] for table in (cohort.candidates, truth, cohort.images)
        ]
        return match(*tables, scores=score_table(parts[part], soft=scores))

    path = SoftMILPath(n_lambdas=25, min_ratio=0.02).fit(parts["training"], parts["training"].labels)
    columns = {part: path.decision_instance_function(parts[part]) for part in ("training", "validation")}
    choice = choose_lambda(
        PathModels(path.lambdas_, path.n_features_),
        *(
            # bags gather what was apart
            ScoredSplit(matching(part, scores[:, 0]), scores[parts[part].source_rows.argsort()])
            for part, scores in columns.items()
        ),
        n_bootstrap=200,
    )
    model = path.model(choice.position).fit(parts[MERGED], parts[MERGED].labels)
    matchings = {
        part: matching(part, model.decision_instance_function(parts[part])) for part in (MERGED, "test")
    }
    table = performance_table(
        {"Soft": (matchings[MERGED], matchings["test"])},
        n_features={"Soft": model.fit_report_.n_features},
        notes={"Soft": f"lambda={model.lam_:.3g}"},
    )
    return SmallRun(cohort, truth, parts, choice, model, matchings, table)
