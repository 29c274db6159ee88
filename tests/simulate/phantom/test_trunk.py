"""Soft tissue and gas: where they may be, and what the patient's numbers do to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._body import abdominal_gas, make_arms, soft_tissue
from overread.simulate.chest._patient import make_view
from overread.simulate.chest._thorax import make_cage, make_diaphragm

SHAPE = (215, 215)


def tissue_of(patient, seed=0):
    view = make_view(patient, seed=seed, shape=SHAPE, mm_per_px=2.0)
    return view, soft_tissue(
        view, patient, make_cage(patient, seed=seed), make_arms(patient, seed=seed), seed=seed
    )


def test_tissue_is_thick_in_the_middle_and_nothing_in_the_upper_corners():
    patient = replace(draw_patient(0), position_mm=(0.0, 0.0), fat_mm=10.0)
    _, tissue = tissue_of(patient)
    assert tissue.dtype == np.float32
    assert tissue.min() == 0
    assert 100 < tissue[120, 107] < 400
    assert tissue[2, 2] == tissue[2, -3] == 0


def test_fat_makes_the_trunk_wider_and_nothing_thinner():
    thin, fat = (tissue_of(replace(draw_patient(0), fat_mm=fat))[1] for fat in (8.0, 30.0))
    assert (fat >= thin - 1e-3).all()
    assert (fat > 20).sum() > (thin > 20).sum()


def test_breasts_add_tissue_over_the_lower_lungs_only_where_they_are():
    seed = next(seed for seed in range(50) if draw_patient(seed).breast_mm > 30)
    woman = draw_patient(seed)
    with_, without = (tissue_of(replace(woman, breast_mm=b), seed)[1] for b in (woman.breast_mm, 1e-3))
    added = with_ - without
    assert added.max() > 0.5 * woman.breast_mm
    rows = np.nonzero(added > 0.3 * woman.breast_mm)[0]
    assert rows.min() > SHAPE[0] * 0.3


def test_arms_hang_outwards_on_both_sides():
    arms = make_arms(draw_patient(1), seed=1)
    y = np.linspace(40.0, 300.0, 20)
    for side in (-1, 1):
        x = arms.axis(y, side)
        assert x[0] == pytest.approx(arms.shoulder_x_mm[int(side > 0)])
        assert (np.diff(x) > 0).all()


def test_gas_lies_below_the_diaphragm_and_is_never_negative():
    some = 0
    for seed in range(12):
        patient = draw_patient(seed)
        view = make_view(patient, seed=seed, shape=SHAPE, mm_per_px=2.0)
        diaphragm = make_diaphragm(patient, seed=seed)
        gas = abdominal_gas(view, diaphragm, seed=seed)
        assert gas.min() >= 0
        _, y = view.at(-20.0)
        some += bool(gas.any())
        if gas.any():
            assert y[gas > 0].min() > diaphragm.dome_y_mm[1] - 40
    assert some > 6
