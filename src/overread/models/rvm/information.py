"""Second derivative of the loss on the kept features, formed in blocks of rows.

H = sum over plain rows of h x x' + sum over coupled bags of (X' diag(a) X + rho (X'u)(X'u)'), the intercept
last. The products of a block run in the precision of X, float32 or float64; the sum over blocks is float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from overread.models.columns.columns import Columns
from overread.models.loss.bag_loss import BagLoss
from overread.models.rvm._kernels import weigh_rows

__all__ = ["features_per_block", "information_diagonal", "information_matrix"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows of one product; chosen by eye.
ROWS_PER_BLOCK = 8192
# A float64 block and its square: 16 MB.
CELLS_PER_BLOCK = 2**20


def information_matrix(
    Xt: NDArray[np.floating], kept: Ints, loss: BagLoss, z: Floats, *, safe: float = 0.0
) -> Floats:
    """H on the kept features and the intercept (last) at scores z; safe as in `BagLoss.bag_curvature`."""
    k = len(kept)
    H = np.zeros((k + 1, k + 1))
    _add_plain(H, Xt, kept, loss.plain_curvature(z))
    H = np.triu(H) + np.triu(H, 1).T
    if len(loss.weight):
        curvature = loss.bag_curvature(z, safe=safe)
        block = np.ones((k + 1, loss.n_rows - loss.n_plain))
        block[:-1] = Xt[kept, loss.n_plain :]
        sums = np.add.reduceat(block * curvature.direction, loss.offsets[:-1], axis=1)
        H += (block * curvature.diagonal) @ block.T + (sums * curvature.strength) @ sums.T
    return H


def _add_plain(H: Floats, Xt: NDArray[np.floating], kept: Ints, h: Floats) -> None:
    """Add the plain rows to the upper triangle of H; a symmetric product costs half a general one."""
    syrk = blas.ssyrk if Xt.dtype == np.float32 else blas.dsyrk
    root = np.sqrt(h).astype(Xt.dtype)
    for first in range(0, len(h), ROWS_PER_BLOCK):
        rows = slice(first, min(first + ROWS_PER_BLOCK, len(h)))
        block = np.empty((len(kept) + 1, rows.stop - first), dtype=Xt.dtype)
        weigh_rows(Xt, kept, first, root[rows], block)
        H += syrk(1.0, block.T, trans=1)


def features_per_block(n_rows: int) -> int:
    """How many features to widen to float64 at a time, so that a block stays small beside X."""
    return max(1, CELLS_PER_BLOCK // max(1, n_rows))


def information_diagonal(columns: Columns, loss: BagLoss, z: Floats) -> Floats:
    """Information on each feature alone, the intercept fitted beside it: H_jj - H_jb^2 / H_bb, at least 0.

    The coupled bags enter by their positive semidefinite stand-in, so that no information is negative.
    """
    h = loss.plain_curvature(z)
    curvature = loss.bag_curvature(z, safe=1.0)
    rows = np.concatenate([h, curvature.diagonal])
    own, mixed = np.empty(columns.n_features), np.empty(columns.n_features)
    every = np.arange(columns.n_features)
    for group, features in columns.read_groups(every, features_per_block(loss.n_rows)):
        block = features.astype(np.float64)
        own[group] = np.square(block) @ rows
        mixed[group] = block @ rows
    total = float(rows.sum())
    return np.maximum(own - mixed**2 / total, 0.0) if total > 0 else own
