"""Tubes against their closed-form volume, masks against what was added."""

from __future__ import annotations

import numpy as np
import pytest

from overread.simulate.chest._canvas import Canvas, smooth_step
from overread.simulate.chest._patient import View

STRAIGHT = View(
    shape=(200, 240),
    mm_per_px=0.5,
    size=1.0,
    centre_mm=(0.0, 0.0),
    yaw=0.0,
    roll=0.0,
    tilt=0.0,
    bends=np.zeros((1, 5)),
)


def drawn(**options):
    canvas = Canvas(STRAIGHT)
    marks = canvas.no_marks()
    canvas.tube_px(np.array([40.0, 200.0]), np.array([80.3, 110.7]), marks=marks, **options)
    return canvas, marks


def expected_volume(*, radius, depth, wall, shell, core):
    """Area under an elliptic profile is pi/2 r D a unit length; the round ends make half an ellipsoid each."""
    length = np.hypot(160.0, 30.4)
    full = length * np.pi / 2 * radius * depth + 2 / 3 * np.pi * radius**2 * depth
    inner = (1 - wall) ** 2 * length * np.pi / 2 * radius * depth + (
        1 - wall
    ) ** 3 * 2 / 3 * np.pi * radius**2 * depth
    return shell * (full - inner) + core * inner


@pytest.mark.parametrize(("wall", "shell", "core"), [(1.0, 1.0, 1.0), (0.2, 0.7, 0.1), (0.5, 0.3, 0.0)])
def test_volume_of_a_straight_tube(wall, shell, core):
    canvas, _ = drawn(radius_px=np.full(2, 9.0), depth_mm=np.full(2, 6.0), wall=wall, shell=shell, core=core)
    volume = expected_volume(radius=9.0, depth=6.0, wall=wall, shell=shell, core=core)
    assert canvas.amount.sum() == pytest.approx(volume, rel=5e-3)


def test_a_mark_is_where_something_is_added():
    canvas, marks = drawn(radius_px=np.array([3.0, 11.0]), depth_mm=np.array([5.0, 2.0]), wall=0.3, core=0.1)
    assert ((canvas.amount > 0) == (marks > 0)).all()


def test_mark_of_a_capsule_has_its_area_and_place():
    _, marks = drawn(radius_px=np.full(2, 10.0), depth_mm=np.ones(2))
    area = 20 * np.hypot(160.0, 30.4) + np.pi * 100
    assert (marks > 0).sum() == pytest.approx(area, rel=0.005)
    rows, columns = np.nonzero(marks)
    assert rows.mean() == pytest.approx(95.5, abs=0.2)
    assert columns.mean() == pytest.approx(120, abs=0.2)


def test_parts_before_and_after_the_split_meet():
    canvas = Canvas(STRAIGHT)
    marks = canvas.no_marks()
    columns, rows = np.linspace(40, 200, 9), np.full(9, 100.0)
    canvas.tube_px(columns, rows, radius_px=np.full(9, 6.0), depth_mm=np.ones(9), split=4, marks=marks)
    assert set(np.unique(marks)) == {0, 1, 2}
    assert np.nonzero(marks == 1)[1].max() <= 120
    assert np.nonzero(marks == 2)[1].min() >= 120


def test_tubes_add_up_and_leave_no_trace_of_each_other():
    together = Canvas(STRAIGHT)
    alone = [Canvas(STRAIGHT), Canvas(STRAIGHT)]
    lines = [np.array([[20.0, 20.0], [200.0, 150.0]]), np.array([[20.0, 150.0], [200.0, 20.0]])]
    for line, canvas in zip(lines, alone, strict=True):
        for target in (canvas, together):
            target.tube_px(
                line[:, 0].copy(), line[:, 1].copy(), radius_px=np.full(2, 7.0), depth_mm=np.ones(2)
            )
    np.testing.assert_allclose(together.amount, alone[0].amount + alone[1].amount, atol=1e-6)


def test_outside_the_image_nothing_happens():
    canvas = Canvas(STRAIGHT)
    canvas.tube_px(
        np.array([-90.0, -40.0]), np.array([10.0, 900.0]), radius_px=np.full(2, 5.0), depth_mm=np.ones(2)
    )
    assert not canvas.amount.any()


def test_smooth_step_is_flat_at_both_ends():
    values = smooth_step(np.array([-1.0, 2.0, 3.0, 4.0, 9.0], dtype=np.float32), 2.0, 4.0)
    np.testing.assert_allclose(values, [0, 0, 0.5, 1, 1])
