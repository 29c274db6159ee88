"""AFROC figures against the definition by brute force, scikit-learn's AUC and their own curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from overread.errors import InvalidInputError
from overread.froc import CaseRatings, afroc_curve, figure_of_merit, jackknife_figures
from overread.froc.merit._figures_of_merit import resample_figures

FIGURES = ["AFROC", "wAFROC", "AFROC1", "wAFROC1"]
NONE = -np.inf


def by_definition(ratings, figure, keep=None):
    """The double mean, term by term, over the cases in `keep`."""
    keep = range(ratings.n_cases) if keep is None else keep
    lesions_of = {k: np.flatnonzero(ratings.lesion_case == k) for k in keep}
    fp_cases = [k for k in keep if figure.endswith("1") or len(lesions_of[k]) == 0]
    total = weight_sum = 0.0
    for k in keep:
        for lesion in lesions_of[k]:
            weight = ratings.weights()[lesion] if figure.startswith("w") else 1.0
            weight_sum += weight
            for other in fp_cases:
                f, y = ratings.highest_fp[other], ratings.lesion_rating[lesion]
                total += weight * (1.0 if f < y else 0.5 if f == y else 0.0)
    return total / (len(fp_cases) * weight_sum)


@st.composite
def studies(draw):
    """Small studies full of ties, unmarked lesions and cases without false positives."""
    rating = st.sampled_from([NONE, 1.0, 2.0, 3.0, 4.0])
    lesions = [*draw(st.lists(st.integers(0, 3), min_size=2, max_size=6)), 1, 2, 0, 0]
    fp = draw(st.lists(rating, min_size=len(lesions), max_size=len(lesions)))
    case = np.repeat(np.arange(len(lesions)), lesions)
    lesion_rating = draw(st.lists(rating, min_size=len(case), max_size=len(case)))
    raw = np.array(draw(st.lists(st.floats(0.1, 1), min_size=len(case), max_size=len(case))))
    weight = raw / np.bincount(case, weights=raw)[case]
    return CaseRatings(np.array(fp), case, np.array(lesion_rating), weight if draw(st.booleans()) else None)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(studies(), st.sampled_from(FIGURES))
def test_equals_the_definition_and_the_area_of_its_curve(ratings, figure):
    expected = by_definition(ratings, figure)
    assert figure_of_merit(ratings, figure) == pytest.approx(expected, abs=1e-12)
    curve = afroc_curve(ratings, figure)
    assert curve.area == pytest.approx(expected, abs=1e-12)
    assert np.all(np.diff(curve.false_positive_fraction) >= 0)
    assert np.all(np.diff(curve.lesion_fraction) >= 0)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(studies(), st.sampled_from(FIGURES), st.data())
def test_jackknife_equals_the_figure_without_each_patient(ratings, figure, data):
    patients = np.array(
        data.draw(st.lists(st.sampled_from("abc"), min_size=ratings.n_cases, max_size=ratings.n_cases))
    )
    patients[-4:] = ["d", "e", "f", "g"]
    for groups in (None, patients):
        names = np.arange(ratings.n_cases) if groups is None else groups
        order = list(dict.fromkeys(names))
        expected = [by_definition(ratings, figure, np.flatnonzero(names != name)) for name in order]
        np.testing.assert_allclose(jackknife_figures(ratings, figure, patients=groups), expected, atol=1e-12)


@pytest.mark.parametrize("figure", FIGURES)
def test_case_counts_are_copies_of_cases(figure):
    rng = np.random.default_rng(1)
    case = np.repeat(np.arange(12), rng.integers(0, 3, 12))
    ratings = CaseRatings(
        rng.integers(0, 5, 12).astype(float), case, rng.integers(0, 5, len(case)).astype(float)
    )
    drawn = rng.integers(0, 12, 12)
    copies = [np.flatnonzero(case == k) for k in drawn]
    repeated = CaseRatings(
        ratings.highest_fp[drawn],
        np.concatenate([np.full(len(lesions), position) for position, lesions in enumerate(copies)]).astype(
            int
        ),
        np.concatenate([ratings.lesion_rating[lesions] for lesions in copies]),
    )
    counts = np.stack([np.bincount(drawn, minlength=12), np.ones(12), np.zeros(12)])
    expected = [figure_of_merit(repeated, figure), figure_of_merit(ratings, figure), np.nan]
    np.testing.assert_allclose(resample_figures(ratings, figure, counts), expected, atol=1e-12)


def test_one_lesion_a_case_is_the_area_under_the_roc():
    rng = np.random.default_rng(2)
    normal, diseased = rng.normal(size=40).round(1), rng.normal(1, 1, size=30).round(1)
    ratings = CaseRatings(np.concatenate([normal, np.full(30, NONE)]), np.arange(40, 70), diseased)
    expected = roc_auc_score(np.repeat([0, 1], [40, 30]), np.concatenate([normal, diseased]))
    assert figure_of_merit(ratings, "AFROC") == pytest.approx(expected, abs=1e-12)
    assert figure_of_merit(ratings, "wAFROC") == pytest.approx(expected, abs=1e-12)


def test_worked_by_hand():
    """Two normal cases (f = 2 and none), two diseased: lesions (3, unmarked) and (2)."""
    ratings = CaseRatings(np.array([2.0, NONE, 5.0, NONE]), np.array([2, 2, 3]), np.array([3.0, NONE, 2.0]))
    # psi against f = 2: 1, 0, 1/2; against none: 1, 1/2, 1.
    assert figure_of_merit(ratings, "AFROC") == pytest.approx((1.5 + 2.5) / 6)
    assert figure_of_merit(ratings, "wAFROC") == pytest.approx((0.5 + 0.5 + 0.75 + 1) / 4)
    # With all cases: f = 5 beats every lesion, the second "none" is as the first.
    assert figure_of_merit(ratings, "AFROC1") == pytest.approx((1.5 + 2.5 + 0 + 2.5) / 12)


def test_nothing_marked_anywhere_is_a_coin_toss():
    ratings = CaseRatings(np.full(5, NONE), np.array([0, 0, 1]), np.full(3, NONE))
    for figure in FIGURES:
        assert figure_of_merit(ratings, figure) == 0.5
        assert afroc_curve(ratings, figure).area == 0.5


def one_case(fp=1.0, case=0, rating=1.0, weight=None):
    return CaseRatings(*(np.atleast_1d(part) for part in (fp, case, rating)), weight)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: one_case(fp=np.nan), r"highest_fp\[0\]"),
        (lambda: one_case(fp=np.ones((1, 1))), "one dimension"),
        (lambda: one_case(rating=np.inf), r"lesion_rating\[0\]"),
        (lambda: one_case(case=1), "1 cases"),
        (lambda: one_case(case=0.5), "whole numbers"),
        (lambda: one_case(rating=[1.0, 2.0]), "every lesion"),
        (lambda: one_case(weight=[0.4]), "sum to 0.4"),
        (lambda: one_case(weight=[-1.0]), "at least 0"),
        (lambda: figure_of_merit(one_case(case=[], rating=[])), "needs lesions"),
        (lambda: figure_of_merit(one_case()), "use wAFROC1"),
        (lambda: figure_of_merit(one_case(), "AUC"), "unknown figure"),
        (lambda: resample_figures(one_case(), "AFROC", [[-1]]), "at least 0"),
        (lambda: resample_figures(one_case(), "AFROC", [1]), "rows of 1"),
        (lambda: jackknife_figures(one_case(), "AFROC1"), "none"),
        (lambda: jackknife_figures(one_case(), "AFROC1", patients=["a", "b"]), "one id"),
    ],
)
def test_hostile_input_is_refused(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()
