"""Soft tissue and gas: where they may be, and what the patient's numbers do to them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.simulate import DistractorKind, draw_patient
from overread.simulate.chest._body import (
    _spine,
    abdominal_gas,
    draw_clavicles,
    draw_ribs,
    draw_skeleton,
    make_arms,
    soft_tissue,
)
from overread.simulate.chest._canvas import Canvas
from overread.simulate.chest._distractors import draw_distractors
from overread.simulate.chest._patient import make_view, stream
from overread.simulate.chest._render import make_body
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


SEEDS = (0, 1, 2)


def canvas_of(seed):
    return Canvas(make_view(draw_patient(seed), seed=seed, shape=(430, 430), mm_per_px=1.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_masks_are_where_bone_is_added(seed):
    ribs, clavicles = canvas_of(seed), canvas_of(seed)
    draw_ribs(ribs, make_cage(draw_patient(seed), seed=seed), stream(seed, "ribs"))
    draw_clavicles(clavicles, draw_patient(seed), stream(seed, "clavicles"))
    for canvas in (ribs, clavicles):
        assert ((canvas.amount > 0) == (canvas.marks > 0)).all()


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


@pytest.fixture(scope="module")
def bodies():
    """Bodies, and the canvas on which their distractors were drawn."""
    made = []
    for seed in range(10):
        patient = draw_patient(seed)
        body = make_body(patient, seed=seed, shape=(420, 350), mm_per_px=1.0)
        cage = make_cage(patient, seed=seed)
        canvas, _ = draw_distractors(body.view, patient, cage, body.lungs, body.skeleton, seed=seed)
        made.append((body, canvas))
    return made


def test_every_kind_occurs_inside_the_image(bodies):
    table = pd.concat([body.distractors for body, _ in bodies])
    assert list(table.columns) == ["kind", "x_mm", "y_mm", "diameter_mm"]
    assert set(table["kind"]) == {kind.value for kind in DistractorKind}
    for name, side in (("x_mm", 350), ("y_mm", 420)):
        assert (table[name] - table["diameter_mm"] / 2 >= 0).all()
        assert (table[name] + table["diameter_mm"] / 2 <= side).all()


def test_what_is_drawn_holds_each_disc_and_lone_ones_have_their_diameter(bodies):
    checked = 0
    for body, canvas in bodies:
        mask = canvas.marks > 0
        assert ((canvas.amount > 0) == mask).all()
        y, x = ((np.arange(n) + 0.5) for n in body.view.shape)
        for row in body.distractors.query("kind != 'rib crossing'").itertuples():
            distance = np.hypot(y[:, None] - row.y_mm, x[None, :] - row.x_mm)
            assert mask[distance < row.diameter_mm / 2 - 0.05].all()
            if row.kind == "nipple":
                area = (mask & (distance < row.diameter_mm)).sum()
                assert area == pytest.approx(np.pi / 4 * row.diameter_mm**2, rel=0.15)
                checked += 1
    assert checked


def test_crossings_are_on_both_kinds_of_rib(bodies):
    for body, _ in bodies:
        table = body.distractors
        crossings = table[table["kind"] == DistractorKind.RIB_CROSSING.value]
        assert len(crossings) > 3
        both = body.skeleton.posterior_ribs & body.skeleton.anterior_ribs
        assert (crossings["diameter_mm"] ** 2 * np.pi / 4).sum() <= both.sum() + 1e-6
