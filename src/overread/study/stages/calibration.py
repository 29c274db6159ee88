"""Probabilities from out-of-fold scores, and the model that these scores support.

A probability is shown beside a mark, and there is one mark a place: the strongest candidate there. The map is fitted to
just these, each with the soft label of the object that it lies on, or 0. A bag's noisy-or, which the models are fitted
with, is larger than its strongest candidate, so a map fitted to bags makes the marks look less likely than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags import find_patients, weigh_readings
from overread.files import to_json
from overread.froc import Matching, SettingChoice, choose_setting
from overread.models import count_features
from overread.study._calibration import ScoreCalibration, fit_score_map
from overread.study._cohort import Split
from overread.study._settings import Settings
from overread.study.models.base import Fold
from overread.study.stages.stage import Inputs, Made, Stage

Floats = NDArray[np.float64]


def calibration_stage(name: str) -> Stage:
    """Return the stage that fits a model's score map: to scores by models that did not see their patient."""

    def make(inputs: Inputs) -> Made:
        merged = inputs["cohort"].split("training", "validation")
        scores = inputs[f"tables/out_of_fold_{name}.parquet"]["score"].to_numpy()
        return {f"tuning/{name}_map.json": to_json(fit_place_map(merged, scores, inputs["folds"]))}

    return Stage(
        f"calibration_{name}",
        reads=("cohort", "folds", f"tables/out_of_fold_{name}.parquet"),
        writes=(f"tuning/{name}_map.json",),
        make=make,
    )


@dataclass(frozen=True, eq=False)
class ShownPlaces:
    """Candidates (rows of the split's) that are shown, one per bag, with image, patient and weight of its readings.

    The label is the soft label of the object that it lies on, the likeliest of several; 0 where there is none.
    """

    rows: NDArray[np.intp]
    labels: Floats
    weights: Floats
    images: NDArray[np.object_]
    patients: NDArray[np.object_]


def find_places(split: Split, scores: Floats) -> ShownPlaces:
    """Find the candidates of a split that are shown with these scores."""
    rows = np.flatnonzero(split.matching.require_geometry().find_shown(split.counting, scores))
    labels = np.zeros(len(scores))
    probability = split.truth["probability"].to_numpy(np.float64)
    np.maximum.at(labels, split.hits["candidate_row"].to_numpy(), probability[split.hits["truth_row"]])
    images = split.candidates["image_id"].iloc[rows]
    return ShownPlaces(
        rows=rows,
        labels=labels[rows],
        weights=weigh_readings(images, split.readings, split.n_max, split.truth)
        if split.weighs_readers
        else np.ones(len(rows)),
        images=images.to_numpy(),
        patients=find_patients(images, split.images),
    )


def fit_place_map(split: Split, scores: Floats, folds: Iterable[Fold]) -> ScoreCalibration:
    """Fit a map to the bags of a split; the folds are those of the out-of-fold scores."""
    places = find_places(split, scores)
    fold_of_image = {
        image_id: k for k, fold in enumerate(folds) for image_id in fold.held_out.images["image_id"]
    }
    fold = pd.Series(places.images).map(fold_of_image).to_numpy(np.intp)
    return fit_score_map(scores[places.rows], places.labels, places.weights, fold)


def supported_stage(wanted: Sequence[str]) -> Stage:
    """Return the stage that finds the model which out-of-fold scores support."""
    return Stage(
        "supported",
        reads=(
            "cohort",
            *(f"models/{name}.json" for name in wanted),
            *(f"tables/out_of_fold_{name}.parquet" for name in wanted),
        ),
        writes=("supported.json",),
        settings=("models.wanted", "models.choice_fp_targets", "models.standard_errors", "seed"),
        make=partial(_support_model, names=wanted),
    )


def _support_model(inputs: Inputs, *, names: Sequence[str]) -> Made:
    """Choose by the out-of-fold scores of training + validation."""
    choice = choose_model(
        inputs["cohort"].split("training", "validation").matching,
        [inputs[f"tables/out_of_fold_{name}.parquet"]["score"].to_numpy() for name in names],
        [count_features(inputs[f"models/{name}.json"]) for name in names],
        inputs.settings,
    )
    table = pd.concat([pd.DataFrame({"model": names}), choice.table], axis=1)
    return {
        "supported.json": {
            "model": names[choice.position],
            "choice": {**to_json(choice), "table": to_json(table)},
        }
    }


def choose_model(
    matching: Matching, scores: Sequence[Floats], n_features: Sequence[int], settings: Settings
) -> SettingChoice:
    """Choose among models as among settings: the most compact of those as good as the best out of fold."""
    return choose_setting(
        matching,
        np.column_stack(scores),
        n_features,
        fp_targets=settings.models.choice_fp_targets,
        n_standard_errors=settings.models.standard_errors,
        seed=settings.seed,
    )
