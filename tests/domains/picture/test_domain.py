"""A domain of pictures reads, searches and measures a picture the same way wherever it is used."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from overread.domains import (
    BlobFinder,
    PictureDomain,
    extract_generic,
    find_mask,
    measure_image,
    read_picture,
)
from overread.domains.picture.domain import find_file_spacing as find_spacing
from overread.errors import ImageError, InvalidInputError
from overread.files import from_json, to_json
from overread.images import write_dicom

DOMAIN = PictureDomain(
    region="all",
    unit="px",
    colour=True,
    weights=(0.0, 1.0, 0.0),
    stain=None,
    finder="blobs",
    polarity="bright",
    smallest=3.0,
    largest=6.0,
)


@pytest.fixture
def picture(tmp_path):
    """A grey-green picture, 80 x 100, with one bright disc at column 60, row 30."""
    y, x = np.mgrid[:80, :100]
    rgb = np.full((80, 100, 3), (90, 100, 80)) + np.random.default_rng(0).integers(-3, 4, (80, 100, 1))
    rgb[np.hypot(x - 60, y - 30) <= 4] += 60
    path = tmp_path / "picture.png"
    Image.fromarray(rgb.astype(np.uint8)).save(path)
    return path


def test_it_does_what_its_parts_do(picture):
    field = DOMAIN.read(picture)
    found, features = measure_image(DOMAIN, field, ["shape.area", "main.contrast"], limit=3)
    same = read_picture(picture, mm_per_px=1.0, region="all", weights=(0, 1, 0))
    expected = BlobFinder("bright", 3.0, 6.0)(same, limit=3)
    assert found.equals(expected)
    assert features.equals(extract_generic(same, expected)[["candidate_id", "shape.area", "main.contrast"]])
    assert found[["x", "y"]].iloc[0].to_numpy() == pytest.approx([60.5, 30.5], abs=1.0)


@pytest.mark.parametrize(("unit", "side"), [("px", 1.0), ("percent", 1.0), ("mm", 0.2)])
def test_places_scale_with_the_unit(picture, unit, side):
    # The picture is 100 pixels wide, so that a pixel is one per cent of it.
    assert find_spacing(picture, unit, 0.2) == side
    scaled = replace(DOMAIN, unit=unit, smallest=3 * side, largest=6 * side)
    found, _ = measure_image(scaled, scaled.read(picture, mm_per_px=0.2), [], limit=1)
    assert found["x"].iloc[0] == pytest.approx(60.5 * side, abs=side)
    assert found["radius"].iloc[0] == pytest.approx(4 * side, rel=0.5)


def test_a_picture_in_mm_needs_a_size_and_dicom_states_it(picture, tmp_path):
    with pytest.raises(ImageError, match=r'picture\.png: .*give mm_per_px .*unit = "px"'):
        find_spacing(picture, "mm", None)
    write_dicom(
        tmp_path / "one.dcm",
        np.zeros((20, 30), np.uint16),
        mm_per_px=(0.3, 0.4),
        patient_id="p",
        image_id="i",
    )
    assert find_spacing(tmp_path / "one.dcm", "mm", None) == pytest.approx((0.3, 0.4))


def test_grey_and_colour_have_the_features_of_the_domain(picture, tmp_path):
    grey = tmp_path / "grey.png"
    Image.fromarray(np.asarray(Image.open(picture))[..., 1]).save(grey)
    for domain in (DOMAIN, replace(DOMAIN, colour=False)):
        names = domain.feature_names
        assert ("red.inside" in names) == domain.colour
        for path in (picture, grey):
            field = domain.read(path)
            _, features = measure_image(domain, field, names, limit=2)
            assert list(features) == ["candidate_id", *names]
            assert np.isfinite(features[names].to_numpy()).all()
    # The green of the colour picture is the grey one: the plane that is searched is the same.
    one, other = DOMAIN.read(picture), DOMAIN.read(grey)
    np.testing.assert_allclose(one.planes["main"], other.planes["main"], atol=1e-6)


def test_candidates_that_are_known_are_kept(picture):
    own = measure_image(DOMAIN, DOMAIN.read(picture), [], limit=4)[0].drop(columns="response").iloc[::-1]
    kept, features = measure_image(DOMAIN, DOMAIN.read(picture), ["shape.area"], limit=1, candidates=own)
    assert list(kept["candidate_id"]) == list(own["candidate_id"]) == list(features["candidate_id"])


def test_it_survives_json():
    domain = replace(DOMAIN, stain=(0.6, 0.7, 0.3), weights=None, target="red")
    assert from_json(PictureDomain, to_json(domain), "recipe") == domain


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"region": "chest"}, "region 'chest' does not exist"),
        ({"unit": "inch"}, "unit 'inch'"),
        ({"polarity": "grey"}, "polarity 'grey'"),
        ({"smallest": float("nan")}, "radii"),
        ({"smallest": 1e-6}, "1000 times"),
        ({"largest": 1.0}, "radii from 3 to 1"),
        ({"target": "a\nb"}, "printable"),
    ],
)
def test_a_forged_domain_is_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        replace(DOMAIN, **change)


def test_masks_go_by_the_name_of_the_image(tmp_path, picture):
    inside = np.zeros((80, 100), np.uint8)
    inside[:, :50] = 255
    Image.fromarray(inside).save(tmp_path / "other.tif")
    assert find_mask(tmp_path, tmp_path / "images" / "other.jpg") == tmp_path / "other.tif"
    field = replace(DOMAIN, region="masks").read(picture, mask=tmp_path / "other.tif")
    assert field.region.sum() == 80 * 50
    assert (measure_image(replace(DOMAIN, region="masks"), field, [], limit=9)[0]["x"] <= 50).all()
    with pytest.raises(InvalidInputError, match=r"no mask for missing\.png"):
        find_mask(tmp_path, tmp_path / "missing.png")
