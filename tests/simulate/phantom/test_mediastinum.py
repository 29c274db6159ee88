"""Heart, great vessels and airways: where they lie and how they follow the patient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._patient import make_view
from overread.simulate.chest._thorax import (
    AIRWAY_REACH_MM,
    HEART_TOP_MM,
    HEART_Z_MM,
    make_cage,
    make_mediastinum,
)

DOME_Y_MM = 205.0


def make(patient, seed=0):
    view = make_view(patient, seed=seed, shape=(215, 215), mm_per_px=2.0)
    return view, make_mediastinum(view, patient, make_cage(patient, seed=seed), dome_y=DOME_Y_MM, seed=seed)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shares_are_shares_and_the_heart_is_among_them(seed):
    _, made = make(draw_patient(seed), seed)
    assert 0 <= made.share.min() <= made.share.max() <= 1
    assert (made.share[made.heart] > 0).all()
    assert made.airway_mm.min() == 0


@pytest.mark.parametrize("ratio", [0.40, 0.50])
def test_the_heart_has_the_width_it_is_given(ratio):
    patient = replace(draw_patient(0), heart_ratio=ratio)
    view, made = make(patient)
    x, y = view.at(HEART_Z_MM)
    widths = [np.ptp(x[row][made.heart[row]]) for row in range(x.shape[0]) if made.heart[row].any()]
    wanted = 2 * make_cage(patient, seed=0).half_width_mm * ratio
    assert max(widths) == pytest.approx(wanted, rel=0.08)
    assert y[made.heart].min() > HEART_TOP_MM - 1


def test_most_of_the_heart_lies_on_the_images_right():
    view, made = make(draw_patient(0))
    x, _ = view.at(HEART_Z_MM)
    assert (x[made.heart] > 0).mean() > 0.55


def test_the_trachea_is_upright_and_the_bronchi_part():
    view, made = make(draw_patient(0))
    x, y = view.at(15.0)
    air = made.airway_mm > 0
    assert np.abs(x[air]).max() < AIRWAY_REACH_MM
    assert np.abs(x[air & (y < 60)]).max() < 16
    assert x[air & (y > 110)].min() < -12
    assert x[air & (y > 110)].max() > 12
    assert made.airway_mm.max() <= 18


def test_an_old_patient_has_a_wider_aorta():
    young, old = (make(replace(draw_patient(0), age_years=age))[1] for age in (20, 85))
    assert old.share.sum() > young.share.sum()
