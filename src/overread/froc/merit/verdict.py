"""What a comparison of two models says, in words.

One decision, one sentence: a model is called better where both the interval of the difference leaves out 0 and the
permutation test finds such a difference rarer than 1 minus the level among models that are alike. The interval comes
from the bootstrap's standard error, which few lesions make uncertain; the test is exact, but tests whether the models
are alike in every way. Where just one of the two speaks for a difference, it is not taken as shown.
"""

from __future__ import annotations

from math import isnan
from typing import Literal

from overread.froc.merit.comparison import FigureComparison

__all__ = ["choose_better", "verdict"]


def choose_better(figure: FigureComparison) -> Literal["first", "second"] | None:
    """Return which of two models a comparison shows to be better; None where it shows neither."""
    if not figure.p_permutation < 1 - figure.level:
        return None
    if figure.lower > 0:
        return "second"
    return "first" if figure.upper < 0 else None


def verdict(first: str, second: str, figures: tuple[FigureComparison, ...]) -> list[str]:
    """Say in words what the weighted whole-curve figure shows; the points beside it are not tested as one."""
    if not figures:
        return [f"{first} and {second} cannot be told apart: there is no GT to find."]
    main = figures[-1]
    width = "no interval" if isnan(main.lower) else f"{main.lower:+.3f} to {main.upper:+.3f}"
    numbers = f"{main.difference:+.3f} ({width}), p = {main.p_permutation:.3f}"
    better = choose_better(main)
    if better is not None:
        name = first if better == "first" else second
        return [
            f"{name} is better on these images: {main.figure} of {second} differs from {first} by {numbers}."
        ]
    return [
        f"{first} and {second} cannot be told apart on these images: {main.figure} differs by {numbers}.",
        _explain(main),
    ]


def _explain(figure: FigureComparison) -> str:
    """Say why neither is called better, and what that does not mean."""
    equal = "That is not proof that they are equal"
    if isnan(figure.lower):
        return f"{equal}."
    if figure.p_permutation < 1 - figure.level:
        return f"{equal}: the permutation test alone speaks for a difference, but the interval holds 0."
    if figure.lower > 0 or figure.upper < 0:
        return f"{equal}: the interval alone leaves out 0, but the permutation test does not confirm it."
    return f"{equal}: every difference within the interval fits these data."
