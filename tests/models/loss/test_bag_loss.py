"""The loss in the scores: its order of rows and its safe curvature; its derivatives are in tests/equations."""

import numpy as np
import pytest

from overread.models.loss._bag_loss import POOLINGS, BagLoss

OFFSETS = np.array([0, 1, 4, 6, 9])
LABELS = np.array([0.25, 0.5, 0.0, 1.0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])

every_pooling = pytest.mark.parametrize("pooling", list(POOLINGS))


def build(pooling):
    return BagLoss.build(OFFSETS, LABELS, WEIGHTS, POOLINGS[pooling])


@every_pooling
def test_rows_that_stand_alone_come_first(pooling):
    loss = build(pooling)
    alone = [0, 4, 5] if pooling.startswith("noisy_or") else [0]
    assert loss.order[: loss.n_plain].tolist() == alone
    assert sorted(loss.order.tolist()) == list(range(9))
    assert np.diff(loss.offsets).tolist() == ([3, 3] if len(alone) == 3 else [3, 2, 3])
    assert loss.is_convex == (pooling == "mean")


@every_pooling
def test_the_safe_curvature_is_positive_semidefinite(pooling):
    loss = build(pooling)
    for seed in range(20):
        z = 3 * np.random.default_rng(seed).normal(size=9)
        safe = loss.bag_curvature(z, safe=1.0).times(np.eye(9 - loss.n_plain), loss.offsets)
        assert np.linalg.eigvalsh(safe).min() >= -1e-12
