"""Sizes planned from a pilot: the pilot's own interval, simulated studies, and formulas of others."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.coverage import SCENARIOS
from benchmarks.planning import plan_and_compare, plan_and_run
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from overread.errors import InvalidInputError
from overread.froc import Matching, StudySize, bootstrap, gts_needed, pilot_difference, pilot_sensitivity

CLUSTERED = SCENARIOS[2]
CLUSTERED_MODEL, CLUSTERED_OTHER = CLUSTERED.draw(1)
PILOT = pilot_sensitivity(CLUSTERED_MODEL, fp_target=1.0, n_bootstrap=200)
DIFFERENCE = pilot_difference(CLUSTERED_MODEL, CLUSTERED_OTHER, fp_target=1.0, n_bootstrap=200)


def independent_pair(n, only_first, only_second, both, seed=0):
    """Two models on n patients with one lesion each, which are found in given shares."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(4, n, p=[only_first, only_second, both, 1 - only_first - only_second - both])
    scores = [np.where((kind == one) | (kind == 2), 1.0, -np.inf) for one in (0, 1)]
    where = {"n_images": n, "fp_scores": [], "fp_images": [], "gt_images": np.arange(n)}
    return [Matching.from_events(gt_scores=found, **where) for found in scores]


@pytest.fixture(scope="module")
def clustered():
    return CLUSTERED.draw(0)


@pytest.mark.parametrize("measure", ["gt_sensitivity", "image_sensitivity"])
@pytest.mark.parametrize("where", [{"fp_target": 1.0}, {"threshold": 1.2}], ids=["at FP", "locked"])
def test_the_pilots_own_size_gives_its_own_interval(clustered, where, measure):
    pilot = pilot_sensitivity(clustered[0], measure=measure, seed=4, **where)
    points = {"fp_targets": [1.0]} if "fp_target" in where else {"thresholds": [1.2]}
    lower, upper = bootstrap(clustered[0], seed=4, **points).interval_of(measure)
    assert (pilot.lower, pilot.upper) == pytest.approx((lower[0], upper[0]))
    assert pilot.half_width() == pytest.approx((upper[0] - lower[0]) / 2, abs=1e-12)
    assert pilot.size_for(pilot.half_width()) == pilot.size
    assert pilot.size == StudySize(clustered[0].n_patients, clustered[0].n_images, clustered[0].n_gts)


def test_the_design_effect_is_that_of_the_ratio_estimator(clustered):
    """At a locked threshold: variance of a ratio of sums over patients (Cochran 1977, chapter 6)."""
    model, threshold = clustered[0], 1.2
    patients = model.patients[model.gt_images]
    found = np.bincount(patients, model.gt_scores >= threshold, minlength=model.n_patients)
    gts = np.bincount(patients, minlength=model.n_patients)
    p = found.sum() / gts.sum()
    variance = ((found - p * gts) ** 2).sum() / gts.sum() ** 2
    pilot = pilot_sensitivity(model, threshold=threshold, n_bootstrap=4000)
    assert pilot.design_effect == pytest.approx(variance / (p * (1 - p) / gts.sum()), rel=0.1)
    assert pilot.design_effect > 1.3


def test_independent_lesions_have_no_design_effect():
    model, _ = independent_pair(3000, 0.1, 0.1, 0.5)
    pilot = pilot_sensitivity(model, threshold=0.5, n_bootstrap=4000)
    assert pilot.design_effect == pytest.approx(1.0, abs=0.08)


@given(st.floats(0.011, 0.4), st.sampled_from(["patients", "images", "gts"]))
def test_a_planned_size_gives_the_half_width(half_width, unit):
    pilot = PILOT
    size = pilot.size_for(half_width)
    n = getattr(size, unit)
    assert pilot.half_width(**{unit: n}) <= half_width + 1e-9
    if n > 2:
        assert pilot.half_width(**{unit: n - 1}) > half_width - 1e-9
    cautious = pilot.cautious_size_for(half_width)
    assert cautious.patients >= size.patients
    assert pilot.lower <= pilot.worst_estimate <= pilot.upper


@given(st.floats(0.01, 0.3), st.sampled_from([0.5, 0.8, 0.95]))
def test_a_planned_comparison_has_its_width_and_power(points, power):
    pilot = DIFFERENCE
    assert pilot.half_width(patients=pilot.size_for(points).patients) <= points + 1e-9
    patients = pilot.size_for_power(points, power=power).patients
    assert pilot.power(points, patients=patients) >= power
    if patients > 20:
        assert pilot.power(points, patients=patients - 1) < power + 1e-4
    assert pilot.power(-points, patients=patients) == pytest.approx(pilot.power(points, patients=patients))


def test_independent_lesions_need_as_many_as_connor_says():
    """McNemar's formula has psi in place of the variance psi - d^2 under its null hypothesis: a few per cent."""
    only_first, only_second = 0.1, 0.16
    pilot = pilot_difference(*independent_pair(20_000, only_first, only_second, 0.5), fp_target=1.0)
    size = pilot.size_for_power(only_second - only_first, power=0.8)
    connor = gts_needed(0.6, 0.66, discordant=only_first + only_second, power=0.8)
    assert size.gts == pytest.approx(connor, rel=0.1)
    assert pilot.half_width() == pytest.approx(norm.isf(0.025) * np.sqrt((0.26 - 0.06**2) / 20_000), rel=0.1)


def test_200_planned_studies_meet_their_half_width():
    """Each from a pilot of its own, patients with several images and lesions that are alike."""
    outcome = plan_and_run(CLUSTERED, 200, n_bootstrap=300)
    assert outcome.mean == pytest.approx(1.0, abs=0.1)
    assert np.median(outcome.ratios) == pytest.approx(1.0, abs=0.1)
    assert np.abs(outcome.ratios - 1).max() < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS[:4], ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("measure", ["gt_sensitivity", "image_sensitivity"])
@pytest.mark.parametrize("locked", [False, True], ids=["at FP", "locked"])
def test_200_planned_studies_of_every_population(scenario, measure, locked):
    options = {"measure": measure, "locked": locked, "n_bootstrap": 500}
    assert plan_and_run(scenario, 200, **options).mean == pytest.approx(1.0, abs=0.1)
    assert plan_and_run(scenario, 200, known=True, **options).mean == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "scenario",
    [
        CLUSTERED,
        pytest.param(SCENARIOS[0], marks=pytest.mark.slow),
        pytest.param(SCENARIOS[1], marks=pytest.mark.slow),
    ],
    ids=lambda scenario: scenario.name,
)
def test_planned_comparisons_find_the_difference(scenario):
    """200 studies planned for a power of 80 %: Monte Carlo error 2.8 %."""
    outcome = plan_and_compare(scenario, 200, n_bootstrap=200)
    assert outcome.reached == pytest.approx(outcome.planned, abs=0.09)
    assert outcome.width_ratio == pytest.approx(1.0, abs=0.1)


def test_everything_found_is_worth_the_patients():
    """No variance to see: as in the interval, every patient with a lesion is one independent lesion."""
    n = CLUSTERED_MODEL.n_gts
    model = replace(CLUSTERED_MODEL, gt_scores=np.full(n, 99.0), gt_reached=np.ones(n, dtype=bool))
    pilot = pilot_sensitivity(model, fp_target=1.0, n_bootstrap=20)
    with_gts = len(np.unique(model.patients[model.gt_images]))
    assert (pilot.estimate, pilot.upper) == (1.0, 1.0)
    assert pilot.worth == pytest.approx(with_gts)
    assert pilot.patients_with_gts == with_gts


def test_sizes_grow_together():
    size = StudySize(patients=10, images=20, gts=7)
    assert size.times(1.5) == StudySize(15, 30, 11)
    assert size.growth(images=40) == 2.0
    assert size.growth() == 1.0


def test_refusals(clustered):
    first, _ = clustered
    pilot = pilot_sensitivity(first, fp_target=1.0, n_bootstrap=20)
    nothing = Matching.from_events(n_images=5, fp_scores=[], fp_images=[], gt_scores=[], gt_images=[])
    for wrong in (
        lambda: pilot_sensitivity(first),
        lambda: pilot_sensitivity(first, fp_target=1.0, threshold=0.3),
        lambda: pilot_sensitivity(first, fp_target=1.0, measure="fp_per_image"),
        lambda: pilot_sensitivity(nothing, fp_target=1.0),
        lambda: pilot_difference(nothing, nothing, fp_target=1.0),
        lambda: pilot_difference(first, first, fp_target=1.0),
        lambda: pilot.size_for(0.0),
        lambda: pilot.size_for(5.0),
        lambda: pilot.half_width(patients=3, images=4),
        lambda: pilot.half_width(patients=0),
        lambda: DIFFERENCE.size_for(0.0),
        lambda: DIFFERENCE.size_for_power(0.0),
        lambda: DIFFERENCE.size_for_power(0.1, power=0.02),
        lambda: DIFFERENCE.half_width(level=2.0),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
