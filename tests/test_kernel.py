from __future__ import annotations

import math

import numpy as np

from overread.kernel import exact_kernel, kernel


@kernel
def total(x):
    result = 0.0
    for i in range(x.size):
        result += x[i]
    return result


@exact_kernel
def cancelled(a, b):
    return (a + b) - b


def test_a_kernel_keeps_nan_and_infinity_visible():
    assert math.isnan(total(np.array([1.0, np.nan])))
    assert total(np.array([1.0, np.inf])) == math.inf


def test_an_exact_kernel_does_not_reassociate():
    # Re-association would give 1.0.
    assert cancelled(1.0, 1e20) == 0.0
