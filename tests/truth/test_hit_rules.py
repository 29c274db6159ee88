"""The rules themselves and the registry that settings and commands are made from."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import InvalidInputError
from overread.truth import (
    HIT,
    HIT_RULES,
    STRICT_HIT,
    DistanceHit,
    EllipseHit,
    OverlapHit,
    hit_rule_parameters,
    make_hit_rule,
)

RULES = [
    rule.in_unit("mm")
    for rule in (HIT, STRICT_HIT, EllipseHit(margin=3.0), DistanceHit(9.0), OverlapHit(0.1))
]


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
    assert len({rule.describe() for rule in RULES}) == len(RULES)
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


@given(seed=st.integers(0, 10_000), rule=st.sampled_from(RULES))
def test_no_hit_lies_beyond_the_reach(seed, rule):
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(-30, 30, (50, 2)), rng.uniform(1, 12, 50)])
    axes = np.sort(rng.uniform(1, 20, (50, 2)))[:, ::-1]
    ellipses = np.column_stack([np.zeros((50, 2)), axes, rng.uniform(0, 180, 50)])
    reach, truth_reach = rule.reach(points, ellipses)
    far = np.hypot(points[:, 0], points[:, 1]) > reach + truth_reach
    assert not (rule.hits(points, ellipses) & far).any()
