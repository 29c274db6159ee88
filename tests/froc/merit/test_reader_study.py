"""The reader study against a straight-line recomputation, its invariances and its size under the null."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from overread.errors import InvalidInputError
from overread.froc import CaseRatings, figure_of_merit, reader_study

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


def test_a_monotone_change_of_the_rating_scale_does_not_matter():
    study = simulated(np.random.default_rng(7), gain=0.3)
    tripled = {
        m: {
            r: replace(cell, highest_fp=3 * cell.highest_fp, lesion_rating=3 * cell.lesion_rating)
            for r, cell in study[m].items()
        }
        for m in study
    }
    assert reader_study(tripled).statistic == pytest.approx(reader_study(study).statistic)


def test_the_same_modality_twice():
    study = simulated(np.random.default_rng(8))
    result = reader_study({"a": study["without"], "b": study["without"]})
    assert result.differences[0].estimate == 0
    assert np.isnan([result.statistic, result.p_value, result.differences[0].lower]).all()


def test_patients_are_the_unit_where_given():
    study = simulated(np.random.default_rng(9))
    own = reader_study(study, patients=[f"p{i}" for i in range(35)])
    pairs = reader_study(study, patients=[f"p{i % 18}" for i in range(35)])
    assert own.statistic == reader_study(study).statistic
    assert pairs.n_cases == 18


def test_a_large_gain_is_seen():
    result = reader_study(
        simulated(np.random.default_rng(10), n_normal=60, n_diseased=60, n_readers=5, gain=1.5)
    )
    assert result.p_value < 0.01
    assert result.differences[0].upper < 0


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
