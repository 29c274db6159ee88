"""What a comparison says in words."""

from __future__ import annotations

import numpy as np

from overread.froc.merit import FigureComparison, verdict


def test_words():
    def figure(difference, p, lower=-0.1, upper=0.2):
        return FigureComparison("wAFROC", 0.6, 0.6 + difference, difference, lower, upper, 0.95, p, p)

    undecided = verdict("A", "B", (figure(0.05, 0.31),))
    assert "cannot be told apart" in undecided[0]
    assert "not proof that they are equal" in undecided[1]
    assert "within the interval" in undecided[1]
    (better,) = verdict("A", "B", (figure(0.05, 0.01, 0.01, 0.09),))
    assert better.startswith("B is better")
    assert verdict("A", "B", (figure(-0.05, 0.01),))[0].startswith("A is better")
    assert "no GT" in verdict("A", "B", ())[0]
    few = verdict("A", "B", (figure(-0.75, 1.0, -1.0, -0.341),))
    assert "cannot be told apart" in few[0]
    assert few[1].startswith("Interval and permutation test disagree: the interval leaves out 0")
    assert "fits these data" not in " ".join(few)
    assert "the interval includes 0" in verdict("A", "B", (figure(0.05, 0.01),))[1]
    unknown = verdict("A", "B", (figure(-1.0, 0.5, np.nan, np.nan),))
    assert "-1.000 (no interval), p = 0.500" in unknown[0]
    assert unknown[1] == "That is not proof that they are equal."
