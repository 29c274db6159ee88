"""The rule of hits, against shapely and the plain definition.

The code blocks of docs/how-to/add_a_hit_rule.md run in order, and the rule shows up where it should.

The rules themselves and the registry that settings and commands are made from.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from overread.cli._froc_inputs import counting_fields
from overread.errors import InvalidInputError, TableError
from overread.marks import Ellipse
from overread.truth import (
    HIT,
    HIT_RULES,
    STRICT_HIT,
    DistanceHit,
    EllipseHit,
    OverlapHit,
    candidate_hits,
    hit_rule_parameters,
    make_hit_rule,
)

RULES = [
    HIT,
    STRICT_HIT,
    EllipseHit(margin=3.0),
    DistanceHit(9.0),
    OverlapHit(0.1),
]


def random_tables(seed, n_candidates=300, n_truth=30, n_images=6):
    rng = np.random.default_rng(seed)
    candidates = pd.DataFrame(
        {
            "image_id": rng.integers(0, n_images, n_candidates).astype(str),
            "x_mm": rng.uniform(0, 80, n_candidates),
            "y_mm": rng.uniform(0, 80, n_candidates),
            "radius_mm": rng.uniform(2, 12, n_candidates),
        }
    )
    truth = pd.DataFrame(
        {
            "image_id": rng.integers(1, n_images + 1, n_truth).astype(str),
            "x_mm": rng.uniform(0, 80, n_truth),
            "y_mm": rng.uniform(0, 80, n_truth),
            "semi_major_mm": rng.uniform(8, 20, n_truth),
            "semi_minor_mm": rng.uniform(1, 8, n_truth),
            "angle_deg": rng.uniform(0, 180, n_truth),
        }
    )
    return candidates, truth


def discs(image_ids, radius):
    """GTs at the origin."""
    place = {"x_mm": 0.0, "y_mm": 0.0, "semi_major_mm": radius, "semi_minor_mm": radius, "angle_deg": 0.0}
    return pd.DataFrame({"image_id": image_ids} | place)


def shape(x, y, a, b, angle):
    return shapely.Polygon(Ellipse(x, y, a, b, angle).outline(2048))


def hits_by_definition(c, t, rule):
    """Whether one candidate hits one GT, with shapely's geometry; None where polygons cannot tell."""
    point = shapely.Point(c.x_mm, c.y_mm)
    if rule.kind == "distance":
        return point.distance(shapely.Point(t.x_mm, t.y_mm)) <= rule.max_distance
    if rule.kind == "overlap":
        disc = shape(c.x_mm, c.y_mm, c.radius_mm, c.radius_mm, 0)
        gt = shape(t.x_mm, t.y_mm, t.semi_major_mm, t.semi_minor_mm, t.angle_deg)
        share = disc.intersection(gt).area / max(disc.area, gt.area)
        return None if abs(share - rule.min_overlap) < 1e-4 else share > rule.min_overlap
    a, b = (
        max(rule.scale * axis, rule.in_unit("mm").min_semi_axis) + rule.margin
        for axis in (t.semi_major_mm, t.semi_minor_mm)
    )
    gt = shape(t.x_mm, t.y_mm, a, b, t.angle_deg)
    return None if gt.exterior.distance(point) < 1e-3 else gt.contains(point)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.describe())
def test_hits_follow_the_definition(rule):
    candidates, truth = random_tables(0)
    found = set(
        zip(
            *(candidate_hits(candidates, truth, rule)[name] for name in ("candidate_row", "truth_row")),
            strict=True,
        )
    )
    n_hits = 0
    for i, c in enumerate(candidates.itertuples()):
        for j, t in enumerate(truth.itertuples()):
            expected = c.image_id == t.image_id and hits_by_definition(c, t, rule)
            if expected is not None:
                assert ((i, j) in found) == expected
                n_hits += expected
    assert n_hits > 5


def test_distance_is_over_the_equal_area_diameter():
    candidates = pd.DataFrame({"image_id": ["a"], "x_mm": [3.0], "y_mm": [4.0]})
    assert candidate_hits(candidates, discs(["a"], 8.0))["distance"].tolist() == [5 / 16]


def test_rows_are_positions_whatever_the_index():
    candidates, truth = random_tables(1)
    plain = candidate_hits(candidates, truth)
    candidates.index, truth.index = candidates.index[::-1] * 7, truth.index + 1000
    pd.testing.assert_frame_equal(candidate_hits(candidates, truth), plain)
    assert plain.equals(plain.sort_values(["candidate_row", "truth_row"], ignore_index=True))


def test_ids_are_compared_exactly():
    candidates = pd.DataFrame({"image_id": ["00123", "1.10", "NA"], "x_mm": 0.0, "y_mm": 0.0})
    hits = candidate_hits(candidates, discs(["123", "1.1", "NA"], 9.0))
    assert hits[["candidate_row", "truth_row"]].to_numpy().tolist() == [[2, 2]]


def test_empty_tables_give_no_hits():
    candidates, truth = random_tables(2)
    for hits in (candidate_hits(candidates[:0], truth), candidate_hits(candidates, truth[:0])):
        assert hits.empty
        assert list(hits.columns) == ["candidate_row", "truth_row", "distance"]


def test_tables_that_cannot_be_used_are_refused():
    candidates, truth = random_tables(3)
    with pytest.raises(TableError, match="y_mm"):
        candidate_hits(candidates.drop(columns="y_mm"), truth)
    with pytest.raises(TableError, match="image_id"):
        candidate_hits(candidates.drop(columns="image_id"), truth)
    with pytest.raises(TableError, match="row 4, column x_mm"):
        candidate_hits(candidates.assign(x_mm=candidates["x_mm"].where(candidates.index != 4)), truth)


def test_a_rule_that_needs_radii_refuses_candidates_without_a_size():
    candidates, truth = random_tables(4)
    with pytest.raises(TableError, match="no column radius_mm"):
        candidate_hits(candidates.drop(columns="radius_mm"), truth, OverlapHit(0.1))
    with pytest.raises(TableError, match="above 0 for the rule overlap; row 7 has 0"):
        candidate_hits(candidates.assign(radius_mm=np.r_[np.ones(7), np.zeros(293)]), truth, OverlapHit(0.1))


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add_a_hit_rule.md"


@pytest.fixture
def scope():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    found = {"__name__": "how_to"}
    known = dict(HIT_RULES)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), found)
    yield found
    HIT_RULES.clear()
    HIT_RULES.update(known)


def test_the_page_runs_and_the_commands_know_the_rule(scope):
    assert scope["rule"].describe() == "GT's centre in the candidate's disc, widened by 2 mm"
    (parameter,) = hit_rule_parameters()["disc"]
    assert (parameter.name, parameter.default) == ("slack", 0.0)
    assert "slack" in [name for name, *_ in counting_fields()]


def test_a_new_rule_leaves_the_records_of_the_others_alone(scope):
    from overread.froc import Counting

    assert "slack" not in Counting().rule_record()
    assert Counting(rule=scope["rule"]).rule_record()["slack"] == 2.0


RULES_IN_MM = [rule.in_unit("mm") for rule in RULES]


@pytest.mark.parametrize(
    ("name", "parameters", "rule"),
    [
        ("hit", {}, HIT),
        ("strict", {}, STRICT_HIT),
        ("strict", {"margin": 2.0}, replace(STRICT_HIT, margin=2.0)),
        ("hit", {"margin": None, "scale": 2.0}, EllipseHit(scale=2.0)),
        ("distance", {"max_distance": 7}, DistanceHit(7.0)),
        ("overlap", {"min_overlap": 0.0}, OverlapHit(0.0)),
    ],
)
def test_rules_are_made_by_name(name, parameters, rule):
    assert make_hit_rule(name, **parameters) == rule


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("near", {}, "use hit, strict, distance or overlap"),
        ("distance", {}, "kind 'distance' needs max_distance >= 0, not None"),
        ("distance", {"max_distance": -1}, "needs max_distance >= 0, not -1"),
        ("distance", {"max_distance": 5, "scale": 1}, "has no scale; it has max_distance"),
        ("overlap", {}, "kind 'overlap' needs min_overlap in"),
        ("overlap", {"min_overlap": 1.0}, "kind 'overlap' needs min_overlap in"),
        ("hit", {"scale": 0.0}, "scale must be above 0"),
        ("hit", {"margin": -1.0}, "margin must be 0 to 100 mm"),
        ("strict", {"min_semi_axis": float("nan")}, "min_semi_axis must be 0 to 100 mm"),
    ],
)
def test_rules_that_mean_nothing_are_refused(name, parameters, words):
    with pytest.raises(InvalidInputError, match="hit rule") as caught:
        make_hit_rule(name, **parameters)
    assert words in str(caught.value)


def test_a_rule_in_pixels_needs_its_lengths_in_pixels():
    assert EllipseHit(min_semi_axis=150.0).in_unit("px").describe().endswith("at least 150 px")
    assert DistanceHit(300.0).in_unit("percent").describe().startswith("centre at most 300 % of the width")
    with pytest.raises(InvalidInputError, match=r"min_semi_axis is 5 mm .* give min_semi_axis in px"):
        HIT.in_unit("px")
    with pytest.raises(InvalidInputError, match="min_semi_axis must be 0 to 100 mm, not 150"):
        EllipseHit(min_semi_axis=150.0).in_unit("mm")
    with pytest.raises(InvalidInputError, match="its lengths are in px, those of the tables in mm"):
        EllipseHit(min_semi_axis=15.0, unit="px").in_unit("mm")


def test_every_rule_describes_itself():
    assert len({rule.describe() for rule in RULES_IN_MM}) == len(RULES_IN_MM)
    assert HIT.describe() == "centre in the GT's ellipse, semi-axes at least 5 mm"
    assert replace(STRICT_HIT, margin=1.0).describe() == (
        "centre in the GT's ellipse, semi-axes times 0.5 at least 4 mm, widened by 1 mm"
    )


def test_parameters_say_what_they_are():
    listed = hit_rule_parameters()
    assert list(listed) == list(HIT_RULES) == ["hit", "strict", "distance", "overlap"]
    defaults = {rule: {one.name: one.default for one in parameters} for rule, parameters in listed.items()}
    assert defaults == {
        "hit": {"scale": 1.0, "min_semi_axis": None, "margin": 0.0},
        "strict": {"scale": 0.5, "min_semi_axis": None, "margin": 0.0},
        "distance": {"max_distance": None},
        "overlap": {"min_overlap": None},
    }
    assert [HIT.in_unit("mm").min_semi_axis, STRICT_HIT.in_unit("mm").min_semi_axis] == [5.0, 4.0]
    for parameters in listed.values():
        assert all(one.description.endswith(".") for one in parameters)


@given(seed=st.integers(0, 10_000), rule=st.sampled_from(RULES_IN_MM))
def test_no_hit_lies_beyond_the_reach(seed, rule):
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(-30, 30, (50, 2)), rng.uniform(1, 12, 50)])
    axes = np.sort(rng.uniform(1, 20, (50, 2)))[:, ::-1]
    ellipses = np.column_stack([np.zeros((50, 2)), axes, rng.uniform(0, 180, 50)])
    reach, truth_reach = rule.reach(points, ellipses)
    far = np.hypot(points[:, 0], points[:, 1]) > reach + truth_reach
    assert not (rule.hits(points, ellipses) & far).any()
