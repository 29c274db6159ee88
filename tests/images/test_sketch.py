"""A sketch does not depend on size, brightness or format; its averages are those of a plain loop."""

from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest

from overread.images import decode_sketch, sketch, sketch_channels
from overread.images._sketch import _average


@pytest.fixture
def pixels() -> np.ndarray:
    random = np.random.default_rng(1)
    return cv2.GaussianBlur(random.random((150, 210)), (0, 0), 3).astype(np.float32)


def test_it_does_not_depend_on_brightness_and_size(pixels: np.ndarray) -> None:
    assert sketch(7 * pixels + 100) == sketch(pixels)
    assert sketch_channels(np.repeat(pixels[..., None], 3, axis=2)) == sketch(pixels)
    larger = cv2.resize(pixels, None, fx=2, fy=3, interpolation=cv2.INTER_NEAREST)
    assert decode_sketch(sketch(larger)) @ decode_sketch(sketch(pixels)) > 0.999
    assert abs(decode_sketch(sketch(pixels[::-1])) @ decode_sketch(sketch(pixels))) < 0.5
    assert len(base64.b64decode(sketch(pixels))) == 24 * 24


@pytest.mark.parametrize("length", [5, 64, 100, 128])
def test_squares_are_averaged_with_parts_of_pixels(length: int) -> None:
    fine = np.repeat(np.eye(length), 64, axis=0).reshape(64, length, length).mean(axis=1)
    np.testing.assert_allclose(_average(length), fine, atol=1e-6)


@pytest.mark.parametrize("flat", [np.zeros((80, 80)), np.full((3, 2), 9.0)])
def test_a_flat_picture_has_none(flat: np.ndarray) -> None:
    assert sketch(flat.astype(np.float32)) == ""
