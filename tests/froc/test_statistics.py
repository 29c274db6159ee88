"""Coverage of the intervals and size of the paired test, by the simulation of ``benchmarks/coverage.py``."""

import pytest
from benchmarks.coverage import SCENARIOS, Scenario, coverage, coverage_of_figures, size_of_tests

from overread.froc import estimate_figures

# The scenarios that were run at full length; the others are in the benchmark only.
FULL = SCENARIOS[:4]
NAMES = [scenario.name for scenario in FULL]
# Two models that find nearly everything differ on a handful of lesions, and a test stays below its level.
FEW_DISCORDANT = {"high sensitivity"}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", FULL, ids=NAMES)
def test_coverage(scenario):
    """5,000 data sets: the 95 % interval holds the population's value in 94 to 96.5 % of them."""
    for share in coverage(scenario, 5000):
        if share.method == "score":
            assert 94 <= share.percent <= 96.5, share


@pytest.mark.slow
@pytest.mark.parametrize("scenario", FULL, ids=NAMES)
def test_size(scenario):
    """5,000 data sets: two equally good models differ at the 5 % level in 4 to 6 % of them."""
    for share in size_of_tests(scenario, 5000):
        lowest = 4 if share.method == "bootstrap" and scenario.name not in FEW_DISCORDANT else 0
        assert lowest <= share.percent <= 6, share


@pytest.mark.slow
@pytest.mark.parametrize("scenario", FULL, ids=NAMES)
def test_coverage_of_figures_of_merit(scenario):
    """1,000 data sets, standard error 0.7: the 95 % interval of AFROC and wAFROC holds in 93 to 97 % of them."""
    for share in coverage_of_figures(scenario, 1000, n_bootstrap=300):
        assert 93 <= share.percent <= 97, share


def test_the_populations_afroc_is_that_of_a_large_sample():
    for scenario in FULL:
        large = Scenario(**{**vars(scenario), "n_patients": 20_000})
        for found in estimate_figures(large.draw(0)[0], n_bootstrap=2):
            assert found.estimate == pytest.approx(scenario.afroc(), abs=0.015)


def test_the_population_values_are_those_of_a_large_sample():
    """The formulas that coverage is measured against, on 60,000 patients."""
    for scenario in SCENARIOS:
        large = Scenario(**{**vars(scenario), "n_patients": 60_000})
        model, _ = large.draw(0)
        threshold = scenario.threshold([0.5, 2.0])
        fps = [(model.fp_scores >= t).sum() / model.n_images for t in threshold]
        gts = [(model.gt_scores >= t).mean() for t in threshold]
        best = model.positive_images().scores
        images = [(best >= t).mean() for t in threshold]
        assert fps == pytest.approx(scenario.fp_per_image(threshold), rel=0.05)
        assert gts == pytest.approx(scenario.gt_sensitivity(threshold), abs=0.015)
        assert images == pytest.approx(scenario.image_sensitivity(threshold), abs=0.015)
        assert (scenario.fp_per_image(threshold) <= [0.5 + 1e-9, 2 + 1e-9]).all()


def test_a_small_run_is_in_range():
    """100 data sets of the smallest scenario: within four standard errors of the level."""
    small = SCENARIOS[1]
    for share in coverage(small, 100, n_bootstrap=200):
        if share.method == "score":
            assert share.percent > 86, share
    for share in size_of_tests(small, 100, n_replicates=200):
        assert share.percent < 14, share
