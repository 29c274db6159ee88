"""Two lungs side by side are told from one."""

from __future__ import annotations

import numpy as np
import pytest

from overread.domains import find_lungs, looks_frontal
from overread.domains.chest._lungs import LungFields
from overread.domains.chest.domain import LEAST_SYMMETRY, measure_symmetry
from overread.features import Quality
from overread.images import from_array


def fields(left, right):
    masks = [np.zeros((100, 120), bool) for _ in range(2)]
    for mask, place in zip(masks, (left, right), strict=True):
        mask[place] = True
    return LungFields(*masks, Quality.FOUND, Quality.FOUND)


def test_mirror_images_overlap_wholly_and_one_lung_not_at_all():
    assert measure_symmetry(fields(np.s_[20:80, 10:50], np.s_[20:80, 70:110])) == pytest.approx(1.0)
    # Half the height in common: 30 rows of 90 that either has.
    assert measure_symmetry(fields(np.s_[5:65, 10:50], np.s_[35:95, 70:110])) == pytest.approx(1 / 3)
    assert measure_symmetry(fields(np.s_[20:80, 10:50], np.s_[0:0, 0:0])) == 0.0
    assert measure_symmetry(fields(np.s_[0:20, 0:10], np.s_[60:100, 60:120])) < LEAST_SYMMETRY


def test_a_picture_without_lungs_is_not_frontal():
    noise = np.random.default_rng(0).integers(0, 255, (400, 400)).astype(np.uint16)
    assert not looks_frontal(find_lungs(from_array(noise, mm_per_px=0.9)))
