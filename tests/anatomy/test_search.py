from __future__ import annotations

import numpy as np
import pytest

from overread.anatomy import Quality, find_anatomy
from overread.anatomy.clavicles import find_best_course
from overread.anatomy.ribs import find_ribs, find_ridges
from radiograph_pictures import SHAPE, all_lung, radiograph, ramp, rod


@pytest.mark.parametrize("angle", [0, 25, 50, 130, 155])
def test_a_rod_looks_like_rib_and_its_direction_is_known(angle):
    image = radiograph(ramp() + rod(110, 6, angle))
    ribs = find_ribs(image, find_ridges(image), all_lung().lungs)
    axis = rod(110, 1.0, angle) > 0.2
    axis[:40], axis[-40:], axis[:, :40], axis[:, -40:] = False, False, False, False
    away = rod(110, 20, angle) == 0
    assert np.median(ribs.probability[axis]) > 0.5 > np.quantile(ribs.probability[away], 0.9)
    apart = np.abs((ribs.direction_deg[axis] - angle + 90) % 180 - 90)
    assert np.median(apart) < 5


def test_an_upright_rod_is_no_rib():
    image = radiograph(ramp() + rod(110, 6, 90))
    ribs = find_ribs(image, find_ridges(image), all_lung().lungs)
    assert np.median(ribs.probability[rod(110, 1.0, 90) > 0.2]) == 0


def test_the_best_course_is_the_best_of_all():
    gain = np.random.default_rng(3).random((6, 5)).astype(np.float32)
    courses = [[row] for row in range(6)]
    for _ in range(4):
        courses = [[*c, c[-1] + step] for c in courses for step in range(3) if c[-1] + step < 6]
    best = max(courses, key=lambda course: sum(gain[row, k] for k, row in enumerate(course)))
    assert find_best_course(gain).tolist() == best


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
        for name in (
            "left_lung",
            "right_lung",
            "thorax",
            "mediastinum",
            "ribs",
            "rib_direction_deg",
            "clavicles",
        ):
            array = getattr(found, name)
            assert array.shape == shape
            assert np.isfinite(array).all()
        assert ((found.ribs >= 0) & (found.ribs <= 1)).all()
        assert ((found.rib_direction_deg >= 0) & (found.rib_direction_deg < 180)).all()
        assert all(isinstance(value, Quality) for value in found.quality.values())
