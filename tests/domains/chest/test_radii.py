"""Radii of candidates on nodules whose radius is known."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from overread.domains._scale_space import measure_radii

MM = 0.7


def nodule(radius_mm, seed=None, shape=(160, 160)):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    rho = np.hypot((columns - 80) * MM, (rows - 80) * MM) / radius_mm
    image = (0.2 * np.clip(1 - rho**2, 0, None)).astype(np.float32)
    if seed is None:
        return image
    noise = cv2.GaussianBlur(np.random.default_rng(seed).normal(size=shape).astype(np.float32), (0, 0), 3)
    return image + noise * np.float32(0.05 / noise.std())


def radius_at_centre(image):
    place = np.array([80.5 * MM])
    return float(measure_radii(image, place, place, MM)[0])


@pytest.mark.parametrize("radius_mm", [3.5, 5, 8, 12, 15])
def test_the_radius_grows_with_the_nodule_and_is_near_it(radius_mm):
    found = [radius_at_centre(nodule(radius_mm, seed)) for seed in range(15)]
    assert radius_mm / 1.3 < np.median(found) < 1.3 * radius_mm


def test_larger_nodules_have_larger_radii():
    radii = [radius_at_centre(nodule(radius)) for radius in (3, 5, 8, 12)]
    assert radii == sorted(radii)
    assert len(set(radii)) == 4


def test_brightness_and_contrast_scale_do_not_move_it():
    image = nodule(6, 1)
    assert radius_at_centre(image + np.float32(3)) == pytest.approx(radius_at_centre(image))


@pytest.mark.parametrize("x_mm", [0.0, 111.9])
def test_a_place_at_the_border_and_a_constant_image_have_a_radius(x_mm):
    flat = np.full((160, 160), 0.5, dtype=np.float32)
    place = np.array([x_mm])
    assert np.isfinite(measure_radii(flat, place, place, MM)).all()
