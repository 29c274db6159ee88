"""Read a run's folder back: results, tables, models, matched scores, and where the images are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.errors import InvalidInputError
from overread.files.strict_json import read_json
from overread.marks.mark_set import find_table
from overread.models.persistence import load
from overread.study.assembly import gathered_features
from overread.study.cohort import Cohort, Part, features_in_order
from overread.study.evaluation import Judged
from overread.study.results import StudyResults, read_results
from overread.study.settings import Settings, parse_settings
from overread.study.store.manifest import Manifest
from overread.study.store.run_folder import RunFolder
from overread.tables.table_files import read_table
from overread.truth.labels import reading_range

__all__ = ["FinishedRun", "Gallery", "open_run"]


@dataclass(frozen=True, eq=False)
class Gallery:
    """Candidates and GTs of the test set at one threshold of one model, the highest scores first.

    Attributes
    ----------
    hits
        Golden GTs that are found: columns of ``tables/objects.parquet``, with x, y and radius of the candidate.
    misses
        Golden GTs that are not, the largest first; ``reached`` tells whether any candidate hits them.
    false_positives
        Candidates at or above the threshold that hit no GT; those on GTs of one reader are apart.
    single_reader
        Candidates at or above the threshold that hit only GTs of one reader.
    """

    hits: pd.DataFrame
    misses: pd.DataFrame
    false_positives: pd.DataFrame
    single_reader: pd.DataFrame


class FinishedRun:
    """A finished run; nothing is computed again except what is asked for.

    Parameters
    ----------
    root
        ``STUDY/runs/NAME``.
    """

    def __init__(self, root: Path) -> None:
        self._folder = RunFolder(root)
        self.root = root
        self.study = root.parent.parent

    @cached_property
    def results(self) -> StudyResults:
        """Every number of the run."""
        return read_results(self.root / "results.json")

    @cached_property
    def settings(self) -> Settings:
        """Settings of the run, without how it was executed."""
        return parse_settings(read_json(self.root / "settings.json"), str(self.root / "settings.json"))

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the run: images, readings, marks, truth, candidates, scores, objects, ..."""
        path = self.root / "tables" / f"{name}.parquet"
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.parquet")))
            raise InvalidInputError(f"{self.root}: has no table {name!r}; it has {known}")
        return pd.read_parquet(path)

    def model(self, name: str) -> Any:
        """Return a fitted model: soft, b1, b2, path_bags, ..."""
        return load(self.root / "models" / f"{name}.json")

    def features(self) -> pd.DataFrame:
        """Gather the features of all candidates, in their order, from the shards or from the study's own table."""
        own = self.settings.inputs.features
        if own is not None:
            return features_in_order(read_table(self.study / own, "features"), self.table("candidates"))
        return gathered_features(self._folder, Manifest(self._folder).entries.values())

    def cohort(self, *, with_features: bool = False) -> Cohort:
        """Return all tables of the run together; ``part("test")`` is the test set."""
        quarantined = [one.image_id for one in self.results.study.quarantined]
        images = self.table("images")
        images = images[~images["image_id"].isin(quarantined)].reset_index(drop=True)
        tables = {
            name: (table := self.table(name))[table["image_id"].isin(images["image_id"])].reset_index(
                drop=True
            )
            for name in ("marks", "readings", "truth", "candidates")
        }
        keys = tables["candidates"][["image_id", "candidate_id"]]
        limits = reading_range(self.table("readings"), self.settings.label_options())
        return Cohort(
            images=images,
            features=self.features() if with_features else keys,
            rule=self.settings.hits.hit_rule(),
            n_max=limits.n_max,
            single_reader=self.settings.hits.single_reader,
            **tables,
        )

    def judged(self, name: str) -> Judged:
        """Return a model's matched scores: in sample, out of fold, and on the test set."""
        cohort = self.cohort()
        return Judged.of(
            cohort.part("training", "validation"), cohort.part("test"), self.table("scores"), name
        )

    def image_path(self, image_id: str) -> Path:
        """Return the file of an image, which only the study's own table names."""
        images = self._study_images
        if "path" not in images or image_id not in images.index or not images.loc[image_id, "path"]:
            raise InvalidInputError(f"{self.study}: the images table has no file of image {image_id!r}")
        return self.study / str(images.loc[image_id, "path"])

    def mm_per_px(self, image_id: str) -> tuple[float, float] | None:
        """Return the spacing that the study's table gives for an image."""
        images = self._study_images
        if "mm_per_px_x" not in images:
            return None
        x, y = images.loc[[image_id], ["mm_per_px_x", "mm_per_px_y"]].to_numpy(np.float64)[0]
        return None if np.isnan(x) else (float(x), float(y))

    @cached_property
    def _study_images(self) -> pd.DataFrame:
        path = find_table(self.study, "images")
        if path is None:
            raise InvalidInputError(f"{self.study}: there is no images table")
        return read_table(path, "images").set_index("image_id")

    def threshold(self, model: str, fp_target: float, *, source: str = "out_of_fold") -> float | None:
        """Return a locked threshold under the study's own treatment; None where nothing is shown."""
        points = read_json(self.root / "operating_points.json")
        wanted = (model, source, self.settings.hits.single_reader, fp_target)
        for point in points:
            if (point["model"], point["source"], point["single_reader"], point["fp_target"]) == wanted:
                return point["threshold"]
        raise InvalidInputError(f"{self.root}: no operating point of {model} at {fp_target} FP per image")

    def gallery(self, model: str, threshold: float) -> Gallery:
        """Sort the test set's candidates and golden GTs into hits, misses and false positives."""
        part: Part = self.cohort().part("test")
        candidates = part.candidates.merge(self.table("scores"), on=["image_id", "candidate_id"])
        shown = candidates[model] >= threshold
        geometry = part.matching.require_geometry()
        on_golden = candidates.index.isin(geometry.hit_candidates[geometry.truth_golden[geometry.hit_truth]])
        on_any = candidates.index.isin(geometry.hit_candidates)
        objects = self.table("objects")
        golden = objects[objects["golden"] & (objects["split"] == "test")]
        found = (golden[f"{model}_score"] >= threshold).to_numpy()
        place = part.candidates[["image_id", "candidate_id", "x_mm", "y_mm", "radius_mm"]].rename(
            columns={
                "candidate_id": f"{model}_candidate",
                "x_mm": "candidate_x_mm",
                "y_mm": "candidate_y_mm",
                "radius_mm": "candidate_radius_mm",
            }
        )
        hits = golden[found].merge(place, on=["image_id", f"{model}_candidate"], how="left")
        return Gallery(
            hits=hits.sort_values(f"{model}_score", ascending=False, kind="stable", ignore_index=True),
            misses=golden[~found].sort_values(
                "semi_major_mm", ascending=False, kind="stable", ignore_index=True
            ),
            false_positives=best_first(candidates[shown & ~on_any], model),
            single_reader=best_first(candidates[shown & on_any & ~on_golden], model),
        )


def best_first(candidates: pd.DataFrame, model: str) -> pd.DataFrame:
    """Sort candidates by falling score."""
    return candidates.sort_values(model, ascending=False, kind="stable", ignore_index=True)


def open_run(root: str | Path) -> FinishedRun:
    """Open the folder of a finished run.

    Raises
    ------
    InvalidInputError
        If it holds no results.
    """
    place = Path(root)
    if not (place / "results.json").is_file():
        raise InvalidInputError(f"{place}: holds no results.json (run the study: overread run STUDY)")
    return FinishedRun(place.resolve())
