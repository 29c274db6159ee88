from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.candidates import generate
from overread.errors import UsageError
from radiograph_pictures import MM, SHAPE, all_lung, disc, radiograph, ramp, rod

NUMBERS = ["x_mm", "y_mm", "radius_mm", "response"]


def nearest(found, x_mm, y_mm):
    """Rank of the first candidate within 4 mm, and its row."""
    close = np.flatnonzero(np.hypot(found["x_mm"] - x_mm, found["y_mm"] - y_mm) <= 4.0)
    return (close[0], found.iloc[close[0]]) if len(close) else (len(found), None)


@pytest.mark.parametrize("radius_mm", [3.0, 4.0, 6.0, 9.0, 13.0])
def test_a_disc_on_a_ramp_is_the_first_candidate(radius_mm):
    found = generate(radiograph(ramp() + disc(90, 120, radius_mm)), anatomy=all_lung())
    rank, row = nearest(found, 90, 120)
    assert rank == 0
    assert radius_mm / 1.7 < row["radius_mm"] < radius_mm * 1.7


def test_discs_come_before_rods_that_are_brighter():
    image = ramp() + rod(60, 5, 10) + rod(150, 5, 160) + disc(60, 105, 5) + disc(140, 110, 8)
    found = generate(radiograph(image), anatomy=all_lung())
    assert sorted(nearest(found, *place)[0] for place in ((60, 105), (140, 110))) == [0, 1]


def test_a_disc_on_a_rod_is_found():
    found = generate(radiograph(ramp() + rod(100, 6, 20) + disc(98, 100, 6)), anatomy=all_lung())
    assert nearest(found, 98, 100)[0] < 5


def test_candidates_are_sorted_apart_and_in_the_image():
    image = radiograph(ramp() + disc(90, 120, 6))
    found = generate(image, anatomy=all_lung(), limit=60)
    assert found.columns.tolist() == ["candidate_id", *NUMBERS]
    assert found["candidate_id"].is_unique
    assert len(found) == 60
    assert found["response"].is_monotonic_decreasing
    distance = np.hypot(
        *(np.subtract.outer(found[c].to_numpy(), found[c].to_numpy()) for c in ("x_mm", "y_mm"))
    )
    assert distance[np.triu_indices(60, 1)].min() >= 4.0
    assert found["x_mm"].between(0, SHAPE[1] * MM).all()
    pd.testing.assert_frame_equal(found.head(10), generate(image, anatomy=all_lung(), limit=10))


def test_a_mirrored_image_has_mirrored_candidates():
    pixels = ramp() + disc(60, 80, 4) + disc(140, 150, 9) + rod(110, 6, 20)
    # Beyond these a place lies on the last column, where the border makes a plateau of two pixels.
    found = generate(radiograph(pixels), anatomy=all_lung(), limit=15)
    mirrored = generate(radiograph(pixels[:, ::-1].copy()), anatomy=all_lung(), limit=15)
    # Centres are weighted by odds that a network in single precision gives: a hundredth of a millimetre is allowed.
    np.testing.assert_allclose(SHAPE[1] * MM - mirrored["x_mm"], found["x_mm"], atol=0.01)
    np.testing.assert_allclose(mirrored["y_mm"], found["y_mm"], atol=0.01)
    np.testing.assert_allclose(mirrored["response"], found["response"], atol=0.05)


def test_contrast_and_brightness_of_the_whole_image_hardly_matter():
    pixels = ramp() + disc(60, 80, 4) + disc(140, 150, 9)
    found, other = (
        generate(radiograph(p), anatomy=all_lung(), limit=5) for p in (pixels, pixels * 1.2 + 0.1)
    )
    np.testing.assert_allclose(other[["x_mm", "y_mm"]].head(2), found[["x_mm", "y_mm"]].head(2), atol=1.5)


def test_the_same_image_gives_the_same_candidates(nih):
    image = nih(30)
    pd.testing.assert_frame_equal(generate(image), generate(image))


@pytest.mark.parametrize("shape", [(16, 16), (1, 1), (2, 5), (3, 300), (120, 90)])
@pytest.mark.parametrize("kind", ["constant", "noise", "steps", "huge"])
def test_hostile_images_give_finite_candidates(shape, kind):
    random = np.random.default_rng(0)
    pixels = {
        "constant": np.full(shape, 0.5),
        "noise": random.normal(0, 1, shape),
        "steps": random.integers(0, 2, shape),
        "huge": random.normal(0, 1e6, shape),
    }[kind]
    found = generate(radiograph(pixels))
    assert np.isfinite(found[NUMBERS].to_numpy(dtype=float)).all()
    assert len(found) <= 100
    if kind == "constant":
        assert found.empty


def test_rotated_inverted_and_padded_radiographs_are_survived(nih):
    image = nih(12)
    valid = np.ones(image.shape, dtype=bool)
    valid[:100], valid[:, -120:] = False, False
    for pixels, known in (
        (np.rot90(image.pixels).copy(), None),
        (1 - image.pixels, None),
        (np.where(valid, image.pixels, 0), valid),
    ):
        found = generate(radiograph(pixels, known))
        assert np.isfinite(found[NUMBERS].to_numpy(dtype=float)).all()
        if known is not None:
            row, column = (found[c].to_numpy() // MM for c in ("y_mm", "x_mm"))
            assert (row >= 98).all()
            assert (column <= image.shape[1] - 118).all()


def test_no_centre_lies_in_padding_between_valid_parts():
    valid = np.broadcast_to(np.arange(SHAPE[1]) % 8 < 6, SHAPE).copy()
    pixels = np.where(valid, ramp() + disc(90, 120, 8), 0)
    found = generate(radiograph(pixels, valid), anatomy=all_lung())
    row, column = ((found[c].to_numpy() / MM).astype(int) for c in ("y_mm", "x_mm"))
    assert len(found) > 20
    assert valid[row, column].all()


def test_no_limit_below_one():
    with pytest.raises(UsageError, match="limit"):
        generate(radiograph(ramp()), limit=0)
