"""What the stages after the images share: the cohort, its folds, and what tuning chose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from overread.bags import split_by_patient
from overread.froc import Counting
from overread.study._cohort import KEYS, Cohort, Features, Split
from overread.study.models.base import Fold
from overread.study.stages.stage import Inputs, View
from overread.truth import candidate_hits, reading_range

TABLES = ("images", "readings", "marks", "truth", "candidates")


def _assemble_cohort(inputs: Inputs) -> Cohort:
    """Put the tables together, without skipped images, and look for hits."""
    settings = inputs.settings
    tables = {name: inputs[f"tables/{name}.parquet"] for name in TABLES}
    known, split = inputs["tables/images.parquet"]["image_id"], inputs["tables/split.parquet"]
    limits = reading_range(tables["readings"], settings.labels.make_options())
    tables = {name: _keep_images(table, known) for name, table in tables.items()}
    store, candidates = inputs["features.npy"], tables["candidates"]
    keys = pd.MultiIndex.from_frame(candidates[KEYS])
    rule = settings.hits.hit_rule().in_unit(settings.units.unit)
    return Cohort(
        **tables,
        features=Features(
            tuple(inputs["feature_names.json"]),
            store,
            np.arange(store.shape[0]),
            keys,
            settings.execution.memory_mb or None,
            settings.execution.scheduler if settings.execution.executor == "dask" else None,
        ),
        hits=candidate_hits(candidates, tables["truth"], rule),
        counting=Counting(
            rule=rule, single_reader=settings.hits.single_reader, repeats=settings.hits.repeats
        ),
        n_max=limits.n_max,
        weighs_readers=settings.labels.reader_weights,
        is_nested=not (split["split"] == "test").any(),
    )


def _keep_images(table: pd.DataFrame, known: pd.Series[str]) -> pd.DataFrame:
    """Return the rows of known images; where these are all, a view of the table and not a second copy of it."""
    inside = table["image_id"].isin(known)
    return (table if inside.all() else table[inside]).reset_index(drop=True)


class Folds:
    """Folds of a split, each made when it is asked for: all of them together are many times the split."""

    def __init__(self, whole: Split, fold_of_image: pd.Series[str]) -> None:
        self._whole, self._fold_of_image = whole, fold_of_image
        self._names = sorted(fold_of_image.unique())

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Fold]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: int) -> Fold:
        ids, inside = self._whole.images["image_id"], self._fold_of_image == self._names[key]
        return Fold(self._whole.of_images(ids[inside]), self._whole.of_images(ids[~inside]))


def make_folds(whole: Split, n_folds: int, seed: int) -> Folds:
    """Divide a split into folds: patients stay whole, consensus objects are shared evenly."""
    names = [str(k) for k in range(min(n_folds, whole.images["patient_id"].nunique()))]
    return Folds(whole, split_by_patient(whole.images, whole.truth, names=names, random_state=seed))


def chosen_view(model: str) -> View:
    """Return the view of the parameters that tuning chose; how they were chosen does not matter to it."""
    file = f"tuning/{model}.json"
    return View(f"chosen/{model}", reads=(file,), make=lambda inputs: inputs[file]["parameters"], key=dict)


COHORT = View(
    "cohort",
    reads=(
        *(f"tables/{name}.parquet" for name in TABLES),
        "tables/split.parquet",
        "features.npy",
        "feature_names.json",
    ),
    settings=("hits", "labels", "units.unit"),
    make=_assemble_cohort,
    means=("execution.memory_mb", "execution.executor", "execution.scheduler"),
)
# Of training + validation; all models have these.
FOLDS = View(
    "folds",
    reads=("cohort",),
    settings=("models.folds", "seed"),
    make=lambda inputs: make_folds(
        inputs["cohort"].split("training", "validation"), inputs.settings.models.folds, inputs.settings.seed
    ),
)
