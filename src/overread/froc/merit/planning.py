"""How many lesions a sensitivity or a comparison needs without any pilot, and what a published table can say.

With a pilot study use :mod:`overread.froc.merit.pilots`, which measures what is assumed here.

A sensitivity p on n independent lesions has Wilson's interval
(:func:`~overread.froc.proportion_interval`). Half its width is h where, with u = z^2 / n,

    (1/4 - h^2) u^2 + (p (1 - p) - 2 h^2) u - h^2 = 0.

Two models on the same n lesions differ only on those that one finds and the other misses. With
``only_first`` and ``only_second`` of them the difference is (only_second - only_first) / n, and under the
null hypothesis each is equally likely to be either (McNemar).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, sqrt

from scipy.special import bdtr, ndtri

from overread.errors import InvalidInputError
from overread.froc.defaults import LEVEL
from overread.froc.intervals import ROUNDING

__all__ = [
    "PairedPRange",
    "gts_for_half_width",
    "gts_needed",
    "independent_lesions",
    "mcnemar_p",
    "paired_p_range",
]


@dataclass(frozen=True, slots=True)
class PairedPRange:
    """Two-sided exact p-values that the two counts alone allow.

    Attributes
    ----------
    smallest
        When one model finds everything that the other finds: the least disagreement that the counts allow.
    independent
        When the models miss lesions independently of each other: the expected disagreement, rounded.
    """

    smallest: float
    independent: float


def paired_p_range(first: int, second: int, total: int) -> PairedPRange:
    """Range of McNemar's exact p-value when only the numbers of found lesions are known.

    Parameters
    ----------
    first, second
        Lesions that each model found.
    total
        Lesions there are.
    """
    if not (0 <= first <= total and 0 <= second <= total and total > 0):
        raise InvalidInputError(f"found {first} and {second} of {total}: not possible")
    difference = abs(second - first)
    both = round(first * second / total)
    return PairedPRange(
        smallest=mcnemar_p(0, difference),
        independent=mcnemar_p(min(first, second) - both, max(first, second) - both),
    )


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Two-sided exact p-value of McNemar's test."""
    fewer, discordant = min(only_first, only_second), only_first + only_second
    return min(1.0, 2.0 * float(bdtr(fewer, discordant, 0.5))) if discordant else 1.0


def gts_needed(
    first: float,
    second: float,
    *,
    discordant: float | None = None,
    power: float = 0.8,
    level: float = 0.05,
    design_effect: float = 1.0,
) -> int:
    """Lesions needed to tell two paired sensitivities apart.

    Connor's formula for McNemar's test (Biometrics 43:207, 1987): with d the difference, psi the share of
    lesions on which the models disagree,

    ::

        n = (z_(1-level/2) sqrt(psi) + z_power sqrt(psi - d^2))^2 / d^2.

    Parameters
    ----------
    first, second
        The two sensitivities.
    discordant
        psi, between ``|d|`` and what independent models have, first (1 - second) + second (1 - first), which
        is the default.
    power, level
        Probability of finding the difference; two-sided level of the test.
    design_effect
        Factor for lesions of one patient being alike and thresholds being estimated: n_gts over the n* of
        :func:`~overread.froc.score_interval`.
    """
    if not (0 <= first <= 1 and 0 <= second <= 1 and 0 < power < 1 and 0 < level < 1):
        raise InvalidInputError("gts_needed: sensitivities in [0, 1], power and level between 0 and 1")
    _check_design_effect(design_effect)
    difference = abs(second - first)
    independent = first * (1 - second) + second * (1 - first)
    psi = independent if discordant is None else discordant
    if difference == 0:
        raise InvalidInputError("gts_needed: equal sensitivities cannot be told apart by any number")
    if not difference - ROUNDING <= psi <= 1:
        raise InvalidInputError(f"discordant={psi}: need between {difference:.3g} and 1")
    z_level, z_power = float(ndtri(1 - level / 2)), float(ndtri(power))
    n = (z_level * sqrt(psi) + z_power * sqrt(max(psi - difference**2, 0.0))) ** 2 / difference**2
    return ceil(n * design_effect)


def gts_for_half_width(
    sensitivity: float, half_width: float, *, level: float = LEVEL, design_effect: float = 1.0
) -> int:
    """Lesions needed for a sensitivity whose interval is the estimate +- ``half_width``.

    The interval is Wilson's, as Overread reports it. The textbook's z^2 p (1 - p) / h^2 (Zhou, Obuchowski and
    McClish, Statistical Methods in Diagnostic Medicine, 2011, section 6.1) asks for nearly the same near p = 1/2
    and for less towards 0 and 1, where the interval that it belongs to is too short.

    Parameters
    ----------
    sensitivity
        Sensitivity that is expected.
    half_width
        Half the width of the interval, as a share: 0.05 is 5 points.
    level
        Level of the interval.
    design_effect
        Factor for lesions of one patient being alike and thresholds being estimated, as in :func:`gts_needed`.
        With s lesions a patient and a correlation r between them it is 1 + (s - 1) r, thresholds apart.
    """
    _check_design_effect(design_effect)
    return ceil(independent_lesions(sensitivity, half_width, level) * design_effect - ROUNDING)


def independent_lesions(sensitivity: float, half_width: float, level: float = LEVEL) -> float:
    """Independent lesions, not rounded, for which Wilson's interval has half this width."""
    if not 0 <= sensitivity <= 1:
        raise InvalidInputError(f"sensitivity={sensitivity}: need a number from 0 to 1")
    if not 0 < half_width < 0.5:
        raise InvalidInputError(f"half_width={half_width}: need a share between 0 and 0.5, such as 0.05")
    if not 0 < level < 1:
        raise InvalidInputError(f"level={level}: need a number between 0 and 1, such as 0.95")
    a, b = 0.25 - half_width**2, sensitivity * (1 - sensitivity) - 2 * half_width**2
    u = (sqrt(b * b + 4 * a * half_width**2) - b) / (2 * a)
    return float(ndtri(0.5 + level / 2)) ** 2 / u


def _check_design_effect(design_effect: float) -> None:
    """Refuse a factor that is none."""
    if not (isfinite(design_effect) and design_effect > 0):
        raise InvalidInputError(f"design_effect={design_effect}: need a finite number above 0")
