"""Let the tests of images import the files they share."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def twelve_bits():
    """Rows x columns of 12-bit numbers, smooth with noise, as a lossy codec expects."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[:60, :84]
    smooth = 2000 + 900 * np.sin(x / 9.0) * np.cos(y / 11.0) + random.normal(0, 20, (60, 84))
    return np.clip(smooth, 0, 4095).astype(np.uint16)
