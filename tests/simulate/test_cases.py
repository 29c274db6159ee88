from __future__ import annotations

from dataclasses import replace

import numpy as np

from overread.simulate import CaseDistribution, NoduleDistribution
from overread.simulate._cases import Background, _keep_inside, draw_case, pixels_with_nodules
from overread.simulate._readers import DrawnMark

MM = 0.7


def test_a_case_is_the_same_for_the_same_stream(background):
    cases = [
        draw_case(background, ["R1", "R5"], CaseDistribution(), np.random.default_rng(4), n_nodules=2)
        for _ in range(2)
    ]
    assert cases[0].nodules == cases[1].nodules
    assert cases[0].marks == cases[1].marks


def test_marks_name_what_was_meant(background):
    names = set()
    for seed in range(30):
        case = draw_case(
            background, ["R1", "R5", "R8"], CaseDistribution(), np.random.default_rng(seed), n_nodules=2
        )
        names |= {mark.object_id[:1] for mark in case.marks}
    assert names == {"N", "D", ""}


def test_marks_have_their_centre_in_the_image():
    """What lies at the border is marked at it, though the hand errs outwards."""
    corner = DrawnMark("R1", "D1", 350.353, -0.2, 11.5, 8.9, 89.9)
    kept = _keep_inside(corner, (400, 500), 0.7)
    assert (kept.x_mm, kept.y_mm) == (350.0, 0.0)
    assert replace(kept, x_mm=corner.x_mm, y_mm=corner.y_mm) == corner
    inside = replace(corner, x_mm=349.9, y_mm=279.9)
    assert _keep_inside(inside, (400, 500), 0.7) == inside


def test_nodules_stay_in_the_lung_or_the_heart(background):
    heart = np.zeros(background.lungs.shape, dtype=bool)
    heart[150:200, :29] = True
    hidden = Background(background.pixels, MM, background.lungs, 0.0, 255.0, heart=heart)
    law = CaseDistribution(nodules=NoduleDistribution(behind_heart=0.5))
    inside = []
    for seed in range(20):
        for nodule in draw_case(hidden, ["R1"], law, np.random.default_rng(seed), n_nodules=2).nodules:
            place = int(nodule.y_mm / MM), int(nodule.x_mm / MM)
            assert background.lungs[place] or heart[place]
            inside.append(bool(heart[place]))
    assert 0.2 < np.mean(inside) < 0.8


def test_pixels_without_nodules_are_the_background(background):
    pixels = pixels_with_nodules(background, [])
    assert pixels.dtype == np.uint16
    assert np.abs(pixels / 257 - background.pixels).max() <= 0.5 / 257 + 1e-9
