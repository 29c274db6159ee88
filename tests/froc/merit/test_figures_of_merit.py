"""AFROC figures against the definition by brute force, scikit-learn's AUC and their own curve.

What a comparison says in words: one decision, and nothing that contradicts it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from overread.errors import InvalidInputError
from overread.froc import (
    CaseRatings,
    FigureComparison,
    afroc_curve,
    choose_better,
    figure_of_merit,
    jackknife_figures,
    verdict,
)
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
        (lambda: jackknife_figures(one_case(), "AFROC1"), "none"),
        (lambda: jackknife_figures(one_case(), "AFROC1", patients=["a", "b"]), "one id"),
    ],
)
def test_hostile_input_is_refused(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()


BETTER = "is better on these images"
NEITHER = "cannot be distinguished"


def figure(difference, p, lower=-0.1, upper=0.2, level=0.95):
    return FigureComparison("wAFROC", 0.6, 0.6 + difference, difference, lower, upper, level, p, p)


def test_words():
    undecided = verdict("A", "B", (figure(0.05, 0.31),))
    assert NEITHER in undecided[0]
    equal = "That is not proof that they are equal"
    assert undecided[1] == f"{equal}: every difference within the interval fits these data."
    (better,) = verdict("A", "B", (figure(0.05, 0.01, 0.01, 0.09),))
    assert (
        better
        == "B is better on these images: wAFROC of B differs from A by +0.050 (+0.010 to +0.090), p = 0.010."
    )
    assert verdict("A", "B", (figure(-0.05, 0.01, -0.09, -0.01),))[0].startswith("A is better")
    assert "no object" in verdict("A", "B", ())[0]
    unknown = verdict("A", "B", (figure(-1.0, 0.5, np.nan, np.nan),))
    assert "-1.000 (no interval), p = 0.500" in unknown[0]
    assert unknown[1] == f"{equal}."


def test_where_interval_and_test_disagree_nothing_is_shown_and_the_reason_is_said():
    few = verdict("A", "B", (figure(-0.75, 1.0, -1.0, -0.341),))
    assert NEITHER in few[0]
    assert few[1].endswith("the interval alone leaves out 0, but the permutation test does not confirm it.")
    # As in the demo of an earlier version: "B2 is better ... the interval includes 0 ... more cases are needed".
    wide = verdict("B1", "B2", (figure(0.021, 0.014, -0.001, 0.042),))
    assert NEITHER in wide[0]
    assert wide[1].endswith("the permutation test alone speaks for a difference, but the interval holds 0.")


@st.composite
def comparisons(draw):
    """Any difference with an interval around it or none, any p, any level."""
    difference = draw(st.floats(-1, 1))
    below, above = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    lower, upper = draw(st.sampled_from([(difference - below, difference + above), (np.nan, np.nan)]))
    p, level = draw(st.floats(0, 1)), draw(st.sampled_from([0.8, 0.9, 0.95, 0.99]))
    return figure(difference, p, lower, upper, level)


@given(comparisons())
def test_no_sentence_contradicts_another(one):
    said = " ".join(verdict("A", "B", (one,)))
    assert (BETTER in said) != (NEITHER in said)
    holds_zero = not (one.lower > 0 or one.upper < 0)
    significant = one.p_permutation < 1 - one.level
    if BETTER in said:
        assert significant
        assert not holds_zero
        winner = "B" if one.difference > 0 else "A"
        assert said.startswith(f"{winner} is better")
        assert choose_better(one) == ("second" if winner == "B" else "first")
        assert "not proof" not in said
        assert "alone" not in said
    else:
        assert choose_better(one) is None
        assert holds_zero or not significant
        assert "not proof that they are equal" in said
        assert ("the interval holds 0" in said) == (significant and holds_zero and not np.isnan(one.lower))
        assert ("leaves out 0" in said) == (not significant and not holds_zero)
    assert "more cases" not in said


@given(comparisons())
def test_the_order_of_the_models_does_not_matter(one):
    turned = figure(-one.difference, one.p_permutation, -one.upper, -one.lower, one.level)
    other = {"first": "second", "second": "first", None: None}
    assert choose_better(turned) == other[choose_better(one)]
