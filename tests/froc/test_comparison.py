from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from overread.errors import InvalidInputError
from overread.froc import Matching, bootstrap, compare_models, froc_curve, match_detections, sensitivity_at
from overread.froc._comparison import FrocPlaces, PairedPlaces

TARGETS = np.array([1.0, 0.25, 2.0])


def other_model(m, seed):
    """Other scores on the same images and GTs; some other GTs are missed."""
    rng = np.random.default_rng(seed)
    gt_scores = np.where(rng.random(m.n_gts) < 0.2, -np.inf, rng.permutation(np.arange(m.n_gts)))
    return replace(
        m,
        fp_scores=rng.permutation(m.fp_scores),
        gt_scores=gt_scores.astype(float),
        gt_reached=np.isfinite(gt_scores),
    )


def swapped(first, second, swap):
    """Both models after exchanging their places on the curve in the chosen patients, as data."""
    places = [FrocPlaces.of(model, None) for model in (first, second)]
    models = []
    for role in (0, 1):
        fps, fp_images = [], []
        for model in (0, 1):
            patients = first.patients[places[model].fp_images]
            mine = (model ^ swap[patients]) == role
            fps.append(-places[model].fps[mine])
            fp_images.append(places[model].fp_images[mine])
        source = role ^ swap[first.patients[first.gt_images]]
        gts = np.where(source == 0, -places[0].gts, -places[1].gts)
        models.append(
            Matching.from_events(
                n_images=first.n_images,
                fp_scores=np.concatenate(fps),
                fp_images=np.concatenate(fp_images),
                gt_scores=gts,
                gt_images=first.gt_images,
                patients=first.patients,
            )
        )
    return models


@settings(deadline=None, max_examples=20, derandomize=True)
@given(seed=st.integers(0, 10**6), n_scores=st.sampled_from([3, 10, 10**6]))
def test_permutations_are_curves_of_the_swapped_data(make_matching, seed, n_scores):
    first = make_matching(seed, n_patients=10, n_scores=n_scores)
    second = other_model(first, seed + 1)
    n_permutations = 6
    result = compare_models(
        first, second, fp_targets=TARGETS, n_bootstrap=2, n_permutations=n_permutations, seed=seed
    )
    swaps = np.random.default_rng(seed).integers(0, 2, (n_permutations, first.n_patients), dtype=np.uint8)
    for k, swap in enumerate(swaps):
        one, two = (sensitivity_at(froc_curve(model), TARGETS) for model in swapped(first, second, swap))
        for name in ("gt_sensitivity", "image_sensitivity"):
            np.testing.assert_allclose(result.permuted[name][k], two[name] - one[name], atol=1e-12)


def test_places_keep_every_decision(make_matching):
    m = make_matching(3, n_scores=12)
    places = FrocPlaces.of(m, None)
    placed = Matching.from_events(
        n_images=m.n_images,
        fp_scores=-places.fps,
        fp_images=places.fp_images,
        gt_scores=-places.gts,
        gt_images=m.gt_images,
    )
    targets = np.arange(0, 5, 0.1)
    columns = ["fp_per_image", "gt_sensitivity", "image_sensitivity"]
    before, after = (sensitivity_at(froc_curve(model), targets)[columns] for model in (m, placed))
    assert before.equals(after)


def test_few_placed_false_positives_fall_back_on_all(make_matching, monkeypatch):
    first = make_matching(8, fps_per_image=15)
    second = other_model(first, 9)
    everything = compare_models(first, second, fp_targets=TARGETS, n_bootstrap=2, n_permutations=30)
    monkeypatch.setattr("overread.froc._comparison.needed_fps", lambda matching, targets: 40)
    assert len(PairedPlaces.of(first, second, 40).fp_places) == 80
    few = compare_models(first, second, fp_targets=TARGETS, n_bootstrap=2, n_permutations=30)
    np.testing.assert_array_equal(few.permuted["gt_sensitivity"], everything.permuted["gt_sensitivity"])
    np.testing.assert_array_equal(few.differences["gt_sensitivity"], everything.differences["gt_sensitivity"])


def test_differences_are_differences_of_bootstraps(make_matching):
    first = make_matching(4)
    second = other_model(first, 5)
    result = compare_models(first, second, fp_targets=TARGETS, n_bootstrap=40, seed=6)
    one, two = (bootstrap(model, fp_targets=TARGETS, n_bootstrap=40, seed=6) for model in (first, second))
    for name, values in result.differences.items():
        np.testing.assert_array_equal(values, two.replicates[name] - one.replicates[name])


def test_the_mean_difference_is_that_of_the_mean_sensitivities(make_matching):
    first = make_matching(3)
    second = other_model(first, 1)
    compared = compare_models(first, second, fp_targets=TARGETS, n_bootstrap=200, n_permutations=2, seed=4)
    one, two = (bootstrap(m, fp_targets=TARGETS, n_bootstrap=200, seed=4) for m in (first, second))
    estimate = (two.points["gt_sensitivity"] - one.points["gt_sensitivity"]).mean()
    drawn = (two.replicates["gt_sensitivity"] - one.replicates["gt_sensitivity"]).mean(axis=1)
    mean = compared.mean_difference("gt_sensitivity", level=0.9)
    assert mean.difference == pytest.approx(estimate)
    half = 1.6448536269514722 * drawn.std(ddof=1)
    assert (mean.lower, mean.upper) == pytest.approx((estimate - half, estimate + half))
    assert mean.p_value == pytest.approx(2 * norm.sf(abs(estimate) / drawn.std(ddof=1)))


def test_a_model_does_not_differ_from_itself(make_matching):
    m = make_matching(6)
    table = compare_models(m, m, n_bootstrap=20, n_permutations=20).table()
    assert table[["difference", "lower", "upper"]].eq(0).all(axis=None)
    assert table["p_bootstrap"].eq(1).all()
    assert table["p_permutation"].dropna().eq(1).all()


def test_a_far_better_model_is_told_apart(make_matching):
    m = make_matching(6, n_patients=60)
    better = replace(m, gt_scores=np.where(m.gt_reached, 1e9, -np.inf))
    worse = replace(m, gt_scores=np.where(m.gt_reached, -1e9, -np.inf))
    table = compare_models(worse, better, fp_targets=[0.5]).table().set_index("measure")
    row = table.loc["gt_sensitivity"]
    assert row["lower"] > 0.5
    assert row["p_bootstrap"] < 1e-6
    assert row["p_permutation"] == pytest.approx(1 / 1001)
    assert compare_models(better, worse, fp_targets=[0.5]).table()["difference"].iloc[0] == -row["difference"]


def test_no_targets_is_undefined():
    nothing = Matching.from_events(n_images=4, fp_scores=[1.0], fp_images=[0], gt_scores=[], gt_images=[])
    table = compare_models(nothing, nothing, n_bootstrap=5, n_permutations=5).table()
    assert table[["difference", "p_bootstrap", "p_permutation"]].isna().all(axis=None)


def test_two_lesions_have_no_interval_of_the_difference():
    """One model finds both, the other none: every replicate is -1, and the permutation test says little."""
    events = {"n_images": 6, "fp_scores": [0.5], "fp_images": [5], "gt_images": [0, 1]}
    first, second = (Matching.from_events(gt_scores=scores, **events) for scores in ([1, 1], [-np.inf] * 2))
    row = compare_models(first, second, n_bootstrap=200, n_permutations=200).table().iloc[0]
    assert row["difference"] == -1
    assert row[["lower", "upper", "p_bootstrap"]].isna().all()
    assert 0.3 < row["p_permutation"] < 0.7


@pytest.mark.parametrize(
    ("column", "value"), [("truth_id", "other"), ("x_mm", 90.0), ("semi_major_mm", 30.0)]
)
@pytest.mark.parametrize("golden", [True, False])
def test_other_gts_on_the_same_images_are_refused(make_tables, column, value, golden):
    candidates, truth, images = make_tables(1, 6, 40, 8, 100)
    first = match_detections(candidates, truth, images)
    assert compare_models(
        first, match_detections(candidates, truth.copy(), images), n_bootstrap=1, n_permutations=1
    )
    changed = truth.copy()
    changed.loc[truth.index[truth["golden"] == golden][0], column] = value
    with pytest.raises(InvalidInputError, match="same images, patients and GTs"):
        compare_models(first, match_detections(candidates, changed, images))


def test_refusals(make_matching):
    m = make_matching(1)
    with pytest.raises(InvalidInputError, match="same images"):
        compare_models(m, make_matching(2))
    with pytest.raises(InvalidInputError, match="n_permutations"):
        compare_models(m, m, n_permutations=0, n_bootstrap=1)
    with pytest.raises(InvalidInputError, match="rules or options"):
        compare_models(m, replace(m, counting=replace(m.counting, extra_hits="fp")))
