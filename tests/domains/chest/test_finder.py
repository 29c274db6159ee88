"""What every candidate finder promises, and how they are found by name."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

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
from overread.errors import UsageError
from overread.tables import named
from radiograph_pictures import MM, SHAPE, all_lung, disc, radiograph, ramp

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


@every_finder
@pytest.mark.parametrize("radius_mm", [4.0, 6.0, 9.0])
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
