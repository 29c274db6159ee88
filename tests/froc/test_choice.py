"""The choice among settings: known best ones, few and many patients, and every number counted again.

Columns of scores, from a matrix or one by one.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.froc import (
    CHOICE_FP_TARGETS,
    AlphaRule,
    PathModels,
    ScoredSplit,
    choose_alpha,
    choose_setting,
    match_detections,
    patient_counts,
)
from overread.froc._choice import read_score_columns

# How far the scores of lesions stand out: it grows with the setting, then falls.
SEPARATIONS = np.array([0.0, 0.8, 1.6, 2.4, 2.5, 2.2, 1.2])
BEST = 4
N_FEATURES = np.array([1, 3, 8, 20, 50, 120, 300])


def planted(n_patients, seed=0, separations=SEPARATIONS, noise_of_setting=0.4):
    """Two images a patient, a lesion in each, six candidates beside it; settings share most of their noise."""
    rng = np.random.default_rng(seed)
    ids = [f"i{k:05d}" for k in range(2 * n_patients)]
    images = pd.DataFrame({"image_id": ids, "patient_id": [f"p{k // 2}" for k in range(len(ids))]})
    truth = pd.DataFrame(
        {"image_id": ids, "truth_id": "g", "x_mm": 50.0, "y_mm": 50.0, "semi_major_mm": 6.0}
        | {"semi_minor_mm": 6.0, "angle_deg": 0.0, "n_readers": 3, "golden": True}
    )
    candidates = pd.DataFrame(
        {
            "image_id": np.repeat(ids, 7),
            "candidate_id": [f"c{k}" for k in range(7 * len(ids))],
            "x_mm": np.tile([50.0, 100, 120, 140, 160, 180, 200], len(ids)),
            "y_mm": 50.0,
            "radius_mm": 5.0,
        }
    )
    is_lesion = candidates["x_mm"].to_numpy() == 50.0
    shared = rng.normal(size=len(candidates))
    own = noise_of_setting * rng.normal(size=(len(candidates), len(separations)))
    scores = shared[:, None] + own + is_lesion[:, None] * separations
    return match_detections(candidates, truth, images, scores=np.zeros(len(candidates))), scores


def by_hand(matching, scores, definition, fp_targets=CHOICE_FP_TARGETS):
    return [
        np.mean([definition.sensitivity_at(matching.with_scores(column), fp)[0] for fp in fp_targets])
        for column in scores.T
    ]


def test_the_known_best_is_found_with_many_patients():
    matching, scores = planted(2000)
    choice = choose_setting(matching, scores, N_FEATURES)
    assert choice.position == choice.best == BEST
    assert choice.table["accepted"].tolist() == [False, False, False, False, True, False, False]


def test_of_two_that_are_equally_good_in_truth_the_sparser_is_taken_in_84_percent_of_studies():
    separations = np.where(np.arange(7) == 3, SEPARATIONS[BEST], SEPARATIONS)
    choices = [choose_setting(*planted(300, seed, separations), N_FEATURES) for seed in range(100, 140)]
    chosen = [choice.position for choice in choices]
    assert set(chosen) <= {2, 3, BEST}
    assert 0.7 <= np.mean([position <= 3 for position in chosen]) <= 0.97
    # The error that one study tells is the deviation between studies.
    differences = [np.subtract(*choice.table["sensitivity"][[3, BEST]]) for choice in choices]
    errors = [choice.table["difference_error"][[3, BEST]].max() for choice in choices]
    assert np.std(differences, ddof=1) == pytest.approx(np.mean(errors), rel=0.35)


def test_what_few_patients_choose_is_nearly_as_good_as_the_best():
    """The rule's price, on patients it has not seen: a few points, not the starved model's tens."""
    unseen, columns = planted(1500, seed=99)
    truth = np.array(choose_setting(unseen, columns, N_FEATURES, n_bootstrap=2).table["sensitivity"])
    lost = [
        truth.max() - truth[choose_setting(*planted(40, seed), N_FEATURES).position] for seed in range(10)
    ]
    assert np.mean(lost) < 0.05
    assert max(lost) < 0.2


def test_no_standard_error_takes_the_best():
    matching, scores = planted(60, seed=2)
    choice = choose_setting(matching, scores, N_FEATURES, n_standard_errors=0)
    assert choice.position == choice.best == int(choice.table["sensitivity"].argmax())
    assert choice.n_standard_errors == 0


@pytest.mark.parametrize("seed", range(3))
def test_sensitivities_are_those_counted_by_hand(definition, seed):
    matching, scores = planted(12, seed)
    for targets in (CHOICE_FP_TARGETS, (0.25,), (1.0, 4.0)):
        choice = choose_setting(matching, scores, N_FEATURES, fp_targets=targets)
        assert choice.fp_targets == targets
        assert choice.table["sensitivity"].tolist() == pytest.approx(
            by_hand(matching, scores, definition, targets)
        )
        assert choice.table["difference"].tolist() == pytest.approx(
            choice.table["sensitivity"] - choice.table["sensitivity"].max()
        )


def test_errors_are_those_of_resampled_patients(definition):
    """The deviation of paired differences over 30 draws, each counted by the definition."""
    matching, scores = planted(10, seed=5)
    choice = choose_setting(matching, scores, N_FEATURES, fp_targets=[1.0], n_bootstrap=30, seed=4)
    counts = np.concatenate(list(patient_counts(matching.n_patients, 30, 4)))
    values = np.array(
        [
            [
                definition.sensitivity_at(
                    matching.with_scores(column),
                    1.0,
                    np.repeat(np.arange(matching.n_images), count[matching.patients]),
                )[0]
                for column in scores.T
            ]
            for count in counts
        ]
    )
    assert choice.table["standard_error"].tolist() == pytest.approx(values.std(axis=0, ddof=1))
    differences = values - values[:, [choice.best]]
    assert choice.table["difference_error"].tolist() == pytest.approx(differences.std(axis=0, ddof=1))


def test_of_equal_settings_the_sparsest_is_taken():
    matching, scores = planted(40, seed=3)
    same = np.repeat(scores[:, [BEST]], 4, axis=1)
    choice = choose_setting(matching, same, [30, 10, 20, 10])
    assert choice.position == choice.best == 1
    assert choice.table["difference_error"].tolist() == [0.0] * 4
    assert choice.table["accepted"].all()
    assert choose_setting(matching, same, [30, 10, 20, 10], n_standard_errors=0).position == 1


def test_the_order_of_settings_does_not_matter():
    matching, scores = planted(60, seed=2)
    order = np.random.default_rng(0).permutation(len(SEPARATIONS))
    one = choose_setting(matching, scores, N_FEATURES)
    other = choose_setting(matching, scores[:, order], N_FEATURES[order])
    assert order[other.position] == one.position
    for name in ("sensitivity", "difference_error", "frequency", "accepted"):
        assert other.table[name].tolist() == pytest.approx(one.table[name][order].tolist())


def test_the_same_seed_gives_the_same_choice():
    matching, scores = planted(30, seed=2)
    one, same, other = (choose_setting(matching, scores, N_FEATURES, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.table, same.table)
    assert not one.table["difference_error"].equals(other.table["difference_error"])


def test_nothing_to_find_is_refused():
    matching, _ = planted(5)
    nothing = match_detections(
        pd.DataFrame(
            {"image_id": ["a"], "candidate_id": ["c"], "x_mm": [1.0], "y_mm": [1.0], "score": [0.0]}
        ),
        matching.require_geometry().truth.iloc[:0],
        pd.DataFrame({"image_id": ["a"]}),
    )
    with pytest.raises(InvalidInputError, match="no target to find"):
        choose_setting(nothing, np.zeros((1, 2)), [1, 2])


@pytest.mark.parametrize(
    ("shape", "n_features"), [((70, 2), [1]), ((70,), [1]), ((69, 1), [1]), ((70, 0), [])]
)
def test_scores_that_do_not_fit_or_are_missing_are_refused(shape, n_features):
    matching, scores = planted(5)
    with pytest.raises(InvalidInputError):
        choose_setting(matching, np.zeros(shape), n_features)
    scores[3, 1] = np.nan
    with pytest.raises(InvalidInputError):
        choose_setting(matching, scores, N_FEATURES)


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
        AlphaRule(**({"fp_targets": (0.5, 0.8), "n_standard_errors": 0} | rule)),
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


MATRIX = np.arange(12.0).reshape(4, 3)


class OneByOne:
    shape: ClassVar = MATRIX.shape

    def read_columns(self) -> Iterator[np.ndarray]:
        return iter(MATRIX.T)


@pytest.mark.parametrize("scores", [MATRIX, MATRIX.tolist(), pd.DataFrame(MATRIX), OneByOne()])
def test_columns_of_anything_are_the_same(scores: object) -> None:
    found = list(read_score_columns(scores, 3, "scores"))
    assert np.array_equal(np.column_stack(found), MATRIX)


@pytest.mark.parametrize("scores", [MATRIX, MATRIX[0], OneByOne()])
def test_another_number_of_columns_is_refused(scores: object) -> None:
    with pytest.raises(InvalidInputError, match=r"scores: shape .*a column for each of 4 settings"):
        read_score_columns(scores, 4, "scores")
