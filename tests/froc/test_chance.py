import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.froc import chance_level, match_detections, operating_points


def test_exact_level_against_the_definition(definition, make_tables):
    """Mean over every other image j of "some candidate of j would hit the GT", and at the thresholds."""
    candidates, truth, images = make_tables(5, 6, 40, 10, 1000)
    result = chance_level(candidates, truth, images, n_shifts=None)
    points = operating_points(match_detections(candidates, truth, images))
    assert result.exact
    assert result.n_shifts == 5
    golden = [g for g in truth.itertuples() if g.golden]
    for threshold, expected in [
        (-np.inf, result.chance_reached),
        *zip(points["threshold"], result.points["chance_gt_sensitivity"], strict=True),
    ]:
        total = 0
        for gt in golden:
            for other in set(images["image_id"]) - {gt.image_id}:
                moved = candidates[candidates["image_id"] == other].assign(image_id=gt.image_id)
                total += any(c.score >= threshold and definition.is_hit(c, gt) for c in moved.itertuples())
        assert expected == pytest.approx(total / len(golden) / 5)


def test_fewer_shifts_estimate_the_exact_level(make_tables):
    tables = make_tables(6, 40, 300, 40, 1000)
    exact = chance_level(*tables, n_shifts=None).chance_reached
    estimates = [chance_level(*tables, n_shifts=4, seed=seed).chance_reached for seed in range(20)]
    assert np.mean(estimates) == pytest.approx(exact, abs=0.02)
    assert chance_level(*tables, n_shifts=4, seed=1).points.equals(
        chance_level(*tables, n_shifts=4, seed=1).points
    )


def test_knowing_candidates_beat_chance():
    ids = [f"i{k}" for k in range(30)]
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 300, 30)
    truth = pd.DataFrame({"image_id": ids, "x_mm": x, "y_mm": 0.0})
    truth = truth.assign(semi_major_mm=5.0, semi_minor_mm=5.0, angle_deg=0.0)
    candidates = pd.DataFrame({"image_id": ids, "x_mm": x, "y_mm": 0.0, "score": 1.0})
    result = chance_level(candidates, truth, pd.DataFrame({"image_id": ids}), n_shifts=None)
    assert result.reached == 1
    assert result.chance_reached < 0.1
    wide = chance_level(
        candidates.assign(x_mm=50.0), truth.assign(x_mm=50.0), pd.DataFrame({"image_id": ids}), n_shifts=3
    )
    assert (wide.reached, wide.chance_reached) == (1, 1)


def test_one_image_has_no_other(make_tables):
    with pytest.raises(InvalidInputError, match="two images"):
        chance_level(*make_tables(1, 1, 5, 2, 10))


def test_no_targets(make_tables):
    candidates, truth, images = make_tables(1, 4, 5, 0, 10)
    assert np.isnan(chance_level(candidates, truth, images).chance_reached)
