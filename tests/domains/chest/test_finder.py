"""What every candidate finder promises, what each adds, and how they are found by name."""

import subprocess
import sys
from itertools import product
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from skimage.feature import blob_log

from overread.domains import (
    DEFAULT_FINDER,
    DEFAULT_LIMIT,
    FINDERS,
    candidate_table,
    find_anatomy,
    find_candidates,
    list_finders,
    load_finder,
)
from overread.domains.chest._finders import BLOB_SCALES_MM, SAME_MM, keep_apart, measure_log
from overread.errors import UsageError
from overread.tables import named
from page_code import DOCS, run_page
from radiograph_pictures import MM, SHAPE, all_lung, disc, radiograph, ramp, rod

COLUMNS = ["candidate_id", "x_mm", "y_mm", "radius_mm", "response"]
NUMBERS = COLUMNS[1:]
every_finder = pytest.mark.parametrize("finder", list_finders("chest"))


class OneAlways:
    """A finder of one place, whatever the image."""

    name = "one"
    version = "7"

    def __call__(self, radiograph, anatomy, *, limit):
        return candidate_table(*(np.array([value]) for value in (1.0, 2.0, 3.0, float(limit))))


def test_the_default_is_one_of_them_and_its_limit_is_that_of_the_commands():
    assert DEFAULT_FINDER in FINDERS
    found = find_candidates(radiograph(ramp()), anatomy=all_lung())
    assert len(found) == DEFAULT_LIMIT
    alone = load_finder(DEFAULT_FINDER)(radiograph(ramp()), all_lung(), limit=DEFAULT_LIMIT)
    pd.testing.assert_frame_equal(found, named(alone, "mm"))


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="no candidate finder 'blobs'; there are curvature, log"):
        find_candidates(radiograph(ramp()), finder="blobs")


def test_a_finder_of_ones_own_needs_no_name():
    found = find_candidates(radiograph(ramp()), finder=OneAlways(), limit=9)
    assert found[NUMBERS].to_numpy().tolist() == [[1.0, 2.0, 3.0, 9.0]]


def test_no_limit_below_one():
    with pytest.raises(UsageError, match="limit must be at least 1, not 0"):
        find_candidates(radiograph(ramp()), limit=0)


def test_names_and_limits_are_known_without_loading_a_finder():
    heavy = "cv2", "numba", "pandas", "scipy"
    code = f"import sys, overread.domains.chest; assert not set({heavy!r}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@every_finder
def test_candidates_are_sorted_apart_and_in_the_image(finder):
    image = radiograph(ramp() + disc(90, 120, 6))
    found = find_candidates(image, anatomy=all_lung(), finder=finder, limit=30)
    assert found.columns.tolist() == COLUMNS
    assert found["candidate_id"].tolist() == [f"{k:04d}" for k in range(1, len(found) + 1)]
    assert 0 < len(found) <= 30
    assert found["response"].is_monotonic_decreasing
    assert (found["radius_mm"] > 0).all()
    x, y = (found[name].to_numpy() for name in ("x_mm", "y_mm"))
    distance = np.hypot(np.subtract.outer(x, x), np.subtract.outer(y, y))
    # Centres that are means over places may come closer than the 4 mm of those.
    assert distance[np.triu_indices(len(found), 1)].min() >= 2.0
    assert ((x >= 0) & (x <= SHAPE[1] * MM) & (y >= 0) & (y <= SHAPE[0] * MM)).all()
    fewer = find_candidates(image, anatomy=all_lung(), finder=finder, limit=10)
    pd.testing.assert_frame_equal(found.head(10), fewer)


@pytest.mark.parametrize(
    ("finder", "radius_mm"),
    [*product(list_finders("chest"), [4.0, 6.0, 9.0]), ("curvature", 3.0), ("curvature", 13.0)],
)
def test_a_lone_disc_is_the_first_candidate(finder, radius_mm):
    found = find_candidates(radiograph(ramp() + disc(90, 120, radius_mm)), anatomy=all_lung(), finder=finder)
    first = found.iloc[0]
    assert np.hypot(first["x_mm"] - 90, first["y_mm"] - 120) <= 2.0
    assert radius_mm / 1.7 < first["radius_mm"] < radius_mm * 1.7


@every_finder
def test_the_same_image_gives_the_same_candidates_with_its_anatomy_known_or_not(finder, nih):
    image = nih(30)
    found = find_candidates(image, finder=finder)
    pd.testing.assert_frame_equal(find_candidates(image, finder=finder), found)
    pd.testing.assert_frame_equal(
        find_candidates(image, anatomy=find_anatomy(image), finder=finder), found, check_exact=True
    )


@every_finder
@pytest.mark.parametrize("shape", [(16, 16), (1, 1), (2, 5), (3, 300), (120, 90)])
@pytest.mark.parametrize("kind", ["constant", "noise", "steps", "huge"])
def test_hostile_images_give_finite_candidates(finder, shape, kind):
    random = np.random.default_rng(0)
    pixels = {
        "constant": np.full(shape, 0.5),
        "noise": random.normal(0, 1, shape),
        "steps": random.integers(0, 2, shape),
        "huge": random.normal(0, 1e6, shape),
    }[kind]
    found = find_candidates(radiograph(pixels), finder=finder)
    assert found.columns.tolist() == COLUMNS
    assert np.isfinite(found[NUMBERS].to_numpy(dtype=float)).all()
    assert len(found) <= DEFAULT_LIMIT
    if kind == "constant":
        assert found.empty


@every_finder
def test_no_centre_lies_in_padding_between_valid_parts(finder):
    valid = np.broadcast_to(np.arange(SHAPE[1]) % 8 < 6, SHAPE).copy()
    pixels = np.where(valid, ramp() + disc(90, 120, 8), 0)
    found = find_candidates(radiograph(pixels, valid), anatomy=all_lung(), finder=finder)
    row, column = ((found[c].to_numpy() / MM).astype(int) for c in ("y_mm", "x_mm"))
    assert len(found) > 20
    assert valid[row, column].all()


@every_finder
def test_rotated_inverted_and_padded_radiographs_are_survived(finder, nih):
    image = nih(12)
    valid = np.ones(image.shape, dtype=bool)
    valid[:100], valid[:, -120:] = False, False
    for pixels, known in (
        (np.rot90(image.pixels).copy(), None),
        (1 - image.pixels, None),
        (np.where(valid, image.pixels, 0), valid),
    ):
        found = find_candidates(radiograph(pixels, known), finder=finder)
        assert np.isfinite(found[NUMBERS].to_numpy(dtype=float)).all()
        if known is not None:
            row, column = (found[c].to_numpy() // MM for c in ("y_mm", "x_mm"))
            assert (row >= 98).all()
            assert (column <= image.shape[1] - 118).all()


def rank_at(found, x_mm, y_mm):
    """Rank of the first candidate within 4 mm."""
    close = np.flatnonzero(np.hypot(found["x_mm"] - x_mm, found["y_mm"] - y_mm) <= 4.0)
    return close[0] if len(close) else len(found)


def test_discs_come_before_rods_that_are_brighter():
    image = ramp() + rod(60, 5, 10) + rod(150, 5, 160) + disc(60, 105, 5) + disc(140, 110, 8)
    found = find_candidates(radiograph(image), anatomy=all_lung())
    assert sorted(rank_at(found, *place) for place in ((60, 105), (140, 110))) == [0, 1]


def test_a_disc_on_a_rod_is_found():
    found = find_candidates(radiograph(ramp() + rod(100, 6, 20) + disc(98, 100, 6)), anatomy=all_lung())
    assert rank_at(found, 98, 100) < 5


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
    kept = keep_apart(x_mm, y_mm, np.full(len(rows), distance_mm), np.arange(len(rows)), len(rows))
    assert kept.tolist() == sorted(set(kept.tolist()))
    away = {
        (one, other): np.hypot(x_mm[one] - x_mm[other], y_mm[one] - y_mm[other])
        for one in range(len(rows))
        for other in kept
    }
    for one in range(len(rows)):
        before = [other for other in kept if other < one]
        assert (one in kept) == all(away[one, other] >= distance_mm for other in before)


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


@pytest.fixture(scope="module")
def page():
    """The names that the page's blocks define."""
    module = ModuleType("overread.domains.chest.tophat_finder")
    run_page("how-to/add_a_candidate_finder.md", vars(module))
    return module


def test_the_page_finds_candidates(page):
    assert len(page.candidates) == 20
    assert page.candidates["response"].is_monotonic_decreasing


def test_the_finder_of_the_page_is_found_by_its_name(page, monkeypatch):
    monkeypatch.setitem(sys.modules, page.__name__, page)
    monkeypatch.setitem(FINDERS, page.entry.name, page.entry)
    assert load_finder("tophat").version == "1"
    found = find_candidates(page.radiograph, finder="tophat", limit=20)
    pd.testing.assert_frame_equal(found, page.candidates)


def test_the_finder_of_the_page_finds_a_disc(page):
    image = radiograph(ramp() + disc(90, 120, 6))
    first = find_candidates(image, anatomy=all_lung(), finder=page.TopHatFinder()).iloc[0]
    assert (first["x_mm"], first["y_mm"]) == pytest.approx((90, 120), abs=1)


def test_the_page_names_all_finders(page):
    text = (DOCS / "reference" / "candidates.md").read_text(encoding="utf-8")
    for name in list_finders("chest"):
        assert f"| `{name}` | {FINDERS[name].description} |" in text
