import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import binary_erosion, distance_transform_edt, gaussian_filter

from overread.errors import InvalidInputError
from overread.simulate import Nodule, NoduleDistribution, VariedDistribution
from overread.simulate._nodules import (
    KINDS,
    _scale_and_centroid,
    _texture_waves,
    contrast_field,
    draw_by_law,
    draw_nodules,
    nodule_mask,
    vary_pixels,
    window_around,
)

MM = 0.7
SHAPE = (140, 150)
LUNGS = np.ones(SHAPE, dtype=bool)


def one(seed: int, diameter: float | None = None) -> Nodule:
    law = NoduleDistribution() if diameter is None else NoduleDistribution(diameter_mm=(diameter, diameter))
    lungs = np.zeros(SHAPE, dtype=bool)
    lungs[60:80, 60:90] = True
    return draw_nodules(1, lungs, MM, law=law, blur_mm=0.6, random=np.random.default_rng(seed))[0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_the_mask_has_the_area_and_the_place_asked_for(seed):
    nodule = one(seed)
    mask = nodule_mask(nodule, SHAPE, MM)
    rows, columns = np.nonzero(mask)
    assert 2 * math.sqrt(mask.sum() * MM**2 / math.pi) == pytest.approx(nodule.diameter_mm, abs=MM)
    assert (columns.mean() + 0.5) * MM == pytest.approx(nodule.x_mm, abs=MM)
    assert (rows.mean() + 0.5) * MM == pytest.approx(nodule.y_mm, abs=MM)


def test_a_plain_nodule_has_the_profile_of_its_formula():
    nodule = Nodule(50.05, 50.05, 20.0, exponent=1.3)
    window = window_around(50.05, 50.05, 15.0, (1000, 1000), 0.1)
    x, y = window.mm(0.1)
    rho = np.hypot(x - 50.05, y - 50.05) / 10.0
    expected = np.maximum(1 - rho**2, 0) ** 1.3
    assert np.allclose(contrast_field(nodule, window, 0.1), expected, atol=1e-4)


def test_blur_keeps_the_sum_and_lowers_the_peak():
    sharp, soft = Nodule(50, 50, 8.0), Nodule(50, 50, 8.0, blur_mm=1.2)
    window = window_around(50, 50, soft.reach_mm + 2, SHAPE, MM)
    fields = [contrast_field(nodule, window, MM) for nodule in (sharp, soft)]
    assert fields[1].sum() == pytest.approx(fields[0].sum(), rel=1e-3)
    assert fields[1].max() < fields[0].max()


def test_spicules_reach_beyond_the_outline_and_leave_the_mask_alone():
    plain, rays = Nodule(50, 50, 16.0), Nodule(50, 50, 16.0, spicules=9)
    window = window_around(50, 50, rays.reach_mm, SHAPE, MM)
    outside = ~nodule_mask(plain, SHAPE, MM)[window.rows, window.columns]
    assert contrast_field(plain, window, MM)[outside].max() == 0
    assert contrast_field(rays, window, MM)[outside].max() > 0.1
    assert np.array_equal(nodule_mask(plain, SHAPE, MM), nodule_mask(rays, SHAPE, MM))


def test_texture_has_unit_variance():
    nodule = Nodule(50, 50, 30.0, texture_seed=5)
    x, y = window_around(200, 200, 200, (800, 800), 0.5).mm(0.5)
    waves = _texture_waves(nodule, x, y)
    assert waves.std() == pytest.approx(1.0, rel=0.1)
    assert abs(waves.mean()) < 0.1


def test_centroid_of_an_ellipse_is_its_centre():
    scale, x, y = _scale_and_centroid(Nodule(0, 0, 10.0, axis_ratio=0.6, angle_deg=30))
    assert (x, y) == pytest.approx((0, 0), abs=1e-9)
    assert scale == pytest.approx(5 / math.sqrt(0.6))


def test_nodules_follow_the_law():
    law = NoduleDistribution()
    drawn = [
        n
        for seed in range(300)
        for n in draw_nodules(2, LUNGS, MM, law=law, blur_mm=0.5, random=np.random.default_rng(seed))
    ]
    logs = np.log([n.diameter_mm for n in drawn])
    assert logs.mean() == pytest.approx(np.log(6 * 30) / 2, abs=0.08)
    assert {len(n.orders) for n in drawn} == {5, 8}
    assert np.mean([len(n.orders) == 8 for n in drawn]) == pytest.approx(0.25, abs=0.06)
    assert 0.8 <= min(n.conspicuity for n in drawn) < 0.9
    assert 2.9 < max(n.conspicuity for n in drawn) <= 3.0


def test_nodules_of_an_image_never_touch():
    law = NoduleDistribution(diameter_mm=(10, 14))
    drawn = draw_nodules(4, LUNGS, MM, law=law, blur_mm=0.5, random=np.random.default_rng(0))
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            apart = math.hypot(first.x_mm - second.x_mm, first.y_mm - second.y_mm)
            assert apart >= first.radius_mm + second.radius_mm


def test_centres_keep_their_depth_in_the_lung():
    lungs = np.zeros(SHAPE, dtype=bool)
    lungs[10:130, 20:140] = True
    depth = distance_transform_edt(lungs) * MM
    nearest = {}
    for least in (0.0, 15.0):
        law, random = NoduleDistribution(depth_mm=least), np.random.default_rng(3)
        drawn = [
            n for _ in range(60) for n in draw_nodules(2, lungs, MM, law=law, blur_mm=0.6, random=random)
        ]
        nearest[least] = min(depth[int(n.y_mm / MM), int(n.x_mm / MM)] for n in drawn)
    assert nearest[0.0] < 5.0
    assert nearest[15.0] >= 15.0 - MM
    deep = NoduleDistribution(depth_mm=60.0)
    assert draw_nodules(2, lungs, MM, law=deep, blur_mm=0.6, random=np.random.default_rng(3)) == []


@pytest.mark.parametrize(
    "wrong", [{"diameter_mm": 0.0}, {"axis_ratio": 1.2}, {"exponent": 0.0}, {"orders": (2,)}]
)
def test_senseless_nodules_are_refused(wrong):
    with pytest.raises(InvalidInputError):
        Nodule(**{"x_mm": 1.0, "y_mm": 1.0, "diameter_mm": 8.0, **wrong})


VARIED_SHAPE = (300, 320)
VARIED_LUNGS = np.zeros(VARIED_SHAPE, dtype=bool)
VARIED_LUNGS[20:280, 20:140] = True
HEART = np.zeros(VARIED_SHAPE, dtype=bool)
HEART[150:280, 141:200] = True


def draw(kind: str, n: int = 40, *, heart: np.ndarray | None = HEART):
    """Nodules of one kind, each alone in the lung."""
    law = VariedDistribution(kinds=tuple(k for k in KINDS if k.name == kind))
    random = np.random.default_rng(3)
    return [
        nodule
        for _ in range(n)
        for nodule in draw_by_law(1, VARIED_LUNGS, MM, law=law, blur_mm=0.5, random=random, heart=heart)
    ]


def is_in(mask: np.ndarray, nodule) -> bool:
    return bool(mask[int(nodule.y_mm / MM), int(nodule.x_mm / MM)])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.place == "lung"], ids=lambda k: k.name)
def test_a_kind_keeps_to_its_ranges(kind):
    nodules = draw(kind.name)
    assert len(nodules) == 40
    assert all(is_in(VARIED_LUNGS, nodule) for nodule in nodules)
    for name in ("diameter_mm", "exponent", "axis_ratio", "conspicuity"):
        low, high = getattr(kind.look, name)
        values = np.array([getattr(nodule, name) for nodule in nodules])
        assert values.min() >= low - 1e-3
        assert values.max() <= high + 1e-3
        assert np.ptp(values) > 0.5 * (high - low)


def test_pleural_nodules_lie_at_the_border_and_retrocardiac_ones_behind_the_heart():
    deep = binary_erosion(VARIED_LUNGS, np.ones((3, 3)), iterations=6)
    assert all(is_in(VARIED_LUNGS & ~deep, nodule) for nodule in draw("pleural"))
    assert all(is_in(HEART, nodule) for nodule in draw("retrocardiac"))
    assert all(is_in(VARIED_LUNGS, nodule) for nodule in draw("retrocardiac", heart=None))


def test_the_border_of_the_image_is_no_pleura():
    law = VariedDistribution(kinds=tuple(kind for kind in KINDS if kind.name == "pleural"))
    everywhere = np.ones(VARIED_SHAPE, dtype=bool)
    assert draw_by_law(3, everywhere, MM, law=law, blur_mm=0.5, random=np.random.default_rng(0)) == []


def test_sub_solid_nodules_have_no_edge_and_spiculated_ones_rays():
    blurs = np.array([nodule.blur_mm / nodule.diameter_mm for nodule in draw("sub-solid")])
    assert blurs.min() >= 0.05
    assert blurs.max() < 0.16
    assert {nodule.blur_mm for nodule in draw("solid")} == {0.5}
    assert 0.4 < np.mean([nodule.spicules > 0 for nodule in draw("spiculated")]) < 0.95
    assert all(11 in nodule.orders for nodule in draw("spiculated"))


def test_kinds_come_as_often_as_their_shares():
    law = VariedDistribution()
    random = np.random.default_rng(1)
    drawn = [
        nodule
        for _ in range(400)
        for nodule in draw_by_law(1, VARIED_LUNGS, MM, law=law, blur_mm=0.5, random=random, heart=HEART)
    ]
    assert np.mean([is_in(HEART, nodule) for nodule in drawn]) == pytest.approx(0.08, abs=0.04)
    assert np.mean([nodule.conspicuity > 3 for nodule in drawn]) == pytest.approx(0.1, abs=0.05)


def test_noise_and_blur_are_those_asked_for(background):
    pixels, lungs = background.pixels, background.lungs
    still = VariedDistribution()

    def vary(**ranges):
        law = replace(still, **ranges)
        return vary_pixels(pixels, lungs, MM, law=law, random=np.random.default_rng(0))

    assert np.array_equal(vary(), pixels)
    assert np.allclose(vary(image_blur_mm=(1.0, 1.0)), gaussian_filter(pixels, 1.0 / MM))
    added = (vary(image_noise=(0.5, 0.5)) - pixels)[lungs]
    fine = (pixels - gaussian_filter(pixels, 1.0 / MM))[lungs]
    assert added.std() == pytest.approx(0.5 * fine.std(), rel=0.03)
