"""Pictures that are no chests stop a run of chests; chests, and files that cannot be read, do not."""

from __future__ import annotations

import numpy as np
import pytest
from overread.study._chest_check import N_LOOKED_AT, _shows_chest, refuse_other_than_chests
from PIL import Image

from field_study import draw_picture, write_field_study
from overread.domains import ImageTask
from overread.errors import InvalidInputError
from overread.study import run_study


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Tasks of colour pictures, of a grey one, and of a file that is no image."""
    folder = tmp_path_factory.mktemp("other")
    study = write_field_study(folder / "eyes", n_images=4, settings='[execution]\nexecutor = "serial"\n')
    grey, _ = draw_picture(np.random.default_rng(0), colour=False)
    Image.fromarray(grey).save(folder / "grey.png")
    (folder / "broken.png").write_bytes(b"nothing")
    return {
        "study": study,
        "colour": ImageTask("c", str(study / "images" / "eye00.png"), (1.0, 1.0)),
        # As small as an eye.
        "grey": ImageTask("g", str(folder / "grey.png"), (0.1, 0.1)),
        "broken": ImageTask("b", str(folder / "broken.png"), (1.0, 1.0)),
    }


@pytest.fixture(scope="module")
def phantom_task(trained):
    return ImageTask("p", str(trained.dicom[0]))


def test_a_fundus_is_no_chest_in_colour_or_grey(pictures):
    assert _shows_chest(pictures["colour"]) is False
    assert _shows_chest(pictures["grey"]) is False
    assert _shows_chest(pictures["broken"]) is None


def test_a_phantom_of_a_chest_is_one(phantom_task):
    assert _shows_chest(phantom_task) is True


def test_most_of_the_images_decide(pictures, phantom_task):
    refuse_other_than_chests([])
    refuse_other_than_chests([pictures["broken"]] * 3)
    refuse_other_than_chests([phantom_task, pictures["colour"], pictures["broken"]])
    with pytest.raises(InvalidInputError, match=r"in 2 of 3 images .*\[region\] kind = \"field_of_view\""):
        refuse_other_than_chests([pictures["colour"], phantom_task, pictures["colour"]])


def test_a_large_study_is_sampled(pictures, monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        "overread.study._chest_check._shows_chest", lambda task: looked_at.append(task) or True
    )
    refuse_other_than_chests([pictures["grey"]] * 500)
    assert len(looked_at) == N_LOOKED_AT


def test_a_run_stops_before_any_feature_is_computed(pictures):
    with pytest.raises(InvalidInputError, match=r"no pair of lungs is seen; .*\[region\]"):
        run_study(pictures["study"])
    assert not list((pictures["study"] / "runs" / "main" / "shards").iterdir())
