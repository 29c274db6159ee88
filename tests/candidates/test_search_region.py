from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.anatomy import Quality
from overread.candidates.search_region import search_region
from radiograph_pictures import MM, SHAPE, all_lung, radiograph, ramp

LUNG_MM = (25, 40, 85, 180)
"""Left, upper, right and lower border of a lung on the left side of the image."""


def box(left_mm, top_mm, right_mm, bottom_mm):
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] * MM
    return (x >= left_mm) & (x < right_mm) & (y >= top_mm) & (y < bottom_mm)


def fields(side, quality):
    """Lungs of which that on one side is a remainder of 20 by 20 mm."""
    lung, remainder = box(*LUNG_MM), box(120, 60, 140, 80)
    left, right = (lung, remainder) if side == "right" else (remainder[:, ::-1], lung[:, ::-1])
    known = all_lung()
    return replace(
        known, left_lung=left, right_lung=right, quality={**known.quality, f"{side}_lung": quality}
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_doubtful_lung_is_searched_at_the_mirror_image_of_the_other(side):
    image = radiograph(ramp())
    found, doubtful = (
        search_region(image, fields(side, quality)) for quality in (Quality.FOUND, Quality.DOUBTFUL)
    )
    # The middle of the thorax is 15 mm inwards of the good lung's inner border, at 85 mm.
    mirrored = box(2 * 100 - 85, 40, 2 * 100 - 25, 180)
    if side == "left":
        mirrored = mirrored[:, ::-1]
    assert doubtful[mirrored].all()
    assert doubtful[found].all()
    assert found[mirrored].mean() < 0.1


def test_both_lungs_doubtful_are_searched_at_both_mirror_images():
    one = fields("right", Quality.DOUBTFUL)
    both = replace(one, quality={**one.quality, "left_lung": Quality.DOUBTFUL})
    image = radiograph(ramp())
    assert search_region(image, both)[search_region(image, one)].all()


def test_a_doubtful_lung_beside_an_empty_one_is_searched_where_it_is():
    lung = box(*LUNG_MM)
    known = all_lung()
    alone = replace(
        known,
        left_lung=lung,
        right_lung=np.zeros_like(lung),
        quality=dict.fromkeys(known.quality, Quality.DOUBTFUL),
    )
    assert search_region(radiograph(ramp()), alone)[lung].all()


def test_padding_is_not_searched():
    valid = np.ones(SHAPE, dtype=bool)
    valid[:, :60] = False
    assert not search_region(radiograph(ramp(), valid), all_lung())[~valid].any()
