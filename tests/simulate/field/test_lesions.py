"""Lesions lie in the field, apart from each other, and change the light the way their label says."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from overread.simulate import Nodule, picture_phantom
from overread.simulate._nodules import nodule_mask
from overread.simulate._recipes import BRIGHT, DARK
from overread.simulate.picture._lesions import Cluster, draw_clusters, draw_lookalikes, insert_lesions


@pytest.fixture(scope="module")
def phantom():
    return picture_phantom(seed=3)


@pytest.fixture(scope="module")
def clusters(phantom):
    law = replace(BRIGHT, clusters=8.0, sizes=(0.0, 0.0, 0.0, 1.0))
    return draw_clusters(phantom, "bright", law, [], np.random.default_rng(0))


def test_lesions_lie_in_the_field_off_the_disc_and_apart(phantom, clusters):
    lesions = [lesion for cluster in clusters for lesion in cluster.lesions]
    assert len(lesions) > 10
    for lesion in lesions:
        at = int(lesion.y_mm), int(lesion.x_mm)
        assert phantom.field[at]
        assert not phantom.disc[at]
    for one, other in combinations(lesions, 2):
        assert np.hypot(one.x_mm - other.x_mm, one.y_mm - other.y_mm) > one.radius_mm + other.radius_mm - 0.01


def test_a_cluster_lies_together_and_its_ring_holds_it(clusters):
    for cluster in clusters:
        x, y, diameter = cluster.ring
        for lesion in cluster.lesions:
            reach = np.hypot(lesion.x_mm - x, lesion.y_mm - y) + lesion.radius_mm
            assert reach < diameter / 2 * 1.06
        gaps = [
            min(
                np.hypot(one.x_mm - other.x_mm, one.y_mm - other.y_mm) - one.radius_mm - other.radius_mm
                for other in cluster.lesions
                if other is not one
            )
            for one in cluster.lesions
            if len(cluster.lesions) > 1
        ]
        assert max(gaps, default=0.0) <= BRIGHT.spread_px + 0.01


def test_the_ring_of_one_lesion_is_the_lesion():
    x, y, diameter = Cluster("dark", (Nodule(50.0, 60.0, 10.0),)).ring
    assert (x, y, diameter) == pytest.approx((50.0, 60.0, 10.0), abs=0.01)


@pytest.mark.parametrize(("label", "sign"), [("bright", 1), ("dark", -1)])
def test_light_changes_inside_a_lesion_and_nowhere_else(phantom, label, sign):
    place = np.argwhere(phantom.field & ~phantom.vessels & ~phantom.disc)[20000]
    weak, strong = (
        Nodule(place[1] + 0.5, place[0] + 0.5, 12.0, exponent=0.5, conspicuity=conspicuity)
        for conspicuity in (1.0, 2.0)
    )
    inside = nodule_mask(weak, phantom.shape, 1.0)
    changes = [
        insert_lesions(phantom, phantom.light, [lesion], label) - phantom.light for lesion in (weak, strong)
    ]
    assert not changes[0][~inside].any()
    green = [sign * float(change[inside][:, 1].mean()) for change in changes]
    assert 0 < green[0] < green[1] < 2 * green[0]


def test_lookalikes_are_fainter_and_softer_than_lesions(phantom):
    spots = draw_lookalikes(phantom, replace(DARK, lookalikes=12.0), [], np.random.default_rng(1))
    assert len(spots) > 3
    assert max(spot.conspicuity for spot in spots) <= DARK.shape.conspicuity[1] / 2
    assert all(spot.blur_mm == pytest.approx(spot.radius_mm / 2) for spot in spots)
