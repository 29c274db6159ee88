"""Context of candidates, where it is known by construction: discs, lines, and densities of light."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.domains import PictureImage, extract_generic
from overread.domains.picture._context_features import _respond_to_lines

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
    candidates = pd.DataFrame(rows, columns=["candidate_id", "x_mm", "y_mm", "radius_mm", "response"])
    candidates[["x_mm", "y_mm"]] += 0.5
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
