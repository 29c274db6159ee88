"""Generic features: finite, named, and unchanged where the picture is turned or its exposure changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.domains import GENERIC_FEATURES, PictureImage, extract_generic
from overread.domains.picture._features import generic_names
from planted_field import BLOBS, MM_PER_PX, make_field


@pytest.fixture(scope="module")
def candidates():
    rows = [
        (
            f"{number:04d}",
            (column + 0.5) * MM_PER_PX,
            (row + 0.5) * MM_PER_PX,
            radius * MM_PER_PX,
            5.0 - number,
        )
        for number, (column, row, radius) in enumerate(BLOBS)
    ]
    return pd.DataFrame(rows, columns=["candidate_id", "x_mm", "y_mm", "radius_mm", "response"])


def test_every_feature_has_a_meaning_and_is_finite(candidates):
    table = extract_generic(make_field(), candidates)
    assert list(table.columns) == ["candidate_id", *generic_names(colour=False)]
    assert set(generic_names(colour=False)) < set(GENERIC_FEATURES)
    assert np.isfinite(table.drop(columns="candidate_id").to_numpy()).all()


def test_a_disc_is_round_even_and_of_its_size(candidates):
    """Known by construction: contrast 0.1 on noise of 0.004, the outline at R, no elongation, the fall at R."""
    table = extract_generic(make_field(line=False), candidates)
    assert np.abs(table["main.contrast"] / (0.1 / 0.004) - 1).max() < 0.15
    assert np.abs(table["shape.radius"] - 1).max() < 0.15
    assert (table["shape.elongation"] < 0.06).all()
    assert np.abs(table["profile.steepest_at"] - 1).max() < 0.2
    assert (table["shape.open"] == 0).all()
    assert (table["candidate.sign"] == 1).all()


def test_a_dark_disc_mirrors_a_bright_one(candidates):
    """All that looks towards the candidate's sign is the same; contrasts change theirs."""
    bright, dark = (extract_generic(make_field(sign, seed=3, line=False), candidates) for sign in (1.0, -1.0))
    for name in ("shape.radius", "profile.level0", "edge.mean", "curvature.small.s070"):
        assert np.allclose(bright[name], dark[name], rtol=0.25), name
    assert np.allclose(bright["main.contrast"], -dark["main.contrast"], rtol=0.05)


def test_turned_by_a_quarter_nothing_changes_but_the_place(candidates):
    field = make_field(shape=(220, 220), line=False)
    turned = PictureImage(
        {name: np.ascontiguousarray(np.rot90(plane)) for name, plane in field.planes.items()},
        np.rot90(field.region).copy(),
        field.mm_per_px,
    )
    moved = candidates.assign(x_mm=candidates["y_mm"], y_mm=220 * MM_PER_PX - candidates["x_mm"])
    before, after = extract_generic(field, candidates), extract_generic(turned, moved)
    same = [name for name in generic_names(colour=False) if name not in ("place.x", "place.y")]
    assert np.allclose(before[same], after[same], rtol=1e-3, atol=1e-3)
    assert np.allclose(before["place.x"], -after["place.y"], atol=1e-6)


def test_exposure_changes_nothing(candidates):
    """No feature sees a linear change of the exposure."""
    field = make_field()
    exposed = PictureImage(
        {"main": field.planes["main"] * np.float32(0.5) + np.float32(0.2)}, field.region, MM_PER_PX
    )
    before, after = extract_generic(field, candidates), extract_generic(exposed, candidates)
    free = [
        name
        for name in generic_names(colour=False)
        if name.split(".")[0] in ("profile", "shape", "edge", "line", "curvature")
    ]
    assert np.allclose(before[free], after[free], rtol=1e-2, atol=1e-2)


def test_colour_adds_its_planes(candidates):
    grey = make_field().planes["main"]
    planes = dict.fromkeys(("main", "red", "green", "blue"), grey)
    planes |= {"red_green": grey * 0, "yellow_blue": grey * 0}
    table = extract_generic(PictureImage(planes, np.ones(grey.shape, dtype=bool), MM_PER_PX), candidates)
    assert list(table.columns[1:]) == generic_names(colour=True)
    assert (table["red_green.contrast"] == 0).all()


def test_no_candidates_no_rows(candidates):
    table = extract_generic(make_field(), candidates.iloc[:0])
    assert len(table) == 0
    assert list(table.columns[1:]) == generic_names(colour=False)


def test_one_candidate_has_no_neighbours(candidates):
    table = extract_generic(make_field(), candidates.iloc[:1])
    assert table["neighbours.within100"].tolist() == [0]
    assert np.isfinite(table.drop(columns="candidate_id").to_numpy()).all()
