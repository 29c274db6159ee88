"""The learned network: what its bands show, an independent network, the framework it was trained in, its family."""

from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import correlate

from overread.features import FEATURE_VERSION, Catalogue, extract_features
from overread.features._learned import (
    RESOLUTIONS_MM,
    SIDE,
    TRAINED_ON,
    WEIGHTS,
    LearnedNetwork,
    cut_squares,
    load_network,
    make_bands,
)
from overread.features.families.learned import FAMILY as LEARNED
from overread.features.families.learned import FEATURES
from overread.images import from_array

GOLDEN = Path(__file__).parents[2] / "golden" / "learned_network.npz"
CHANNELS = (3, 4, 5)
UNITS = 6


@pytest.fixture(scope="module")
def network():
    random = np.random.default_rng(1)
    first, second, third = CHANNELS
    shapes = {
        "kernel_1": (5, 5, 1, first),
        "kernel_2": (3, 3, first, second),
        "kernel_3": (3, 3, second, third),
        "offset_1": (first,),
        "offset_2": (second,),
        "offset_3": (third,),
        "unit_weights": (3, 3, 3, third, UNITS),
        "unit_offsets": (UNITS,),
        "score_weights": (UNITS,),
        "score_offset": (),
    }
    return LearnedNetwork.from_arrays({name: random.normal(0, 0.3, shape) for name, shape in shapes.items()})


def convolve_plainly(image, weights, offset):
    """Convolve by SciPy, channel by channel."""
    maps = [
        sum(correlate(image[..., c], weights[:, :, c, o], mode="valid") for c in range(weights.shape[2]))
        for o in range(weights.shape[3])
    ]
    return np.maximum(np.stack(maps, axis=-1) + offset, 0.0)


def pool_plainly(image):
    side = 2 * (image.shape[0] // 2)
    return image[:side, :side].reshape(side // 2, 2, side // 2, 2, -1).max(axis=(1, 3))


def answer_plainly(network, square):
    total = network.unit_offsets.astype(np.float64)
    for band, weights in zip(square.astype(np.float64), network.unit_weights, strict=True):
        seen = band[..., None]
        for number, (kernel, offset) in enumerate(zip(network.kernels, network.offsets, strict=True)):
            seen = convolve_plainly(seen, kernel.astype(np.float64), offset)
            seen = pool_plainly(seen) if number < 2 else seen
        total = total + np.einsum("yxc,yxcu->u", seen, weights)
    units = np.maximum(total, 0.0)
    return np.append(units, units @ network.score_weights + network.score_offset)


def test_equals_convolutions_by_scipy(network):
    squares = np.random.default_rng(2).normal(size=(3, 3, 28, 28)).astype(np.float32)
    expected = [answer_plainly(network, square) for square in squares]
    assert np.count_nonzero(np.array(expected)[:, :UNITS]) > UNITS
    np.testing.assert_allclose(network.answer(squares), expected, rtol=1e-4, atol=1e-4)


def test_a_place_does_not_depend_on_the_others(network):
    squares = np.random.default_rng(3).normal(size=(4, 3, 28, 28)).astype(np.float32)
    np.testing.assert_array_equal(network.answer(squares)[2:3], network.answer(squares[2:3]))
    assert network.answer(squares[:0]).shape == (0, UNITS + 1)


def test_shipped_weights_answer_as_the_framework_did():
    with np.load(GOLDEN, allow_pickle=False) as stored:
        found = load_network().answer(stored["squares"])
        np.testing.assert_allclose(found, stored["answers"], rtol=1e-5, atol=1e-5)


def test_shipped_weights_are_small():
    assert len((files("overread.features") / WEIGHTS).read_bytes()) <= 200_000


def test_the_weights_are_those_of_this_version():
    """Who changes the weights raises FEATURE_VERSION, says what they were trained on, and says all three here."""
    digest = sha256((files("overread.features") / WEIGHTS).read_bytes()).hexdigest()
    trained = sha256(TRAINED_ON.encode()).hexdigest()
    assert (FEATURE_VERSION, digest[:16], trained[:16]) == ("1", "74aab6660551b588", "fb2f5e7496c15b6b")


MM = 0.7


@pytest.fixture(scope="module")
def grey():
    y, x = np.mgrid[:300, :260]
    noise = np.random.default_rng(0).normal(0, 0.05, (300, 260))
    return (0.5 + 0.001 * x - 0.0005 * y + noise).astype(np.float32)


def test_brightness_and_contrast_do_not_count(grey):
    for band, other in zip(make_bands(grey, MM), make_bands(3.0 * grey - 1.0, MM), strict=True):
        np.testing.assert_allclose(band.values, other.values, rtol=0.06, atol=1e-3)


def test_bands_have_no_trend(grey):
    for band in make_bands(grey, MM):
        assert abs(band.values[10:-10, 10:-10].mean()) < 0.1


def test_bands_have_unit_deviation():
    noise = np.random.default_rng(1).normal(0.5, 0.1, (300, 260)).astype(np.float32)
    assert [band.values.std() for band in make_bands(noise, MM)] == pytest.approx([1.0, 1.0, 1.0], abs=0.08)


def test_a_constant_image_is_nothing():
    assert all(
        np.abs(band.values).max() < 1e-3 for band in make_bands(np.full((90, 80), 0.3, np.float32), MM)
    )


@pytest.mark.parametrize(
    ("mm", "place"), [(0.7, (100.0, 120.0)), (0.7, (100.25, 119.5)), (0.5, (130.0, 150.0))]
)
def test_a_spot_lies_in_the_middle_of_every_square(mm, place):
    column, row = place
    y, x = np.mgrid[:300, :260]
    spot = np.exp(-((x - column) ** 2 + (y - row) ** 2) * mm**2 / (2 * 5.0**2)).astype(np.float32)
    squares = cut_squares(make_bands(spot, mm), np.array([column]), np.array([row]))
    axis = np.arange(SIDE) - (SIDE - 1) / 2
    for square, resolution in zip(squares[0], RESOLUTIONS_MM, strict=True):
        weight = np.maximum(square, 0.0) ** 2
        centre = np.array([(weight.sum(axis=k) * axis).sum() for k in (0, 1)]) / weight.sum()
        assert np.abs(centre).max() * resolution < 0.25


def test_a_mirrored_image_gives_mirrored_squares(grey):
    column, row = np.array([40.0, 200.3]), np.array([100.0, 250.6])
    squares = cut_squares(make_bands(grey[:, :256], MM), column, row)
    mirrored = cut_squares(make_bands(np.ascontiguousarray(grey[:, 255::-1]), MM), 255.0 - column, row)
    np.testing.assert_allclose(mirrored, squares[..., ::-1], atol=2e-3)


def test_squares_at_a_corner_repeat_the_border(grey):
    bands = make_bands(grey, MM)
    squares = cut_squares(bands, np.array([-0.5]), np.array([-0.5]))
    assert np.isfinite(squares).all()
    np.testing.assert_array_equal(
        squares[0, :, :13, :13], np.broadcast_to(squares[0, :, :1, :1], (3, 13, 13))
    )


def test_tiny_images_have_bands():
    assert all(np.isfinite(band.values).all() for band in make_bands(np.eye(2, dtype=np.float32), MM))


CATALOGUE = Catalogue([LEARNED])


def test_there_is_a_column_for_every_unit_and_the_score():
    assert len(FEATURES) == load_network().n_units + 1
    assert FEATURES[-1].name == "learned.score"


def test_a_nodule_scores_above_a_line_and_above_nothing():
    y, x = np.mgrid[:400, :400] * 0.7
    noise = np.random.default_rng(0).normal(0, 0.02, x.shape)
    nodule = 0.15 * np.maximum(1 - ((x - 70) ** 2 + (y - 140) ** 2) / 49, 0)
    line = 0.15 * np.exp(-((x - 200) ** 2) / (2 * 3.0**2))
    image = from_array((0.5 + noise + nodule + line).astype(np.float32), 0.7)
    places = pd.DataFrame({"x_mm": [70.0, 200.0, 130.0], "y_mm": [140.0, 140.0, 60.0], "radius_mm": 7.0})
    score = extract_features(image, places, catalogue=CATALOGUE)["learned.score"]
    assert score[0] > score[1]
    assert score[0] > score[2]


def test_candidates_do_not_depend_on_each_other():
    image = from_array(np.random.default_rng(1).normal(size=(120, 110)).astype(np.float32), 0.7)
    places = pd.DataFrame({"x_mm": [20.0, 40.0, 1.0], "y_mm": [30.0, 60.0, 83.0], "radius_mm": 5.0})
    together = extract_features(image, places, catalogue=CATALOGUE).drop(columns="candidate_id")
    alone = extract_features(image, places[1:2], catalogue=CATALOGUE).drop(columns="candidate_id")
    np.testing.assert_array_equal(together[1:2].to_numpy(), alone.to_numpy())
    assert np.isfinite(together.to_numpy()).all()
