"""Which features enter the first round: those with the largest score statistic at the model without features.

Each is judged alone, t_j = g_j^2 / I_j, with g the gradient of the loss at w = 0 and I_j the information on w_j
beside a fitted intercept. A feature that helps only together with others may be left out; `left_out_gain` says
afterwards how much evidence the best feature left out would add.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from overread.models.columns.columns import Columns
from overread.models.loss.bag_loss import BagLoss
from overread.models.rvm.information import features_per_block, information_diagonal, information_matrix
from overread.models.rvm.posterior import TINY_PRECISION, PosteriorSearch
from overread.models.solver._kernels import dot_columns

__all__ = ["left_out_gain", "score_statistics", "screen_features"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Of a float32 product, relative to its largest term.
RELATIVE_ROUNDING = 1e-5


def score_statistics(columns: Columns, loss: BagLoss, null: float) -> Floats:
    """t_j of every feature; 0 where a feature says nothing. Features in a file are read twice."""
    z = np.full(loss.n_rows, null)
    residual = np.empty(loss.n_rows)
    loss.value(z, residual)
    gradient = columns.dot(np.arange(columns.n_features), residual)
    information = information_diagonal(columns, loss, z)
    return np.divide(gradient**2, information, out=np.zeros_like(gradient), where=information > 0)


def screen_features(columns: Columns, loss: BagLoss, null: float, usable: Ints, limit: int | None) -> Ints:
    """Return the features that enter, in ascending order: all usable ones, or the `limit` with the largest t_j."""
    if limit is None or len(usable) <= limit:
        return usable
    statistics = score_statistics(columns, loss, null)[usable]
    return np.sort(usable[np.argsort(-statistics, kind="stable")[:limit]])


def left_out_gain(search: PosteriorSearch, alpha: Floats, columns: Columns, left_out: Ints) -> float:
    """Largest evidence, in nats, that one feature left out would add with its own best alpha.

    With q = -gradient and s = H_jj - H_jk (A + H)^-1 H_kj (Tipping and Faul 2003), the gain is
    (q^2/s - 1 - log(q^2/s)) / 2 where q^2 > s, else 0. Coupled bags enter by their positive semidefinite stand-in.

    Parameters
    ----------
    search
        Standing at the mode.
    alpha
        Of the kept features.
    columns, left_out
        All features, and those to try; they are read once.
    """
    Xt, loss, z, kept = search.Xt, search.loss, search.z, search.kept
    rows = np.concatenate([loss.plain_curvature(z), loss.bag_curvature(z, safe=1.0).diagonal])
    precision = information_matrix(Xt, kept, loss, z, safe=1.0)
    precision[np.diag_indices_from(precision)] += np.append(alpha, TINY_PRECISION)
    factor = cho_factor(precision, lower=True)
    best = 0.0
    for _, features in columns.read_groups(left_out, features_per_block(loss.n_rows)):
        block = features.astype(np.float64)
        q = block @ search.residual
        own = np.square(block) @ rows
        shared = np.zeros((len(kept) + 1, len(block)))
        for place, weighed in enumerate(block * rows):
            # Column by column, so that the kept features are not copied.
            mixed = np.zeros(len(kept))
            dot_columns(Xt, kept, 0, loss.n_rows, weighed, mixed)
            shared[:-1, place] = mixed
            shared[-1, place] = weighed.sum() if search.fit_intercept else 0.0
        explained = np.einsum("kj,kj->j", shared, cho_solve(factor, shared))
        s = np.maximum(own - explained, RELATIVE_ROUNDING * own + np.finfo(float).tiny)
        ratio = np.maximum(q**2 / s, 1.0)
        best = max(best, float((ratio - 1.0 - np.log(ratio)).max(initial=0.0)) / 2.0)
    return best
