"""Generic features of candidates in pictures, and what lies around them."""

import numpy as np
import pandas as pd
import pytest

from overread.domains import GENERIC_FEATURES, PictureImage, extract_generic
from overread.domains.picture._features import (
    RHO,
    Surroundings,
    _respond_to_lines,
    generic_names,
    mean_between,
    spread_between,
)
from planted_field import BLOBS, MM_PER_PX, make_field


@pytest.fixture(scope="module")
def candidates():
    x, y, radius = (MM_PER_PX * (np.array(BLOBS) + np.array([0.5, 0.5, 0.0]))).T
    ids, response = [f"{number:04d}" for number in range(len(BLOBS))], 5.0 - np.arange(len(BLOBS))
    return pd.DataFrame({"candidate_id": ids, "x": x, "y": y, "radius": radius, "response": response})


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
    moved = candidates.assign(x=candidates["y"], y=220 * MM_PER_PX - candidates["x"])
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


SHAPE = (240, 500)
DISC, LINE = (120.0, 120.0), (350.0, 120.0)
RADIUS = 8.0


def make_planes(depths: dict[str, float]) -> dict[str, np.ndarray]:
    """A ground of 0.5 with a disc and an upright line, each of which takes exp(-depth) of the light."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    there = (np.hypot(x - DISC[0], y - DISC[1]) < RADIUS) | (np.abs(x - LINE[0]) < 3)
    noise = np.random.default_rng(0).normal(0, 0.004, SHAPE)
    return {name: (0.5 * np.exp(-depth * there) + noise).astype(np.float32) for name, depth in depths.items()}


@pytest.fixture(scope="module")
def table():
    planes = make_planes({"main": 0.3, "red": 0.1, "green": 0.3, "blue": 0.2})
    planes |= {
        "red_green": planes["red"] - planes["green"],
        "yellow_blue": (planes["red"] + planes["green"]) / 2 - planes["blue"],
    }
    field = PictureImage(planes, np.ones(SHAPE, dtype=bool), 1.0)
    rows = [("disc", *DISC, RADIUS, 2.0), ("line", *LINE, RADIUS, 1.0)]
    candidates = pd.DataFrame(rows, columns=["candidate_id", "x", "y", "radius", "response"])
    candidates[["x", "y"]] += 0.5
    return extract_generic(field, candidates).set_index("candidate_id")


def test_density_is_that_of_the_disc(table):
    """Light falls by exp(-depth); 0.02 is added to both before the logarithm, which takes 4 % of it."""
    for name, depth in (("red", 0.1), ("green", 0.3), ("blue", 0.2)):
        assert table.loc["disc", f"density.{name}"] == pytest.approx(0.96 * depth, abs=0.025)
    assert table.loc["disc", "density.red_to_green"] == pytest.approx(0.1 / 0.35, abs=0.07)


def test_the_component_of_a_disc_is_the_disc_and_that_of_a_line_is_long(table):
    for threshold in ("t13", "t20", "t30"):
        disc, line = (
            table.loc[
                name, [f"component.{threshold}.{word}" for word in ("area", "share", "reach", "length")]
            ]
            for name in ("disc", "line")
        )
        assert np.expm1(disc.iloc[0]) == pytest.approx(np.pi * RADIUS**2, rel=0.15)
        assert np.expm1(disc.iloc[1]) == pytest.approx(1.0, rel=0.15)
        # The box around a disc has a diagonal of 2 sqrt(2) R; a line crosses the whole picture.
        assert np.exp(disc.iloc[2]) == pytest.approx(np.sqrt(2), rel=0.15)
        assert np.exp(line.iloc[2]) > 10
        assert line.iloc[3] > 3 * disc.iloc[3]


def test_lines_answer_one_sidedly(table):
    assert table.loc["line", "lines.fine.dark.one_sided"] > 2 * table.loc["disc", "lines.fine.dark.one_sided"]
    assert table.loc["line", "lines.fine.dark.best"] > table.loc["line", "lines.fine.bright.best"]


def test_the_best_direction_is_that_of_the_line():
    y, x = np.mgrid[:200, :200]
    for number, angle in ((0, 0.0), (3, np.pi / 4), (6, np.pi / 2)):
        away = np.abs((y - 100) * np.cos(angle) - (x - 100) * np.sin(angle))
        plane = (away < 2).astype(np.float32)
        answers = [response[100, 100] for response in _respond_to_lines(plane, 2.0)]
        assert int(np.argmax(answers)) == number


def test_others_see_the_other(table):
    """The two lie 230 of 500 pixels apart: nobody is within 10 % of the width."""
    assert (table["others.sum_within100"] == 0).all()
    assert table["others.contrast_share"].max() == pytest.approx(1.0, abs=0.1)
    assert np.allclose(table["others.strong"], np.log(3))


def test_far_and_inside_are_in_order(table):
    assert (table["inside.most"] >= table["inside.low"]).all()
    assert (table["far.most"] >= table["far.high"]).all()
    assert table.loc["line", "far.high"] > table.loc["disc", "far.high"]


@pytest.fixture
def around() -> Surroundings:
    plane = np.tile(np.arange(200, dtype=np.float32), (150, 1))
    field = PictureImage({"main": plane}, np.ones(plane.shape, dtype=bool), 1.0)
    places = np.array([100.0, 60.0]), np.array([70.0, 80.0])
    return Surroundings(field, *places, np.array([5.0, 10.0]), np.array([1.0, 2.0]))


def test_a_slope_has_the_mean_of_the_centre_and_a_known_spread(around):
    """Over a disc the mean of x is that of its centre; over rays its variance is rho^2 R^2 / 2."""
    samples = around.sample(around.field.planes["main"])
    np.testing.assert_allclose(mean_between(samples, 0, 1), [100, 60], atol=1e-4)
    inside = RHO < 1
    expected = np.array([5.0, 10.0]) * np.sqrt((RHO[inside] ** 2).mean() / 2)
    np.testing.assert_allclose(spread_between(samples, 0, 1), expected, rtol=1e-4)


def test_means_weigh_as_areas_do(around):
    """Mean of rho over a disc is 2/3."""
    samples = np.broadcast_to(RHO, (2, 24, len(RHO)))
    np.testing.assert_allclose(mean_between(samples, 0, 1), 2 / 3, rtol=0.01)


def test_pixels_stay_in_the_picture(around):
    rows, columns = Surroundings(
        around.field, np.array([-3.0, 250.0]), np.array([149.7, 10.2]), np.ones(2), np.ones(2)
    ).pixels
    assert rows.tolist() == [149, 10]
    assert columns.tolist() == [0, 199]
