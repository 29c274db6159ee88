"""Obuchowski-Rockette inference against the published output of MRMCaov and RJafroc.

The reader study against a straight-line recomputation, its invariances and its size under the null.
"""

import numpy as np
import pytest
from scipy import stats

from overread.apps.planning._reader_sizes import read_reader_study
from overread.errors import InvalidInputError, TableError
from overread.froc import CaseRatings, figure_of_merit, obuchowski_rockette, reader_study

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


NONE = -np.inf


def simulated(rng, *, n_readers=3, n_normal=20, n_diseased=15, gain=0.0, modalities=("without", "with")):
    """Readers share the cases' difficulty; the second modality lifts lesions by `gain`."""
    lesion_case = n_normal + np.repeat(np.arange(n_diseased), rng.integers(1, 3, n_diseased))
    n_cases, n_lesions = n_normal + n_diseased, len(lesion_case)
    case_fp, case_lesion = rng.normal(size=n_cases), rng.normal(size=n_lesions)
    skill, study = rng.normal(1.0, 0.3, n_readers), {}
    for index, modality in enumerate(modalities):
        study[modality] = {}
        for reader in range(n_readers):
            own = rng.normal(0, 0.1)
            fp = case_fp + rng.normal(size=n_cases)
            lesion = case_lesion + rng.normal(size=n_lesions) + 1.4 * skill[reader] + own + index * gain
            study[modality][f"r{reader}"] = CaseRatings(
                np.where(fp > 0, fp, NONE), lesion_case, np.where(lesion > 0, lesion, NONE)
            )
    return study


def without_case(ratings, case):
    kept = np.arange(ratings.n_cases) != case
    lesions = ratings.lesion_case != case
    position = np.cumsum(kept) - 1
    return CaseRatings(
        ratings.highest_fp[kept], position[ratings.lesion_case[lesions]], ratings.lesion_rating[lesions]
    )


def test_straight_line_recomputation():
    """Two modalities, three readers, everything written out with loops."""
    study = simulated(np.random.default_rng(4), n_normal=6, n_diseased=5, gain=0.5)
    cells = [[study[m][r] for r in study[m]] for m in study]
    theta = [[figure_of_merit(cell) for cell in row] for row in cells]
    n_cases = 11
    left_out = np.array(
        [[[figure_of_merit(without_case(cell, k)) for k in range(n_cases)] for cell in row] for row in cells]
    )
    deviation = left_out - left_out.mean(axis=2, keepdims=True)

    def covariance(i, j, k, m):
        return (n_cases - 1) / n_cases * sum(deviation[i][j] * deviation[k][m])

    cov2 = np.mean([covariance(i, j, i, m) for i in range(2) for j in range(3) for m in range(3) if j != m])
    cov3 = np.mean(
        [covariance(i, j, 1 - i, m) for i in range(2) for j in range(3) for m in range(3) if j != m]
    )
    differences = [theta[0][j] - theta[1][j] for j in range(3)]
    ms_t = 3 * np.mean(differences) ** 2 / 2
    ms_tr = np.var(differences, ddof=1) / 2
    error_term = ms_tr + max(3 * (cov2 - cov3), 0)
    result = reader_study(study)
    np.testing.assert_allclose(result.figures, theta)
    assert result.statistic == pytest.approx(ms_t / error_term)
    assert result.df2 == pytest.approx(error_term**2 * 2 / ms_tr**2)
    assert result.p_value == pytest.approx(stats.f.sf(ms_t / error_term, 1, result.df2))
    half = stats.t.ppf(0.975, result.df2) * np.sqrt(2 * error_term / 3)
    assert result.differences[0].lower == pytest.approx(np.mean(differences) - half)
    assert result.n_cases == n_cases


def test_order_of_cases_and_readers_does_not_matter():
    study = simulated(np.random.default_rng(5), gain=0.3)
    order = np.random.default_rng(6).permutation(35)
    position = np.argsort(order)

    def moved(ratings):
        return CaseRatings(ratings.highest_fp[order], position[ratings.lesion_case], ratings.lesion_rating)

    shuffled = {m: {r: moved(study[m][r]) for r in reversed(study[m])} for m in study}
    plain, other = reader_study(study), reader_study(shuffled)
    assert (other.statistic, other.df2, other.p_value) == pytest.approx(
        (plain.statistic, plain.df2, plain.p_value)
    )


def test_patients_are_the_unit_where_given():
    study = simulated(np.random.default_rng(9))
    own = reader_study(study, patients=[f"p{i}" for i in range(35)])
    pairs = reader_study(study, patients=[f"p{i % 18}" for i in range(35)])
    assert own.statistic == reader_study(study).statistic
    assert pairs.n_cases == 18


def test_cells_must_be_crossed_and_about_the_same_cases():
    study = simulated(np.random.default_rng(11))
    with pytest.raises(InvalidInputError, match="'r2' did not use every modality"):
        reader_study({"a": study["without"], "b": {r: study["with"][r] for r in ("r0", "r1")}})
    other = simulated(np.random.default_rng(12))
    with pytest.raises(InvalidInputError, match="modality 'b', reader 'r0'"):
        reader_study({"a": study["without"], "b": other["with"]})
    with pytest.raises(InvalidInputError, match="none"):
        reader_study({})


@pytest.mark.slow
def test_size_under_the_null():
    """2,000 simulated studies without a difference: the 5 % test rejects between 3 and 6 %."""
    rng = np.random.default_rng(20101115)
    p_values = [
        reader_study(simulated(rng, n_readers=5, n_normal=30, n_diseased=30)).p_value for _ in range(2000)
    ]
    assert 0.03 <= np.mean(np.array(p_values) < 0.05) <= 0.06


CASES = "case_id,lesion_id\nc1,\nc2,a\nc2,b\nc3,a\n"
RATINGS = """modality,reader,case_id,lesion_id,rating
without,r1,c1,,2
without,r1,c1,,1
without,r1,c2,a,3
without,r1,c2,a,4.5
with,r1,c3,a,-1
with,r1,c2,,0
"""


@pytest.fixture
def write(tmp_path):
    def write(ratings=RATINGS, cases=CASES):
        (tmp_path / "ratings.csv").write_text(ratings)
        (tmp_path / "cases.csv").write_text(cases)
        return tmp_path / "ratings.csv", tmp_path / "cases.csv"

    return write


def test_the_highest_rating_counts_and_what_is_unmarked_has_none(write):
    found = read_reader_study(*write())
    assert {name: list(readers) for name, readers in found.items()} == {"without": ["r1"], "with": ["r1"]}
    without, with_cad = found["without"]["r1"], found["with"]["r1"]
    np.testing.assert_array_equal(without.highest_fp, [2, -np.inf, -np.inf])
    np.testing.assert_array_equal(without.lesion_case, [1, 1, 2])
    np.testing.assert_array_equal(without.lesion_rating, [4.5, -np.inf, -np.inf])
    np.testing.assert_array_equal(with_cad.highest_fp, [-np.inf, 0, -np.inf])
    np.testing.assert_array_equal(with_cad.lesion_rating, [-np.inf, -np.inf, -1])


@pytest.mark.parametrize(
    ("ratings", "cases", "said"),
    [
        (RATINGS.replace("rating\n", "score\n"), CASES, "row 1: no column rating"),
        (RATINGS.replace("c1,,2", "c9,,2"), CASES, "row 2: .* has no case 'c9'"),
        (RATINGS.replace("c3,a", "c3,z"), CASES, "row 6: .* has no lesion 'z' of case 'c3'"),
        (RATINGS.replace("4.5", "nan"), CASES, "row 5, column rating: 'nan'"),
        (RATINGS.replace("4.5", "high"), CASES, "row 5, column rating: 'high'"),
        (RATINGS.replace("without,r1,c1,,1", ",r1,c1,,1"), CASES, "row 3: modality or reader is empty"),
        (RATINGS, CASES + "c3,a\n", "row 6: lesion 'a' of case 'c3' is listed twice"),
        (RATINGS, CASES + ",a\n", "row 6: case_id is empty"),
        (RATINGS, "case_id\nc1\n", "row 1: no column lesion_id"),
    ],
)
def test_faults_name_their_row(write, ratings, cases, said):
    with pytest.raises(TableError, match=said):
        read_reader_study(*write(ratings, cases))
