"""A candidate on several objects trains with the label of the most probable one."""

import numpy as np
import pandas as pd
import pytest

from overread.bags import make_bags


def draw_tables(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Candidates, features and discs that often lie on each other."""
    random = np.random.default_rng(seed)
    candidates = pd.DataFrame({"image_id": random.choice(["a", "b", "c"], 40)})
    candidates["candidate_id"] = [f"{number}" for number in range(40)]
    candidates[["x_mm", "y_mm"]] = random.uniform(0, 60, (40, 2))
    truth = pd.DataFrame({"image_id": random.choice(["a", "b", "c"], 15)})
    truth["truth_id"] = [f"t{number}" for number in range(15)]
    truth[["x_mm", "y_mm"]] = random.uniform(0, 60, (15, 2))
    truth["semi_major_mm"] = truth["semi_minor_mm"] = random.uniform(8, 20, 15)
    truth["angle_deg"] = 0.0
    truth["probability"] = random.choice([0.03, 0.04, 0.5, 0.75], 15)
    truth["golden"] = truth["probability"] > 0.1
    features = candidates[["image_id", "candidate_id"]].assign(f=random.normal(size=40))
    return candidates, features, truth


def test_the_review_s_case_keeps_its_golden_bag():
    """One candidate on a golden object, and on a nearer one that a single reader drew."""
    candidates = pd.DataFrame([("a", "0", 10.0, 10.0)], columns=["image_id", "candidate_id", "x_mm", "y_mm"])
    truth = pd.DataFrame(
        [("a", "golden", 14.0, 10.0, 0.75, True), ("a", "single", 10.5, 10.0, 0.03, False)],
        columns=["image_id", "truth_id", "x_mm", "y_mm", "probability", "golden"],
    ).assign(semi_major_mm=8.0, semi_minor_mm=8.0, angle_deg=0.0)
    features = candidates[["image_id", "candidate_id"]].assign(f=1.0)
    bags = make_bags(candidates, features, truth)
    assert bags.labels.tolist() == [0.75]
    assert bags.bag_table["truth_id"].tolist() == ["golden"]


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_those_of_a_recount(seed):
    """As calibration counts: the highest probability of all discs that it lies in, 0 in none."""
    candidates, features, truth = draw_tables(seed)
    bags = make_bags(candidates, features, truth)
    of_candidate = dict(zip(bags.instance_ids, bags.labels[bags.bag_of_instance], strict=True))
    on_several = 0
    for one in candidates.to_dict("records"):
        near = truth[truth["image_id"] == one["image_id"]]
        distance = np.hypot(near["x_mm"] - one["x_mm"], near["y_mm"] - one["y_mm"])
        hit = near.loc[distance <= near["semi_major_mm"], "probability"]
        on_several += hit.nunique() > 1
        assert of_candidate[one["image_id"], one["candidate_id"]] == max(hit, default=0.0)
    assert on_several
