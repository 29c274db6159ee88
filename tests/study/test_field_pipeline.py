"""The pipeline of pictures does what the domain does, and its versions change with what it would find."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from field_study import write_field_study
from overread.domains import ImagePipeline, ImageTask, PictureDomain, measure_image
from overread.errors import InvalidInputError, TableError
from overread.files import FileDigests
from overread.study import PipelineSpec, parse_settings
from overread.study._image_jobs import make_tasks

RAW = {
    "region": {"kind": "field_of_view"},
    "units": {"unit": "px"},
    "images": {"plane": "green", "colour": True},
    "candidates": {"finder": "blobs", "limit": 8, "polarity": "dark", "smallest": 3.0, "largest": 6.0},
    "labels": {"groups": {"dots": ["dark"]}},
}


def settings_of(**sections):
    return parse_settings({name: RAW.get(name, {}) | sections.get(name, {}) for name in RAW | sections})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_field_study(tmp_path_factory.mktemp("pipeline") / "eyes", n_images=2)


def test_the_domain_is_what_the_settings_say():
    assert PictureDomain.from_settings(settings_of().to_plain()) == PictureDomain(
        region="field_of_view",
        unit="px",
        colour=True,
        weights=(0.0, 1.0, 0.0),
        stain=None,
        finder="blobs",
        polarity="dark",
        smallest=3.0,
        largest=6.0,
        target="dots",
    )
    stained = PictureDomain.from_settings(
        settings_of(images={"plane": "luminance", "stain": [0.6, 0.7, 0.3]}).to_plain()
    )
    assert (stained.weights, stained.stain) == (None, (0.6, 0.7, 0.3))


def test_a_worker_makes_the_same_pipeline_from_plain_options(study):
    settings = settings_of()
    spec = pickle.loads(pickle.dumps(PipelineSpec.own(settings)))
    assert spec.is_own
    made = spec.build()
    assert isinstance(made, ImagePipeline)
    domain, path = PictureDomain.from_settings(settings.to_plain()), study / "images" / "eye00.png"
    work = made(ImageTask("eye00", str(path), (1.0, 1.0)))
    found, features = measure_image(domain, domain.read(path), domain.feature_names, limit=8)
    assert work.candidates.equals(found)
    assert work.features.equals(features)
    assert work.facts["width_px"], work.facts["height_px"] == (180.0, 150.0)
    assert work.facts["region_share"] == pytest.approx(domain.read(path).region.mean())
    again = made(ImageTask("eye00", str(path), (1.0, 1.0), candidates=found.iloc[:3]))
    assert len(again.features) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": {"polarity": "both"}},
        {"candidates": {"limit": 9}},
        {"candidates": {"largest": 7.0}},
        {"images": {"plane": "red"}},
        {"region": {"kind": "all"}},
        {"units": {"unit": "percent"}},
    ],
)
def test_another_setting_is_another_version_of_candidates(change):
    assert (
        PipelineSpec.own(settings_of(**change)).build().candidate_version
        != PipelineSpec.own(settings_of()).build().candidate_version
    )


def test_features_can_be_chosen_by_pattern():
    made = PipelineSpec.own(settings_of(features={"only": ["shape.*"]})).build()
    assert made.feature_names
    assert all(name.startswith("shape.") for name in made.feature_names)
    with pytest.raises(InvalidInputError, match=r"\[features\] only = \['glcm"):
        PipelineSpec.own(settings_of(features={"only": ["glcm_*"]})).build()


def test_masks_are_found_in_a_folder_or_by_the_column(tmp_path):
    (tmp_path / "masks").mkdir()
    for name in ("one", "two"):
        Image.fromarray(np.ones((4, 4), np.uint8)).save(tmp_path / "masks" / f"{name}.png")
    images = pd.DataFrame(
        {"image_id": ["a", "b"], "path": ["x/one.jpg", "two.png"], "mask": ["masks/two.png", ""]}
    )

    def find_masks(table, masks):
        settings = settings_of(region={"kind": "masks"}, images={"masks": masks}).to_plain()
        return PictureDomain.find_masks(table, tmp_path, settings)

    expected = {"a": tmp_path / "masks" / "one.png", "b": tmp_path / "masks" / "two.png"}
    assert find_masks(images, "masks") == expected
    assert find_masks(images.iloc[:1], None) == {"a": tmp_path / "masks" / "two.png"}
    with pytest.raises(TableError, match="row 3, column mask"):
        find_masks(images, None)
    Path(expected["b"]).unlink()
    with pytest.raises(InvalidInputError, match=r"no mask for two\.png"):
        find_masks(images, "masks")


def test_another_mask_is_another_image(tmp_path, study):
    """The outcome of an image is kept under a digest of all that it depends on; without masks as before."""
    mask = tmp_path / "mask.png"
    images = pd.DataFrame({"image_id": ["eye00"], "path": ["images/eye00.png"]})
    pipeline = PipelineSpec.own(settings_of()).build()
    keys = []
    for level in (None, 1, 2, 1):
        if level is not None:
            Image.fromarray(np.full((4, 4), level, np.uint8)).save(mask)
        digests = FileDigests(tmp_path / "digests.json")
        masks = None if level is None else {"eye00": mask}
        (task,), _ = make_tasks(images, study, digests, pipeline, None, masks=masks)
        keys.append(task.candidates_key)
        assert task.mask == (None if level is None else str(mask))
    assert keys[1] == keys[3]
    assert len(set(keys)) == 3
    mask.unlink()
    _, faults = make_tasks(
        images, study, FileDigests(tmp_path / "digests.json"), pipeline, None, masks={"eye00": mask}
    )
    assert list(faults) == ["eye00"]
