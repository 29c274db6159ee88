"""The choice among settings: known best ones, few and many patients, and every number counted again."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.froc import CHOICE_FP_TARGETS, choose_setting, match_detections, patient_counts

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


def test_few_patients_cannot_tell_so_much_and_take_fewer_features():
    positions = {}
    for n_patients in (8, 1000):
        chosen = [choose_setting(*planted(n_patients, seed), N_FEATURES).position for seed in range(12)]
        positions[n_patients] = np.mean(chosen)
    assert positions[8] < positions[1000]
    # Yet never the ones that find next to nothing.
    assert positions[8] > 1


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


def test_more_standard_errors_accept_more():
    matching, scores = planted(60, seed=2)
    accepted = [
        choose_setting(matching, scores, N_FEATURES, n_standard_errors=n).table["accepted"].to_numpy()
        for n in (0, 1, 3, 100)
    ]
    for fewer, more in pairwise(accepted):
        assert (more >= fewer).all()
    assert accepted[0].sum() < accepted[-1].sum()


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


def test_a_paired_error_is_smaller_than_an_unpaired_one():
    """The settings share their patients: the error of a difference is not that of two independent values."""
    matching, scores = planted(100, seed=1)
    table = choose_setting(matching, scores, N_FEATURES).table
    unpaired = np.hypot(table["standard_error"], table["standard_error"][BEST])
    near = [3, 5]
    assert (table["difference_error"][near] < 0.8 * unpaired[near]).all()


def test_of_equal_settings_the_sparsest_is_taken():
    matching, scores = planted(40, seed=3)
    same = np.repeat(scores[:, [BEST]], 4, axis=1)
    choice = choose_setting(matching, same, [30, 10, 20, 10])
    assert choice.position == choice.best == 1
    assert choice.table["difference_error"].tolist() == [0.0] * 4
    assert choice.table["accepted"].all()
    assert choose_setting(matching, same, [30, 10, 20, 10], n_standard_errors=0).position == 1


def test_of_equally_sparse_settings_the_better_is_taken():
    matching, scores = planted(60, seed=2)
    choice = choose_setting(matching, scores, np.full(len(SEPARATIONS), 7), n_standard_errors=5)
    assert choice.position == choice.best


def test_the_order_of_settings_does_not_matter():
    matching, scores = planted(60, seed=2)
    order = np.random.default_rng(0).permutation(len(SEPARATIONS))
    one = choose_setting(matching, scores, N_FEATURES)
    other = choose_setting(matching, scores[:, order], N_FEATURES[order])
    assert order[other.position] == one.position
    for name in ("sensitivity", "difference_error", "frequency", "accepted"):
        assert other.table[name].tolist() == pytest.approx(one.table[name][order].tolist())


@pytest.mark.parametrize("n_patients", [3, 60])
def test_frequencies_are_shares(n_patients):
    choice = choose_setting(*planted(n_patients, seed=2), N_FEATURES)
    assert math.isclose(choice.table["frequency"].sum(), 1.0)
    assert choice.table["chosen"].sum() == 1
    assert choice.table["chosen"][choice.position]


def test_the_same_seed_gives_the_same_choice():
    matching, scores = planted(30, seed=2)
    one, same, other = (choose_setting(matching, scores, N_FEATURES, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.table, same.table)
    assert not one.table["difference_error"].equals(other.table["difference_error"])


def test_one_setting_is_chosen():
    matching, scores = planted(10)
    choice = choose_setting(matching, scores[:, :1], [5])
    assert (choice.position, choice.best) == (0, 0)


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
def test_scores_that_do_not_fit_are_refused(shape, n_features):
    matching, _ = planted(5)
    with pytest.raises(InvalidInputError):
        choose_setting(matching, np.zeros(shape), n_features)


def test_missing_scores_are_refused():
    matching, scores = planted(5)
    scores[3, 1] = np.nan
    with pytest.raises(InvalidInputError):
        choose_setting(matching, scores, N_FEATURES)
