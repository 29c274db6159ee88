import numpy as np
import pytest
from skimage.morphology import convex_hull_image

from overread.domains.chest._anatomy import find_mediastinum, find_thorax, judge_mediastinum
from overread.domains.chest._lungs import LungFields
from overread.features import Quality

SHAPE = (100, 120)
MM = 1.0


def box(top, bottom, left, right):
    mask = np.zeros(SHAPE, dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


def fields(left, right, qualities=(Quality.FOUND, Quality.FOUND)):
    return LungFields(left, right, *qualities)


LUNGS = fields(box(20, 80, 15, 45), box(30, 90, 75, 105))


def test_the_thorax_is_the_convex_hull_of_the_lungs_and_5_mm():
    hull = convex_hull_image(LUNGS.left | LUNGS.right, offset_coordinates=False)
    found = find_thorax(LUNGS, MM)
    rows, columns = np.nonzero(found)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (15, 94, 10, 109)
    assert found[hull].all()
    # Steiner's formula: area + perimeter x 5 + pi x 25.
    perimeter = 2 * 59 + 29 + 29 + 2 * np.hypot(60, 10)
    assert found.sum() == pytest.approx(hull.sum() + 5 * perimeter + 25 * np.pi, rel=0.03)


def test_without_lungs_the_thorax_is_the_image():
    nothing = np.zeros(SHAPE, dtype=bool)
    assert find_thorax(fields(nothing, nothing), MM).all()


def test_the_mediastinum_lies_between_the_lungs_row_by_row():
    inside = box(10, 95, 5, 115)
    found = find_mediastinum(LUNGS, inside)
    # Rows with one lung only, above the right and below the left one, are bounded by the other's nearest row.
    np.testing.assert_array_equal(found, box(10, 95, 45, 75))


def test_a_slanting_border_is_followed():
    left = np.tri(SHAPE[0], SHAPE[1], -1, dtype=bool)
    right = box(0, 100, 110, 120)
    found = find_mediastinum(fields(left, right), np.ones(SHAPE, dtype=bool))
    row = np.arange(1, SHAPE[0])
    assert found[row, row].all()
    assert not found[row, row - 1].any()
    assert found[50].sum() == 110 - 50


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (Quality.FOUND, Quality.FOUND, Quality.FOUND),
        (Quality.DOUBTFUL, Quality.FOUND, Quality.DOUBTFUL),
        (Quality.DOUBTFUL, Quality.FALLBACK, Quality.FALLBACK),
    ],
)
def test_the_mediastinum_is_as_good_as_the_worse_lung(left, right, expected):
    assert judge_mediastinum(fields(LUNGS.left, LUNGS.right, (left, right))) is expected
