"""Small problems that the solver's tests share."""

import numpy as np

from overread.columns._columns import MemoryColumns
from overread.models import L1
from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.solver._newton import NewtonSolver
from overread.models.solver._path import null_intercept


def draw(n_rows=400, n_columns=30, bag_size=1, seed=0, dtype=np.float64):
    """Xt, loss: standardized features, and soft labels that five of them explain."""
    random = np.random.default_rng(seed)
    Xt = random.standard_normal((n_columns, n_rows))
    Xt = (Xt - Xt.mean(1, keepdims=True)) / Xt.std(1, keepdims=True)
    offsets = np.arange(0, n_rows + 1, bag_size)
    z = Xt[:5].T @ np.array([1.0, -1.0, 0.7, 0.5, -0.5]) - 2.0
    p = 1 - np.exp(-np.add.reduceat(np.logaddexp(0, z), offsets[:-1]))
    label = np.where(random.random(len(p)) < p, random.choice([0.25, 0.5, 1.0], len(p)), 0.0)
    loss = BagLoss.build(offsets, label, np.full(len(p), 1 / len(p)), POOLINGS["noisy_or"])
    return np.ascontiguousarray(Xt[:, loss.order].astype(dtype)), loss


def draw_correlated(structure, *, n_rows, n_columns=150, bag_size=1, seed=0, dtype=np.float64):
    """Xt, loss: columns as alike as measurements of one thing, and one bag in thirty positive.

    "walk": each column is the one before and a little noise; "low rank": sums of eight causes and a little noise.
    """
    random = np.random.default_rng(seed)
    noise = random.standard_normal((n_columns, n_rows))
    if structure == "walk":
        Xt = np.cumsum(0.1 * noise, axis=0) + random.standard_normal(n_rows)
    else:
        causes = random.standard_normal((n_columns, 8)) @ random.standard_normal((8, n_rows))
        Xt = causes + 0.05 * noise
    Xt = (Xt - Xt.mean(1, keepdims=True)) / Xt.std(1, keepdims=True)
    offsets = np.arange(0, n_rows + 1, bag_size)
    n_bags = len(offsets) - 1
    score = (Xt[3] + Xt[n_columns // 2] - Xt[-1])[offsets[:-1]] + random.logistic(size=n_bags)
    positive = score > np.quantile(score, 29 / 30)
    label = np.where(positive, random.choice([0.25, 0.5, 1.0], n_bags), 0.0)
    loss = BagLoss.build(offsets, label, np.full(n_bags, 1 / n_bags), POOLINGS["noisy_or"])
    return np.ascontiguousarray(Xt[:, loss.order].astype(dtype)), loss


def solver_at_zero(Xt, loss, *, penalty=L1(), fit_intercept=True, seed=0):  # noqa: B008 - it is frozen
    solver = NewtonSolver(
        MemoryColumns(Xt),
        loss,
        penalty,
        fit_intercept=fit_intercept,
        norms=np.linalg.norm(Xt.astype(float), axis=1),
        seed=seed,
    )
    solver.start(np.zeros(len(Xt)), null_intercept(loss) if fit_intercept else 0.0)
    return solver


def exact_gradient(Xt, loss, w, b):
    """Gradient of the loss in w and b, computed plainly."""
    residual = np.empty(loss.n_rows)
    loss.value(w @ Xt.astype(float) + b, residual)
    return Xt.astype(float) @ residual, residual.sum()
