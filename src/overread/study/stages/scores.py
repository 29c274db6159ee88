"""Scores of all candidates by all models, the best of them on each GT, and the thresholds that follow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.files import to_json
from overread.froc import Matching, operating_points
from overread.study._cohort import KEYS, Cohort
from overread.study.models import MODELS
from overread.study.stages.stage import Inputs, Made, Stage, View

Floats = NDArray[np.float64]
Source = Literal["in_sample", "out_of_fold"]
SOURCES: tuple[Source, ...] = ("in_sample", "out_of_fold")
Treatment = Literal["ignore", "fp"]
TREATMENTS: tuple[Treatment, ...] = ("ignore", "fp")
PAPER_COUNTING = {
    "single_reader": "fp",
    "extra_hits": "ignore",
    "shared_candidates": "all",
    "repeats": "count",
}
"""Count as in the paper, whatever the settings of the study."""
PAPER_SCALE = ("in_sample", "paper")
SCALES = (*itertools.product(SOURCES, TREATMENTS), PAPER_SCALE)
"""Source of thresholds and counting of the columns of scores that a nested run has for each model."""
DETECTOR = "detector"
"""Stands among the models for what each outer fold of a nested run supports."""


def name_scale(source: str, counting: str) -> str:
    """Name the column of scores on the scale of thresholds from a source under a counting."""
    return f"nested_{source}_{counting}"


def options_of_scale(counting: str) -> dict[str, str]:
    """Return how a scale counts: by a treatment of single-reader GTs, or as the paper does."""
    return PAPER_COUNTING if counting == PAPER_SCALE[1] else {"single_reader": counting}


@dataclass(frozen=True, eq=False)
class MatchedScores:
    """One model's scores of the candidates, matched: in sample, out of fold, and on the test set.

    Without a test set, ``test`` is all images, with scores of outer folds on the scale of `place_on_fp_scale`; there is
    one for each of `SCALES` (``nested``). ``own`` is the source of the study's own thresholds.
    """

    training: Matching
    out_of_fold: Matching
    test: Matching
    nested: Mapping[tuple[str, str], Floats] | None = None
    own: Source = "out_of_fold"

    @classmethod
    def from_table(
        cls, cohort: Cohort, scores: pd.DataFrame, name: str, unseen_by: str = "", own: Source = "out_of_fold"
    ) -> MatchedScores:
        """Take the columns of a model in a table of scores; the unseen ones may be those of another (`DETECTOR`)."""
        merged = cohort.split("training", "validation")
        inside = scores["image_id"].isin(merged.images["image_id"])
        nested: dict[tuple[str, str], Floats] | None = None
        if cohort.is_nested:
            nested = {
                scale: scores[f"{unseen_by or name}_{name_scale(*scale)}"].to_numpy() for scale in SCALES
            }
            unseen = nested[own, cohort.counting.single_reader]
        else:
            unseen = scores.loc[~inside, name].to_numpy()
        return cls(
            merged.matching.with_scores(scores.loc[inside, name].to_numpy()),
            merged.matching.with_scores(scores.loc[inside, f"{name}_out_of_fold"].to_numpy()),
            cohort.unseen.matching.with_scores(unseen),
            nested,
            own,
        )

    def under(self, single_reader: str) -> MatchedScores:
        """Return the same scores under a treatment of single-reader GTs."""
        sets = (self.training, self.out_of_fold, self.test)
        training, out_of_fold, test = (one.with_counting(single_reader=single_reader) for one in sets)
        if self.nested is not None:
            test = test.with_scores(self.nested[self.own, single_reader])
        return replace(self, training=training, out_of_fold=out_of_fold, test=test)

    def test_at(self, source: str) -> Matching:
        """Return the test set with the scores that thresholds of a source are for; there are two in nested runs."""
        if self.nested is None:
            return self.test
        return self.test.with_scores(self.nested[source, self.test.counting.single_reader])

    def as_in_paper(self) -> tuple[Matching, Matching]:
        """Return training + validation and the test set as the paper counts; thresholds are in sample."""
        training, test = (one.with_counting(**PAPER_COUNTING) for one in (self.training, self.test))
        return training, test if self.nested is None else test.with_scores(self.nested[PAPER_SCALE])

    def thresholds(self, fp_targets: Sequence[float], source: Source | None = None) -> Floats:
        """Return the locked thresholds, which the test set has no say in; infinite where nothing is shown."""
        if self.nested is not None:
            return -np.asarray(fp_targets, dtype=np.float64)
        locking = self.source(source or self.own)
        return operating_points(locking, fp_targets=fp_targets)["threshold"].to_numpy(np.float64)

    def source(self, name: str) -> Matching:
        """Return the matching that thresholds are taken from."""
        return self.training if name == "in_sample" else self.out_of_fold


def scores_stage(wanted: Sequence[str], *, is_nested: bool) -> Stage:
    """Return the stage that scores all candidates by the models of these names."""
    return Stage(
        "scores",
        reads=(
            "cohort",
            *(f"models/{name}.json" for name in wanted),
            *(f"tables/out_of_fold_{name}.parquet" for name in wanted),
            *(f"tables/nested_{name}.parquet" for name in (*wanted, DETECTOR) if is_nested),
        ),
        writes=("tables/scores.parquet", "tables/objects.parquet"),
        settings=("models.wanted",),
        make=partial(_score_candidates, wanted=wanted),
    )


def _score_candidates(inputs: Inputs, *, wanted: Sequence[str]) -> Made:
    """Tabulate the scores, and for each GT its best candidate."""
    cohort = inputs["cohort"]
    scores = cohort.candidates[KEYS].copy()
    for name in wanted:
        scores[name] = MODELS[name].score(inputs[f"models/{name}.json"], cohort.features)
        held_out = inputs[f"tables/out_of_fold_{name}.parquet"].rename(
            columns={"score": f"{name}_out_of_fold"}
        )
        scores = scores.merge(held_out, on=KEYS, how="left", validate="one_to_one")
    for name in (*wanted, DETECTOR) if cohort.is_nested else ():
        nested = inputs[f"tables/nested_{name}.parquet"].drop(columns="fold")
        nested = nested.rename(columns={"score": "nested", "probability": "nested_probability"})
        nested = nested.rename(
            columns={column: f"{name}_{column}" for column in nested if column not in KEYS}
        )
        scores = scores.merge(nested, on=KEYS, how="left", validate="one_to_one")
    return {
        "tables/scores.parquet": scores,
        "tables/objects.parquet": tabulate_objects(cohort, scores, wanted),
    }


def tabulate_objects(cohort: Cohort, scores: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """GTs with their split, and for each model the best candidate that is shown on each and its score.

    ``reached`` says whether any candidate hits the GT. For a GT that no shown candidate hits, candidate and score are
    missing.
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


def _match_scores(inputs: Inputs) -> dict[str, MatchedScores]:
    """Match the scores of every model that was fitted."""
    cohort, scores = inputs["cohort"], inputs["tables/scores.parquet"]
    fitted = [name for name in inputs.settings.models.wanted if name in scores]
    own = inputs.settings.evaluation.thresholds
    return {name: MatchedScores.from_table(cohort, scores, name, own=own) for name in fitted}


def _match_detector(inputs: Inputs) -> MatchedScores:
    """Match the scores of the detector: of the supported model, and unseen ones of what each outer fold supports."""
    name = inputs["supported.json"]["model"]
    if not inputs["cohort"].is_nested:
        matched: MatchedScores = inputs["matched"][name]
        return matched
    own = inputs.settings.evaluation.thresholds
    return MatchedScores.from_table(inputs["cohort"], inputs["tables/scores.parquet"], name, DETECTOR, own)


def _lock_thresholds(inputs: Inputs) -> Made:
    """Thresholds of every model, source and treatment at the FP targets; the test set has no say in them."""
    matched, targets = inputs["matched"], inputs.settings.evaluation.fp_targets
    rows = []
    for name, treatment, source in itertools.product(matched, TREATMENTS, SOURCES):
        matching = matched[name].under(treatment).source(source)
        points = operating_points(matching, fp_targets=targets).drop(columns="set")
        points.insert(0, "model", name)
        points.insert(1, "source", source)
        points.insert(2, "single_reader", treatment)
        marks = np.stack([matching.count_shown(threshold) for threshold in points["threshold"]])
        points["n_images"] = matching.n_images
        points["marks_per_image"] = marks.mean(axis=1)
        points["marks_variance"] = marks.var(axis=1, ddof=1)
        rows.append(points.assign(data_sha256=matching.fingerprint()))
    table = pd.concat(rows, ignore_index=True)
    return {"operating_points.json": [to_json(row) for row in table.to_dict("records")]}


MATCHED = View(
    "matched",
    reads=("cohort", "tables/scores.parquet"),
    settings=("models.wanted", "evaluation.thresholds"),
    make=_match_scores,
)
MATCHED_DETECTOR = View(
    "matched_detector",
    reads=("cohort", "matched", "supported.json", "tables/scores.parquet"),
    settings=("evaluation.thresholds",),
    make=_match_detector,
)
OPERATING_POINTS = Stage(
    "operating_points",
    reads=("matched",),
    writes=("operating_points.json",),
    settings=("evaluation.fp_targets",),
    make=_lock_thresholds,
)
