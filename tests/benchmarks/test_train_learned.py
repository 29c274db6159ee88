"""What variants of the learned network are compared by, and how batches are turned."""

import numpy as np
import pytest
from benchmarks.learned_examples import LOOKS, Examples
from benchmarks.train_learned import find_shares, turn


def test_share_found_by_hand():
    """Two images with 2 x LOOKS others each: at 0.5, 1 and 2 FP an image 1, 2 and 4 candidates are above."""
    others = np.repeat([5.0, 3.0, 2.0, 1.0, 0.0], LOOKS)
    scores = np.concatenate([others, [6.0, 4.0, 2.5, 0.5]])
    diameter = np.concatenate([np.zeros(len(others)), [20.0, 8.0, 8.0, 20.0]])
    share = np.concatenate([np.zeros(len(others)), [0.4, 0.3, 0.2, 0.1]])
    examples = Examples(np.empty((len(scores), 0), np.float16), share, diameter)
    assert find_shares(scores, examples, 2, np.inf) == pytest.approx([0.7, 0.9, 1.0])
    assert find_shares(scores, examples, 2, 10.0) == pytest.approx([0.6, 1.0, 1.0])


def test_a_turn_keeps_what_is_there():
    squares = np.arange(2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4)
    turned = [turn(squares, np.random.default_rng(seed)) for seed in range(30)]
    assert len({one.tobytes() for one in turned}) == 8
    for one in turned:
        np.testing.assert_array_equal(np.sort(one.reshape(6, -1)), squares.reshape(6, -1))
