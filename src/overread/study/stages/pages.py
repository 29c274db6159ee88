"""What people look at and take away: pictures, figures, the page, and the detector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from overread.domains import DomainImage, get_domain
from overread.errors import OverreadError
from overread.files import from_json, to_json
from overread.report import (
    CARD_FILE,
    cut_pictures,
    draw_figures,
    head_run,
    render_study,
    sum_up,
    write_model_card,
)
from overread.study._calibration import ScoreCalibration, TrainingFingerprints
from overread.study._detector import Detector, OperatingPoint
from overread.study._settings import Settings
from overread.study.models import MODELS
from overread.study.stages.stage import Inputs, Made, Stage

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


def _cut_crops(inputs: Inputs) -> Made:
    """Open the images of the gallery and of the examples, each once."""
    images = inputs["input/images"].set_index("image_id")
    opener = partial(_open_image, images, inputs["input/folder"], inputs.settings)
    return {"pictures.json": cut_pictures(inputs["results.json"], opener)}


def _open_image(images: pd.DataFrame, folder: Path, settings: Settings, image_id: str) -> DomainImage | None:
    """Read an image of the study; one that cannot be opened gives no picture."""
    row = images.loc[image_id]
    if not row.get("path"):
        return None
    spacing = (row.get("mm_per_px_x"), row.get("mm_per_px_y"))
    known = None if any(side is None or side != side for side in spacing) else spacing
    plain = {"units": settings.units.model_dump(), "images": settings.images.model_dump()}
    try:
        return get_domain(settings.region.kind).read_to_show(folder / row["path"], known, plain)  # type: ignore[arg-type]
    except (OverreadError, OSError):
        return None


def detector_stage(wanted: Sequence[str]) -> Stage:
    """Return the stage that makes the supported model's detector; it finds candidates as the run's pipeline did."""

    def make(inputs: Inputs) -> Made:
        name, settings, pipeline = inputs["supported.json"]["model"], inputs.settings, inputs["pipeline"]
        model, place = inputs[f"models/{name}.json"], f"tuning/{name}_map.json"
        trained, facts = (
            inputs["cohort"].split("training", "validation"),
            inputs["tables/image_facts.parquet"],
        )
        hashes = facts.loc[facts["image_id"].isin(trained.images["image_id"]), "pixel_hash"].astype("str")
        own = (name, settings.evaluation.thresholds, settings.hits.single_reader)
        points = [
            from_json(OperatingPoint, {one.name: point.get(one.name) for one in fields(OperatingPoint)})
            for point in inputs["operating_points.json"]
            if (point["model"], point["source"], point["single_reader"]) == own
            and point["threshold"] is not None
        ]
        detector = Detector(
            name=MODELS[name].title,
            model=model,
            score_map=from_json(ScoreCalibration, inputs[place], place),
            operating_points=tuple(sorted(points, key=lambda point: point.fp_target)),
            domain=pipeline.domain,
            limit=pipeline.limit,
            repeats=settings.hits.repeats,
            trained_on=TRAINED_ON["nested" if inputs["cohort"].is_nested else "test"],
            verdict=" ".join(sum_up(inputs["results.json"])),
            seen=TrainingFingerprints.of(hashes),
            means=tuple(
                float(column.mean(dtype=np.float64))
                for column in trained.features.read_columns(model.support_)
            ),
            operating_fp=settings.evaluation.find_operating_fp(),
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
        settings=("hits.single_reader", "hits.repeats", "evaluation"),
        make=make,
    )


def _make_page_stage(name: str, file: str, make: Callable[..., object], *reads: str) -> Stage:
    """Return a stage that makes one file from the values it reads, in their order."""
    return Stage(name, reads, (file,), lambda inputs: {file: make(*(inputs[one] for one in reads))})


FIGURES = _make_page_stage("figures", "figures.json", draw_figures, "results.json", "pictures.json")
# The date stays as long as the results do.
HEAD = _make_page_stage(
    "head",
    "head.json",
    lambda results, names: head_run(**names, results=to_json(results)),
    "results.json",
    "names",
)
MODEL_CARD = _make_page_stage("model_card", CARD_FILE, write_model_card, "results.json", "head.json")
REPORT = _make_page_stage(
    "report", "report.html", render_study, "results.json", "figures.json", "pictures.json", "head.json"
)
