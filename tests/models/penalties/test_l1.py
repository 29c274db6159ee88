import numpy as np

from overread.models import L1


def test_the_formula():
    w = np.array([1.5, 0.0, -2.0])
    assert L1().value(w) == 3.5
    assert L1().subgradient(w, np.array([0.5, 0.75, 0.5]), 0.5).tolist() == [1.0, 0.25, 0.0]
    assert L1().alpha_max(np.array([0.25, -0.5])) == 0.5
