import numpy as np
import pytest
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from overread.domains.chest._lungs import (
    LungModel,
    Network,
    describe_appearance,
    describe_context,
    load_lung_model,
    mirror,
    predict_probability,
)

IMAGE = np.random.default_rng(0).random((40, 36)).astype(np.float32)


def test_the_shipped_weights_fit_what_the_networks_see():
    model = load_lung_model()
    look = describe_appearance(IMAGE)
    assert len(model.first.weights) == len(look)
    assert len(model.second.weights) == len(look) + len(describe_context(IMAGE, IMAGE))
    for network in (model.first, model.second):
        assert all(np.isfinite(part).all() for part in (network.weights, network.offsets, network.output))
    assert load_lung_model() is model


def test_a_mirrored_image_has_its_lungs_exchanged():
    left, right = load_lung_model().probabilities(IMAGE)
    other_left, other_right = load_lung_model().probabilities(mirror(IMAGE))
    np.testing.assert_allclose(mirror(other_right), left, atol=1e-6)
    np.testing.assert_allclose(mirror(other_left), right, atol=1e-6)


def test_the_second_look_sees_the_first_guess_of_both_lungs():
    """A second network that only repeats the guess of its own lung gives the first network's answer again."""
    look, context = describe_appearance(IMAGE), describe_context(IMAGE, IMAGE)
    random = np.random.default_rng(1)
    first = Network(
        random.normal(0, 0.3, (len(look), 3)).astype(np.float32),
        np.zeros(3, dtype=np.float32),
        np.ones(4, dtype=np.float32),
    )
    weights = np.zeros((len(look) + len(context), 1), dtype=np.float32)
    weights[len(look)] = 1
    second = Network(weights, np.zeros(1, dtype=np.float32), np.array([1, 0], dtype=np.float32))
    left, right = LungModel(first, second).probabilities(IMAGE)
    guess = predict_probability(first, look)
    np.testing.assert_allclose(left, 1 / (1 + np.exp(-guess)), atol=1e-6)
    there = predict_probability(first, describe_appearance(mirror(IMAGE)))
    np.testing.assert_allclose(right, mirror(1 / (1 + np.exp(-there))), atol=1e-6)


def test_probabilities_are_those_of_the_log_odds():
    random = np.random.default_rng(0)
    network = drawn(5, 3)
    features = random.normal(0, 100, (5, 7, 4)).astype(np.float32)
    found = predict_probability(network, features)
    log_odds = network.log_odds(features.reshape(5, -1)).reshape(7, 4).astype(np.float64)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-log_odds)), atol=1e-6)


def drawn(n_inputs, n_hidden, seed=0):
    random = np.random.default_rng(seed)
    shapes = (n_inputs, n_hidden), (n_hidden,), (n_hidden + 1,)
    return Network(*(random.normal(0, 1, shape).astype(np.float32) for shape in shapes))


def test_log_odds_are_those_of_scikit_learn_on_standardized_inputs():
    random = np.random.default_rng(2)
    inputs = random.normal(3, 2, (200, 4))
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0)
    peer = MLPClassifier((6,), max_iter=30, random_state=0)
    with pytest.warns(ConvergenceWarning):
        peer.fit((inputs - mean) / scale, inputs[:, 0] * inputs[:, 1] > 9)
    weights = peer.coefs_[0] / scale[:, None]
    offsets = peer.intercepts_[0] - mean @ weights
    output = np.append(peer.coefs_[1][:, 0], peer.intercepts_[1])
    network = Network(*(part.astype(np.float32) for part in (weights, offsets, output)))
    expected = logit(peer.predict_proba((inputs - mean) / scale)[:, 1])
    np.testing.assert_allclose(network.log_odds(inputs.T.astype(np.float32)), expected, atol=1e-4)


def test_a_stored_network_is_read_as_it_was_rounded():
    network = drawn(5, 3)
    stored = network.to_arrays("one") | drawn(5, 3, seed=1).to_arrays("other")
    read = Network.from_arrays(stored, "one")
    for name in ("weights", "offsets", "output"):
        part = getattr(read, name)
        assert part.dtype == np.float32
        np.testing.assert_array_equal(part, getattr(network, name).astype(np.float16))
