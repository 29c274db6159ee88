"""What a study is made of, in numbers: counts, examples, settings, and what the paper's rule would choose."""

from __future__ import annotations

from typing import Any

import pandas as pd

from overread.files.records import from_json
from overread.froc import LambdaChoice
from overread.report.lengths import UNIT_WORDS
from overread.report.results import Example, PaperChoice, Quarantined, SplitSummary, StudySummary
from overread.study.cohort import Split
from overread.study.settings import leave_out_unused
from overread.study.stages.description import describe_images
from overread.study.stages.stage import Inputs
from overread.truth.adjudication import DECISIONS

__all__ = ["choose_examples", "describe_paper_choice", "plain_settings", "summarize_study"]

N_EXAMPLES = 2
SPLITS = ("training", "validation", "test")


def plain_settings(settings: Any) -> dict[str, Any]:
    """Return the declared settings that are used as plain values."""
    plain = {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        for name, value in vars(settings).items()
    }
    return leave_out_unused(plain)


def summarize_study(inputs: Inputs) -> StudySummary:
    """Count what the study is made of."""
    cohort, settings = inputs["cohort"], inputs.settings
    images, readings, marks, truth = (
        inputs[f"tables/{name}.parquet"] for name in ("split", "readings", "marks", "truth")
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
        decisions=count_decisions(inputs["input/adjudication"]),
        splits=[
            summarize_split(name, cohort.split(name))
            for name in SPLITS
            if name != "test" or not cohort.is_nested
        ],
        quarantined=[Quarantined(**one) for one in inputs["quarantined"]],
        found=inputs["input/found_files"],
        compared=count_compared(inputs["tables/image_facts.parquet"]),
        description=describe_images(
            inputs["tables/image_facts.parquet"],
            inputs["input/description"],
            UNIT_WORDS[settings.units.unit],
        ),
    )


def count_compared(facts: pd.DataFrame) -> dict[str, int]:
    """Count the images by what they were compared by when copies were looked for."""
    return {str(what): int(number) for what, number in facts["compared"].value_counts().sort_index().items()}


def count_decisions(adjudication: pd.DataFrame | None) -> dict[str, int]:
    """Count a chair's decisions by what they say; none where the study uses none."""
    if adjudication is None:
        return {}
    counts = adjudication["decision"].value_counts()
    return {decision: int(counts.get(decision, 0)) for decision in DECISIONS}


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
