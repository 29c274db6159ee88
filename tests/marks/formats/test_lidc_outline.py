"""The coronal ellipse has the moments of the silhouette, here summed over a fine grid."""

import numpy as np
import pytest

from overread.marks.formats.lidc import SliceExtent, coronal_ellipse


def test_one_slice_is_a_rectangle():
    """A w x h rectangle has variances w^2/12 and h^2/12, so semi-axes w/sqrt(3) and h/sqrt(3)."""
    ellipse = coronal_ellipse([SliceExtent(223, 229, 1392.5)], mm_per_px=0.741, slice_mm=2.0)
    assert ellipse.centre == pytest.approx((226.5 * 0.741, -1392.5))
    assert ellipse.semi_axes == pytest.approx((7 * 0.741 / 3**0.5, 2 / 3**0.5))
    assert ellipse.angle_deg == 0


def test_moments_against_a_fine_grid():
    extents = [
        SliceExtent(10, 20, 0.0),
        SliceExtent(12, 25, 3.0),
        SliceExtent(18, 30, 6.0),
        SliceExtent(28, 30, 6.0),
    ]
    ellipse = coronal_ellipse(extents, mm_per_px=0.5, slice_mm=3.0)
    points = []
    for first, last, z in ((10, 21, 0), (12, 26, 3), (18, 31, 6)):
        x = (np.arange(first * 40, last * 40) + 0.5) / 80
        y = -z + (np.arange(120) + 0.5) / 40 - 1.5
        points.append(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    cloud = np.concatenate(points)
    values, vectors = np.linalg.eigh(np.cov(cloud.T, bias=True))
    assert ellipse.centre == pytest.approx(cloud.mean(axis=0), rel=1e-9)
    assert ellipse.semi_axes == pytest.approx(2 * np.sqrt(values[::-1]), rel=1e-4)
    assert ellipse.angle_deg % 180 == pytest.approx(
        np.rad2deg(np.arctan2(vectors[1, 1], vectors[0, 1])) % 180, abs=1e-2
    )
