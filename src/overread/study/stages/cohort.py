"""What the stages after the images share: the cohort, its folds, and what tuning chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from overread.bags import split_by_patient
from overread.froc import Counting
from overread.study.cohort import KEYS, Cohort, Features
from overread.study.models.plug import Fold
from overread.study.stages.stage import Inputs, View
from overread.truth import LabelOptions, candidate_hits
from overread.truth.labels import reading_range

__all__ = ["COHORT", "FOLDS", "chosen_view"]

TABLES = ("images", "readings", "marks", "truth", "candidates")


def assemble_cohort(inputs: Inputs) -> Cohort:
    """Put the tables together, without images that were given up, and look for hits."""
    settings = inputs.settings
    tables = {name: inputs[f"tables/{name}.parquet"] for name in TABLES}
    known = inputs["tables/image_facts.parquet"]["image_id"]
    limits = reading_range(tables["readings"], LabelOptions(**dict(settings.labels)))
    tables = {
        name: table[table["image_id"].isin(known)].reset_index(drop=True) for name, table in tables.items()
    }
    store, candidates = inputs["features.npy"], tables["candidates"]
    keys = pd.MultiIndex.from_frame(candidates[KEYS])
    rule = settings.hits.hit_rule()
    return Cohort(
        **tables,
        features=Features(tuple(inputs["feature_names.json"]), store, np.arange(store.shape[0]), keys),
        hits=candidate_hits(candidates, tables["truth"], rule),
        counting=Counting(
            rule=rule, single_reader=settings.hits.single_reader, repeats=settings.hits.repeats
        ),
        n_max=limits.n_max,
    )


def divide_into_folds(inputs: Inputs) -> list[Fold]:
    """Divide training + validation: patients stay whole, golden GTs are shared evenly; all models have these folds."""
    merged, settings = inputs["cohort"].split("training", "validation"), inputs.settings
    n_folds = min(settings.models.folds, merged.images["patient_id"].nunique())
    names = [str(k) for k in range(n_folds)]
    fold = split_by_patient(merged.images, merged.truth, names=names, random_state=settings.seed)
    ids = merged.images["image_id"]
    return [
        Fold(merged.of_images(ids[fold == name]), merged.of_images(ids[fold != name]))
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
        "tables/image_facts.parquet",
        "features.npy",
        "feature_names.json",
    ),
    settings=("hits", "labels"),
    make=assemble_cohort,
)
FOLDS = View("folds", reads=("cohort",), settings=("models.folds", "seed"), make=divide_into_folds)
