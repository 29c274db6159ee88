"""Thorax, mediastinum, ribs, clavicles, and all structures of a radiograph together."""

import numpy as np
import pytest
from skimage.morphology import convex_hull_image

from overread.domains import find_anatomy
from overread.domains.chest._anatomy import (
    RIB_GRID_MM,
    RIB_SIGMA_MM,
    enlarge_directions,
    find_best_course,
    find_clavicles,
    find_mediastinum,
    find_ribs,
    find_ridges,
    find_thorax,
    judge_mediastinum,
)
from overread.domains.chest._lungs import LungFields
from overread.features import Quality
from radiograph_pictures import MM, SHAPE, all_lung, radiograph, ramp, rod


@pytest.mark.parametrize("angle", [0, 25, 50, 130, 155])
def test_a_rod_looks_like_rib_and_its_direction_is_known(angle):
    image = radiograph(ramp() + rod(110, 6, angle))
    ribs, direction, _ = find_ribs(image, find_ridges(image), all_lung().lungs)
    axis = rod(110, 1.0, angle) > 0.2
    axis[:40], axis[-40:], axis[:, :40], axis[:, -40:] = False, False, False, False
    away = rod(110, 20, angle) == 0
    assert np.median(ribs[axis]) > 0.5 > np.quantile(ribs[away], 0.9)
    apart = np.abs((direction[axis] - angle + 90) % 180 - 90)
    assert np.median(apart) < 5


def test_an_upright_rod_is_no_rib():
    image = radiograph(ramp() + rod(110, 6, 90))
    ribs = find_ribs(image, find_ridges(image), all_lung().lungs)[0]
    assert np.median(ribs[rod(110, 1.0, 90) > 0.2]) == 0


def test_a_gaussian_ridge_has_the_curvature_of_the_closed_form():
    """Smoothed by sigma, a ridge of width s curves by sigma^2 s / (s^2 + sigma^2)^(3/2) of its height across it."""
    width, sigma = 6.0, RIB_SIGMA_MM
    y = (np.arange(SHAPE[0])[:, None] + 0.5) * MM - 110
    ridges = find_ridges(radiograph(np.broadcast_to(np.exp(-(y**2) / (2 * width**2)), SHAPE)))
    row, columns = round(110 / RIB_GRID_MM - 0.5), slice(10, -10)
    expected = sigma**2 * width / (width**2 + sigma**2) ** 1.5
    np.testing.assert_allclose(ridges.across(0.0)[row, columns], expected, rtol=0.1)
    np.testing.assert_allclose(ridges.across(np.pi / 2)[row, columns], 0, atol=0.01)
    np.testing.assert_allclose(ridges.coherence[row, columns], 1, atol=0.05)


def test_no_ribs_are_said_to_be_a_fallback_and_stripes_to_be_found():
    lungs = all_lung().lungs
    flat = radiograph(np.full(SHAPE, 0.5))
    assert find_ribs(flat, find_ridges(flat), lungs)[2] is Quality.FALLBACK
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] * MM
    striped = radiograph(0.5 + 0.1 * np.cos(2 * np.pi * (y + 0.3 * x) / 25))
    assert find_ribs(striped, find_ridges(striped), lungs)[2] is Quality.FOUND


def test_ribs_are_sought_near_the_lungs_only():
    image = radiograph(ramp() + rod(110, 6, 20))
    left = all_lung().left_lung
    ribs = find_ribs(image, find_ridges(image), left)[0]
    beyond = np.nonzero(left)[1].max() + round(20 / MM)
    assert ribs[:, :beyond].max() > 0.5
    assert not ribs[:, beyond:].any()


def test_directions_are_interpolated_through_180_degrees():
    """Between 170 and 10 degrees lies 0, not 90."""
    coarse = np.radians(np.array([[170.0, 10.0], [170.0, 10.0]], dtype=np.float32))
    fine = enlarge_directions(coarse, (2, 64))
    apart = np.abs((fine + 90) % 180 - 90)
    assert apart.max() < 10.01
    assert apart[:, 31:33].max() < 1


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


def test_anatomy_of_a_real_radiograph(nih):
    image = nih(49)
    found = find_anatomy(image)
    assert not (found.mediastinum & found.lungs).any()
    assert (found.thorax >= found.mediastinum).all()
    assert (found.lungs & found.thorax).sum() > 0.99 * found.lungs.sum()
    assert set(found.quality) == {"left_lung", "right_lung", "ribs", "clavicles", "mediastinum"}
    centre = np.nonzero(found.mediastinum)[1].mean() / image.shape[1]
    assert 0.35 < centre < 0.65
    share = (found.ribs[found.lungs] > 0.5).mean()
    assert 0.05 < share < 0.6
    upper = np.nonzero(found.clavicles)[0].mean()
    assert upper < np.nonzero(found.lungs)[0].mean()


@pytest.mark.parametrize("shape", [(16, 16), (2, 2), (1, 1), SHAPE, (3, 300)])
def test_anatomy_is_finite_whatever_the_image(shape):
    for pixels in (np.zeros(shape), np.random.default_rng(0).normal(0, 1, shape)):
        found = find_anatomy(radiograph(pixels))
        for name in [
            "left_lung",
            "right_lung",
            "thorax",
            "mediastinum",
            "ribs",
            "rib_direction_deg",
            "clavicles",
        ]:
            array = getattr(found, name)
            assert array.shape == shape
            assert np.isfinite(array).all()
        assert ((found.ribs >= 0) & (found.ribs <= 1)).all()
        assert ((found.rib_direction_deg >= 0) & (found.rib_direction_deg < 180)).all()
        assert all(isinstance(value, Quality) for value in found.quality.values())


def test_the_same_image_has_the_same_anatomy_to_the_last_bit(nih):
    first, held = find_anatomy(nih(49)), []
    for size in (1, 77_777):
        held.append(np.empty(size, dtype=np.uint8))
        again = find_anatomy(nih(49))
        assert again.rib_direction_deg.tobytes() == first.rib_direction_deg.tobytes()
        assert again.ribs.tobytes() == first.ribs.tobytes()
        assert again.lungs.tobytes() == first.lungs.tobytes()


SMALL = (100, 120)
ONE_MM = 1.0


def box(top, bottom, left, right):
    mask = np.zeros(SMALL, dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


def fields(left, right, qualities=(Quality.FOUND, Quality.FOUND)):
    return LungFields(left, right, *qualities)


LUNGS = fields(box(20, 80, 15, 45), box(30, 90, 75, 105))


def test_the_thorax_is_the_convex_hull_of_the_lungs_and_5_mm():
    hull = convex_hull_image(LUNGS.left | LUNGS.right, offset_coordinates=False)
    found = find_thorax(LUNGS, ONE_MM)
    rows, columns = np.nonzero(found)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (15, 94, 10, 109)
    assert found[hull].all()
    # Steiner's formula: area + perimeter x 5 + pi x 25.
    perimeter = 2 * 59 + 29 + 29 + 2 * np.hypot(60, 10)
    assert found.sum() == pytest.approx(hull.sum() + 5 * perimeter + 25 * np.pi, rel=0.03)


def test_without_lungs_the_thorax_is_the_image():
    nothing = np.zeros(SMALL, dtype=bool)
    assert find_thorax(fields(nothing, nothing), ONE_MM).all()


def test_the_mediastinum_lies_between_the_lungs_row_by_row():
    inside = box(10, 95, 5, 115)
    found = find_mediastinum(LUNGS, inside)
    # Rows with one lung only, above the right and below the left one, are bounded by the other's nearest row.
    np.testing.assert_array_equal(found, box(10, 95, 45, 75))


def test_a_slanting_border_is_followed():
    left = np.tri(SMALL[0], SMALL[1], -1, dtype=bool)
    right = box(0, 100, 110, 120)
    found = find_mediastinum(fields(left, right), np.ones(SMALL, dtype=bool))
    row = np.arange(1, SMALL[0])
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
