"""The gateway on real radiographs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.errors import ImageError
from overread.images import SpacingSource, pixel_fingerprint, read_image


@pytest.fixture(scope="module")
def nih(shared_data):
    return pd.read_csv(shared_data / "nih" / "images.csv", dtype={"file": str})


def test_all_real_radiographs_with_both_spacings(shared_data, nih):
    prints = set()
    for row in nih.itertuples():
        path = shared_data / "nih" / "images" / row.file
        image = read_image(path, mm_per_px=(row.mm_per_px_x, row.mm_per_px_y))
        prints.add(pixel_fingerprint(path))
        assert image.spacing_source is SpacingSource.GIVEN
        assert image.source_shape == (512, 512)
        extent = 512 * row.mm_per_px_x, 512 * row.mm_per_px_y
        assert np.abs(np.subtract(image.size_mm, extent)).max() <= 0.35
        assert np.isfinite(image.pixels).all()
        assert image.valid.all()
        assert np.percentile(image.pixels, [1, 99]) == pytest.approx([0, 1], abs=1e-6)
    assert len(nih) == 281
    assert len(prints) == 281


def test_a_picture_without_a_given_spacing_is_refused(shared_data, nih):
    path = shared_data / "nih" / "images" / nih["file"][0]
    with pytest.raises(ImageError, match=f"{path.name}.*does not state the size of a pixel; give mm_per_px"):
        read_image(path)


def test_text_paths_and_the_same_answer_twice(shared_data, nih):
    path = shared_data / "nih" / "images" / nih["file"][0]
    first, second = read_image(str(path), mm_per_px=0.8), read_image(path, mm_per_px=0.8)
    assert first.pixels.tobytes() == second.pixels.tobytes()
