"""Channels of a picture against Pillow's own numbers; images for a viewer against the renderer of the package."""

import numpy as np
import pytest
from PIL import Image

from overread.errors import ImageError
from overread.images import (
    SourceImage,
    display_image,
    fingerprint_channels,
    read_channels,
    read_for_viewing,
    rendered,
    write_dicom,
    write_png16,
)
from overread.images._colour import _grey_for_viewing
from overread.images._source import LookupTable, Rescale, VoiFunction, Window


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_colour_as_pillow_reads_it(tmp_path, ending):
    rgb = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    path = tmp_path / f"a.{ending}"
    Image.fromarray(rgb).save(path)
    assert np.array_equal(
        read_channels(path), np.asarray(Image.open(path), dtype=np.float32) / np.float32(255)
    )


def test_colour_that_is_grey_has_one_channel(tmp_path):
    grey = np.arange(200, dtype=np.uint8).reshape(10, 20)
    Image.fromarray(np.dstack([grey] * 3)).save(tmp_path / "a.png")
    assert np.allclose(read_channels(tmp_path / "a.png"), grey[..., None] / 255, atol=1e-6)


def test_sixteen_bits_are_kept(tmp_path):
    grey = (np.arange(200, dtype=np.uint16) * 300).reshape(10, 20)
    Image.fromarray(grey).save(tmp_path / "a.png")
    assert np.allclose(read_channels(tmp_path / "a.png")[..., 0], grey / 65535, atol=1e-6)


def test_transparent_and_damaged_are_refused(tmp_path):
    rgba = np.full((5, 5, 4), 100, dtype=np.uint8)
    Image.fromarray(rgba).save(tmp_path / "a.png")
    with pytest.raises(ImageError, match="transparent"):
        read_channels(tmp_path / "a.png")
    (tmp_path / "b.txt").write_text("text")
    with pytest.raises(ImageError, match=r"b\.txt: not a DICOM, PNG, TIFF or JPEG file"):
        read_channels(tmp_path / "b.txt")


def test_the_fingerprint_is_of_what_is_shown(tmp_path):
    rgb = np.random.default_rng(1).integers(0, 255, (6, 8, 3)).astype(np.uint8)
    for ending in ("png", "tif"):
        Image.fromarray(rgb).save(tmp_path / f"same.{ending}")
    Image.fromarray(rgb[:, ::-1]).save(tmp_path / "turned.png")
    one, same, turned = (
        fingerprint_channels(read_channels(tmp_path / name))
        for name in ("same.png", "same.tif", "turned.png")
    )
    assert one == same != turned
    assert fingerprint_channels(np.zeros((2, 3, 1), np.float32)) != fingerprint_channels(
        np.zeros((3, 2, 1), np.float32)
    )


def shown(viewed):
    """What a viewer makes of it: linear window, inversion; as a browser does."""
    grey = (viewed.pixels.astype(np.float64) - viewed.center) / viewed.width + 0.5
    grey = np.clip(grey, 0.0, 1.0)
    return 1.0 - grey if viewed.inverted else grey


def test_all_bits_of_a_16_bit_picture_are_kept(tmp_path):
    pixels = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16 + 3
    viewed = read_for_viewing(write_png16(tmp_path / "a.png", pixels))
    assert viewed.pixels.dtype == np.uint16
    np.testing.assert_array_equal(viewed.pixels, pixels)
    assert viewed.bits == 16


def test_a_picture_looks_as_the_renderer_of_the_package_draws_it(tmp_path):
    rng = np.random.default_rng(1)
    path = write_png16(tmp_path / "a.png", rng.integers(0, 65535, (40, 30), dtype=np.uint16))
    np.testing.assert_allclose(np.round(shown(read_for_viewing(path)) * 255), display_image(path), atol=1.0)


def test_colour_comes_as_it_was_stored(tmp_path):
    rgb = np.random.default_rng(2).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    Image.fromarray(rgb).save(tmp_path / "a.png")
    viewed = read_for_viewing(tmp_path / "a.png")
    assert viewed.pixels.dtype == np.uint8
    np.testing.assert_array_equal(viewed.pixels, rgb)


def test_sides_are_those_of_the_patients_orientation(tmp_path):
    path = tmp_path / "a.dcm"
    write_dicom(path, np.zeros((20, 20), np.uint16), mm_per_px=0.5, patient_id="P1", image_id="I1")
    viewed = read_for_viewing(path)
    assert (viewed.left, viewed.right) == ("R", "L")
    assert viewed.spacing.spacing is not None


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize(
    ("modality", "voi"),
    [
        (Rescale(), Window(100.0, 50.0, VoiFunction.LINEAR_EXACT)),
        (Rescale(), Window(100.0, 51.0, VoiFunction.LINEAR)),
        (Rescale(2.0, -1000.0), Window(-800.0, 100.0, VoiFunction.LINEAR_EXACT)),
        (Rescale(-1.0, 300.0), Window(200.0, 80.0, VoiFunction.LINEAR_EXACT)),
        (Rescale(), LookupTable(0, np.arange(256, dtype=np.uint16)[::-1].copy(), 8)),
        (
            LookupTable(0, (np.arange(256, dtype=np.uint16) * 3), 10),
            Window(300.0, 500.0, VoiFunction.LINEAR_EXACT),
        ),
    ],
)
def test_modality_window_and_inversion_come_out_as_in_the_renderer(modality, voi, inverted):
    stored = np.random.default_rng(3).integers(0, 256, (16, 16))
    source = SourceImage(stored, (0.0, 255.0), modality=modality, inverted=inverted, voi=voi)
    np.testing.assert_allclose(shown(_grey_for_viewing(source)), rendered(source), atol=2e-3)


def test_signed_values_begin_at_zero_and_padding_is_dark():
    stored = np.array([[-500, 0], [200, 300]])
    valid = np.array([[True, True], [True, False]])
    source = SourceImage(
        stored, (-32768.0, 32767.0), valid=valid, voi=Window(0.0, 1000.0, VoiFunction.LINEAR_EXACT)
    )
    viewed = _grey_for_viewing(source)
    assert viewed.pixels.min() == 0
    assert viewed.pixels[1, 1] == 0
    assert shown(viewed)[0, 1] == pytest.approx(0.5)


def test_more_than_16_bits_are_refused():
    with pytest.raises(ImageError, match="more than 16 bits"):
        _grey_for_viewing(SourceImage(np.array([[0, 1 << 20]]), (0.0, float(1 << 20))))
