"""A study of pictures with several real readers, as the models of a study take it: used by `benchmarks.real_readers`.

Candidates and features of an image are kept as one Parquet file in a working folder, by group of labels; what is there
is kept. A `Split` of the study's own code holds them with the marks, so that models are tuned as a run tunes them.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from overread.domains import BlobFinder, extract_generic, radii_from_marks, read_picture
from overread.files import ColumnFile, encode_columns
from overread.froc import Counting
from overread.marks import read_folder
from overread.study import KEYS, Features, Split
from overread.tables import named
from overread.truth import EllipseHit, MergeOptions, candidate_hits, merge_marks

__all__ = ["GROUPS", "Group", "Source", "make_split", "read_group", "relabel"]

MM_PER_PX = 0.1
GREEN = (0.0, 1.0, 0.0)
LIMIT = 250
# 15 pixels: three times the tool's point marks.
COUNTING = Counting(rule=EllipseHit(min_semi_axis=1.5), single_reader="fp", repeats="count")
PLACE = ["x_mm", "y_mm", "radius_mm", "response"]


@dataclass(frozen=True)
class Group:
    """Labels that are one kind of lesion, and what the finder seeks."""

    name: str
    labels: tuple[str, ...]
    polarity: str


GROUPS = (
    Group("hard exudates", ("Hard_exudates",), "bright"),
    Group("red lesions", ("Haemorrhages", "Red_small_dots"), "dark"),
)


@dataclass(frozen=True, eq=False)
class Source:
    """Marks and candidates of one group on some images."""

    marks: pd.DataFrame
    readings: pd.DataFrame
    images: pd.DataFrame
    candidates: pd.DataFrame
    features: Features
    radii: tuple[float, float]

    @property
    def readers(self) -> list[str]:
        """Who reads."""
        return sorted(self.readings["reader_id"].unique())


def measure(task: tuple[Path, Path, str, tuple[float, float], int]) -> None:
    """Candidates and features of one image, as one Parquet file."""
    source, shard, polarity, radii, limit = task
    field = read_picture(source, mm_per_px=MM_PER_PX, weights=GREEN)
    found = BlobFinder(polarity, *radii)(field, limit=limit)  # type: ignore[arg-type]
    table = pd.concat(
        [named(found, "mm"), extract_generic(field, found).drop(columns="candidate_id")], axis=1
    )
    part = shard.with_suffix(".part")
    table.assign(image_id=source.stem).to_parquet(part)
    part.rename(shard)


def gather(
    images: list[str], pictures: Path, work: Path, group: Group, radii: tuple[float, float]
) -> pd.DataFrame:
    """All images of a group, from files where they are there."""
    folder = work / f"{group.name.replace(' ', '_')}-{LIMIT}-{radii[0]:.2f}-{radii[1]:.2f}"
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [
        (pictures / f"{name}.png", folder / f"{name}.parquet", group.polarity, radii, LIMIT)
        for name in images
    ]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(measure, [task for task in tasks if not task[1].exists()]))
    return pd.concat([pd.read_parquet(task[1]) for task in tasks], ignore_index=True)


def read_group(
    study: Path, pictures: Path, work: Path, group: Group, images: list[str], sized_by: list[str]
) -> Source:
    """Read marks of a group, and find candidates and features; radii come from the marks on the images `sized_by`."""
    tables = read_folder(study)
    marks = tables.marks[tables.marks["label"].isin(group.labels)].drop(columns="label")
    sizes = marks[marks["image_id"].isin(sized_by)]
    radii = radii_from_marks(np.sqrt(sizes["semi_major_mm"] * sizes["semi_minor_mm"]).to_numpy())
    table = gather(images, pictures, work, group, radii)
    names = tuple(name for name in table if name not in (*KEYS, *PLACE))
    key = sha256(f"{group.name}{radii}{images}{names}".encode()).hexdigest()[:12]
    matrix, path = table[list(names)].to_numpy(np.float32), work / f"features-{key}.npy"
    with path.open("wb") as file:
        file.writelines(encode_columns(matrix.T, *matrix.shape, matrix.dtype))
    keys = pd.MultiIndex.from_frame(table[KEYS])
    return Source(
        marks[marks["image_id"].isin(images)].reset_index(drop=True),
        tables.readings[tables.readings["image_id"].isin(images)].reset_index(drop=True),
        pd.DataFrame({"image_id": images, "patient_id": images, "split": "training"}),
        table[[*KEYS, *PLACE]],
        Features(names, ColumnFile(path), np.arange(len(table)), keys),
        radii,
    )


def make_split(source: Source, *, nested: str = "no", readers: list[str] | None = None) -> Split:
    """Merge the marks of some readers, and put candidates and truth together."""
    chosen = source.readers if readers is None else readers
    marks = source.marks[source.marks["reader_id"].isin(chosen)].reset_index(drop=True)
    readings = source.readings[source.readings["reader_id"].isin(chosen)].reset_index(drop=True)
    if len(chosen) > 1:
        truth = merge_marks(marks, readings, options=MergeOptions(nested=nested))  # type: ignore[arg-type]
    else:
        truth = take_as_truth(marks)
    rule = COUNTING.rule
    assert rule is not None
    return Split(
        images=source.images,
        readings=readings,
        marks=marks,
        truth=truth,
        candidates=source.candidates,
        features=source.features,
        hits=candidate_hits(source.candidates, truth, rule),
        counting=COUNTING,
        n_max=len(chosen),
    )


def take_as_truth(marks: pd.DataFrame) -> pd.DataFrame:
    """Take every mark of one reader for a lesion: there is nobody to doubt it."""
    return marks.assign(
        truth_id=marks["mark_id"],
        n_marks=1,
        n_readers=1,
        n_readings=1,
        probability=1.0,
        weight=1.0,
        golden=True,
    )


def relabel(split: Split, rule: str) -> Split:
    """Give the objects of a split other labels: soft (the paper's), share, golden, majority or any."""
    truth = split.truth
    share = truth["n_readers"] / truth["n_readings"]
    labels = {
        "soft": truth["probability"],
        "share": share,
        "golden": (truth["n_readers"] >= 2).astype(float),
        "majority": (share > 0.5).astype(float),
        "any": pd.Series(1.0, index=truth.index),
    }
    return replace(split, truth=truth.assign(probability=labels[rule]))
