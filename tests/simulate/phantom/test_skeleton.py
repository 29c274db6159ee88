"""Bones: masks are where they absorb, ribs have the shape of ribs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._body import _spine, draw_clavicles, draw_ribs, draw_skeleton, make_arms
from overread.simulate.chest._canvas import Canvas
from overread.simulate.chest._patient import make_view, stream
from overread.simulate.chest._thorax import make_cage

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


def test_the_two_clavicles_lie_on_both_sides():
    canvas = canvas_of(4)
    clavicles = draw_clavicles(canvas, draw_patient(4), stream(4, "clavicles"))
    columns = clavicles.sum(axis=0)
    assert columns[:205].sum() == pytest.approx(columns[225:].sum(), rel=0.35)


def test_the_spine_is_in_the_middle_and_repeats_with_the_vertebrae():
    """What is left when ribs, clavicles and shoulders are taken away shows a body every 20 to 28 mm."""
    patient = replace(
        draw_patient(0), rotation_deg=0, roll_deg=0, tilt_deg=0, bone_contrast=1, position_mm=(0, 0)
    )
    view = make_view(patient, seed=0, shape=(430, 430), mm_per_px=1.0)
    cage = make_cage(patient, seed=0)
    spine = _spine(view, cage, stream(0, "spine"))
    columns = np.flatnonzero(spine.any(axis=0))
    assert abs(columns.mean() - 215) < 12
    assert columns[-1] - columns[0] < 200
    middle = spine[100:330, 205:226].mean(axis=1)
    peaks = np.flatnonzero(
        (middle[1:-1] > middle[:-2]) & (middle[1:-1] >= middle[2:]) & (middle[1:-1] > middle.mean())
    )
    pitch = np.diff(cage.vertebra_y(np.arange(1, 13)))
    assert (np.diff(pitch) > 0).all(), "vertebrae grow downwards"
    assert 230 / (1.15 * pitch.max()) - 1 <= len(peaks)


def test_more_bone_contrast_is_more_of_all_bones():
    view = make_view(draw_patient(0), seed=0, shape=(215, 215), mm_per_px=2.0)
    cage, arms = make_cage(draw_patient(0), seed=0), make_arms(draw_patient(0), seed=0)
    one, two = (
        draw_skeleton(view, replace(draw_patient(0), bone_contrast=contrast), cage, arms, seed=0)
        for contrast in (1.0, 2.0)
    )
    np.testing.assert_allclose(two.amount, 2 * one.amount, rtol=1e-6)
    assert (one.ribs == (one.posterior_ribs | one.anterior_ribs)).all()
    assert (one.amount[one.ribs] > 0).all()
