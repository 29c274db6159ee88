from __future__ import annotations

from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from overread.images import Radiograph
from overread.images.radiograph import SpacingSource
from overread.marks import Ellipse
from overread.report import crop_around
from overread.report.gallery import gallery, png, stretched


def spot(row, column, shape=(120, 100), mm_per_px=0.5):
    pixels = np.zeros(shape, dtype=np.float32)
    pixels[row, column] = 1
    return Radiograph(
        pixels, mm_per_px, np.ones(shape, dtype=bool), SpacingSource.GIVEN, (mm_per_px,) * 2, shape
    )


@pytest.mark.parametrize(("row", "column"), [(60, 50), (0, 0), (119, 99), (3, 97)])
def test_the_place_is_in_the_middle_and_keeps_its_millimetres(row, column):
    radiograph = spot(row, column)
    x, y = (column + 0.5) * 0.5, (row + 0.5) * 0.5
    crop = crop_around(radiograph, x, y, caption="", side_mm=20)
    brightest = np.argwhere(crop.pixels == crop.pixels.max())[0]
    assert crop.pixels.shape == (40, 40)
    assert np.abs(brightest - 20).max() <= 1
    assert (brightest[1] + 0.5) * 0.5 + crop.left_mm == pytest.approx(x)
    assert (brightest[0] + 0.5) * 0.5 + crop.top_mm == pytest.approx(y)


def test_a_place_outside_the_image_gives_a_black_crop():
    crop = crop_around(spot(5, 5), 900, -900, caption="")
    assert not crop.pixels.any()


def test_a_constant_piece_is_not_divided_by_zero():
    assert not stretched(np.full((9, 9), 3.0, dtype=np.float32)).any()


def test_the_picture_survives_its_way_into_the_page():
    pixels = np.random.default_rng(0).integers(0, 256, (30, 30), dtype=np.uint8)
    assert np.array_equal(np.asarray(Image.open(BytesIO(b64decode(png(pixels))))), pixels)


def test_outlines_are_drawn_in_the_crop_s_own_millimetres():
    crop = crop_around(
        spot(60, 50),
        25,
        30,
        caption="a & b",
        ellipse=Ellipse(26, 31, 8, 5, 30),
        circle=(25, 30, 6),
        side_mm=20,
    )
    html = gallery([crop])
    assert f'cx="{26 - crop.left_mm:.2f}" cy="{31 - crop.top_mm:.2f}" rx="8.00" ry="5.00"' in html
    assert 'r="6.00"' in html
    assert "a &amp; b" in html
