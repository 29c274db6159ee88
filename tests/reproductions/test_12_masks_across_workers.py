"""Every executor gives the same shards for every kind of region, masks among them."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from field_study import LIGHT, SHAPE, write_field_study
from overread.cli import main
from overread.files import read_json, to_json
from overread.images import GRID_MM, write_png16
from overread.simulate import phantom
from overread.simulate._backgrounds import phantom_background
from overread.simulate._cases import pixels_with_nodules
from overread.study import ImageTask, find_study_candidates
from overread.study._image_jobs import ImageJob
from overread.study._store import Manifest, RunFolder
from overread.study.executors._outcome import Outcome, work_on

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
N_IMAGES = 6
KINDS = ("field_of_view", "masks", "all", "chest")


def write_study(folder: Path, kind: str) -> Path:
    """A study whose images need the kind of region; masks leave out the right half."""
    settings = LIGHT.replace("field_of_view", kind)
    if kind == "masks":
        settings += '[images]\nmasks = "masks"\n'
    if kind == "chest":
        settings = settings.replace('[units]\nunit = "px"\n', '[features]\nonly = ["shape.*"]\n')
    study = write_field_study(folder, settings=settings, n_images=N_IMAGES, seed=1)
    for number in range(N_IMAGES):
        name = f"eye{number:02d}.png"
        if kind == "masks":
            (study / "masks").mkdir(exist_ok=True)
            mask = np.zeros(SHAPE, np.uint8)
            mask[:, : SHAPE[1] // 2] = 255
            Image.fromarray(mask).save(study / "masks" / name)
        if kind == "chest":
            background = phantom_background(phantom(seed=number, mm_per_px=GRID_MM))
            write_png16(study / "images" / name, pixels_with_nodules(background, []))
    if kind == "chest":
        images = pd.read_csv(study / "images.csv").drop(columns=["width_px", "height_px"])
        images.assign(mm_per_px_x=GRID_MM, mm_per_px_y=GRID_MM).to_csv(study / "images.csv", index=False)
    return study


def make_shards(study: Path, executor: str, scheduler: str | None = None) -> dict[str, str | None]:
    """Digests of the shards that an executor makes in a run of its own."""
    execution = {"executor": executor, "scheduler": scheduler, "workers": 1, "batch": N_IMAGES}
    report = find_study_candidates(study, name=executor, execution=execution)
    entries = read_json(report.folder / "manifest.json")["images"]
    return {entry["image_id"]: entry["sha256"] for entry in entries}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == "masks" else pytest.mark.slow) for kind in KINDS],
)
def test_every_executor_gives_the_same_shards(kind: str, tmp_path: Path, address: str) -> None:
    study = write_study(tmp_path / "study", kind)
    expected = make_shards(study, "serial")
    assert len(expected) == N_IMAGES
    assert None not in expected.values()
    assert make_shards(study, "processes") == expected
    assert make_shards(study, "dask", address) == expected


def test_no_field_of_a_task_is_lost_on_the_way() -> None:
    """Each field differs from its default, whatever fields there will be."""
    from overread.study.executors._outcome import read_task

    known = pd.DataFrame({"candidate_id": ["1"], "x_mm": [0.5]})
    task = ImageTask("a", "b.png", (0.1, 0.2), known, "0" * 64, "mask.png")
    plain = ImageTask("a", "b.png")
    names = [one.name for one in fields(ImageTask)]
    assert all(
        to_json(task)[name] != to_json(plain)[name] for name in names if name not in ("image_id", "path")
    )
    assert to_json(read_task(to_json(task))) == to_json(task)


def test_images_that_were_given_up_for_a_lost_mask_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest is that of 0.2.0: masks did not arrive, and the fault was said to be the image's."""
    study = write_study(tmp_path / "study", "masks")

    def lose_mask(pipeline: object, task: ImageTask) -> Outcome:
        return work_on(pipeline, replace(task, mask=None))

    with monkeypatch.context() as broken:
        broken.setattr("overread.study.executors._executors.work_on", lose_mask)
        broken.setattr(ImageJob, "fault_key", property(lambda job: job.features_key), raising=False)
        assert main(["run", str(study)]) == 4
    folder = RunFolder(study / "runs" / "main")
    assert {entry.fault_kind for entry in Manifest(folder).entries.values()} == {"image"}
    find_study_candidates(study)
    assert all(entry.sha256 for entry in Manifest(folder).entries.values())
