"""The rib cage: ribs in order, a surface without jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._thorax import APEX_Y_MM, BASE_Y_MM, N_RIBS, make_cage

SEEDS = (0, 1, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_ribs_descend_from_spine_to_front_and_are_ordered(seed):
    cage = make_cage(draw_patient(seed), seed=seed)
    for side in (-1, 1):
        starts = []
        for number in range(1, N_RIBS + 1):
            rib = cage.rib(number, side)
            starts.append(rib.points[0, 1])
            assert (np.sign(rib.points[:, 0]) == side).all()
            assert rib.points[-1, 1] > rib.points[0, 1] + 4
            assert rib.points[0, 2] > rib.points[-1, 2], "a rib starts at the back"
        assert (np.diff(starts) > 8).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cage_widens_from_the_apex_to_the_base_without_jumps(seed):
    cage = make_cage(draw_patient(seed), seed=seed)
    y = np.linspace(APEX_Y_MM, BASE_Y_MM, 400)
    for size, least, most in (
        (cage.half_width(y), 30.0, cage.half_width_mm),
        (cage.half_depth(y), 0.38 * cage.half_depth_mm, cage.half_depth_mm),
    ):
        assert (np.diff(size) >= -1e-9).all()
        assert size[0] == pytest.approx(least)
        assert size[-1] == pytest.approx(most, rel=0.01)
        assert np.abs(np.diff(size, 2))[5:].max() < 0.5


def test_ribs_lie_on_the_cage():
    cage = make_cage(draw_patient(3), seed=3)
    for number in range(2, 10):
        rib = cage.rib(number, 1)
        widest = rib.points[:, 0].max()
        assert widest == pytest.approx(
            float(cage.half_width(rib.points[rib.points[:, 0].argmax(), 1])), rel=0.05
        )


def test_a_wide_patient_has_a_wide_cage_and_deep_breath_lifts_the_ribs():
    patient = draw_patient(0)
    assert make_cage(replace(patient, width=1.1), seed=0).half_width_mm == pytest.approx(1.1 * 146)
    deep, shallow = (make_cage(replace(patient, inspiration=i), seed=0) for i in (1.0, 0.0))
    assert deep.drop < shallow.drop


def test_vertebrae_lie_below_each_other_and_grow():
    y = make_cage(draw_patient(0), seed=0).vertebra_y(np.arange(1, 13))
    assert y[0] == 0
    assert (np.diff(y) > 20).all()
    assert (np.diff(y, 2) > 0).all()
