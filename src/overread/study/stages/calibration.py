"""Probabilities from out-of-fold scores, and the model that these scores support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags import Bags
from overread.bags.instances import InstanceMatrix
from overread.files.records import to_json
from overread.froc import choose_setting
from overread.models.loss.pooling import pool
from overread.models.tuning import count_features
from overread.study.cohort import Split
from overread.study.score_map import fit_score_map
from overread.study.stages.stage import Inputs, Stage

__all__ = ["calibration_stage", "score_bags", "supported_stage"]


def calibration_stage(name: str) -> Stage:
    """Return the stage that fits a model's score map."""
    return Stage(
        f"calibration_{name}",
        reads=("cohort", "folds", f"tables/out_of_fold_{name}.parquet"),
        writes=(f"tuning/{name}_map.json",),
        make=partial(calibrate, name=name),
    )


def calibrate(inputs: Inputs, *, name: str) -> Mapping[str, Any]:
    """Fit the map to bags of training + validation, scored by models that did not see their patient."""
    merged = inputs["cohort"].split("training", "validation")
    table = inputs[f"tables/out_of_fold_{name}.parquet"]
    bags, scores = score_bags(merged, table["score"].to_numpy())
    fold_of_image = {
        image_id: k for k, fold in enumerate(inputs["folds"]) for image_id in fold.held_out.images["image_id"]
    }
    known: Any = bags
    folds = known.bag_table["image_id"].map(fold_of_image).to_numpy(np.intp)
    fitted = fit_score_map(scores, known.labels, known.reader_weight, folds)
    return {f"tuning/{name}_map.json": to_json(fitted)}


class _ScoreRows:
    """Scores in place of features, to put bags together from."""

    def __init__(self, scores: NDArray[np.float64]) -> None:
        self._scores = scores

    def find_rows(self, image_ids: NDArray[Any], candidate_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the rows of all candidates."""
        return np.arange(len(image_ids))

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return scores as a column."""
        return InstanceMatrix(self._scores[rows][:, None], ("score",))


def score_bags(split: Split, scores: NDArray[np.float64]) -> tuple[Bags, NDArray[np.float64]]:
    """Return a split's bags with soft labels, and the log-odds of each by noisy-or of its candidates' scores."""
    bags = split.grouping.make_bags(
        _ScoreRows(scores), labels="soft", readings=split.readings, n_max=split.n_max, images=split.images
    )
    log_p, log_q = pool(bags.instances[:, 0].astype(np.float64), bags.offsets)
    return bags, np.clip(log_p - log_q, -700, 700)


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
        make=choose_model,
    )


def choose_model(inputs: Inputs) -> Mapping[str, Any]:
    """Choose among models as among settings: the most compact that cannot be told from the best out of fold."""
    settings = inputs.settings
    names = settings.models.wanted
    merged = inputs["cohort"].split("training", "validation")
    scores = np.column_stack([inputs[f"tables/out_of_fold_{name}.parquet"]["score"] for name in names])
    choice = choose_setting(
        merged.matching,
        scores,
        [count_features(inputs[f"models/{name}.json"]) for name in names],
        fp_targets=settings.models.choice_fp_targets,
        n_standard_errors=settings.models.standard_errors,
        seed=settings.seed,
    )
    table = pd.concat([pd.DataFrame({"model": names}), choice.table], axis=1)
    return {
        "supported.json": {
            "model": names[choice.position],
            "choice": {**to_json(choice), "table": to_json(table)},
        }
    }
