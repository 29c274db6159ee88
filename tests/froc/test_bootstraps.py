import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kurtosis

from overread.errors import InvalidInputError
from overread.froc import (
    MEASURES,
    Matching,
    SortedEvents,
    bootstrap,
    froc_curve,
    patient_counts,
    performance_at,
    replicate_sensitivities,
    sensitivity_at,
)

TARGETS = np.array([0.5, 3.0, 1.0])


def repeated(m, counts):
    """The sample as data: every image of a patient as often as the patient was drawn."""
    images = np.repeat(np.arange(m.n_images), counts[m.patients])
    fps = [np.flatnonzero(m.fp_images == image) for image in images]
    gts = [np.flatnonzero(m.gt_images == image) for image in images]
    return Matching.from_events(
        n_images=len(images),
        fp_scores=np.concatenate([m.fp_scores[rows] for rows in fps]),
        fp_images=np.repeat(np.arange(len(images)), [len(rows) for rows in fps]),
        gt_scores=np.concatenate([m.gt_scores[rows] for rows in gts]),
        gt_images=np.repeat(np.arange(len(images)), [len(rows) for rows in gts]),
    )


@settings(deadline=None, max_examples=25, derandomize=True)
@given(seed=st.integers(0, 10**6), n_scores=st.sampled_from([2, 7, 10**6]))
def test_replicates_are_curves_of_the_resampled_data(make_matching, seed, n_scores):
    m = make_matching(seed, n_patients=12, n_scores=n_scores)
    result = bootstrap(m, fp_targets=TARGETS, n_bootstrap=8, seed=seed)
    (counts,) = patient_counts(m.n_patients, 8, seed)
    assert (counts.sum(axis=1) == m.n_patients).all()
    for replicate, times in enumerate(counts):
        points = sensitivity_at(froc_curve(repeated(m, times)), TARGETS)
        for name in ("fp_per_image", *MEASURES):
            np.testing.assert_allclose(result.replicates[name][replicate], points[name])


def test_replicates_against_the_definition(definition, make_matching):
    m = make_matching(5, n_patients=8, n_scores=6)
    result = bootstrap(m, fp_targets=[1.0], n_bootstrap=5, seed=2)
    (counts,) = patient_counts(m.n_patients, 5, 2)
    for replicate, times in enumerate(counts):
        images = np.repeat(np.arange(m.n_images), times[m.patients])
        gt, image, fp = definition.sensitivity_at(m, 1.0, list(images))
        got = [
            result.replicates[name][replicate, 0]
            for name in ("gt_sensitivity", "image_sensitivity", "fp_per_image")
        ]
        np.testing.assert_allclose(got, [gt, image, fp])


def test_locked_replicates_are_counts_of_the_resampled_data(make_matching):
    m = make_matching(11, n_scores=50)
    thresholds = [10.0, 40.0, -np.inf, np.inf]
    result = bootstrap(m, thresholds=thresholds, n_bootstrap=6, seed=4)
    (counts,) = patient_counts(m.n_patients, 6, 4)
    assert result.locked
    assert result.points["fp_target"].isna().all()
    for replicate, times in enumerate(counts):
        points = performance_at(repeated(m, times), thresholds)
        for name in ("fp_per_image", *MEASURES):
            np.testing.assert_allclose(result.replicates[name][replicate], points[name])


def test_freedom_of_the_variance():
    """Alike patients are worth their number; one with all the false positives is worth hardly any."""
    none = {"gt_scores": [], "gt_images": []}
    even = Matching.from_events(n_images=40, fp_scores=np.ones(20), fp_images=np.arange(20), **none)
    one = Matching.from_events(n_images=40, fp_scores=np.ones(20), fp_images=np.zeros(20, int), **none)
    nothing = Matching.from_events(n_images=40, fp_scores=[], fp_images=[], **none)
    freedoms = [bootstrap(m, thresholds=[0.0], n_bootstrap=5).fp_freedom[0] for m in (even, one, nothing)]
    assert freedoms[0] == 39
    assert 1 < freedoms[1] < 3
    assert freedoms[2] == 39
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, 500)
    spread = Matching.from_events(
        n_images=500, fp_scores=np.ones(x.sum()), fp_images=np.repeat(np.arange(500), x), **none
    )
    expected = 2 * 500 / (kurtosis(x, fisher=False) - 1)
    assert bootstrap(spread, thresholds=[0.0], n_bootstrap=5).fp_freedom[0] == pytest.approx(expected)


def test_few_sorted_false_positives_fall_back_on_all(make_matching):
    m = make_matching(7, fps_per_image=20)
    (counts,) = patient_counts(m.n_patients, 20, 0)
    few = replicate_sensitivities(SortedEvents.of(m, 30), counts, TARGETS)
    everything = replicate_sensitivities(SortedEvents.of(m, None), counts, TARGETS)
    for name in few:
        np.testing.assert_array_equal(few[name], everything[name])


def test_estimates_need_few_false_positives(make_matching, monkeypatch):
    for n_scores in (5, 10**6):
        m = make_matching(3, n_scores=n_scores, fps_per_image=12)
        expected = sensitivity_at(froc_curve(m), TARGETS)
        monkeypatch.setattr("overread.froc._bootstrap.needed_fps", lambda m, t: int(t.max() * m.n_images) + 1)
        assert bootstrap(m, fp_targets=TARGETS, n_bootstrap=1).points.equals(expected)


def test_same_seed_same_answer_whatever_the_block(make_matching, monkeypatch):
    m = make_matching(1)
    once = bootstrap(m, n_bootstrap=50, seed=3).intervals()
    monkeypatch.setattr("overread.froc._bootstrap.CHUNK_DRAWS", 200)
    assert once.equals(bootstrap(m, n_bootstrap=50, seed=3).intervals())
    assert not once.equals(bootstrap(m, n_bootstrap=50, seed=4).intervals())


def test_the_papers_own_point():
    """46 of 104 GTs at 0.5 FP per image on 660 images: about 35 to 54 %."""
    rng = np.random.default_rng(0)
    fp_images = rng.integers(0, 660, 5000)
    fp_scores = np.sort(rng.normal(size=5000))[::-1]
    threshold = (fp_scores[329] + fp_scores[330]) / 2
    m = Matching.from_events(
        n_images=660,
        fp_scores=fp_scores,
        fp_images=fp_images,
        gt_scores=threshold + np.concatenate([rng.uniform(0.1, 2, 46), -rng.uniform(0.1, 2, 58)]),
        gt_images=np.arange(104) * 6,
    )
    table = bootstrap(m, fp_targets=[0.5]).intervals().set_index("measure")
    point = table.loc["gt_sensitivity"]
    assert point["estimate"] == pytest.approx(46 / 104)
    assert 0.33 < point["lower"] < 0.37
    assert 0.52 < point["upper"] < 0.56


def test_intervals_hold_their_estimate_and_widen_with_the_level(make_matching):
    result = bootstrap(make_matching(2), fp_targets=TARGETS)
    narrow, wide = result.intervals(0.8), result.intervals(0.99)
    inside = (narrow["lower"] <= narrow["estimate"]) & (narrow["estimate"] <= narrow["upper"])
    assert inside.all()
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (wide["upper"] >= narrow["upper"]).all()
    percentile = result.intervals(method="percentile").set_index("measure").loc["gt_sensitivity"]
    expected = np.quantile(result.replicates["gt_sensitivity"], [0.025, 0.975], axis=0)
    np.testing.assert_allclose(percentile[["lower", "upper"]].T, expected)


def test_hostile_sets_have_defined_intervals():
    nothing = {"fp_scores": [], "fp_images": [], "gt_scores": [], "gt_images": []}
    empty = bootstrap(Matching.from_events(n_images=3, **nothing), n_bootstrap=5).intervals()
    assert empty.loc[empty["measure"] != "fp_per_image", "lower"].isna().all()
    one = Matching.from_events(n_images=3, **(nothing | {"gt_scores": [1.0], "gt_images": [0]}))
    ends = bootstrap(one, n_bootstrap=50).intervals().set_index("measure").loc["gt_sensitivity"].iloc[0]
    assert ends["upper"] == 1
    assert 0 < ends["lower"] < 1
    missed = Matching.from_events(n_images=3, **(nothing | {"gt_scores": [-np.inf], "gt_images": [0]}))
    ends = bootstrap(missed, n_bootstrap=50).intervals().set_index("measure")
    assert ends.loc["gt_sensitivity", "lower"].eq(0).all()
    assert ends.loc["gt_sensitivity_reached", "estimate"].isna().all()


def test_refusals(make_matching):
    m = make_matching(1)
    with pytest.raises(InvalidInputError, match="n_bootstrap"):
        bootstrap(m, n_bootstrap=0)
    with pytest.raises(InvalidInputError, match="fp_targets"):
        bootstrap(m, fp_targets=[np.nan])
    with pytest.raises(InvalidInputError, match="NaN"):
        bootstrap(m, thresholds=[np.nan])
    with pytest.raises(InvalidInputError, match="level"):
        bootstrap(m, n_bootstrap=2).intervals(95)
    with pytest.raises(InvalidInputError, match="method"):
        bootstrap(m, n_bootstrap=2).intervals(method="bca")
