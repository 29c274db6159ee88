"""Pictures that are no chests stop a run of chests; two lungs side by side are told from one."""

import numpy as np
import pytest
from PIL import Image

from field_study import draw_picture, write_field_study
from overread.domains import ImageTask, find_lungs
from overread.domains.chest._lungs import LungFields
from overread.domains.chest.domain import (
    LEAST_SYMMETRY,
    N_LOOKED_AT,
    ChestDomain,
    _shows_chest,
    measure_symmetry,
)
from overread.errors import InvalidInputError
from overread.features import Quality
from overread.images import from_array
from overread.study import run_study


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Tasks of colour pictures, of a grey one, and of a file that is no image."""
    folder = tmp_path_factory.mktemp("other")
    serial, spacing = '[execution]\nexecutor = "serial"\n', {"mm_per_px_x": 1.0, "mm_per_px_y": 1.0}
    study = write_field_study(folder / "eyes", n_images=4, settings=serial, **spacing)
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
    ChestDomain().refuse_strangers([])
    ChestDomain().refuse_strangers([pictures["broken"]] * 3)
    ChestDomain().refuse_strangers([phantom_task, pictures["colour"], pictures["broken"]])
    with pytest.raises(InvalidInputError, match=r"in 2 of 3 images .*\[region\] kind = \"field_of_view\""):
        ChestDomain().refuse_strangers([pictures["colour"], phantom_task, pictures["colour"]])


def test_a_large_study_is_sampled(pictures, monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        "overread.domains.chest.domain._shows_chest", lambda task: looked_at.append(task) or True
    )
    ChestDomain().refuse_strangers([pictures["grey"]] * 500)
    assert len(looked_at) == N_LOOKED_AT


def test_a_run_stops_before_any_feature_is_computed(pictures):
    with pytest.raises(InvalidInputError, match=r"no pair of lungs is seen; .*\[region\]"):
        run_study(pictures["study"])
    assert not list((pictures["study"] / "runs" / "main" / "shards").iterdir())


def fields(left, right):
    masks = [np.zeros((100, 120), bool) for _ in range(2)]
    for mask, place in zip(masks, (left, right), strict=True):
        mask[place] = True
    return LungFields(*masks, Quality.FOUND, Quality.FOUND)


def test_mirror_images_overlap_wholly_and_one_lung_not_at_all():
    assert measure_symmetry(fields(np.s_[20:80, 10:50], np.s_[20:80, 70:110])) == pytest.approx(1.0)
    # Half the height in common: 30 rows of 90 that either has.
    assert measure_symmetry(fields(np.s_[5:65, 10:50], np.s_[35:95, 70:110])) == pytest.approx(1 / 3)
    assert measure_symmetry(fields(np.s_[20:80, 10:50], np.s_[0:0, 0:0])) == 0.0
    assert measure_symmetry(fields(np.s_[0:20, 0:10], np.s_[60:100, 60:120])) < LEAST_SYMMETRY


def test_a_picture_without_lungs_is_not_frontal():
    noise = np.random.default_rng(0).integers(0, 255, (400, 400)).astype(np.uint16)
    assert measure_symmetry(find_lungs(from_array(noise, mm_per_px=0.9))) < LEAST_SYMMETRY
