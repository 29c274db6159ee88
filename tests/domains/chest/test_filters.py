import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from overread.images import blur, magnitude


@pytest.mark.parametrize("sigma_px", [1.0, 2.5])
def test_the_blur_is_that_of_scipy_with_a_repeated_border(sigma_px):
    image = np.random.default_rng(0).random((40, 50)).astype(np.float32)
    expected = gaussian_filter(image, sigma_px, mode="nearest", truncate=4)
    np.testing.assert_allclose(blur(image, sigma_px), expected, atol=5e-4)


def test_the_magnitude_is_the_length_in_the_same_bits_wherever_arrays_lie():
    random = np.random.default_rng(0)
    x, y = random.normal(0, 0.01, (2, 141, 131)).astype(np.float32)
    first = magnitude(x, y)
    np.testing.assert_allclose(first, np.hypot(x, y), rtol=1e-6)
    held = []
    for size in random.integers(1, 200_000, 20):
        # What is held moves the arrays that come after it.
        held += [np.empty(size, dtype=np.uint8), magnitude(x.copy(), y.copy())]
        assert held[-1].ctypes.data % 64 == 0
        assert held[-1].tobytes() == first.tobytes()
