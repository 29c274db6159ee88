import numpy as np
import pytest

from overread.domains import find_lungs
from overread.domains.chest._lungs import COARSE_MM, choose_lung, enlarge_mask, reflect_lung
from overread.features import Quality
from radiograph_pictures import MM, radiograph

BOTH_FOUND = 0.95


def overlap(a, b):
    """Dice coefficient."""
    return 2 * (a & b).sum() / max(a.sum() + b.sum(), 1)


def both_found(image):
    fields = find_lungs(image)
    return fields.left_quality is fields.right_quality is Quality.FOUND


def test_both_lungs_are_found_on_real_radiographs(nih):
    found = [both_found(nih(place)) for place in range(4, 281, 14)]
    assert np.mean(found) >= BOTH_FOUND


@pytest.mark.slow
def test_both_lungs_are_found_on_all_real_radiographs(nih):
    assert np.mean([both_found(nih(place)) for place in range(281)]) >= BOTH_FOUND


def test_lungs_lie_on_their_sides_and_look_dark(nih):
    for place in (10, 90, 200):
        image = nih(place)
        fields = find_lungs(image)
        columns = [np.nonzero(mask)[1].mean() for mask in (fields.left, fields.right)]
        assert columns[0] < image.shape[1] / 2 < columns[1]
        assert not (fields.left & fields.right).any()
        lungs = fields.left | fields.right
        assert np.median(image.pixels[lungs]) < np.median(image.pixels[~lungs & (image.pixels > 0.05)])


def test_a_mirrored_radiograph_has_mirrored_lungs(nih):
    image = nih(25)
    fields, mirrored = find_lungs(image), find_lungs(radiograph(image.pixels[:, ::-1]))
    assert overlap(mirrored.right[:, ::-1], fields.left) > 0.99
    assert overlap(mirrored.left[:, ::-1], fields.right) > 0.99


def test_brightness_and_tone_hardly_move_the_lungs(nih):
    image = nih(55)
    toned = radiograph(np.sign(image.pixels) * np.abs(image.pixels) ** 1.2)
    fields, other = find_lungs(image), find_lungs(toned)
    assert overlap(fields.left | fields.right, other.left | other.right) > 0.93


HOSTILE = {
    "constant": np.zeros((300, 300)),
    "tiny": np.random.default_rng(0).random((16, 16)),
    "smaller": np.ones((2, 2)),
    "a row": np.random.default_rng(0).random((3, 400)),
    "noise": np.random.default_rng(0).random((500, 400)),
    "huge values": np.full((200, 200), 1e30),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_lungs_no_failure(name):
    image = radiograph(HOSTILE[name])
    fields = find_lungs(image)
    assert fields.left.shape == fields.right.shape == image.shape
    assert (fields.left | fields.right).any()


def test_a_lung_that_is_not_there_is_replaced(nih):
    image = nih(40)
    pixels = image.pixels.copy()
    pixels[:, : image.shape[1] // 2] = 0.9
    fields = find_lungs(radiograph(pixels))
    assert fields.right_quality is not Quality.FALLBACK
    assert fields.left.sum() * MM**2 >= 2_500


def test_padding_is_never_lung(nih):
    image = nih(40)
    valid = np.ones(image.shape, dtype=bool)
    valid[:, : image.shape[1] // 3] = False
    fields = find_lungs(radiograph(image.pixels, valid))
    assert not ((fields.left | fields.right) & ~valid).any()


def ellipse(shape, row, column, height, width):
    y, x = np.mgrid[: shape[0], : shape[1]]
    return ((y - row) / height) ** 2 + ((x - column) / width) ** 2 <= 1


def chance_of(mask, value=0.95):
    return np.where(mask, value, 0.02).astype(np.float32)


# An ellipse of 35 by 14 pixels of 3.5 mm is 188 cm^2.
LUNG = ellipse((100, 100), 50, 30, 35, 14)


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (chance_of(LUNG), Quality.FOUND),
        (chance_of(LUNG, 0.7), Quality.DOUBTFUL),
        (chance_of(ellipse((100, 100), 50, 30, 20, 7)), Quality.DOUBTFUL),
        (chance_of(LUNG & (np.arange(100) < 24)), Quality.DOUBTFUL),
        (chance_of(ellipse((100, 100), 50, 30, 8, 7)), Quality.FALLBACK),
        (np.zeros((100, 100), dtype=np.float32), Quality.FALLBACK),
    ],
    ids=["a lung", "unsure", "small", "half a lung", "too small", "nothing"],
)
def test_a_lung_is_judged_by_area_and_certainty(chance, expected):
    assert choose_lung(chance, np.zeros_like(chance))[1] is expected


def test_the_largest_region_is_the_lung_and_its_holes_are_filled():
    speck, hole = ellipse((100, 100), 10, 80, 4, 4), ellipse((100, 100), 50, 30, 6, 3)
    mask, quality = choose_lung(chance_of((LUNG & ~hole) | speck), np.zeros((100, 100), dtype=np.float32))
    assert quality is Quality.FOUND
    assert overlap(mask, LUNG) > 0.98
    assert mask[hole].all()
    assert not mask[speck].any()


def test_a_lung_is_reflected_about_the_middle_of_the_thorax():
    """The inner edge is at column 44; the middle lies 15 mm, 4 pixels, further on."""
    found = reflect_lung(LUNG)
    columns = np.flatnonzero(found.any(axis=0))
    assert (columns[0] + columns[-1]) / 2 == 2 * 48 - 30
    assert columns[-1] - columns[0] + 1 == 29 + 2 * round(10 / COARSE_MM)
    assert not (found & LUNG).any()
    at_the_border = reflect_lung(ellipse((100, 100), 50, 85, 35, 14))
    assert at_the_border.sum() * COARSE_MM**2 > 2_500


def test_a_mask_on_a_finer_grid_has_the_same_share_of_it():
    fine = enlarge_mask(LUNG, (500, 500))
    assert fine.shape == (500, 500)
    assert fine.mean() == pytest.approx(LUNG.mean(), rel=0.01)
