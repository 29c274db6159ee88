"""Obuchowski-Rockette inference against the published output of MRMCaov and RJafroc."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.froc import obuchowski_rockette

# VanDyke study, empirical AUC: documentation of the R package MRMCaov 0.3.0 (docs/jss/MRMCaov.tex).
VAN_DYKE = np.array(
    [
        [0.9196457, 0.8587762, 0.9038647, 0.9731079, 0.8297907],
        [0.9478261, 0.9053140, 0.9217391, 0.9993559, 0.9299517],
    ]
)
# (Var, Cov1, Cov2, Cov3) by jackknife and by DeLong's method, ibid.
VAN_DYKE_JACKKNIFE = (0.0008022883, 0.0003466137, 0.0003440748, 0.0002390284)
VAN_DYKE_DELONG = (0.0007921325, 0.0003420090, 0.0003395265, 0.0002358497)

# dataset04 (5 modalities, 4 readers, 200 cases), wAFROC: reference output of the R package RJafroc 2.1.3
# (tests/testthat/goodValues361/UtilOutputReport/dataset04-OR-wAFROC.rds).
DATASET04 = np.array(
    [
        [0.77926666666667, 0.72489166666667, 0.70362500000000, 0.80509166666667],
        [0.78700000000000, 0.72690000000000, 0.72261666666667, 0.80378333333333],
        [0.72969166666667, 0.71575833333333, 0.67230833333333, 0.77265833333333],
        [0.81013333333333, 0.74311666666667, 0.69435833333333, 0.82940833333333],
        [0.74880000000000, 0.68227500000000, 0.65517500000000, 0.77125000000000],
    ]
)
DATASET04_COMPONENTS = (0.00092808365115208, 0.00042203598192084, 0.00033615563652831, 0.00030431123783436)


def covariance_of(shape, components):
    """A covariance with the same four values in every cell that shares the same things."""
    error, cov1, cov2, cov3 = components
    covariance = np.empty(shape + shape)
    for i, j, k, m in np.ndindex(covariance.shape):
        covariance[i, j, k, m] = {(1, 1): error, (0, 1): cov1, (1, 0): cov2, (0, 0): cov3}[i == k, j == m]
    return covariance


def van_dyke(components=VAN_DYKE_JACKKNIFE, **options):
    return obuchowski_rockette(VAN_DYKE, covariance_of(VAN_DYKE.shape, components), **options)


def test_van_dyke_with_random_readers_and_cases():
    study = van_dyke(VAN_DYKE_DELONG)
    assert study.statistic == pytest.approx(4.484854, rel=1e-5)
    assert (study.df1, study.df2) == (1, pytest.approx(15.06611, rel=1e-5))
    assert study.p_value == pytest.approx(0.05123303, rel=1e-5)
    (difference,) = study.differences
    assert difference.estimate == pytest.approx(-0.04380032, rel=1e-5)
    assert difference.standard_error == pytest.approx(0.0206825, rel=1e-5)
    assert (difference.lower, difference.upper) == pytest.approx((-0.0878671960, 0.0002665519), abs=2e-7)
    assert difference.p_value == pytest.approx(study.p_value)
    assert study.components.reader == pytest.approx(0.0015364254, rel=1e-5)
    assert study.components.modality_reader == pytest.approx(0.0002045840, rel=1e-5)


def test_van_dyke_with_fixed_readers():
    study = van_dyke(random="cases")
    assert study.statistic == pytest.approx(5.475953, rel=1e-5)
    assert study.p_value == pytest.approx(0.01927984, rel=1e-5)
    (difference,) = study.differences
    assert difference.standard_error == pytest.approx(0.01871748, rel=1e-5)
    assert (difference.lower, difference.upper) == pytest.approx((-0.08048591, -0.00711473), abs=1e-7)


def test_van_dyke_with_fixed_cases():
    study = obuchowski_rockette(VAN_DYKE, None, random="readers")
    assert study.statistic == pytest.approx(8.704, rel=1e-4)
    assert study.p_value == pytest.approx(0.04195875, rel=1e-5)
    (difference,) = study.differences
    assert (difference.lower, difference.upper) == pytest.approx((-0.08502022, -0.00258042), abs=1e-7)
    assert [mean.lower for mean in study.means] == pytest.approx([0.8280981, 0.8959894], abs=1e-6)
    assert study.components is None


def test_intervals_of_each_modality():
    """Means, standard errors, degrees of freedom and limits from Cov2 and Var of each modality alone."""
    covariance = covariance_of(VAN_DYKE.shape, VAN_DYKE_JACKKNIFE)
    for i, (error, cov2) in enumerate([(0.0010141028, 0.0004839618), (0.0005904738, 0.0002041879)]):
        covariance[i, :, i, :] = cov2
        covariance[i, range(5), i, range(5)] = error
    fixed_readers = obuchowski_rockette(VAN_DYKE, covariance, random="cases").means
    assert [mean.standard_error for mean in fixed_readers] == pytest.approx(
        [0.02428971, 0.01677632], rel=1e-5
    )
    assert [mean.lower for mean in fixed_readers] == pytest.approx([0.8494301, 0.9079564], abs=1e-6)
    for i, cov2 in enumerate([0.0004775239, 0.0002015292]):
        covariance[i, :, i, :] = cov2
        covariance[i, range(5), i, range(5)] = VAN_DYKE_DELONG[0]
    both = obuchowski_rockette(VAN_DYKE, covariance).means
    assert [mean.standard_error for mean in both] == pytest.approx([0.03307642, 0.02150464], rel=1e-5)
    assert [mean.df for mean in both] == pytest.approx([12.59597, 12.56530], rel=1e-5)
    assert [mean.upper for mean in both] == pytest.approx([0.9687280, 0.9874592], abs=1e-6)


@pytest.mark.parametrize(
    ("random", "statistic", "df2", "p_value", "error"),
    [
        (
            "readers and cases",
            7.800299667125068,
            36.793342733484735,
            0.00011710500441841631,
            0.012185669636685945,
        ),
        ("readers", 13.658571719470372, 12.0, 0.00020192224012083315, 0.009208786407912579),
        ("cases", 15.403026413594041, np.inf, 0.003934323760160674, 0.01734331089084615),
    ],
)
def test_five_modalities_as_rjafroc(random, statistic, df2, p_value, error):
    covariance = covariance_of(DATASET04.shape, DATASET04_COMPONENTS)
    study = obuchowski_rockette(DATASET04, covariance, random=random)
    assert study.statistic == pytest.approx(statistic, rel=1e-9)
    assert study.df2 == pytest.approx(df2, rel=1e-9)
    assert study.p_value == pytest.approx(p_value, rel=1e-8)
    assert len(study.differences) == 10
    assert study.differences[0].standard_error == pytest.approx(error, rel=1e-9)
    assert study.components.reader == pytest.approx(0.0022086456355432673, rel=1e-9)
    assert study.components.modality_reader == pytest.approx(-0.0003045997763241859, rel=1e-9)


def test_order_of_readers_and_modalities_does_not_matter():
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(15, 40)) / 100
    theta, covariance = rng.uniform(0.6, 0.9, (3, 5)), np.cov(factor).reshape(3, 5, 3, 5)
    rows, columns = rng.permutation(3), rng.permutation(5)
    plain = obuchowski_rockette(theta, covariance)
    moved = obuchowski_rockette(
        theta[np.ix_(rows, columns)], covariance[np.ix_(rows, columns, rows, columns)]
    )
    assert (moved.statistic, moved.df2) == pytest.approx((plain.statistic, plain.df2))
    assert sorted(mean.standard_error for mean in moved.means) == pytest.approx(
        sorted(mean.standard_error for mean in plain.means)
    )


def test_modalities_with_equal_figures_do_not_differ():
    theta = np.tile([0.7, 0.8, 0.75], (2, 1))
    study = obuchowski_rockette(theta, 1e-4 * np.eye(6).reshape(2, 3, 2, 3), random="cases")
    assert (study.statistic, study.p_value) == (0, 1)
    assert study.differences[0].p_value == 1
    assert study.differences[0].upper == pytest.approx(1.959964 * np.sqrt(2 * 1e-4 / 3))


@pytest.mark.parametrize("random", ["readers and cases", "readers", "cases"])
@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_no_estimate_of_error_gives_neither_p_value_nor_interval(random, gain):
    theta = np.array([[0.7, 0.8, 0.75]]) + np.array([[0.0], [gain]])
    # The same readings twice: errors of all cells are one.
    study = obuchowski_rockette(theta, np.full((2, 3, 2, 3), 1e-4), random=random)
    difference = study.differences[0]
    assert np.isnan([study.p_value, difference.p_value, difference.lower, difference.upper]).all()


def test_one_reader_speaks_for_itself_only():
    covariance = np.array([[4e-4, 2e-4], [2e-4, 4e-4]]).reshape(2, 1, 2, 1)
    study = obuchowski_rockette([[0.7], [0.75]], covariance, random="cases")
    # Var - Cov1 = 2e-4: the variance of the difference is 4e-4.
    assert study.differences[0].standard_error == pytest.approx(0.02)
    assert study.statistic == pytest.approx((0.05 / 0.02) ** 2)
    with pytest.raises(InvalidInputError, match="at least two"):
        obuchowski_rockette([[0.7], [0.75]], covariance)


@pytest.mark.parametrize(
    ("figures", "options", "words"),
    [
        (VAN_DYKE[:1], {}, "two modalities"),
        (VAN_DYKE[0], {}, "shape"),
        (VAN_DYKE * np.nan, {}, "finite"),
        (VAN_DYKE, {"random": "everything"}, "unknown random"),
        (VAN_DYKE, {"level": 1.0}, "level"),
        (VAN_DYKE, {"modalities": ["a", "a"]}, "different names"),
        (VAN_DYKE, {"readers": ["a"]}, "5 different"),
        (VAN_DYKE[:, :3], {}, "covariance"),
    ],
)
def test_hostile_input_is_refused(figures, options, words):
    with pytest.raises(InvalidInputError, match=words):
        obuchowski_rockette(figures, covariance_of((2, 5), VAN_DYKE_JACKKNIFE), **options)


def test_random_cases_need_a_covariance():
    with pytest.raises(InvalidInputError, match="covariance"):
        obuchowski_rockette(VAN_DYKE, None)
