"""What people look at and take away: pictures, figures, the page, and the detector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.domains import PictureImage, find_spacing, read_picture
from overread.errors import OverreadError
from overread.files import from_json, to_json
from overread.images import Radiograph, read_image
from overread.report import (
    CARD_FILE,
    Pictures,
    RunHead,
    StudyResults,
    cut_pictures,
    draw_figures,
    head_run,
    render_study,
    sum_up,
    write_model_card,
)
from overread.study._calibration import ScoreCalibration, TrainingFingerprints
from overread.study._cohort import Cohort
from overread.study._detector import make_detector
from overread.study.stages.stage import Inputs, Stage

# By the kind of the run's figures, which are not the detector's own where all patients trained it.
TRAINED_ON = {
    "test": "the training and validation images of one study, out-of-fold thresholds; the study's figures are those of"
    " its test set",
    "nested": "all images of one study, out-of-fold thresholds; the study's figures are cross-validated (nested), of"
    " detectors made like this one",
}


def pictures_stage(*, has_images: bool) -> Stage:
    """Return the stage that cuts crops out of images; a study without image files gives none."""
    return Stage(
        "pictures",
        reads=("results.json", "input/folder", "input/images", *(["shards"] if has_images else [])),
        writes=("pictures.json",),
        settings=("region", "units", "images"),
        make=_cut_crops,
    )


def _cut_crops(inputs: Inputs) -> Mapping[str, Any]:
    """Open the images of the gallery and of the examples, each once."""
    images = inputs["input/images"].set_index("image_id")
    opener = partial(_open_image, images, inputs["input/folder"], inputs.settings)
    return {"pictures.json": to_json(cut_pictures(_results(inputs), opener))}


def _open_image(
    images: pd.DataFrame, folder: Path, settings: Any, image_id: str
) -> Radiograph | PictureImage | None:
    """Read an image of the study; one that cannot be opened gives no picture."""
    row = images.loc[image_id]
    if not row.get("path"):
        return None
    spacing = (row.get("mm_per_px_x"), row.get("mm_per_px_y"))
    known = None if any(side is None or side != side for side in spacing) else spacing
    try:
        if not settings.region.is_chest:
            return _open_field(folder / row["path"], known, settings)
        return read_image(folder / row["path"], mm_per_px=known)  # type: ignore[arg-type]
    except (OverreadError, OSError):
        return None


def _open_field(path: Path, mm_per_px: Any, settings: Any) -> PictureImage:
    """Read a picture to look at: the region does not matter."""
    spacing = find_spacing(path, settings.units.unit, mm_per_px)
    return read_picture(path, mm_per_px=spacing, region="all", colour=settings.images.colour)


def draw(inputs: Inputs) -> Mapping[str, Any]:
    """Draw the figures, as SVG by name."""
    return {"figures.json": dict(draw_figures(_results(inputs), _pictures(inputs)))}


def _render(inputs: Inputs) -> Mapping[str, Any]:
    """Fill the templates of the page."""
    page = render_study(_results(inputs), inputs["figures.json"], _pictures(inputs), _head(inputs))
    return {"report.html": page}


def _fill_card(inputs: Inputs) -> Mapping[str, Any]:
    """Write the model card of the results."""
    return {CARD_FILE: write_model_card(_results(inputs), _head(inputs))}


def _write_head(inputs: Inputs) -> Mapping[str, Any]:
    """Name the run; the date stays as long as the results do."""
    return {"head.json": to_json(head_run(**inputs["names"], results=inputs["results.json"]))}


def detector_stage(wanted: Sequence[str]) -> Stage:
    """Return the stage that makes the supported model's detector; it finds candidates as the run's pipeline did."""

    def make(inputs: Inputs) -> Mapping[str, Any]:
        name = inputs["supported.json"]["model"]
        model = inputs[f"models/{name}.json"]
        trained = inputs["cohort"].split("training", "validation").features
        detector = make_detector(
            name,
            model,
            from_json(ScoreCalibration, inputs[f"tuning/{name}_map.json"], f"tuning/{name}_map.json"),
            inputs["operating_points.json"],
            inputs["pipeline"],
            inputs.settings.hits,
            TRAINED_ON["nested" if inputs["cohort"].is_nested else "test"],
            " ".join(sum_up(_results(inputs))),
            TrainingFingerprints.of(_hashes_of(inputs["tables/image_facts.parquet"], inputs["cohort"])),
            (float(column.mean(dtype=np.float64)) for column in trained.read_columns(model.support_)),
        )
        return {"detector.json": detector.to_bytes()}

    return Stage(
        "detector",
        reads=(
            "supported.json",
            *(f"models/{name}.json" for name in wanted),
            *(f"tuning/{name}_map.json" for name in wanted),
            "operating_points.json",
            "results.json",
            "tables/image_facts.parquet",
            "cohort",
            "pipeline",
        ),
        writes=("detector.json",),
        settings=("hits.single_reader", "hits.repeats"),
        make=make,
    )


def _hashes_of(facts: pd.DataFrame, cohort: Cohort) -> list[str]:
    """Hashes of the pixels of the images that models are fitted to."""
    trained = cohort.split("training", "validation").images["image_id"]
    return facts.loc[facts["image_id"].isin(trained), "pixel_hash"].astype("str").tolist()


FIGURES = Stage("figures", reads=("results.json", "pictures.json"), writes=("figures.json",), make=draw)
HEAD = Stage("head", reads=("results.json", "names"), writes=("head.json",), make=_write_head)
MODEL_CARD = Stage("model_card", reads=("results.json", "head.json"), writes=(CARD_FILE,), make=_fill_card)
REPORT = Stage(
    "report",
    reads=("results.json", "pictures.json", "figures.json", "head.json"),
    writes=("report.html",),
    make=_render,
)


def _results(inputs: Inputs) -> StudyResults:
    return from_json(StudyResults, inputs["results.json"], "results.json")


def _pictures(inputs: Inputs) -> Pictures:
    return from_json(Pictures, inputs["pictures.json"], "pictures.json")


def _head(inputs: Inputs) -> RunHead:
    return from_json(RunHead, inputs["head.json"], "head.json")
