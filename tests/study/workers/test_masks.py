"""Masks reach every worker, and nothing that a task holds is lost on the way."""

from dataclasses import fields, replace

import pandas as pd

from field_study import write_region_study
from overread.cli import main
from overread.domains import ImageTask
from overread.files import to_json
from overread.study import find_study_candidates
from overread.study._store import Manifest, RunFolder
from overread.study.executors._worker import Outcome, work_on


def test_no_field_of_a_task_is_lost_on_the_way():
    """Each field differs from its default, whatever fields there will be."""
    from overread.study.executors._worker import read_task

    known = pd.DataFrame({"candidate_id": ["1"], "x_mm": [0.5]})
    task = ImageTask("a", "b.png", (0.1, 0.2), known, "0" * 64, "mask.png", "c", "f")
    plain = ImageTask("a", "b.png")
    names = [one.name for one in fields(ImageTask)]
    assert all(
        to_json(task)[name] != to_json(plain)[name] for name in names if name not in ("image_id", "path")
    )
    assert to_json(read_task(to_json(task))) == to_json(task)


def test_images_that_were_given_up_for_a_lost_mask_are_tried_again(tmp_path, monkeypatch):
    """The manifest is that of 0.2.0: masks did not arrive, and the fault was said to be the image's."""
    study = write_region_study(tmp_path / "study", "masks")

    def lose_mask(pipeline: object, task: ImageTask) -> Outcome:
        return work_on(pipeline, replace(task, mask=None))

    with monkeypatch.context() as broken:
        broken.setattr("overread.study.executors._executors.work_on", lose_mask)
        broken.setattr("overread.study._image_jobs._fault_key", lambda task: task.features_key)
        assert main(["run", str(study)]) == 4
    folder = RunFolder(study / "runs" / "main")
    assert {entry.fault_kind for entry in Manifest(folder).entries.values()} == {"image"}
    find_study_candidates(study)
    assert all(entry.sha256 for entry in Manifest(folder).entries.values())
