import numpy as np

from overread.domains.chest._anatomy import find_best_course, find_clavicles, find_ridges
from overread.domains.chest._lungs import LungFields
from overread.features import Quality
from radiograph_pictures import MM, SHAPE, radiograph, ramp, rod


def lungs():
    """Two boxes of 70 by 140 mm with a gap of 30 mm."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] * MM
    tall = (y >= 50) & (y < 190)
    left, right = tall & (x >= 13) & (x < 83), tall & (x >= 113) & (x < 183)
    return LungFields(left, right, Quality.FOUND, Quality.FOUND)


def rising_rods():
    """Bands through the upper lungs that rise towards both shoulders, 18 degrees steep."""
    half = SHAPE[1] // 2
    picture = rod(75, 5, 18)
    picture[:, half:] = rod(75, 5, -18)[:, half:]
    return picture


def test_the_best_course_is_the_best_of_all():
    gain = np.random.default_rng(3).random((6, 5)).astype(np.float32)
    courses = [[row] for row in range(6)]
    for _ in range(4):
        courses = [[*c, c[-1] + step] for c in courses for step in range(3) if c[-1] + step < 6]
    best = max(courses, key=lambda course: sum(gain[row, k] for k, row in enumerate(course)))
    assert find_best_course(gain).tolist() == best


def test_bands_that_rise_towards_the_shoulders_are_clavicles():
    image = radiograph(ramp() + rising_rods())
    mask, quality = find_clavicles(image, find_ridges(image), lungs())
    axis = (rising_rods() > 0.25) & (lungs().left | lungs().right)
    assert quality is Quality.FOUND
    assert mask[axis].mean() > 0.9
    # One narrow band a side, as long as the lung is wide and 12 mm.
    assert mask.sum() * MM**2 < 2 * 22 * (70 + 12)


def test_a_band_that_falls_towards_the_shoulders_is_not_followed():
    half = SHAPE[1] // 2
    falling = rod(75, 5, -18)
    falling[:, half:] = rod(75, 5, 18)[:, half:]
    image = radiograph(ramp() + falling)
    mask = find_clavicles(image, find_ridges(image), lungs())[0]
    axis = (falling > 0.25) & (lungs().left | lungs().right)
    assert mask[axis].mean() < 0.5


def test_a_lung_too_small_has_none():
    nothing = np.zeros(SHAPE, dtype=bool)
    small = nothing.copy()
    small[100:150, 40:80] = True
    image = radiograph(ramp() + rising_rods())
    mask, quality = find_clavicles(
        image, find_ridges(image), LungFields(small, nothing, Quality.FOUND, Quality.FALLBACK)
    )
    assert quality is Quality.FALLBACK
    assert not mask.any()


def test_clavicles_of_doubtful_lungs_are_doubtful():
    image = radiograph(ramp() + rising_rods())
    doubtful = LungFields(lungs().left, lungs().right, Quality.DOUBTFUL, Quality.FOUND)
    assert find_clavicles(image, find_ridges(image), doubtful)[1] is Quality.DOUBTFUL
