"""Compiled loops of the second derivative of the loss. `Xt` holds one feature per row (d x n)."""

from __future__ import annotations

import numpy as np

from overread.kernel import kernel


@kernel
def weigh_rows(Xt: np.ndarray, columns: np.ndarray, first: int, root: np.ndarray, out: np.ndarray) -> None:
    """out[c, i] = Xt[columns[c], first + i] root[i]; the last row of out, the intercept's, is root."""
    for c in range(columns.size):
        x = Xt[columns[c]][first : first + root.size]
        row = out[c]
        for i in range(root.size):
            row[i] = x[i] * root[i]
    out[columns.size] = root
