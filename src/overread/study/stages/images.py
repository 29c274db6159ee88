"""Every image becomes a shard, or is skipped with a reason; then the shards become tables.

The first stage keeps its own record, the manifest: only images that are not done yet are worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.bags import refuse_leakage
from overread.domains import ImagePipeline, ImageWork, get_domain
from overread.errors import InvalidInputError, TableError
from overread.files import FileDigests, digest_of_bytes, encode_columns, fill_columns
from overread.marks import find_path
from overread.study._cohort import KEYS
from overread.study._image_jobs import make_tasks, work_on_images
from overread.study._near_copies import compare_rows, compare_sketches, refuse_copies
from overread.study._pipeline import PipelineSpec, Versions
from overread.study._store import CANDIDATE_COLUMNS, Manifest, RunFolder, decode_shard, shard_file
from overread.study.executors._executors import Executor
from overread.study.stages.stage import Inputs, Made, Stage, View
from overread.tables import named, outside_the_image, raise_or_warn

# Features of many images are written together, in blocks of 64 MB, so that a part of a column is a write of some size.
CELLS_AT_ONCE = 2**24
# A table of one image takes thousands of bytes beside its rows; this many of them are joined early. Set by judgement.
TABLES_AT_ONCE = 1000
EMPTY_FILE = digest_of_bytes(b"")
TABLES = (
    "tables/images.parquet",
    "tables/candidates.parquet",
    "tables/image_facts.parquet",
    "features.npy",
    "feature_names.json",
)


@dataclass(frozen=True)
class Workshop:
    """Context of the work on images, without tables; ``say`` is called with lines for log and screen."""

    folder: RunFolder
    pipeline: PipelineSpec
    make_executor: Callable[[], Executor]
    say: Callable[[str], None]


@dataclass(frozen=True)
class Shards:
    """The shards of a run, in the order of the manifest; skipped images have none."""

    folder: RunFolder
    digests: dict[str, str | None]

    def __iter__(self) -> Iterator[tuple[str, ImageWork]]:
        for image_id, digest in self.digests.items():
            if digest is not None:
                yield image_id, decode_shard(self.folder.path(shard_file(image_id)).read_bytes())


def images_stage(workshop: Workshop, *, own_candidates: bool) -> Stage:
    """Return the stage that processes images; a study may supply candidates."""
    return Stage(
        "images",
        reads=(
            "input/images",
            "input/folder",
            "tables/split.parquet",
            *(["input/candidates"] if own_candidates else []),
        ),
        writes=("manifest.json",),
        settings=("region", "images"),
        make=partial(_make_shards, workshop=workshop),
        resumes=True,
    )


def _make_shards(inputs: Inputs, *, workshop: Workshop) -> Made:
    """Bring the shards up to date; nothing is returned where nothing was to be done."""
    folder = workshop.folder
    digests = FileDigests(folder.path("file_digests.json"))
    # Not inputs.get: it would hide a name that was not declared.
    given = inputs["input/candidates"] if "input/candidates" in inputs else None  # noqa: SIM401
    images, settings, pipeline = inputs["input/images"], inputs.settings, workshop.pipeline.build()
    plain = {"region": settings.region.model_dump(), "images": settings.images.model_dump()}
    tasks, faults = make_tasks(
        images,
        inputs["input/folder"],
        digests,
        pipeline,
        None
        if given is None
        else {
            str(name): rows[list(CANDIDATE_COLUMNS)].reset_index(drop=True)
            for name, rows in given.groupby("image_id")
        },
        masks=get_domain(settings.region.kind).find_masks(images, inputs["input/folder"], plain),
    )
    digests.save()
    if isinstance(pipeline, ImagePipeline):
        known = Manifest(folder).entries
        fresh = [task for task in tasks if task.image_id not in {*faults, *known}]
        pipeline.domain.refuse_strangers(fresh)
    content = {task.image_id: task.sha256 for task in tasks if task.sha256 not in (None, EMPTY_FILE)}
    _refuse_shared_pixels(inputs["tables/split.parquet"], content)
    executor = workshop.make_executor()
    try:
        entries, n_worked = work_on_images(
            folder, tasks, faults, executor, Versions.of(pipeline), say=workshop.say
        )
    finally:
        executor.close()
    if not any(entry.sha256 for entry in entries.values()):
        raise InvalidInputError(
            f"{inputs['input/folder']}: none of the {len(tasks)} images could be processed; see {folder.root}/run.log"
        )
    return {"manifest.json": n_worked} if n_worked else {}


def _refuse_shared_pixels(images: pd.DataFrame, hash_of_image: Mapping[str, str | None]) -> None:
    """Refuse the same pixels, or bytes, in two splits; in two patients where every patient is a test patient once."""
    refuse_leakage(_with_parts(images).assign(pixel_hash=images["image_id"].map(hash_of_image)))


def _with_parts(images: pd.DataFrame) -> pd.DataFrame:
    """Give each image the part whose copies no other may have: its split, or its patient where there is no test set."""
    parts = images["split"] if (images["split"] == "test").any() else "patient " + images["patient_id"]
    return images.assign(split=parts)


def _refuse_similar_pictures(images: pd.DataFrame, sketches: Mapping[str, str | None], folder: Path) -> None:
    """Refuse copies that differ in some pixels, where `_refuse_shared_pixels` refuses those that do not."""
    own = _with_parts(images[images["image_id"].isin(list(sketches))])
    ids = own["image_id"].tolist()
    pairs = compare_sketches([sketches[image_id] for image_id in ids], own["split"].tolist())
    refuse_copies([(ids[one], ids[other]) for one, other in pairs], own, folder)


def shards_view(folder: RunFolder) -> View:
    """Return the view of the shards; it changes when the bytes of a shard do."""
    return View(
        "shards",
        reads=("manifest.json",),
        make=lambda inputs: Shards(
            folder, {entry["image_id"]: entry["sha256"] for entry in inputs["manifest.json"]["images"]}
        ),
        key=lambda shards: list(shards.digests.items()),
    )


def places_stage(*, own_candidates: bool) -> Stage:
    """Return the stage that looks for marks, and candidates of the study's own, outside their images.

    An images table may lack the sizes; here they are known.
    """
    tables = ("input/marks", *(["input/candidates"] if own_candidates else []))
    reads = (*tables, "input/folder", "tables/image_facts.parquet")
    return Stage(
        "check_places",
        reads=reads,
        writes=(),
        settings=("inputs.candidates", "units.unit"),
        make=partial(check_places, tables=tables),
    )


def check_places(inputs: Inputs, *, tables: tuple[str, ...]) -> Made:
    """Refuse what lies outside its image by a whole image, and warn of what lies outside at all."""
    facts = inputs["tables/image_facts.parquet"]
    unit = inputs.settings.units.unit
    if not {f"width_{unit}", f"height_{unit}"} <= set(facts.columns):
        return {}
    width, height = _measure_sides(facts, unit)
    # Sizes are in the unit already, as if pixels had a side of 1 in it.
    images = facts[["image_id"]].assign(width_px=width, height_px=height, mm_per_px_x=1.0, mm_per_px_y=1.0)
    for name in tables:
        folder, own = inputs["input/folder"], inputs.settings.inputs.candidates
        file = find_path(folder, "marks") if name == "input/marks" else folder / own
        raise_or_warn(outside_the_image(named(inputs[name], unit), images, str(file)))
    return {}


def _measure_sides(facts: pd.DataFrame, unit: str) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return width and height of the images in the unit: from the file if it states them, not rounded to the grid."""
    if not {"source_shape", "source_mm_per_px"} <= set(facts.columns):
        return facts[f"width_{unit}"], facts[f"height_{unit}"]
    shape, sides = (
        np.array(facts[name].tolist(), np.float64) for name in ("source_shape", "source_mm_per_px")
    )
    width, height = (shape[:, ::-1] * sides).T
    return pd.Series(width, facts.index), pd.Series(height, facts.index)


QUARANTINED = View(
    "quarantined",
    reads=("manifest.json",),
    make=lambda inputs: [
        {"image_id": entry["image_id"], "kind": str(entry["fault_kind"]), "reason": str(entry["reason"])}
        for entry in inputs["manifest.json"]["images"]
        if entry["sha256"] is None
    ],
    key=list,
)


def gather_stage(*, own_features: bool) -> Stage:
    """Return the stage that puts candidates, features and facts of all images together."""
    if own_features:
        tables = ("tables/split.parquet", "input/candidates", "input/features", "input/folder")
        return Stage("candidates", reads=tables, writes=TABLES, make=_take_own_tables)
    reads = ("shards", "tables/split.parquet", "input/folder")
    return Stage("candidates", reads=reads, writes=TABLES, make=_gather_shards)


def _gather_shards(inputs: Inputs) -> Made:
    """Decode every shard twice: for the tables, and for the features, of which no more than a block is held."""
    joined: list[pd.DataFrame] = []
    tables: list[pd.DataFrame] = []
    facts: list[dict[str, Any]] = []
    names: tuple[str, ...] = ()
    for image_id, shard in inputs["shards"]:
        tables.append(shard.candidates.assign(image_id=image_id)[["image_id", *shard.candidates.columns]])
        facts.append({"image_id": image_id, **shard.facts})
        own_names = tuple(shard.features.columns.drop("candidate_id"))
        names = names or own_names
        if own_names != names:
            raise InvalidInputError(f"image {image_id!r} has other features than the images before it")
        if len(tables) == TABLES_AT_ONCE:
            joined, tables = [*joined, pd.concat(tables, ignore_index=True)], []
    hashes = {fact["image_id"]: fact["pixel_hash"] for fact in facts}
    split = inputs["tables/split.parquet"]
    _refuse_shared_pixels(split, hashes)
    sketches = {fact["image_id"]: fact.pop("sketch", None) for fact in facts}
    _refuse_similar_pictures(split, sketches, inputs["input/folder"])
    compared = ["picture" if sketches[fact["image_id"]] else "pixels" for fact in facts]
    candidates = pd.concat([*joined, *tables], ignore_index=True)
    return {
        "tables/images.parquet": split[split["image_id"].isin(hashes)].reset_index(drop=True),
        "tables/candidates.parquet": candidates,
        "tables/image_facts.parquet": pd.DataFrame(facts).assign(compared=compared),
        "features.npy": partial(
            fill_columns,
            blocks=_join_rows(
                (shard.features[list(names)].to_numpy() for _, shard in inputs["shards"]),
                CELLS_AT_ONCE // len(names),
            ),
            n_rows=len(candidates),
            n_columns=len(names),
            dtype=np.dtype(np.float32),
            name="features.npy",
        ),
        "feature_names.json": list(names),
    }


def _join_rows(matrices: Iterable[np.ndarray], n_rows: int) -> Iterator[np.ndarray]:
    """Join small matrices into blocks that have a number of rows, or some more."""
    waiting: list[np.ndarray] = []
    n_waiting = 0
    for matrix in matrices:
        waiting.append(matrix)
        n_waiting += len(matrix)
        if n_waiting >= n_rows:
            yield np.concatenate(waiting)
            waiting, n_waiting = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _take_own_tables(inputs: Inputs) -> Made:
    """Take the tables that the study brings along; rows of features that belong to no candidate are left out."""
    candidates, features = inputs["input/candidates"], inputs["input/features"]
    rows = _find_rows(features.keys, candidates)
    images = _with_parts(inputs["tables/split.parquet"])
    copies = compare_rows(features, dict(zip(images["image_id"], images["split"], strict=True)))
    refuse_copies(copies or (), images, inputs["input/folder"], "the same features of candidates")
    return {
        "tables/images.parquet": inputs["tables/split.parquet"],
        "tables/candidates.parquet": candidates,
        "tables/image_facts.parquet": images[["image_id"]].assign(compared="" if copies is None else "rows"),
        "features.npy": encode_columns(
            (column[rows] for column in features.columns()), len(rows), len(features.names), features.dtype
        ),
        "feature_names.json": list(features.names),
    }


def _find_rows(keys: pd.DataFrame, candidates: pd.DataFrame) -> np.ndarray:
    """Find the row of each candidate."""
    if keys.equals(candidates[KEYS]):
        return np.arange(len(keys))
    rows = pd.MultiIndex.from_frame(keys).get_indexer(pd.MultiIndex.from_frame(candidates[KEYS]))
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        image, candidate = candidates[KEYS].iloc[missing[0]]
        raise TableError(f"features: no row for candidate {candidate!r} of image {image!r}")
    return rows
