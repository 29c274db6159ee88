"""Field of view, masks, and pictures without either."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from overread.domains.picture._image import find_region
from overread.errors import ImageError, InvalidInputError


def make_disc(rows=200, columns=300, radius=80, level=0.5):
    y, x = np.mgrid[:rows, :columns]
    inside = (x - columns / 2) ** 2 + (y - rows / 2) ** 2 < radius**2
    noise = np.random.default_rng(1).normal(0, 0.02, (rows, columns))
    return (np.where(inside, level, 0.01) + np.where(inside, noise, 0)).astype(np.float32), inside


def test_field_of_view_is_the_disc_without_its_edge():
    grey, inside = make_disc()
    region = find_region(grey, "field_of_view")
    assert not (region & ~inside).any()
    assert region.sum() > 0.9 * inside.sum()


def test_dark_spots_and_names_in_the_frame_do_not_matter():
    grey, _ = make_disc()
    grey[95:105, 145:155] = 0.0
    grey[5:15, 5:60] = 0.9
    region = find_region(grey, "field_of_view")
    assert region[100, 150]
    assert not region[:20, :80].any()


def test_a_dark_picture_is_refused_with_a_remedy():
    grey = np.zeros((100, 100), dtype=np.float32)
    with pytest.raises(ImageError, match=r'eye\.png: no field of view is found; use .region. kind = "all"'):
        find_region(grey, "field_of_view", name="eye.png")
    grey[50, 50:53] = 1.0
    with pytest.raises(ImageError, match=r"fills 0\.\d % of the picture"):
        find_region(grey, "field_of_view", name="eye.png")


def test_all_is_all():
    assert find_region(np.zeros((5, 7), dtype=np.float32), "all").all()


def test_a_mask_has_to_be_there_and_fit(tmp_path):
    grey, inside = make_disc()
    with pytest.raises(InvalidInputError, match="none is named"):
        find_region(grey, "masks", name="eye.png")
    path = tmp_path / "mask.png"
    Image.fromarray((inside * 255).astype(np.uint8)).save(path)
    assert (find_region(grey, "masks", mask=path) == inside).all()
    Image.fromarray((inside[:, ::2] * 255).astype(np.uint8)).save(path)
    with pytest.raises(
        ImageError, match=r"mask.png: the mask has 150 x 200 pixels and its picture 300 x 200"
    ):
        find_region(grey, "masks", mask=path)
    Image.fromarray(np.zeros(grey.shape, dtype=np.uint8)).save(path)
    with pytest.raises(ImageError, match="the mask is empty"):
        find_region(grey, "masks", mask=path)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidInputError, match="field_of_view, masks or all"):
        find_region(np.zeros((5, 5), dtype=np.float32), "lungs")  # type: ignore[arg-type]
