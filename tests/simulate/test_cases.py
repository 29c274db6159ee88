from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.errors import TableError
from overread.simulate.cases import Background, CaseLaw, draw_case, pixels_with_nodules
from overread.simulate.distractors import strongest_blobs
from overread.simulate.nodules import NoduleLaw
from overread.simulate.tables import mark_rows, nodule_rows, nodules_by_image

MM = 0.7


@pytest.fixture(scope="module")
def background() -> Background:
    y, x = np.mgrid[:300, :320] * MM
    pixels = 90 + 0.1 * x + np.random.default_rng(0).normal(0, 4, (300, 320))
    for place in (60, 110, 160):
        pixels += 30 * np.exp(-((x - place) ** 2 + (y - 100) ** 2) / 18)
    lungs = np.zeros(pixels.shape, dtype=bool)
    lungs[30:270, 30:290] = True
    return Background(pixels, MM, lungs, 0.0, 255.0)


def test_the_strongest_blobs_are_the_spots_that_are_there(background):
    blobs = strongest_blobs(background.pixels, background.lungs, MM, n=3)
    assert sorted(blob.x_mm for blob in blobs) == pytest.approx([60, 110, 160], abs=1.5)
    assert [blob.y_mm for blob in blobs] == pytest.approx([100] * 3, abs=1.5)


def test_a_case_is_the_same_for_the_same_stream(background):
    cases = [
        draw_case(background, ["R1", "R5"], CaseLaw(), np.random.default_rng(4), n_nodules=2)
        for _ in range(2)
    ]
    assert cases[0].nodules == cases[1].nodules
    assert cases[0].marks == cases[1].marks


def test_marks_name_what_was_meant(background):
    names = set()
    for seed in range(30):
        case = draw_case(background, ["R1", "R5", "R8"], CaseLaw(), np.random.default_rng(seed), n_nodules=2)
        names |= {mark.object_id[:1] for mark in case.marks}
    assert names == {"N", "D", ""}


def test_nodules_stay_in_the_lung_or_the_heart(background):
    heart = np.zeros(background.lungs.shape, dtype=bool)
    heart[150:200, :29] = True
    hidden = Background(background.pixels, MM, background.lungs, 0.0, 255.0, heart=heart)
    law = CaseLaw(nodules=NoduleLaw(behind_heart=0.5))
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


def test_nodules_survive_their_table(background, tmp_path):
    law = CaseLaw(nodules=NoduleLaw(spiculated=0.5, with_spicules=0.5))
    cases = {
        f"i{s}": draw_case(background, ["R1"], law, np.random.default_rng(s), n_nodules=2) for s in range(8)
    }
    table = pd.DataFrame([row for name, case in cases.items() for row in nodule_rows(name, case.nodules)])
    table.to_csv(tmp_path / "nodules.csv", index=False)
    again = nodules_by_image(pd.read_csv(tmp_path / "nodules.csv", dtype={"image_id": str}))
    assert {name: tuple(nodules) for name, nodules in again.items()} == {
        n: c.nodules for n, c in cases.items()
    }


def test_a_damaged_row_is_named(background):
    case = draw_case(background, ["R1"], CaseLaw(), np.random.default_rng(0), n_nodules=1)
    table = pd.DataFrame(nodule_rows("i7", case.nodules)).assign(harmonics="2:x:1")
    with pytest.raises(TableError, match="N1 of image i7"):
        nodules_by_image(table)


def test_mark_ids_are_unique(background):
    case = draw_case(
        background, [f"R{i}" for i in range(1, 9)], CaseLaw(), np.random.default_rng(2), n_nodules=3
    )
    ids = [row["mark_id"] for row in mark_rows("a", case)]
    assert len(ids) == len(set(ids)) > 3
