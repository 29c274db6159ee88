"""Pictures with planted blobs and lines, for the tests of this room."""

import numpy as np

from overread.domains import PictureImage

MM_PER_PX = 0.1
BLOBS = [(60, 60, 4), (160, 60, 7), (60, 160, 10), (160, 160, 5)]


def make_field(sign=1.0, line=True, seed=0, shape=(220, 260)):
    """Four discs of known radius (in pixels) on weak noise, and a line of the same contrast."""
    rows, columns = shape
    y, x = np.mgrid[:rows, :columns]
    main = 0.5 + np.random.default_rng(seed).normal(0, 0.004, shape)
    for column, row, radius in BLOBS:
        main += sign * 0.1 * (np.hypot(x - column, y - row) <= radius)
    if line:
        main += sign * 0.1 * (np.abs(x - 220) <= 4)
    return PictureImage({"main": main.astype(np.float32)}, np.ones(shape, dtype=bool), MM_PER_PX)
