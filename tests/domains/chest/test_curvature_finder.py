"""What the default finder does beyond what every finder promises (test_finder.py)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.domains import find_candidates
from overread.domains.chest._finders import SAME_MM, _keep_distance
from radiograph_pictures import MM, SHAPE, all_lung, disc, radiograph, ramp, rod


def nearest(found, x_mm, y_mm):
    """Rank of the first candidate within 4 mm, and its row."""
    close = np.flatnonzero(np.hypot(found["x_mm"] - x_mm, found["y_mm"] - y_mm) <= 4.0)
    return (close[0], found.iloc[close[0]]) if len(close) else (len(found), None)


@pytest.mark.parametrize("radius_mm", [3.0, 4.0, 6.0, 9.0, 13.0])
def test_a_disc_on_a_ramp_is_the_first_candidate(radius_mm):
    found = find_candidates(radiograph(ramp() + disc(90, 120, radius_mm)), anatomy=all_lung())
    rank, row = nearest(found, 90, 120)
    assert rank == 0
    assert radius_mm / 1.7 < row["radius_mm"] < radius_mm * 1.7


def test_discs_come_before_rods_that_are_brighter():
    image = ramp() + rod(60, 5, 10) + rod(150, 5, 160) + disc(60, 105, 5) + disc(140, 110, 8)
    found = find_candidates(radiograph(image), anatomy=all_lung())
    assert sorted(nearest(found, *place)[0] for place in ((60, 105), (140, 110))) == [0, 1]


def test_a_disc_on_a_rod_is_found():
    found = find_candidates(radiograph(ramp() + rod(100, 6, 20) + disc(98, 100, 6)), anatomy=all_lung())
    assert nearest(found, 98, 100)[0] < 5


def test_a_mirrored_image_has_mirrored_candidates():
    pixels = ramp() + disc(60, 80, 4) + disc(140, 150, 9) + rod(110, 6, 20)
    # Beyond these a place lies on the last column, where the border makes a plateau of two pixels.
    found = find_candidates(radiograph(pixels), anatomy=all_lung(), limit=15)
    mirrored = find_candidates(radiograph(pixels[:, ::-1].copy()), anatomy=all_lung(), limit=15)
    # Centres are weighted by odds that a network in single precision gives: a hundredth of a millimetre is allowed.
    np.testing.assert_allclose(SHAPE[1] * MM - mirrored["x_mm"], found["x_mm"], atol=0.01)
    np.testing.assert_allclose(mirrored["y_mm"], found["y_mm"], atol=0.01)
    np.testing.assert_allclose(mirrored["response"], found["response"], atol=0.05)


def test_contrast_and_brightness_of_the_whole_image_hardly_matter():
    pixels = ramp() + disc(60, 80, 4) + disc(140, 150, 9)
    found, other = (
        find_candidates(radiograph(p), anatomy=all_lung(), limit=5) for p in (pixels, pixels * 1.2 + 0.1)
    )
    np.testing.assert_allclose(other[["x_mm", "y_mm"]].head(2), found[["x_mm", "y_mm"]].head(2), atol=1.5)


def nearest_neighbour_mm(found):
    """Distance of the two candidates that are nearest to each other."""
    dx, dy = (found[name].to_numpy()[:, None] - found[name].to_numpy() for name in ("x_mm", "y_mm"))
    distance = np.hypot(dx, dy)
    np.fill_diagonal(distance, np.inf)
    return distance.min()


@pytest.mark.parametrize("place", [0, 3, 7])
def test_no_two_candidates_of_a_real_radiograph_are_within_4_mm(nih, place):
    radiograph = nih(place)
    found = find_candidates(radiograph, limit=100)
    assert nearest_neighbour_mm(found) >= SAME_MM == 4.0
    # Those that coincide make room for others.
    assert len(found) == 100
    assert found["response"].is_monotonic_decreasing
    # A smaller limit keeps the strongest.
    fewer = find_candidates(radiograph, limit=20)
    assert len(fewer) == 20
    assert nearest_neighbour_mm(fewer) >= SAME_MM


places = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=25)


@given(places, st.sampled_from([0.5, 1.0, 4.0, 5.0]))
def test_rows_are_kept_apart_from_those_before_them(rows, distance_mm):
    x_mm, y_mm = np.array(rows, dtype=float).reshape(-1, 2).T
    kept = _keep_distance(x_mm, y_mm, distance_mm)
    assert kept.tolist() == sorted(set(kept.tolist()))
    away = {
        (one, other): np.hypot(x_mm[one] - x_mm[other], y_mm[one] - y_mm[other])
        for one in range(len(rows))
        for other in kept
    }
    for one in range(len(rows)):
        before = [other for other in kept if other < one]
        assert (one in kept) == all(away[one, other] >= distance_mm for other in before)
