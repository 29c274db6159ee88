"""Channels of a picture, against Pillow's own numbers."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from overread.errors import ImageError
from overread.images import fingerprint_channels, read_channels


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
    with pytest.raises(ImageError, match=r"b\.txt: neither DICOM"):
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
