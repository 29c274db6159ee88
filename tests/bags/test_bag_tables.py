"""From bags back to tables."""

import numpy as np
import pytest

from overread.bags import Bags, make_bags, score_table, truth_without_bag
from overread.errors import InvalidInputError


def test_score_table_leads_back_to_candidates(tables):
    candidates, features, truth, _ = tables
    bags = make_bags(candidates, features, truth)
    scores = score_table(bags, soft=bags.instances[:, 0], B1=np.zeros(6))
    assert scores.columns.tolist() == ["image_id", "candidate_id", "soft", "B1"]
    merged = candidates.merge(features).merge(scores)
    np.testing.assert_array_equal(merged["soft"], merged["f"])
    with pytest.raises(InvalidInputError, match="scores soft"):
        score_table(bags, soft=[1.0])


def test_the_truth_is_in_a_bag_or_listed(tables):
    candidates, features, truth, _ = tables
    bags = make_bags(candidates, features, truth)
    listed = truth_without_bag(bags, truth)
    in_bags = {(image, name) for image, kind, name in bags.bag_ids if kind == "truth"}
    assert set(zip(listed["image_id"], listed["truth_id"], strict=True)) == {
        key for key in zip(truth["image_id"], truth["truth_id"], strict=True) if key not in in_bags
    }
    assert 0 < len(listed) < len(truth)


def test_bags_from_elsewhere_are_refused(tables):
    bare = Bags.singletons([[1.0], [2.0]])
    with pytest.raises(InvalidInputError, match="make_bags"):
        score_table(bare)
    with pytest.raises(InvalidInputError, match="make_bags"):
        truth_without_bag(bare, tables[2])
