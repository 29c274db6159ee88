"""AFROC figures of matchings: intervals, paired comparison, permutation."""

import numpy as np
import pytest
from scipy.stats import binomtest

from overread.errors import InvalidInputError
from overread.froc import (
    CaseRatings,
    Matching,
    case_ratings,
    compare_figures,
    estimate_figures,
    figure_of_merit,
    proportion_interval,
    whole_curve_figures,
)

FIGURES = ["AFROC", "wAFROC", "AFROC1", "wAFROC1"]


def simulated(rng, *, shift=1.0, n_images=60, noise=None, patients=None):
    """Images 0.. with GTs on the first third; the same `rng` state gives the same cases."""
    gt_images = np.repeat(np.arange(n_images // 3), 2)
    fp_images = np.repeat(np.arange(n_images), 3)
    gt_scores = rng.normal(shift, 1, len(gt_images)).round(1)
    gt_scores[::7] = -np.inf
    fp_scores = rng.normal(0, 1, len(fp_images)).round(1)
    if noise is not None:
        gt_scores, fp_scores = gt_scores + noise.normal(0, 0.3, len(gt_scores)), fp_scores * 1.1
    return Matching.from_events(
        n_images=n_images,
        fp_scores=fp_scores,
        fp_images=fp_images,
        gt_scores=gt_scores,
        gt_images=gt_images,
        patients=patients,
    )


def test_ratings_of_a_matching():
    matching = Matching.from_events(
        n_images=3, fp_scores=[1.0, 3.0, 2.0], fp_images=[0, 0, 2], gt_scores=[5.0, -np.inf], gt_images=[1, 1]
    )
    ratings = case_ratings(matching)
    assert ratings.highest_fp.tolist() == [3.0, -np.inf, 2.0]
    assert ratings.lesion_rating.tolist() == [5.0, -np.inf]
    assert figure_of_merit(ratings, "AFROC") == 0.5  # 5 beats 3 and 2; nothing loses to both


def test_the_interval_is_that_of_resampled_patients():
    """Against a bootstrap that copies cases one by one."""
    patients = np.repeat(np.arange(20), 3)
    matching = simulated(np.random.default_rng(2), patients=patients)
    (found,) = estimate_figures(matching, ["wAFROC1"], n_bootstrap=400, seed=5)
    ratings, rng, replicates = case_ratings(matching), np.random.default_rng(99), []
    for _ in range(400):
        cases = np.concatenate([np.flatnonzero(patients == p) for p in rng.integers(0, 20, 20)])
        lesions = [np.flatnonzero(ratings.lesion_case == case) for case in cases]
        positions = np.repeat(np.arange(len(cases)), [len(part) for part in lesions])
        if len(positions):
            copied = CaseRatings(
                ratings.highest_fp[cases], positions, ratings.lesion_rating[np.concatenate(lesions)]
            )
            replicates.append(figure_of_merit(copied, "wAFROC1"))
    worth = found.estimate * (1 - found.estimate) / np.var(replicates)
    expected = proportion_interval(found.estimate * worth, worth)
    assert (found.lower, found.upper) == pytest.approx(np.ravel(expected).tolist(), abs=0.03)
    assert found.lower < found.estimate < found.upper


def test_few_lesions_all_found_are_not_sure_to_be_found():
    def perfect(gt_images):
        scores = [1.0] * len(gt_images)
        return Matching.from_events(
            n_images=10, fp_scores=[0.5], fp_images=[9], gt_scores=scores, gt_images=gt_images
        )

    (three,) = estimate_figures(perfect([0, 1, 2]), ["wAFROC"], n_bootstrap=50)
    assert three.estimate == three.upper == 1
    assert three.lower == pytest.approx(binomtest(3, 3).proportion_ci(method="wilson").low)
    (one,) = estimate_figures(perfect([0, 0]), ["wAFROC"], n_bootstrap=50)
    assert one.estimate == 1
    assert np.isnan([one.lower, one.upper]).all()


def test_the_same_model_twice_does_not_differ():
    matching = simulated(np.random.default_rng(3))
    for result in compare_figures(matching, matching, FIGURES, n_bootstrap=50, n_permutations=50):
        assert (result.difference, result.lower, result.upper) == (0, 0, 0)
        assert result.p_permutation == 1


def test_a_much_better_model_is_told_apart_and_the_order_flips_the_sign():
    worse = simulated(np.random.default_rng(6), shift=0.0)
    better = simulated(np.random.default_rng(6), shift=3.0)
    (forward,) = compare_figures(worse, better, ["wAFROC"], n_bootstrap=200, n_permutations=200)
    (backward,) = compare_figures(better, worse, ["wAFROC"], n_bootstrap=200, n_permutations=200)
    assert forward.p_permutation < 0.02
    assert forward.lower > 0
    assert backward.difference == -forward.difference
    assert (backward.lower, backward.upper) == pytest.approx((-forward.upper, -forward.lower))


def test_size_of_the_permutation_test_under_the_null():
    """Two exchangeable models, 200 data sets: 5 % of p-values below 0.05, within four standard errors."""
    rng = np.random.default_rng(9)
    p_values = []
    for _ in range(200):
        pair = [simulated(rng, n_images=30) for _ in range(2)]
        p_values.append(compare_figures(*pair, ["AFROC"], n_bootstrap=1, n_permutations=59)[0].p_permutation)
    assert np.mean(np.array(p_values) <= 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)


def test_hostile_input_is_refused():
    matching = simulated(np.random.default_rng(10))
    with pytest.raises(InvalidInputError, match="same images"):
        compare_figures(matching, simulated(np.random.default_rng(10), n_images=30))
    with pytest.raises(InvalidInputError, match="n_permutations"):
        compare_figures(matching, matching, n_permutations=0)
    nothing = Matching.from_events(n_images=2, fp_scores=[1.0], fp_images=[0], gt_scores=[], gt_images=[])
    with pytest.raises(InvalidInputError, match="needs lesions"):
        estimate_figures(nothing)


def test_without_lesion_free_images_the_figures_are_those_over_all_cases():
    def with_gts(images):
        return Matching.from_events(
            n_images=2, fp_scores=[0.1], fp_images=[0], gt_scores=[0.5] * len(images), gt_images=images
        )

    assert whole_curve_figures(with_gts([0, 0])) == ("AFROC", "wAFROC")
    every = with_gts([0, 1])
    assert whole_curve_figures(every) == ("AFROC1", "wAFROC1")
    compare_figures(every, every, whole_curve_figures(every), n_bootstrap=10, n_permutations=10)
