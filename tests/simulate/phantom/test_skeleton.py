"""Bones: masks are where they absorb, ribs have the shape of ribs."""

from __future__ import annotations

import numpy as np
import pytest

from overread.simulate.phantom import draw_patient
from overread.simulate.phantom.cage import N_RIBS, make_cage
from overread.simulate.phantom.canvas import Canvas
from overread.simulate.phantom.skeleton import draw_clavicles, draw_ribs
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import make_view

SEEDS = (0, 1, 2)


def canvas_of(seed):
    return Canvas(make_view(draw_patient(seed), seed=seed, shape=(430, 430), mm_per_px=1.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_masks_are_where_bone_is_added(seed):
    ribs = draw_ribs(canvas_of(seed), make_cage(draw_patient(seed), seed=seed), stream(seed, "ribs"))
    assert ((ribs.amount > 0) == (ribs.posterior | ribs.anterior)).all()
    canvas = canvas_of(seed)
    clavicles = draw_clavicles(canvas, draw_patient(seed), stream(seed, "clavicles"))
    assert ((canvas.amount > 0) == clavicles).all()


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


def test_the_two_clavicles_lie_on_both_sides():
    canvas = canvas_of(4)
    clavicles = draw_clavicles(canvas, draw_patient(4), stream(4, "clavicles"))
    columns = clavicles.sum(axis=0)
    assert columns[:205].sum() == pytest.approx(columns[225:].sum(), rel=0.35)
