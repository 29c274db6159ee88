"""The field: round, lit unevenly, with one bright disc and vessels that are dark above all in green."""

from dataclasses import replace
from itertools import combinations

import cv2
import numpy as np
import pytest

from overread.domains.picture._image import find_region
from overread.errors import InvalidInputError
from overread.simulate import Nodule, PicturePhantom, picture_phantom
from overread.simulate._nodules import nodule_mask
from overread.simulate._recipes import BRIGHT, DARK
from overread.simulate.picture._lesions import draw_clusters, draw_lookalikes, insert_lesions
from overread.simulate.picture._phantom import ROOT_RADIUS, Tip, _branch, _paint, develop, draw_vessels


@pytest.fixture(scope="module")
def phantom() -> PicturePhantom:
    return picture_phantom(seed=5)


def test_a_seed_gives_a_field(phantom):
    again, other = picture_phantom(seed=5), picture_phantom(seed=6)
    np.testing.assert_array_equal(develop(phantom, phantom.light), develop(again, again.light))
    assert not np.array_equal(phantom.light, other.light)
    assert str(phantom.seed) in repr(phantom)


def test_the_finder_of_fields_finds_it(phantom):
    """The region of `overread.domains` and the mask that was drawn agree but for the thin edge it leaves out."""
    picture = develop(phantom, phantom.light)
    found = find_region(picture.mean(axis=2, dtype=np.float32) / 255, "field_of_view")
    overlap = (found & phantom.field).sum() / (found | phantom.field).sum()
    assert overlap > 0.95


def test_vessels_take_green_more_than_red(phantom):
    near = cv2.dilate(phantom.vessels.astype(np.uint8), np.ones((9, 9))).astype(bool)
    ground = near & ~phantom.vessels & phantom.field & ~phantom.disc
    blood = phantom.vessels & phantom.field & ~phantom.disc
    ratio = phantom.light[blood].mean(axis=0) / phantom.light[ground].mean(axis=0)
    assert ratio[1] < ratio[0] < 1
    assert ratio[1] < 0.95


def test_the_disc_is_the_brightest_large_area(phantom):
    wide = cv2.GaussianBlur(phantom.light[..., 1], (0, 0), 12)
    row, column = np.unravel_index(wide.argmax(), wide.shape)
    assert phantom.disc[row, column]
    assert phantom.disc.sum() < 0.05 * phantom.field.sum()


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"seed": 1, "shape": (63, 100)}])
def test_senseless_fields_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="64 rows"):
        picture_phantom(**wrong)


SHAPE, CENTRE, RADIUS = (300, 300), (150.0, 150.0), 145.0


def test_branches_keep_the_sum_of_cubes():
    random = np.random.default_rng(0)
    for _ in range(50):
        tip = Tip(0.1, 0.2, 0.3, random.uniform(0.005, 0.02))
        thick, thin = _branch(tip, random)
        assert thick.radius**3 + thin.radius**3 == pytest.approx(tip.radius**3)
        assert thin.radius < thick.radius


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 2])
def test_a_painted_piece_has_its_width(angle):
    """Area of a thick line over its length, on the grid that paint draws on (two subpixels a pixel)."""
    length, radius = 0.8, 0.03
    start = Tip(-np.cos(angle) * length / 2, -np.sin(angle) * length / 2, angle, radius)
    end = Tip(-start.x, -start.y, angle, radius)
    fine = np.zeros((600, 600), dtype=np.float32)
    _paint(fine, start, end, CENTRE, RADIUS)
    area = np.count_nonzero(fine) / 4
    # The ends are round caps.
    expected = length * RADIUS * 2 * radius * RADIUS + np.pi * (radius * RADIUS) ** 2
    assert area == pytest.approx(expected, rel=0.08)
    assert fine.max() == pytest.approx(radius / ROOT_RADIUS)


def test_the_tree_starts_at_the_disc_and_fills_the_field():
    blood = draw_vessels(SHAPE, CENTRE, RADIUS, (80.0, 150.0), np.random.default_rng(1))
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    disc, far = np.hypot(x - 80, y - 150), np.hypot(x - 150, y - 150)
    assert blood[disc < 8].max() > 0.7
    assert blood[(far < RADIUS) & (disc > 60)].max() < blood[disc < 8].max()
    assert 0.02 < (blood[far < RADIUS] > 0).mean() < 0.35
    assert not blood[far > 1.2 * RADIUS].any()


@pytest.fixture(scope="module")
def clusters(phantom):
    law = replace(BRIGHT, clusters=8.0, sizes=(0.0, 0.0, 0.0, 1.0))
    return draw_clusters(phantom, "bright", law, [], np.random.default_rng(0))


def test_lesions_lie_in_the_field_off_the_disc_and_apart(phantom, clusters):
    lesions = [lesion for cluster in clusters for lesion in cluster.lesions]
    assert len(lesions) > 10
    for lesion in lesions:
        at = int(lesion.y_mm), int(lesion.x_mm)
        assert phantom.field[at]
        assert not phantom.disc[at]
    for one, other in combinations(lesions, 2):
        assert np.hypot(one.x_mm - other.x_mm, one.y_mm - other.y_mm) > one.radius_mm + other.radius_mm - 0.01


def test_a_cluster_lies_together_and_its_ring_holds_it(clusters):
    for cluster in clusters:
        x, y, diameter = cluster.ring
        for lesion in cluster.lesions:
            reach = np.hypot(lesion.x_mm - x, lesion.y_mm - y) + lesion.radius_mm
            assert reach < diameter / 2 * 1.06
        gaps = [
            min(
                np.hypot(one.x_mm - other.x_mm, one.y_mm - other.y_mm) - one.radius_mm - other.radius_mm
                for other in cluster.lesions
                if other is not one
            )
            for one in cluster.lesions
            if len(cluster.lesions) > 1
        ]
        assert max(gaps, default=0.0) <= BRIGHT.spread_px + 0.01


@pytest.mark.parametrize(("label", "sign"), [("bright", 1), ("dark", -1)])
def test_light_changes_inside_a_lesion_and_nowhere_else(phantom, label, sign):
    place = np.argwhere(phantom.field & ~phantom.vessels & ~phantom.disc)[20000]
    weak, strong = (
        Nodule(place[1] + 0.5, place[0] + 0.5, 12.0, exponent=0.5, conspicuity=conspicuity)
        for conspicuity in (1.0, 2.0)
    )
    inside = nodule_mask(weak, phantom.shape, 1.0)
    changes = [
        insert_lesions(phantom, phantom.light, [lesion], label) - phantom.light for lesion in (weak, strong)
    ]
    assert not changes[0][~inside].any()
    green = [sign * float(change[inside][:, 1].mean()) for change in changes]
    assert 0 < green[0] < green[1] < 2 * green[0]


def test_lookalikes_are_fainter_and_softer_than_lesions(phantom):
    spots = draw_lookalikes(phantom, replace(DARK, lookalikes=12.0), [], np.random.default_rng(1))
    assert len(spots) > 3
    assert max(spot.conspicuity for spot in spots) <= DARK.shape.conspicuity[1] / 2
    assert all(spot.blur_mm == pytest.approx(spot.radius_mm / 2) for spot in spots)
