"""Distractors: the table says where they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.simulate import DistractorKind, draw_patient
from overread.simulate.chest._render import make_body

DRAWN = {
    DistractorKind.NIPPLE,
    DistractorKind.CALCIFICATION,
    DistractorKind.VESSEL_END_ON,
    DistractorKind.LEAD,
}


@pytest.fixture(scope="module")
def bodies():
    return [make_body(draw_patient(seed), seed=seed, shape=(420, 350), mm_per_px=1.0) for seed in range(10)]


def test_every_kind_occurs(bodies):
    table = pd.concat([body.distractors.table for body in bodies])
    assert list(table.columns) == ["kind", "x_mm", "y_mm", "diameter_mm"]
    assert set(table["kind"]) == {kind.value for kind in DistractorKind}


def test_all_lie_inside_the_image(bodies):
    for body in bodies:
        rows, columns = body.view.shape
        table = body.distractors.table
        assert (table["x_mm"] - table["diameter_mm"] / 2 >= 0).all()
        assert (table["y_mm"] - table["diameter_mm"] / 2 >= 0).all()
        assert (table["x_mm"] + table["diameter_mm"] / 2 <= columns).all()
        assert (table["y_mm"] + table["diameter_mm"] / 2 <= rows).all()


def test_mask_is_where_something_is_added_and_holds_each_disc(bodies):
    for body in bodies:
        drawn = body.distractors
        assert ((drawn.amount > 0) == drawn.mask).all()
        y, x = ((np.arange(n) + 0.5) for n in body.view.shape)
        for row in drawn.table[drawn.table["kind"].isin([kind.value for kind in DRAWN])].itertuples():
            distance = np.hypot(y[:, None] - row.y_mm, x[None, :] - row.x_mm)
            assert drawn.mask[distance < row.diameter_mm / 2 - 0.05].all()


def test_lone_discs_have_the_diameter_asked_for(bodies):
    checked = 0
    for body in bodies:
        drawn = body.distractors
        y, x = ((np.arange(n) + 0.5) for n in body.view.shape)
        for row in drawn.table[drawn.table["kind"] == DistractorKind.NIPPLE.value].itertuples():
            near = np.hypot(y[:, None] - row.y_mm, x[None, :] - row.x_mm) < row.diameter_mm
            area = (drawn.mask & near).sum()
            assert area == pytest.approx(np.pi / 4 * row.diameter_mm**2, rel=0.15)
            checked += 1
    assert checked


def test_crossings_are_on_both_kinds_of_rib(bodies):
    for body in bodies:
        table = body.distractors.table
        crossings = table[table["kind"] == DistractorKind.RIB_CROSSING.value]
        assert len(crossings) > 3
        both = body.skeleton.posterior_ribs & body.skeleton.anterior_ribs
        assert (crossings["diameter_mm"] ** 2 * np.pi / 4).sum() <= both.sum() + 1e-6
