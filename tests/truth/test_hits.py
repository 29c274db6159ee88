"""The rule of hits, against shapely and the plain definition."""

import numpy as np
import pandas as pd
import pytest
import shapely

from overread.errors import TableError
from overread.marks import Ellipse
from overread.truth import HIT, STRICT_HIT, DistanceHit, EllipseHit, OverlapHit, candidate_hits

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
    truth = pd.DataFrame(
        {
            "image_id": ["a"],
            "x_mm": 0.0,
            "y_mm": 0.0,
            "semi_major_mm": 8.0,
            "semi_minor_mm": 8.0,
            "angle_deg": 0.0,
        }
    )
    assert candidate_hits(candidates, truth)["distance"].tolist() == [5 / 16]


def test_rows_are_positions_whatever_the_index():
    candidates, truth = random_tables(1)
    plain = candidate_hits(candidates, truth)
    candidates.index, truth.index = candidates.index[::-1] * 7, truth.index + 1000
    pd.testing.assert_frame_equal(candidate_hits(candidates, truth), plain)
    assert plain.equals(plain.sort_values(["candidate_row", "truth_row"], ignore_index=True))


def test_ids_are_compared_exactly():
    candidates = pd.DataFrame({"image_id": ["00123", "1.10", "NA"], "x_mm": 0.0, "y_mm": 0.0})
    truth = pd.DataFrame(
        {
            "image_id": ["123", "1.1", "NA"],
            "x_mm": 0.0,
            "y_mm": 0.0,
            "semi_major_mm": 9.0,
            "semi_minor_mm": 9.0,
            "angle_deg": 0.0,
        }
    )
    assert candidate_hits(candidates, truth)[["candidate_row", "truth_row"]].to_numpy().tolist() == [[2, 2]]


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
