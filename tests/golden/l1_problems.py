"""Small seeded problems, the same under every NumPy, that the peers solve for ``l1_logistic.json`` and
``elastic_net.json``."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CASES = ("hard", "soft", "hard-weighted", "soft-weighted", "imbalanced", "wide")
SHAPES = {"wide": (60, 150), "imbalanced": (600, 40)}


@dataclass(frozen=True)
class SmallProblem:
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def checksum(self) -> str:
        """Hash of the data rounded to nine decimals: that test and peers saw the same numbers."""
        rounded = [np.round(part, 9) + 0.0 for part in (self.X, self.y, self.weight)]
        return hashlib.sha256(b"".join(part.tobytes() for part in rounded)).hexdigest()


def make_problem(name: str) -> SmallProblem:
    n, d = SHAPES.get(name, (200, 30))
    rng = np.random.RandomState(sum(name.encode()))
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    X[:, ::3] = np.exp(0.5 * X[:, ::3])
    margin = X[:, :6] @ np.array([1.0, -0.8, 0.6, -0.4, 0.3, 0.2]) - (4.0 if name == "imbalanced" else 1.0)
    probability = 1 / (1 + np.exp(-margin))
    y = (rng.random_sample(n) < probability).astype(np.float64)
    if name.startswith("soft"):
        y = rng.binomial(8, probability) / 8
    weight = rng.randint(1, 5, n).astype(np.float64) if name.endswith("weighted") else np.ones(n)
    return SmallProblem(X, y, weight)
