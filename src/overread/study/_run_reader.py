"""Read a run's folder back: results, tables, models, matched scores, and where the images are."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from overread.errors import InvalidInputError
from overread.files import from_json, read_json
from overread.marks import find_table
from overread.models import BagClassifier, load_model
from overread.report import Gallery, Pictures, RunHead, StudyResults, read_results
from overread.study._cohort import KEYS, Cohort
from overread.study._settings import Settings, parse_settings
from overread.study._store import GROUPS_FILE, FinishedRunFolder
from overread.study.stages.cohort import COHORT
from overread.study.stages.gallery import sort_gallery
from overread.study.stages.scores import MATCHED, MatchedScores, tabulate_objects
from overread.study.stages.stage import Workspace
from overread.tables import plain, read_table


class Run:
    """A finished run, read back as its stages read it; a file that is not what the run wrote is refused.

    Parameters
    ----------
    root : Path
        ``STUDY/runs/NAME``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.study = root.parent.parent
        self._folder = FinishedRunFolder(root)

    def __repr__(self) -> str:
        return f"Run({str(self.root)!r})"

    @cached_property
    def results(self) -> StudyResults:
        """Every number of the run."""
        return read_results(self._folder.readable("results.json"))

    @cached_property
    def figures(self) -> dict[str, str]:
        """Figures of the page, as SVG by name."""
        drawn: dict[str, str] = read_json(self._folder.readable("figures.json"))
        return drawn

    @cached_property
    def pictures(self) -> Pictures:
        """Crops and examples of the page."""
        path = self._folder.readable("pictures.json")
        return from_json(Pictures, read_json(path), str(path))

    @cached_property
    def head(self) -> RunHead:
        """What the page calls the study and the run."""
        path = self._folder.readable("head.json")
        return from_json(RunHead, read_json(path), str(path))

    @cached_property
    def settings(self) -> Settings:
        """Settings of the run, without how it was executed."""
        path = self._folder.readable("settings.json")
        return parse_settings(read_json(path), str(path))

    @property
    def cohort(self) -> Cohort:
        """All tables of the run together; ``unseen`` is the test set, or all images of a nested run."""
        cohort: Cohort = self._workspace.load("cohort")
        return cohort

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the run: images, readings, marks, truth, candidates, scores, objects, ..."""
        path = self.root / "tables" / f"{name}.parquet"
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.parquet")))
            raise InvalidInputError(f"{self.root}: has no table {name!r}; it has {known}")
        return pd.read_parquet(self._folder.readable(f"tables/{name}.parquet"))

    def model(self, name: str) -> BagClassifier:
        """Return a fitted model: soft, b1, b2, ..."""
        return load_model(self._folder.readable(f"models/{name}.json"))

    def features(self) -> pd.DataFrame:
        """Read the features of all candidates, in their order, with the candidates' keys."""
        features = self.cohort.features
        return pd.concat([self.table("candidates")[KEYS], features.read(features.names)], axis=1)

    def matched(self, model: str) -> MatchedScores:
        """Return a model's matched scores: in sample, out of fold, and on the test set."""
        matched: MatchedScores = self._workspace.load("matched")[model]
        return matched

    def threshold(self, model: str, fp_target: float, *, source: str | None = None) -> float | None:
        """Return the detector's locked threshold under the study's treatment; None if no candidate is shown."""
        points = read_json(self._folder.readable("operating_points.json"))
        settings = self.settings
        wanted = (model, source or settings.evaluation.thresholds, settings.hits.single_reader, fp_target)
        for point in points:
            if (point["model"], point["source"], point["single_reader"], point["fp_target"]) == wanted:
                return point["threshold"]
        raise InvalidInputError(f"{self.root}: no operating point of {model} at {fp_target} FP per image")

    def gallery(self, model: str, threshold: float) -> Gallery:
        """Sort unseen candidates and golden GTs; thresholds of a nested run are minus the wanted FP per image."""
        cohort, scores, (objects, _) = self.cohort, self.table("scores"), plain(self.table("objects"))
        if cohort.is_nested:
            unseen = self.matched(model).test.candidate_scores
            scores = cohort.unseen.candidates[KEYS].assign(**{model: unseen})
            objects = tabulate_objects(cohort, scores, [model])
        return sort_gallery(model, cohort, scores, objects, point=(float("nan"), threshold))

    def image_path(self, image_id: str) -> Path:
        """Return the file of an image, from the study's table."""
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
    def _workspace(self) -> Workspace:
        return Workspace(self._folder, self.settings, {}, [COHORT, MATCHED])

    @cached_property
    def _study_images(self) -> pd.DataFrame:
        path = find_table(self.study, "images")
        if path is None:
            raise InvalidInputError(f"{self.study}: there is no images table")
        return read_table(path, "images").set_index("image_id")


def open_run(root: str | Path) -> Run:
    """Open the folder of a finished run.

    Raises
    ------
    InvalidInputError
        If it holds no results.
    """
    place = Path(root)
    if (place / GROUPS_FILE).is_file():
        raise InvalidInputError(
            f"{place}: is a run of several groups of labels; name the run of one group: {place}-NAME"
        )
    if not (place / "results.json").is_file():
        raise InvalidInputError(f"{place}: holds no results.json (run the study: overread run STUDY)")
    return Run(place.resolve())
