import numpy as np
import pytest
from scipy import ndimage
from skimage.feature import blob_log

from overread.domains import find_candidates
from overread.domains.chest._finders import BLOB_SCALES_MM, keep_apart, measure_log
from radiograph_pictures import MM, SHAPE, all_lung, radiograph, rod

PLACES_MM = {(50.0, 60.0): 2.1, (130.0, 70.0): 3.0, (60.0, 150.0): 4.2, (140.0, 160.0): 6.0}
"""Centres of Gaussian blobs, and their widths."""


def blobs():
    y, x = (np.mgrid[: SHAPE[0], : SHAPE[1]] + 0.5) * MM
    image = np.full(SHAPE, 0.3)
    for (x_mm, y_mm), width in PLACES_MM.items():
        image += 0.3 * np.exp(-((x - x_mm) ** 2 + (y - y_mm) ** 2) / (2 * width**2))
    return image.astype(np.float32)


def test_blobs_are_found_where_and_as_large_as_scikit_image_finds_them():
    found = find_candidates(radiograph(blobs()), anatomy=all_lung(), finder="log", limit=4)
    # Scale by scale as ours; the number of scales between is that of a geometric series.
    low, high = BLOB_SCALES_MM[0] / MM, BLOB_SCALES_MM[-1] / MM
    peer = blob_log(
        blobs(), min_sigma=low, max_sigma=high, num_sigma=len(BLOB_SCALES_MM), log_scale=True, threshold=0.05
    )
    assert len(peer) == len(found) == 4
    for row, column, sigma in peer:
        x_mm, y_mm = (column + 0.5) * MM, (row + 0.5) * MM
        distance = np.hypot(found["x_mm"] - x_mm, found["y_mm"] - y_mm)
        nearest = found.iloc[int(distance.argmin())]
        # A pixel of the pyramid's level is up to half a sigma wide.
        assert distance.min() <= max(sigma * MM / 2, MM)
        assert nearest["radius_mm"] == pytest.approx(np.sqrt(2) * sigma * MM, rel=0.05)


def test_blobs_are_as_large_as_they_are():
    found = find_candidates(radiograph(blobs()), anatomy=all_lung(), finder="log", limit=4)
    for (x_mm, y_mm), width in PLACES_MM.items():
        nearest = found.iloc[int(np.hypot(found["x_mm"] - x_mm, found["y_mm"] - y_mm).argmin())]
        assert nearest["radius_mm"] == pytest.approx(np.sqrt(2) * width, rel=0.01)
        # At sigma = s the closed form is half of the height, 0.3.
        assert nearest["response"] == pytest.approx(0.15, rel=0.15)


@pytest.mark.parametrize("sigma_px", [2.0, 3.7, 6.0])
def test_the_laplacian_is_that_of_scipy(sigma_px):
    image = ndimage.gaussian_filter(np.random.default_rng(0).normal(0, 1, (120, 90)), 2).astype(np.float32)
    expected = -(sigma_px**2) * ndimage.gaussian_laplace(image.astype(np.float64), sigma_px)
    inside = np.s_[30:-30, 30:-30]
    # Differences of neighbours stand for the derivatives: some percent at the finest scale.
    difference = measure_log(image, sigma_px)[inside] - expected[inside]
    assert np.abs(difference).max() < 0.1 * np.abs(expected[inside]).max()


def test_of_blobs_on_one_place_the_first_is_kept():
    x, y, radius = np.array([[0.0, 3.0, 10.0, 13.0, 30.0], [0.0] * 5, [2.0, 4.0, 2.0, 2.0, 2.0]])
    assert keep_apart(x, y, radius, np.arange(5), 10).tolist() == [0, 2, 3, 4]
    assert keep_apart(x, y, radius, np.array([1, 0, 2, 3, 4]), 10).tolist() == [1, 2, 3, 4]
    assert keep_apart(x, y, radius, np.arange(5), 2).tolist() == [0, 2]
    assert keep_apart(x, y, radius, np.arange(0), 2).tolist() == []


def test_a_rod_answers_too_which_the_default_finder_avoids():
    """The reason why this finder is there to compare with only."""
    image = radiograph(blobs() + rod(110, 5, 0, height=0.5))
    plain, curved = (
        find_candidates(image, anatomy=all_lung(), finder=finder, limit=4) for finder in ("log", "curvature")
    )
    on_rod = [(np.abs(found["y_mm"] - 110) < 5).sum() for found in (plain, curved)]
    assert on_rod[0] > on_rod[1] == 0
