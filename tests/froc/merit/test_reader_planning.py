"""Power of reader studies against RJafroc's published values and against simulated studies."""

import numpy as np
import pytest
from scipy.stats import f, ncf

from overread.apps.planning._reader_sizes import ReaderPilot, pilot_readers
from overread.errors import InvalidInputError
from overread.froc import VarianceComponents, obuchowski_rockette

# VanDyke study (114 cases, 5 readers, 2 modalities), empirical AUC, jackknife: documentation of the R package
# MRMCaov 0.3.0, as in test_obuchowski_rockette.py; the interaction from its figures by the same formula.
ERROR, COV1, COV2, COV3 = 0.0008022883, 0.0003466137, 0.0003440748, 0.0002390284
VAN_DYKE = ReaderPilot(VarianceComponents(0.001535, 0.000200401702, ERROR, COV1, COV2, COV3), 114)
OBSERVED = 0.043800322


@pytest.mark.parametrize(
    ("readers", "cases", "random", "power"),
    [
        (10, 165, "readers and cases", 0.80541995),
        (10, 131, "cases", 0.80091813),
        (10, 53, "readers", 0.80496663),
        (6, 111, "readers and cases", 0.5526116),
        (6, 251, "readers and cases", 0.801),
    ],
)
def test_powers_are_those_of_rjafroc(readers, cases, random, power):
    """RJafroc 2.0, tests/testthat/test-SsSampleSizeRoc.R: SsPowerGivenJK and SsPowerTable on dataset02 (VanDyke)."""
    found = VAN_DYKE.power(readers, cases, OBSERVED, random=random)
    assert found == pytest.approx(power, abs=5e-4 if cases == 251 else 1e-6)


def test_the_number_of_cases_is_that_of_rjafroc():
    """The same file: SsSampleSizeKGivenJ on dataset02 with 6 readers needs 251 cases."""
    assert VAN_DYKE.cases_for_power(6, OBSERVED) == 251
    assert VAN_DYKE.cases_for_power(6, -OBSERVED) == 251


def test_the_noncentrality_is_that_of_the_rjafroc_book():
    """RJafrocRocBook, chapter "Sample size estimation for ROC studies OR method", 10 readers, 53 cases, fixed cases."""
    error, df = VAN_DYKE.error_term(10, 53, "readers")
    assert 10 * OBSERVED**2 / 2 / error == pytest.approx(10.048716, rel=1e-5)
    assert df == 9
    assert f.isf(0.05, 1, df) == pytest.approx(5.117355, rel=1e-6)
    assert ncf.sf(5.117355, 1, df, 10.048716) == pytest.approx(0.80496663, abs=1e-6)


def test_a_study_of_the_pilots_size_has_the_pilots_error_term():
    figures = np.array([[0.91, 0.85, 0.90, 0.97, 0.82], [0.94, 0.90, 0.92, 0.99, 0.93]])
    covariance = np.empty((2, 5, 2, 5))
    for i, j, k, m in np.ndindex(covariance.shape):
        covariance[i, j, k, m] = {(1, 1): ERROR, (0, 1): COV1, (1, 0): COV2, (0, 0): COV3}[i == k, j == m]
    for random in ("readers and cases", "cases"):
        study = obuchowski_rockette(figures, covariance, random=random, n_cases=114)
        (difference,) = study.differences
        pilot = pilot_readers(study)
        half_width = pilot.half_width(5, 114, random=random)
        assert half_width == pytest.approx((difference.upper - difference.lower) / 2, rel=1e-9)
        assert pilot.error_term(5, 114, random)[1] == pytest.approx(study.df2)


@pytest.mark.parametrize("random", ["readers and cases", "readers", "cases"])
def test_power_by_simulation(random):
    """3,000 tables of figures drawn from the model, tested with the true covariance of the cells."""
    n_readers, gap, rng = 6, 0.06, np.random.default_rng(1)
    known = VAN_DYKE.components
    covariance = np.empty((2, n_readers, 2, n_readers))
    for i, j, k, m in np.ndindex(covariance.shape):
        covariance[i, j, k, m] = {(1, 1): ERROR, (0, 1): COV1, (1, 0): COV2, (0, 0): COV3}[i == k, j == m]
    flat = covariance.reshape(2 * n_readers, -1)
    # Where cases are fixed, what they add to all readings of a modality alike does not vary.
    if random == "readers":
        shared = np.kron(np.array([[COV2, COV3], [COV3, COV2]]), np.ones((n_readers, n_readers)))
        flat = flat - shared + np.eye(2 * n_readers) * 1e-15
    root = np.linalg.cholesky(flat)
    rejected = []
    for _ in range(3000):
        figures = 0.85 + (root @ rng.standard_normal(2 * n_readers)).reshape(2, -1)
        figures[1] += gap
        if random != "cases":
            figures += np.sqrt(known.modality_reader) * rng.standard_normal(figures.shape)
        study = obuchowski_rockette(figures, covariance, random=random)
        rejected.append(study.p_value < 0.05)
    assert np.mean(rejected) == pytest.approx(VAN_DYKE.power(n_readers, 114, gap, random=random), abs=0.03)


@pytest.mark.parametrize("random", ["readers and cases", "readers", "cases"])
@pytest.mark.parametrize("readers", [2, 3, 5, 12])
def test_no_fewer_cases_are_enough(readers, random):
    """Every number below is tried."""
    cases = VAN_DYKE.cases_for_power(readers, 0.09, random=random)
    powers = [VAN_DYKE.power(readers, n, 0.09, random=random) for n in range(1, (cases or 400) + 1)]
    assert [n for n, power in enumerate(powers, start=1) if power >= 0.8] == (
        [] if cases is None else [cases]
    )
    cases = VAN_DYKE.cases_for_half_width(readers, 0.07, random=random)
    widths = [VAN_DYKE.half_width(readers, n, random=random) for n in range(1, (cases or 400) + 1)]
    assert [n for n, width in enumerate(widths, start=1) if width <= 0.07] == (
        [] if cases is None else [cases]
    )


def test_too_few_readers_are_never_enough():
    assert VAN_DYKE.cases_for_power(5, 0.03) is None
    assert VAN_DYKE.cases_for_power(5, 0.03, random="cases") is not None
    assert VAN_DYKE.cases_for_half_width(3, 0.01) is None


def test_a_negative_interaction_counts_as_none():
    """As Hillis 2011 has it; else the study would get better with every reader's disagreement."""
    negative = ReaderPilot(VarianceComponents(0.0, -0.0001, ERROR, COV1, COV2, COV3), 114)
    none = ReaderPilot(VarianceComponents(0.0, 0.0, ERROR, COV1, COV2, COV3), 114)
    assert negative.error_term(5, 100) == none.error_term(5, 100)


def test_refusals():
    no_error = VarianceComponents(0.0, 0.0, COV1, COV1, COV2, COV3)
    without_covariance = obuchowski_rockette([[0.7, 0.8], [0.8, 0.9]], None, random="readers")
    for wrong in (
        lambda: VAN_DYKE.power(1, 100, 0.05),
        lambda: VAN_DYKE.power(5, 0, 0.05),
        lambda: VAN_DYKE.power(5, 100, 0.05, random="nothing"),
        lambda: VAN_DYKE.power(5, 100, 0.05, level=1.0),
        lambda: VAN_DYKE.cases_for_power(5, 0.0),
        lambda: VAN_DYKE.cases_for_power(5, 0.05, power=1.2),
        lambda: VAN_DYKE.cases_for_half_width(5, 0.0),
        lambda: ReaderPilot(no_error, 114),
        lambda: ReaderPilot(VAN_DYKE.components, 1),
        lambda: ReaderPilot(VarianceComponents(0.0, 0.0, float("nan"), COV1, COV2, COV3), 114),
        lambda: pilot_readers(without_covariance),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
