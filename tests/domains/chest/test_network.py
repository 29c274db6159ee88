import numpy as np
import pytest
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from overread.domains.chest._lungs import Network


def drawn(n_inputs, n_hidden, seed=0):
    random = np.random.default_rng(seed)
    shapes = (n_inputs, n_hidden), (n_hidden,), (n_hidden + 1,)
    return Network(*(random.normal(0, 1, shape).astype(np.float32) for shape in shapes))


def test_log_odds_are_the_formula():
    network = drawn(5, 3)
    inputs = np.random.default_rng(1).normal(0, 2, (5, 40)).astype(np.float32)
    expected = []
    for x in inputs.T:
        hidden = [max(0.0, network.offsets[k] + network.weights[:, k] @ x) for k in range(3)]
        expected.append(network.output[3] + sum(network.output[k] * hidden[k] for k in range(3)))
    np.testing.assert_allclose(network.log_odds(inputs), expected, rtol=1e-4, atol=1e-5)


def test_inputs_are_left_as_they_are():
    inputs = np.random.default_rng(1).normal(0, 2, (5, 40)).astype(np.float32)
    before = inputs.copy()
    drawn(5, 3).log_odds(inputs)
    np.testing.assert_array_equal(inputs, before)


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
