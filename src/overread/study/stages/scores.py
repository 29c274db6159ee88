"""Scores of all candidates by all models, the best of them on each GT, and the thresholds that follow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from overread.files.records import to_json
from overread.froc import Matching, operating_points
from overread.study.cohort import KEYS, Cohort, Split
from overread.study.models import MODELS
from overread.study.stages.stage import Inputs, Stage, View

__all__ = ["MATCHED", "OPERATING_POINTS", "SOURCES", "TREATMENTS", "MatchedScores", "scores_stage"]

SOURCES: tuple[Literal["in_sample", "out_of_fold"], ...] = ("in_sample", "out_of_fold")
TREATMENTS: tuple[Literal["ignore", "fp"], ...] = ("ignore", "fp")


@dataclass(frozen=True, eq=False)
class MatchedScores:
    """One model's scores of the candidates, matched: in sample, out of fold, and on the test set."""

    training: Matching
    out_of_fold: Matching
    test: Matching

    @classmethod
    def from_table(cls, merged: Split, test: Split, scores: pd.DataFrame, name: str) -> MatchedScores:
        """Take the columns ``name`` and ``name_out_of_fold`` of a table of scores."""
        inside = scores["image_id"].isin(merged.images["image_id"])
        return cls(
            merged.matching.with_scores(scores.loc[inside, name].to_numpy()),
            merged.matching.with_scores(scores.loc[inside, f"{name}_out_of_fold"].to_numpy()),
            test.matching.with_scores(scores.loc[~inside, name].to_numpy()),
        )

    def under(self, single_reader: str) -> MatchedScores:
        """Return the same scores under a treatment of single-reader GTs."""
        sets = (self.training, self.out_of_fold, self.test)
        return MatchedScores(*(matching.with_counting(single_reader=single_reader) for matching in sets))

    def source(self, name: str) -> Matching:
        """Return the matching that thresholds are taken from."""
        return self.training if name == "in_sample" else self.out_of_fold


def scores_stage(wanted: Sequence[str]) -> Stage:
    """Return the stage that scores all candidates by the models of these names."""
    return Stage(
        "scores",
        reads=(
            "cohort",
            *(f"models/{name}.json" for name in wanted),
            *(f"tables/out_of_fold_{name}.parquet" for name in wanted),
        ),
        writes=("tables/scores.parquet", "tables/objects.parquet"),
        settings=("models.wanted",),
        make=score_candidates,
    )


def score_candidates(inputs: Inputs) -> Mapping[str, Any]:
    """Tabulate the scores, and for each GT its best candidate."""
    cohort, wanted = inputs["cohort"], inputs.settings.models.wanted
    scores = cohort.candidates[KEYS].copy()
    for name in wanted:
        scores[name] = MODELS[name].score(inputs[f"models/{name}.json"], cohort.features)
        held_out = inputs[f"tables/out_of_fold_{name}.parquet"].rename(
            columns={"score": f"{name}_out_of_fold"}
        )
        scores = scores.merge(held_out, on=KEYS, how="left", validate="one_to_one")
    return {
        "tables/scores.parquet": scores,
        "tables/objects.parquet": tabulate_objects(cohort, scores, wanted),
    }


def tabulate_objects(cohort: Cohort, scores: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """GTs with their split, and for each model the best candidate that is shown on each and its score.

    ``reached`` says whether any candidate hits the GT. For a GT that none hits, candidate and score are missing.
    """
    reached = np.unique(cohort.hits["truth_row"])
    split = cohort.images.set_index("image_id")["split"]
    table = cohort.truth.assign(split=cohort.truth["image_id"].map(split).astype("str"))
    table["reached"] = np.isin(np.arange(len(table)), reached)
    names = cohort.candidates["candidate_id"].to_numpy(object)
    for model in models:
        values = scores[model].to_numpy()
        shown = cohort.matching.require_geometry().find_shown(cohort.counting, values)
        hits = cohort.hits[shown[cohort.hits["candidate_row"]]]
        candidate, gt = hits["candidate_row"].to_numpy(), hits["truth_row"].to_numpy()
        order = np.lexsort((candidate, -values[candidate], gt))
        first = np.ones(len(order), dtype=bool)
        first[1:] = np.diff(gt[order]) != 0
        best = order[first]
        places = range(len(table))
        chosen = pd.Series(names[candidate[best]], index=gt[best], dtype="str")
        table[f"{model}_candidate"] = chosen.reindex(places)
        table[f"{model}_score"] = pd.Series(values[candidate[best]], index=gt[best]).reindex(places)
    return table


def match_scores(inputs: Inputs) -> dict[str, MatchedScores]:
    """Match the scores of every model."""
    cohort, scores = inputs["cohort"], inputs["tables/scores.parquet"]
    merged, test = cohort.split("training", "validation"), cohort.split("test")
    return {
        name: MatchedScores.from_table(merged, test, scores, name) for name in inputs.settings.models.wanted
    }


def lock_thresholds(inputs: Inputs) -> Mapping[str, Any]:
    """Thresholds of every model, source and treatment at the FP targets; the test set has no say in them."""
    matched, targets = inputs["matched"], inputs.settings.evaluation.fp_targets
    rows = []
    for name, treatment, source in itertools.product(matched, TREATMENTS, SOURCES):
        matching = matched[name].under(treatment).source(source)
        points = operating_points(matching, fp_targets=targets).drop(columns="set")
        points.insert(0, "model", name)
        points.insert(1, "source", source)
        points.insert(2, "single_reader", treatment)
        rows.append(points.assign(data_sha256=matching.fingerprint()))
    table = pd.concat(rows, ignore_index=True)
    return {"operating_points.json": [to_json(row) for row in table.to_dict("records")]}


MATCHED = View(
    "matched", reads=("cohort", "tables/scores.parquet"), settings=("models.wanted",), make=match_scores
)
OPERATING_POINTS = Stage(
    "operating_points",
    reads=("matched",),
    writes=("operating_points.json",),
    settings=("evaluation.fp_targets",),
    make=lock_thresholds,
)
