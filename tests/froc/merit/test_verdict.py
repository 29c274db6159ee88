"""What a comparison says in words: one decision, and nothing that contradicts it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from overread.froc import FigureComparison, choose_better, verdict

BETTER = "is better on these images"
NEITHER = "cannot be told apart"


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
    assert "no GT" in verdict("A", "B", ())[0]
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
