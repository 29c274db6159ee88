import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.froc import AlphaRule, PathModels, ScoredSplit, choose_alpha, match_detections

LAMBDAS = [0.02, 0.04, 0.06, 0.08, 0.16]
FEATURES = [300, 120, 67, 40, 5]


def matching(n_images, prefix):
    """One GT and two candidates an image: number 0 hits it, number 1 does not."""
    ids = [f"{prefix}{k}" for k in range(n_images)]
    candidates = pd.DataFrame(
        {
            "image_id": np.repeat(ids, 2),
            "candidate_id": ["hit", "other"] * n_images,
            "x_mm": [10.0, 90.0] * n_images,
            "y_mm": 10.0,
            "score": 0.0,
        }
    )
    truth = pd.DataFrame(
        {
            "image_id": ids,
            "truth_id": "g",
            "x_mm": 10.0,
            "y_mm": 10.0,
            "semi_major_mm": 5.0,
            "semi_minor_mm": 5.0,
            "angle_deg": 0.0,
            "n_readers": 2,
        }
    )
    return match_detections(candidates, truth, pd.DataFrame({"image_id": ids}))


def scores(n_images, sensitivities):
    """Scores whose sensitivity is the given one at any FP per image below 1.

    False positives score 0 .. n - 1, a GT that is to be found n, any other -1.
    """
    columns = []
    for sensitivity in sensitivities:
        found = np.arange(n_images) < round(sensitivity * n_images)
        columns.append(np.stack([np.where(found, n_images, -1.0), np.arange(n_images)], axis=1).ravel())
    return np.stack(columns, axis=1)


def choose(training, validation, *, n_features=FEATURES, normalizations=None, n_bootstrap=30, seed=0, **rule):
    return choose_alpha(
        PathModels(LAMBDAS, n_features, normalizations),
        ScoredSplit(matching(100, "t"), scores(100, training)),
        ScoredSplit(matching(50, "v"), scores(50, validation)),
        # At FP = 1.0 every candidate is shown, so the rule is judged at two values below.
        AlphaRule(**({"fp_targets": (0.5, 0.8)} | rule)),
        n_bootstrap=n_bootstrap,
        seed=seed,
    )


def test_by_hand():
    # Overfitted at 0.02 (gap 0.2); good at 0.04 and 0.06; 0.08 within 2 points; 0.16 far below.
    result = choose([0.90, 0.74, 0.72, 0.70, 0.50], [0.70, 0.72, 0.72, 0.70, 0.50])
    assert result.intersects
    assert result.widening == 0
    assert (result.alpha, result.n_features, result.position) == (0.08, 40, 3)
    first = result.table[result.table["fp_target"] == 0.5]
    assert first["accepted"].tolist() == [False, True, True, True, False]
    np.testing.assert_allclose(first["gt_sensitivity_gap"], [0.2, 0.02, 0, 0, 0], atol=1e-12)
    assert result.intervals[["lowest", "highest", "n_accepted"]].to_numpy().tolist() == [[0.04, 0.08, 3]] * 2
    best = choose([0.90, 0.74, 0.72, 0.70, 0.50], [0.70, 0.72, 0.72, 0.70, 0.50], pick="best")
    # 0.04 and 0.06 are equally good on validation: the sparser wins.
    assert best.alpha == 0.06


def test_bounds_are_inclusive():
    result = choose([0.75, 0.70, 0.68, 0.66, 0.70], [0.70, 0.70, 0.68, 0.66, 0.64], max_gap=0.05)
    assert result.table["accepted"][:5].tolist() == [True, True, True, False, False]
    assert result.alpha == 0.06


def test_disjoint_intervals_warn_and_give_the_nearest():
    with pytest.warns(UserWarning, match=r"do not intersect; .* 0\.100 wider"):
        result = choose([0.9, 0.85, 0.85, 0.9, 0.9], [0.7, 0.7, 0.7, 0.7, 0.7], max_gap=0.05)
    assert not result.intersects
    assert result.widening == pytest.approx(0.1)
    assert result.alpha == 0.06
    assert result.intervals["lowest"].isna().all()


def test_intersection_over_fp_values():
    """Two FP values that accept different models: only a common one is chosen."""
    rule = AlphaRule()
    models = PathModels(LAMBDAS, FEATURES)
    valid = np.array([[0.50, 0.60], [0.50, 0.66], [0.49, 0.66], [0.49, 0.60], [0.30, 0.66]])[..., None]
    valid = np.repeat(valid, 2, axis=2)
    excess = rule.excess(valid, valid)
    accepted = excess <= 1e-9
    assert accepted[:, 0].tolist() == [True, True, True, True, False]
    assert accepted[:, 1].tolist() == [False, True, True, False, True]
    assert rule.choose(excess, valid, models) == 2
    assert AlphaRule(pick="best").choose(excess, valid, models) == 1


def test_image_sensitivity_counts_too():
    rule = AlphaRule()
    valid = np.array([[[0.7, 0.7]], [[0.7, 0.5]]])
    np.testing.assert_allclose(rule.excess(valid, valid)[:, 0], [-0.02, 0.18])


def test_normalizations_compete():
    result = choose(
        [0.7] * 5, [0.7, 0.7, 0.7, 0.6, 0.6], normalizations=["bags", "bags", "class", "class", "class"]
    )
    assert (result.normalization, result.alpha) == ("class", 0.06)


def test_frequencies_are_a_distribution_and_repeatable():
    first, again = (choose([0.7] * 5, [0.7, 0.7, 0.7, 0.68, 0.6], n_bootstrap=60, seed=3) for _ in range(2))
    assert first.frequencies["frequency"].sum() == pytest.approx(1)
    assert first.frequencies.equals(again.frequencies)
    assert first.frequencies["frequency"].max() < 1
    assert 0 <= first.disjoint_share <= 1


def test_a_clear_case_is_always_chosen():
    result = choose([0.9, 0.9, 0.9, 0.2, 0.1], [0.3, 0.3, 0.9, 0.2, 0.1], n_bootstrap=40, max_gap=0.2)
    assert result.alpha == 0.06
    assert result.frequencies["frequency"][2] == 1


def test_refusals():
    with pytest.raises(InvalidInputError, match="pick"):
        choose([0.7] * 5, [0.7] * 5, pick="median")
    with pytest.raises(InvalidInputError, match="tolerance"):
        choose([0.7] * 5, [0.7] * 5, tolerance=-1)
    with pytest.raises(InvalidInputError, match="validation_scores: shape"):
        choose([0.7] * 5, [0.7] * 4)
    with pytest.raises(InvalidInputError, match="n_features"):
        choose([0.7] * 5, [0.7] * 5, n_features=[1, 2])
    with pytest.raises(InvalidInputError, match="normalizations"):
        choose([0.7] * 5, [0.7] * 5, normalizations=["bags"])
    train = matching(4, "t")
    empty = match_detections(
        pd.DataFrame({"image_id": ["x"], "x_mm": [1.0], "y_mm": [1.0], "score": [1.0]}),
        train.geometry.truth.iloc[:0],
        pd.DataFrame({"image_id": ["x"]}),
    )
    with pytest.raises(InvalidInputError, match="no target"):
        choose_alpha(
            PathModels(1, 1), ScoredSplit(train, np.zeros((8, 1))), ScoredSplit(empty, np.zeros((1, 1)))
        )


def test_the_models_of_several_paths_are_listed_one_after_the_other():
    class Path:
        def __init__(self, alphas, n_features):
            self.alphas_, self.n_features_ = np.array(alphas), np.array(n_features)

    models = PathModels.of_paths({"bags": Path([0.2, 0.1], [3, 5]), "class": Path([0.4], [2])})
    assert models.frame().to_numpy().tolist() == [[0.2, "bags", 3], [0.1, "bags", 5], [0.4, "class", 2]]
