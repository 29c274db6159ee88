"""The gateway on real radiographs."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from dicom_files import radiograph_dataset, save
from PIL import Image

from overread.errors import ImageError
from overread.images import SpacingSource, from_array, read_image
from overread.images import _reading as reading


@pytest.fixture(scope="module")
def nih(shared_data):
    return pd.read_csv(shared_data / "nih" / "images.csv", dtype={"file": str})


@pytest.mark.slow
def test_all_real_radiographs_with_both_spacings(shared_data, nih):
    prints = set()
    for row in nih.itertuples():
        path = shared_data / "nih" / "images" / row.file
        image = read_image(path, mm_per_px=(row.mm_per_px_x, row.mm_per_px_y))
        prints.add(image.pixel_hash)
        assert image.spacing_source is SpacingSource.GIVEN
        assert image.source_shape == (512, 512)
        extent = 512 * row.mm_per_px_x, 512 * row.mm_per_px_y
        assert np.abs(np.subtract(image.size_mm, extent)).max() <= 0.35
        assert np.isfinite(image.pixels).all()
        assert image.valid.all()
        assert np.percentile(image.pixels, [1, 99]) == pytest.approx([0, 1], abs=1e-6)
    assert len(nih) == 281
    assert len(prints) == 281


def test_a_picture_without_a_given_spacing_is_refused(shared_data, nih):
    path = shared_data / "nih" / "images" / nih["file"][0]
    with pytest.raises(ImageError, match=f"{path.name}.*does not state the pixel size; give mm_per_px"):
        read_image(path)


def write(path, pixels):
    """Write a file of the kind that its ending says."""
    if path.suffix == ".dcm":
        return save(radiograph_dataset(pixels), path)
    Image.fromarray(pixels).save(path)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.jpg", "a.dcm"])
def test_a_radiograph_carries_the_hash_of_the_stored_numbers_and_is_decoded_once(tmp_path, monkeypatch, name):
    pixels = np.random.default_rng(0).integers(0, 256, (300, 84)).astype(np.uint8)
    path = write(tmp_path / name, pixels)
    if name == "a.jpg":
        pixels = np.asarray(Image.open(path))
    decode, decoded = reading._decoded, []
    monkeypatch.setattr(reading, "_decoded", lambda content: decoded.append(name) or decode(content))
    found = read_image(path, mm_per_px=0.2).pixel_hash
    assert found == hashlib.sha256(b"300x84:" + pixels.astype("<f4").tobytes()).hexdigest()
    assert decoded == [name]


def test_a_radiograph_of_an_array_has_no_hash_of_a_file():
    assert from_array(np.arange(12.0).reshape(3, 4), 0.7).pixel_hash is None
