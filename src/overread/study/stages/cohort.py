"""What the stages after the images share: the cohort, its folds, and what tuning chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from overread.bags import split_by_patient
from overread.froc import Counting
from overread.study.cohort import KEYS, Cohort, Features, Split
from overread.study.models.plug import Fold
from overread.study.stages.stage import Inputs, View
from overread.truth import candidate_hits
from overread.truth.labels import reading_range

__all__ = ["COHORT", "FOLDS", "chosen_view", "make_folds"]

TABLES = ("images", "readings", "marks", "truth", "candidates")


def assemble_cohort(inputs: Inputs) -> Cohort:
    """Put the tables together, without images that were given up, and look for hits."""
    settings = inputs.settings
    tables = {name: inputs[f"tables/{name}.parquet"] for name in TABLES}
    known, split = inputs["tables/images.parquet"]["image_id"], inputs["tables/split.parquet"]
    limits = reading_range(tables["readings"], settings.labels.make_options())
    tables = {
        name: table[table["image_id"].isin(known)].reset_index(drop=True) for name, table in tables.items()
    }
    store, candidates = inputs["features.npy"], tables["candidates"]
    keys = pd.MultiIndex.from_frame(candidates[KEYS])
    rule = settings.hits.hit_rule()
    return Cohort(
        **tables,
        features=Features(
            tuple(inputs["feature_names.json"]),
            store,
            np.arange(store.shape[0]),
            keys,
            settings.execution.memory_mb or None,
        ),
        hits=candidate_hits(candidates, tables["truth"], rule),
        counting=Counting(
            rule=rule, single_reader=settings.hits.single_reader, repeats=settings.hits.repeats
        ),
        n_max=limits.n_max,
        is_nested=not (split["split"] == "test").any(),
    )


def divide_into_folds(inputs: Inputs) -> list[Fold]:
    """Divide training + validation; all models have these folds."""
    settings = inputs.settings
    return make_folds(inputs["cohort"].split("training", "validation"), settings.models.folds, settings.seed)


def make_folds(whole: Split, n_folds: int, seed: int) -> list[Fold]:
    """Divide a split into folds: patients stay whole, golden GTs are shared evenly."""
    names = [str(k) for k in range(min(n_folds, whole.images["patient_id"].nunique()))]
    fold = split_by_patient(whole.images, whole.truth, names=names, random_state=seed)
    ids = whole.images["image_id"]
    return [
        Fold(whole.of_images(ids[fold == name]), whole.of_images(ids[fold != name]))
        for name in sorted(fold.unique())
    ]


def chosen_view(model: str) -> View:
    """Return the view of the parameters that tuning chose; how they were chosen does not matter to it."""

    def make(inputs: Inputs) -> Any:
        return inputs[f"tuning/{model}.json"]["parameters"]

    return View(f"chosen/{model}", reads=(f"tuning/{model}.json",), make=make, key=dict)


COHORT = View(
    "cohort",
    reads=(
        *(f"tables/{name}.parquet" for name in TABLES),
        "tables/split.parquet",
        "features.npy",
        "feature_names.json",
    ),
    settings=("hits", "labels"),
    make=assemble_cohort,
    means=("execution.memory_mb",),
)
FOLDS = View("folds", reads=("cohort",), settings=("models.folds", "seed"), make=divide_into_folds)
