"""The network beside an independent one, and beside the framework that it was trained in."""

from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import correlate

from overread.features import FEATURE_VERSION
from overread.features._learned import TRAINED_ON, WEIGHTS, LearnedNetwork, load_network

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
