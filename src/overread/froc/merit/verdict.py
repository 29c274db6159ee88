"""What a comparison of two models says, in words."""

from __future__ import annotations

from math import isnan

from overread.froc.merit.comparison import FigureComparison

__all__ = ["verdict"]

DISAGREEMENT = (
    "Interval and permutation test disagree: the interval {} 0. With few lesions the interval is the less sure "
    "of the two; more cases are needed to decide."
)


def verdict(first: str, second: str, figures: tuple[FigureComparison, ...]) -> list[str]:
    """Say in words what the weighted whole-curve figure shows; the points beside it are not tested as one."""
    if not figures:
        return [f"{first} and {second} cannot be told apart: there is no GT to find."]
    main = figures[-1]
    no_interval = isnan(main.lower)
    width = "no interval" if no_interval else f"{main.lower:+.3f} to {main.upper:+.3f}"
    figure = f"{main.difference:+.3f} ({width}), p = {main.p_permutation:.3f}."
    leaves_out_zero = not no_interval and not main.lower <= 0 <= main.upper
    if main.p_permutation < 1 - main.level:
        better = second if main.difference > 0 else first
        said = [
            f"{better} is better on these images: {main.figure} of {second} differs from {first} by {figure}"
        ]
        return said if leaves_out_zero or no_interval else [*said, DISAGREEMENT.format("includes")]
    said = [f"{first} and {second} cannot be told apart on these images: {main.figure} differs by {figure}"]
    if leaves_out_zero:
        return [*said, DISAGREEMENT.format("leaves out")]
    fitting = "" if no_interval else ": every difference within the interval fits these data"
    return [*said, f"That is not proof that they are equal{fitting}."]
