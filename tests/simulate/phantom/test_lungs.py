"""Lungs, diaphragm and vessels: exact masks, blood where there is lung, radii by the law that is claimed."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._patient import View, make_view
from overread.simulate.chest._thorax import (
    LEAF_RADIUS_MM,
    MURRAY,
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

# Node 0 is the root; 1 and 2 leave it; 3, 4 and 5 leave node 1.
PARENTS = np.array([0, 0, 0, 1, 1, 1])


@pytest.fixture(scope="module")
def made():
    patient = draw_patient(2)
    view = make_view(patient, seed=2, shape=(215, 215), mm_per_px=2.0)
    cage, diaphragm = make_cage(patient, seed=2), make_diaphragm(patient, seed=2)
    mediastinum = make_mediastinum(view, patient, cage, dome_y=diaphragm.dome_y_mm[1], seed=2)
    return view, cage, diaphragm, mediastinum, make_lungs(view, cage, diaphragm, mediastinum)


def test_fields_are_lung_above_the_dome_beside_the_mediastinum(made):
    view, cage, diaphragm, mediastinum, lungs = made
    x, y = view.at(0.0)
    under = y - diaphragm.edge(x, cage)
    for field, on_its_side in ((lungs.left, x < 0), (lungs.right, x >= 0)):
        assert field.any()
        assert (on_its_side & (under <= 0) & lungs.inside_cage)[field].all()
        assert not (field & (mediastinum.share > 0)).any()
    assert (under[lungs.below_dome] > 0).all()
    assert (lungs.lung_mm[~lungs.inside_cage] == 0).all()
    assert (lungs.lung_mm >= 0).all()


def test_bands_of_rows_leave_no_seam(made, monkeypatch):
    view, cage, diaphragm, mediastinum, lungs = made
    monkeypatch.setattr(sys.modules[View.__module__], "BAND_PIXELS", 10**9)
    whole = make_lungs(view, cage, diaphragm, mediastinum)
    np.testing.assert_array_equal(whole.lung_mm, lungs.lung_mm)


def test_a_deep_breath_lowers_the_diaphragm():
    patient = draw_patient(0)
    deep, shallow = (make_diaphragm(replace(patient, inspiration=i), seed=0) for i in (1.0, 0.0))
    assert np.array(deep.dome_y_mm) - np.array(shallow.dome_y_mm) == pytest.approx([60, 60])


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
