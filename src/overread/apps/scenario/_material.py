"""The material of a scenario: images with candidates and features, computed once, and objects that readers may mark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from overread.apps.scenario._design import Design
from overread.errors import InvalidInputError
from overread.files import KNOWN_NODULES_FILE, SIMULATION_FILE, ColumnFile, write_columns
from overread.froc import Counting
from overread.simulate import (
    CandidateCohort,
    ReaderModel,
    candidate_cohort,
    law_for_readers,
    reader_panel,
)
from overread.study import KEYS, Cohort, Features, Run, find_study_candidates, open_run
from overread.tables import plain
from overread.truth import HIT, LabelOptions, MergeOptions

STORE = "features.npy"
# Random streams of the cohort: levels of objects, choice of test patients, choice of features.
LEVELS, TEST, COLUMNS = 11, 12, 13


@dataclass(frozen=True, eq=False)
class Material:
    """The material from which training sets and the test set are drawn.

    Attributes
    ----------
    images
        image_id, patient_id and is_test.
    candidates, features
        Tables of all images.
    counting
        Hit rule, and how hits are counted.
    objects
        Objects that simulated readers may mark: image_id, object_id, x_mm, y_mm, diameter_mm, level, is_lesion; None
        with real readers.
    readings, marks
        Tables of real readers; None with simulated readers.
    words
        Description for the page.
    merging, labels
        Options for merging and labels: those of the run, if it is one.
    """

    images: pd.DataFrame
    candidates: pd.DataFrame
    features: Features
    counting: Counting
    objects: pd.DataFrame | None = None
    readings: pd.DataFrame | None = None
    marks: pd.DataFrame | None = None
    words: str = ""
    merging: MergeOptions = field(default_factory=MergeOptions)
    labels: LabelOptions = field(default_factory=LabelOptions)

    @property
    def training_ids(self) -> list[str]:
        """Images for training sets."""
        return self.images.loc[~self.images["is_test"], "image_id"].tolist()

    @property
    def test_ids(self) -> list[str]:
        """Images for testing only."""
        return self.images.loc[self.images["is_test"], "image_id"].tolist()


def prepare_material(design: Design, folder: Path) -> Material:
    """Make or read images, candidates and features; finished work in the folder is kept."""
    kind = design.source.kind
    if kind == "table":
        material = _draw_table(design, folder)
    elif kind == "run":
        material = _take_run(design, folder)
    else:
        material = _take_study(design, folder)
    wanted, there = max(design.grid.images), len(material.training_ids)
    if wanted > there:
        raise InvalidInputError(
            f"[grid] images: {wanted} training images are wanted, but only {there} are left besides the test set"
        )
    return material


def make_readers(design: Design, n_readers: int) -> ReaderModel:
    """Make readers with the design's spread; their other parameters are fitted to the paper's counts."""
    own = design.readers
    skill, threshold = own.skill_spread, own.threshold_spread
    readers = reader_panel(n_readers, skills=(-skill, skill), thresholds=(-threshold, threshold))
    return replace(law_for_readers(n_readers).readers, readers=readers, false_marks=own.false_marks)


def _draw_table(design: Design, folder: Path) -> Material:
    """Candidates and features without pixels."""
    source = design.source
    n_features = source.features or 40
    drawn = candidate_cohort(
        source.cohort,
        n_features=n_features,
        n_informative=min(source.informative, n_features),
        lookalikes_per_image=design.readers.lookalikes,
        seed=design.seed,
    )
    names = [str(name) for name in drawn.features if name not in KEYS]
    store = _write_store(folder, drawn.features[names].to_numpy(np.float32))
    return Material(
        images=_choose_test(drawn.images, source.test, design.seed),
        candidates=plain(drawn.candidates)[0],
        features=_index(drawn.candidates, tuple(names), store),
        objects=_level_table_objects(drawn, design),
        counting=Counting(rule=HIT.in_unit("mm")),
        words=f"{source.cohort:,} images without pixels: candidates and {n_features} features are drawn as tables",
    )


def _level_table_objects(drawn: CandidateCohort, design: Design) -> pd.DataFrame:
    objects = pd.concat(
        [drawn.lesions.assign(is_lesion=True), drawn.lookalikes.assign(is_lesion=False)], ignore_index=True
    )
    names = [f"o{number}" for number in range(len(objects))]
    return objects.assign(level=_draw_levels(objects, design), object_id=names)


def _draw_levels(objects: pd.DataFrame, design: Design) -> list[float]:
    """Draw the level that all readers of an object share."""
    model, random = make_readers(design, 1), np.random.default_rng([design.seed, LEVELS])
    pairs = zip(objects["conspicuity"].tolist(), objects["diameter_mm"].tolist(), strict=True)
    return [model.nodule_level(*pair, random) for pair in pairs]


def _take_study(design: Design, folder: Path) -> Material:
    """Process a simulated study like a run, up to its features."""
    source = design.source
    study = Path(str(source.study))
    if not (study / SIMULATION_FILE).is_file():
        raise InvalidInputError(
            f'{study}: is not a simulated study, so its true objects are unknown. For your data use kind = "run".'
        )
    whole = Run(find_study_candidates(study, execution={"workers": source.workers}).folder).cohort
    objects = _read_objects(study, design)
    objects = objects[objects["image_id"].isin(whole.images["image_id"])].reset_index(drop=True)
    images = _choose_test(whole.images[["image_id", "patient_id"]], source.test, design.seed)
    return replace(
        _thin_out(whole, images, design, folder),
        objects=objects,
        words=f"{len(whole.images):,} simulated images ({study.name}) with {int(objects['is_lesion'].sum()):,} nodules",
    )


def _read_objects(study: Path, design: Design) -> pd.DataFrame:
    """Nodules and distractors of a simulated study, with the levels that all readers share."""
    nodules = pd.read_csv(study / KNOWN_NODULES_FILE, dtype={"image_id": str})
    distractors = pd.read_csv(study / "known" / "distractors.csv", dtype={"image_id": str})
    own = nodules.rename(columns={"nodule_id": "object_id"})
    own = own.assign(level=_draw_levels(nodules, design), is_lesion=True)
    columns = ["image_id", "object_id", "x_mm", "y_mm", "diameter_mm", "level", "is_lesion"]
    return pd.concat([own[columns], distractors.assign(is_lesion=False)[columns]], ignore_index=True)


def _take_run(design: Design, folder: Path) -> Material:
    """Use a run: its test set, or a part of its patients if it has none, is the test set."""
    run = open_run(Path(str(design.source.run)))
    whole = run.cohort
    least = _count_needed(whole.readings, design)
    counts = whole.readings["image_id"].value_counts()
    enough = whole.images["image_id"].map(counts).fillna(0) >= least
    if whole.is_nested:
        images = _choose_test(whole.images[["image_id", "patient_id"]], design.source.test, design.seed)
    else:
        images = whole.images[["image_id", "patient_id"]].assign(is_test=whole.images["split"] == "test")
    images = images[images["is_test"] | enough].reset_index(drop=True)
    material, settings = _thin_out(whole, images, design, folder), run.settings
    return replace(
        material,
        merging=MergeOptions(**dict(settings.merging), seed=settings.seed),
        # The design asks for fewer readings than the run has.
        labels=replace(settings.labels.make_options(), n_min=None, n_max=None),
        readings=whole.readings,
        marks=whole.marks.drop(columns="label", errors="ignore"),
        words=f"the run {run.root.parent.parent.name}/{run.root.name} with its real readers; {int(enough.sum()):,} of"
        f" {len(enough):,} images have {least} or more reading{'s' if least != 1 else ''}",
    )


def _count_needed(readings: pd.DataFrame, design: Design) -> int:
    """Return the least readings per image: one if whole readers are dropped, else the design's most."""
    most, n_readers = max(design.grid.readings), readings["reader_id"].nunique()
    if design.readers.leave_out == "readings":
        return most
    if most > n_readers:
        raise InvalidInputError(
            f"[grid] readings: {most} readers should be kept, but the run has {n_readers}"
        )
    return 1


def _thin_out(whole: Cohort, images: pd.DataFrame, design: Design, folder: Path) -> Material:
    """Keep the strongest candidates and some features, as the design says, in a separate store."""
    source, table = design.source, whole.candidates
    keep = table["image_id"].isin(images["image_id"]).to_numpy()
    if source.candidates:
        rank = table.groupby("image_id")["response"].rank(ascending=False, method="first")
        keep = keep & (rank <= source.candidates).to_numpy()
    n_columns = len(whole.features.names)
    columns = np.arange(n_columns)
    if 0 < source.features < n_columns:
        random = np.random.default_rng([design.seed, COLUMNS])
        columns = np.sort(random.choice(n_columns, source.features, replace=False))
    matrix = whole.features.store.take(whole.features.rows[keep], columns)
    candidates = table[keep].reset_index(drop=True)
    names = tuple(whole.features.names[column] for column in columns)
    return Material(
        images=images,
        candidates=candidates,
        features=_index(candidates, names, _write_store(folder, matrix.astype(np.float32))),
        counting=whole.counting,
    )


def _index(candidates: pd.DataFrame, names: tuple[str, ...], store: ColumnFile) -> Features:
    keys = pd.MultiIndex.from_frame(candidates[KEYS])
    return Features(names, store, np.arange(len(candidates)), keys)


def _write_store(folder: Path, matrix: np.ndarray) -> ColumnFile:
    return write_columns(folder / STORE, [matrix], len(matrix), matrix.shape[1], np.dtype(np.float32))


def _choose_test(images: pd.DataFrame, n_test: int, seed: int) -> pd.DataFrame:
    """Draw whole patients until there are enough test images."""
    patients = images["patient_id"].fillna("image " + images["image_id"].astype(str))
    names = np.random.default_rng([seed, TEST]).permutation(np.sort(patients.unique()))
    sizes = patients.value_counts()[names].to_numpy()
    n_chosen = int(np.searchsorted(np.cumsum(sizes), n_test)) + 1
    return images.assign(is_test=patients.isin(names[:n_chosen])).reset_index(drop=True)
