"""Bright spots: found where they are, apart from each other, in the lung only."""

from __future__ import annotations

import numpy as np
import pytest

from overread.simulate._cases import APART_MM, SCALES_MM, strongest_blobs

MM = 0.7


def test_the_strongest_blobs_are_the_spots_that_are_there(background):
    blobs = strongest_blobs(background.pixels, background.lungs, MM, n=3)
    assert sorted(blob.x_mm for blob in blobs) == pytest.approx([60, 110, 160], abs=1.5)
    assert [blob.y_mm for blob in blobs] == pytest.approx([100] * 3, abs=1.5)


@pytest.mark.parametrize("scale", SCALES_MM)
def test_a_disc_gets_the_diameter_that_fits_it(scale):
    """-s^2 LoG of a disc of radius r is largest at s = r / sqrt(2)."""
    y, x = np.mgrid[:200, :200] * 0.5
    disc = ((x - 50) ** 2 + (y - 50) ** 2 < 2 * scale**2) * 100.0
    (blob,) = strongest_blobs(disc, np.ones(disc.shape, dtype=bool), 0.5, n=1)
    assert blob.diameter_mm == pytest.approx(2 * np.sqrt(2) * scale)
    assert (blob.x_mm, blob.y_mm) == pytest.approx((50.25, 50.25), abs=0.51)


def test_spots_keep_their_distance_and_stay_in_the_lung(background):
    blobs = strongest_blobs(background.pixels, background.lungs, MM, n=15)
    assert len(blobs) == 15
    assert [blob.response for blob in blobs] == sorted((blob.response for blob in blobs), reverse=True)
    for i, one in enumerate(blobs):
        assert background.lungs[int(one.y_mm / MM), int(one.x_mm / MM)]
        assert all(np.hypot(one.x_mm - b.x_mm, one.y_mm - b.y_mm) >= APART_MM for b in blobs[:i])


def test_nothing_is_found_without_a_lung():
    assert strongest_blobs(np.ones((50, 50)), np.zeros((50, 50), dtype=bool), MM) == []
