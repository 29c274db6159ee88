"""The rib cage: ribs in order, a surface without jumps."""

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._patient import Projection, make_view
from overread.simulate.chest._thorax import (
    AIRWAY_REACH_MM,
    APEX_Y_MM,
    BASE_Y_MM,
    HEART_TOP_MM,
    HEART_Z_MM,
    LEAF_RADIUS_MM,
    MURRAY,
    N_RIBS,
    THICKEST_MM,
    _paths,
    _radii,
    draw_vessels,
    hilar_haze,
    make_cage,
    make_diaphragm,
    make_lungs,
    make_mediastinum,
)

SEEDS = (0, 1, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_ribs_descend_from_spine_to_front_and_are_ordered(seed):
    cage = make_cage(draw_patient(seed), seed=seed)
    for side in (-1, 1):
        starts = []
        for number in range(1, N_RIBS + 1):
            points, _ = cage.rib(number, side)
            starts.append(points[0, 1])
            assert (np.sign(points[:, 0]) == side).all()
            assert points[-1, 1] > points[0, 1] + 4
            assert points[0, 2] > points[-1, 2], "a rib starts at the back"
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
        points, _ = cage.rib(number, 1)
        widest = points[:, 0].max()
        assert widest == pytest.approx(float(cage.half_width(points[points[:, 0].argmax(), 1])), rel=0.05)


DOME_Y_MM = 205.0


def make(patient, seed=0):
    view = make_view(patient, seed=seed, shape=(215, 215), mm_per_px=2.0)
    return view, make_mediastinum(view, patient, make_cage(patient, seed=seed), dome_y=DOME_Y_MM, seed=seed)


@pytest.mark.parametrize("ratio", [0.40, 0.50])
def test_the_heart_has_the_width_it_is_given(ratio):
    patient = replace(draw_patient(0), heart_ratio=ratio)
    view, made = make(patient)
    x, y = view.at(HEART_Z_MM)
    widths = [np.ptp(x[row][made.heart[row]]) for row in range(x.shape[0]) if made.heart[row].any()]
    wanted = 2 * make_cage(patient, seed=0).half_width_mm * ratio
    assert max(widths) == pytest.approx(wanted, rel=0.08)
    assert y[made.heart].min() > HEART_TOP_MM - 1


def test_the_trachea_is_upright_and_the_bronchi_part():
    view, made = make(draw_patient(0))
    x, y = view.at(15.0)
    air = made.airway_mm > 0
    assert np.abs(x[air]).max() < AIRWAY_REACH_MM
    assert np.abs(x[air & (y < 60)]).max() < 16
    assert x[air & (y > 110)].min() < -12
    assert x[air & (y > 110)].max() > 12
    assert made.airway_mm.max() <= 18


# Node 0 is the root; 1 and 2 leave it; 3, 4 and 5 leave node 1.
PARENTS = np.array([0, 0, 0, 1, 1, 1])


@pytest.fixture(scope="module")
def made():
    patient = draw_patient(2)
    view = make_view(patient, seed=2, shape=(215, 215), mm_per_px=2.0)
    cage, diaphragm = make_cage(patient, seed=2), make_diaphragm(patient, seed=2)
    mediastinum = make_mediastinum(view, patient, cage, dome_y=diaphragm.dome_y_mm[1], seed=2)
    return view, cage, diaphragm, mediastinum, make_lungs(view, cage, diaphragm, mediastinum)


def test_bands_of_rows_leave_no_seam(made, monkeypatch):
    view, cage, diaphragm, mediastinum, lungs = made
    monkeypatch.setattr(sys.modules[Projection.__module__], "BAND_PIXELS", 10**9)
    whole = make_lungs(view, cage, diaphragm, mediastinum)
    np.testing.assert_array_equal(whole.lung_mm, lungs.lung_mm)


def test_radii_follow_the_power_law():
    radii = _radii(PARENTS)
    assert radii[[2, 3, 4, 5]] == pytest.approx(LEAF_RADIUS_MM)
    assert radii[1] == pytest.approx(LEAF_RADIUS_MM * 3 ** (1 / MURRAY))
    assert radii[0] == pytest.approx(LEAF_RADIUS_MM * 4 ** (1 / MURRAY))
    thick = _radii(np.concatenate([[0], np.zeros(3000, dtype=np.int64)]))
    assert thick[0] == THICKEST_MM


def test_every_edge_of_the_tree_is_drawn_once():
    paths = _paths(PARENTS, _radii(PARENTS))
    edges = sorted((int(b), int(a)) for path in paths for a, b in pairwise(path))
    assert edges == sorted((node, int(PARENTS[node])) for node in range(1, len(PARENTS)))


def test_vessels_are_thickest_near_the_hila_and_differ_between_seeds(made):
    view, *_, lungs = made
    blood = draw_vessels(view, lungs, seed=2)
    x, _ = view.at(0.0)
    inner, outer = (
        (np.abs(x) < 70) & (lungs.left | lungs.right),
        (np.abs(x) > 100) & (lungs.left | lungs.right),
    )
    assert blood[inner].mean() > 2 * blood[outer].mean() > 0
    assert not np.array_equal(blood, draw_vessels(view, lungs, seed=3))


def test_haze_has_two_maxima_beside_the_spine(made):
    view = made[0]
    haze = hilar_haze(view, seed=2)
    x, _ = view.at(0.0)
    for side in (-1, 1):
        half = np.where(x * side > 0, haze, 0)
        assert abs(abs(x.flat[half.argmax()]) - 36) < 8
