"""A small problem, and the paper's equations written out once more, plainly, in 60 digits."""

from dataclasses import dataclass, field

import mpmath
import numpy as np
import pytest
from mpmath import matrix, mpf

from overread.bags import Bags

LABELS = (0.0, 1.0, 0.3, 0.0, 0.125, 1.0, 0.75)
SIZES = (1, 1, 3, 4, 5, 2, 1)
READERS = (4, 5, 5, 2, 8, 4, 5)
N_FEATURES = 3


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


@dataclass(frozen=True)
class Problem:
    """Bags in doubles, and the same bags as 60-digit numbers."""

    bags: Bags
    w: np.ndarray
    labels: tuple[float, ...] = LABELS
    sizes: tuple[int, ...] = SIZES
    readers: tuple[int, ...] = READERS
    exact_bags: list[list[matrix]] = field(default_factory=list)

    @property
    def exact_w(self) -> matrix:
        return matrix([mpf(float(x)) for x in self.w])

    @property
    def exact_labels(self) -> list[mpf]:
        return [mpf(label) for label in self.labels]


@pytest.fixture
def problem() -> Problem:
    random = np.random.default_rng(20101115)
    X = random.normal(size=(sum(SIZES), N_FEATURES))
    bags = Bags(X, np.concatenate([[0], np.cumsum(SIZES)]), labels=LABELS)
    exact_bags = [[matrix([mpf(float(x)) for x in row]) for row in bag] for bag in bags]
    return Problem(bags, random.normal(size=N_FEATURES), exact_bags=exact_bags)
