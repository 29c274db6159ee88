"""How the readers' weights in the mixture vary over patients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from overread.bags import Bags
from overread.bags.splitting import group_codes
from overread.models.rvm import RVMMIL
from overread.progress import count_steps

__all__ = ["bootstrap_weights"]

Floats = NDArray[np.float64]


def bootstrap_weights(network: RVMMIL, scores: Bags, target: Floats, n_draws: int, seed: int) -> Floats:
    """Weights (draws, R) of the mixture, refitted to groups drawn with replacement.

    A bag counts as often as its group was drawn. Draws without a positive or without a negative bag are drawn again.

    Parameters
    ----------
    network
        The mixture; a clone of it is fitted to each draw.
    scores
        Standardized scores of the readers' models, which stay as they are.
    target
        Golden labels.
    """
    random = np.random.default_rng(seed)
    group = group_codes(scores, None, len(scores))
    n_groups = int(group.max()) + 1
    bare = scores.with_labels(None)
    weights = np.empty((n_draws, scores.n_features))
    for draw in count_steps("bootstraps of readers", range(n_draws)):
        counts = _usable_draw(random, group, n_groups, target)
        chosen = np.flatnonzero(counts)
        fitted = clone(network).fit(bare[chosen], target[chosen], sample_weight=counts[chosen])
        weights[draw] = fitted.coef_[0]
    return weights


def _usable_draw(
    random: np.random.Generator, group: NDArray[np.int64], n_groups: int, target: Floats
) -> Floats:
    while True:
        drawn = random.multinomial(n_groups, np.full(n_groups, 1.0 / n_groups))
        counts = drawn[group].astype(np.float64)
        if len(np.unique(target[counts > 0])) == 2:
            return counts
