from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import binary_erosion, gaussian_filter

from overread.simulate import CaseDistribution, NoduleDistribution, VariedDistribution
from overread.simulate._cases import draw_case
from overread.simulate._nodules import KINDS, draw_by_law, draw_nodules, vary_pixels

MM = 0.7
SHAPE = (300, 320)
LUNGS = np.zeros(SHAPE, dtype=bool)
LUNGS[20:280, 20:140] = True
HEART = np.zeros(SHAPE, dtype=bool)
HEART[150:280, 141:200] = True


def draw(kind: str, n: int = 40, *, heart: np.ndarray | None = HEART):
    """Nodules of one kind, each alone in the lung."""
    law = VariedDistribution(kinds=tuple(k for k in KINDS if k.name == kind))
    random = np.random.default_rng(3)
    return [
        nodule
        for _ in range(n)
        for nodule in draw_by_law(1, LUNGS, MM, law=law, blur_mm=0.5, random=random, heart=heart)
    ]


def is_in(mask: np.ndarray, nodule) -> bool:
    return bool(mask[int(nodule.y_mm / MM), int(nodule.x_mm / MM)])


def test_the_plain_law_draws_what_it_always_drew():
    args = {"law": NoduleDistribution(behind_heart=0.3), "blur_mm": 0.5, "heart": HEART}
    one = draw_nodules(5, LUNGS, MM, random=np.random.default_rng(0), **args)
    assert draw_by_law(5, LUNGS, MM, random=np.random.default_rng(0), **args) == one


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.place == "lung"], ids=lambda k: k.name)
def test_a_kind_keeps_to_its_ranges(kind):
    nodules = draw(kind.name)
    assert len(nodules) == 40
    assert all(is_in(LUNGS, nodule) for nodule in nodules)
    for name in ("diameter_mm", "exponent", "axis_ratio", "conspicuity"):
        low, high = getattr(kind.look, name)
        values = np.array([getattr(nodule, name) for nodule in nodules])
        assert values.min() >= low - 1e-3
        assert values.max() <= high + 1e-3
        assert np.ptp(values) > 0.5 * (high - low)


def test_pleural_nodules_lie_at_the_border_and_retrocardiac_ones_behind_the_heart():
    deep = binary_erosion(LUNGS, np.ones((3, 3)), iterations=6)
    assert all(is_in(LUNGS & ~deep, nodule) for nodule in draw("pleural"))
    assert all(is_in(HEART, nodule) for nodule in draw("retrocardiac"))
    assert all(is_in(LUNGS, nodule) for nodule in draw("retrocardiac", heart=None))


def test_the_border_of_the_image_is_no_pleura():
    law = VariedDistribution(kinds=tuple(kind for kind in KINDS if kind.name == "pleural"))
    everywhere = np.ones(SHAPE, dtype=bool)
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
        for nodule in draw_by_law(1, LUNGS, MM, law=law, blur_mm=0.5, random=random, heart=HEART)
    ]
    assert np.mean([is_in(HEART, nodule) for nodule in drawn]) == pytest.approx(0.08, abs=0.04)
    assert np.mean([nodule.conspicuity > 3 for nodule in drawn]) == pytest.approx(0.1, abs=0.05)


def test_a_case_by_the_varied_law_is_the_same_for_the_same_stream(background):
    cases = [
        draw_case(
            background,
            ["R1", "R5"],
            CaseDistribution(nodules=VariedDistribution()),
            np.random.default_rng(4),
            n_nodules=3,
        )
        for _ in range(2)
    ]
    assert cases[0].nodules == cases[1].nodules
    assert all(nodule.contrast > 0 for nodule in cases[0].nodules)


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
