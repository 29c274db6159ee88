from dataclasses import replace

import numpy as np
import pytest

from overread.domains import fill_padding, lies_on_image, search_region
from overread.features import Quality
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


def test_a_dent_is_filled_and_the_lung_is_widened():
    """A nodule of 20 mm at the border of a lung dents it; the search goes on there, and 2 mm around the lung."""
    lung = box(*LUNG_MM)
    dent = box(65, 100, 85, 120)
    known = replace(all_lung(), left_lung=lung & ~dent, right_lung=np.zeros_like(lung))
    found = search_region(radiograph(ramp()), known)
    # A disc of 40 mm leaves some of the dent's corners.
    assert found[dent].mean() > 0.85
    assert found[box(24, 60, 25, 90)].all()
    assert not found[box(0, 0, 20, 220)].any()
    assert not found[box(92, 0, 196, 220)].any()


def test_places_in_padding_and_beyond_the_image_are_told():
    valid = np.ones(SHAPE, dtype=bool)
    valid[:, :10] = False
    x_mm = np.array([3.0, 7.1, 100.0, SHAPE[1] * MM + 0.1, 100.0])
    y_mm = np.array([9.0, 9.0, 9.0, 9.0, SHAPE[0] * MM + 5])
    found = lies_on_image(radiograph(ramp(), valid), x_mm, y_mm)
    assert found.tolist() == [False, True, True, False, False]


def test_padding_is_filled_and_the_rest_left():
    valid = np.ones(SHAPE, dtype=bool)
    valid[:5] = False
    filled = fill_padding(radiograph(ramp(), valid))
    assert not filled[:5].any()
    np.testing.assert_array_equal(filled[5:], ramp()[5:])
