"""How large a study has to be, from the variance that a finished one shows, or without any pilot.

The variance of a sensitivity, and of a paired difference of two, falls as one over the number of patients: patients
are what is drawn (:mod:`overread.froc._bootstrap`), and lesions of one patient are alike. A study with f times the
patients of the pilot, and the same mix of images and lesions, therefore has

- a sensitivity p that is worth f n* independent lesions, where n* is what the pilot is worth: half the width of its
  interval is that of Wilson's interval for p and f n* (:func:`~overread.froc.score_interval`);
- a difference d with the standard error e / sqrt(f), where e is the pilot's: half the width of its interval is
  z e / sqrt(f), and the two-sided test finds a true difference D with probability
  Phi(|D| sqrt(f) / e - z) + Phi(-|D| sqrt(f) / e - z).

The number of lesions over n* is the design effect (Rao and Scott, Biometrics 48:577, 1992, who correct clustered
proportions by it): above 1 where lesions of a patient are alike or the threshold is estimated as well, below 1 where
the threshold's own variation cancels that of the lesions.

A sensitivity p on n independent lesions has Wilson's interval
(:func:`~overread.froc.proportion_interval`). Half its width is h where, with u = z^2 / n,

    (1/4 - h^2) u^2 + (p (1 - p) - 2 h^2) u - h^2 = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isfinite, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import ROUNDING, bootstrap, check_level, proportion_interval
from overread.froc._comparison import compare_models
from overread.froc._curve import MEASURES
from overread.froc._defaults import LEVEL, N_BOOTSTRAP
from overread.froc._matching import Matching


def gts_needed(
    first: float,
    second: float,
    *,
    discordant: float | None = None,
    power: float = 0.8,
    level: float = LEVEL,
    design_effect: float = 1.0,
) -> int:
    """Compute the number of lesions needed to distinguish two paired sensitivities.

    Connor's formula for McNemar's test (Biometrics 43:207, 1987): with d the difference, psi the share of
    lesions on which the models disagree,

    ::

        n = (z_((1+level)/2) sqrt(psi) + z_power sqrt(psi - d^2))^2 / d^2.

    Parameters
    ----------
    first, second : float
        The two sensitivities.
    discordant : float, optional
        psi, between ``|d|`` and what independent models have, first (1 - second) + second (1 - first), which
        is the default.
    power : float, default=0.8
        Probability of finding the difference.
    level : float, default=0.95
        Confidence of the two-sided test, at least 0.5: 0.95 tests at the significance level 0.05.
    design_effect : float, default=1.0
        Factor for lesions of one patient being alike and thresholds being estimated: n_gts over the n* of
        :func:`~overread.froc.score_interval`.
    """
    if not (0 <= first <= 1 and 0 <= second <= 1 and 0 < power < 1 and 0.5 <= level < 1):
        raise InvalidInputError(
            "gts_needed: need sensitivities in [0, 1], power between 0 and 1, and a level of at least 0.5 and below 1"
            " (the confidence, such as 0.95, not the significance)"
        )
    difference = abs(second - first)
    independent = first * (1 - second) + second * (1 - first)
    psi = independent if discordant is None else discordant
    if difference == 0:
        raise InvalidInputError("gts_needed: equal sensitivities cannot be distinguished by any number")
    if not difference - ROUNDING <= psi <= 1:
        raise InvalidInputError(f"discordant={psi}: need between {difference:.3g} and 1")
    z_level, z_power = float(ndtri((1 + level) / 2)), float(ndtri(power))
    n = (z_level * sqrt(psi) + z_power * sqrt(max(psi - difference**2, 0.0))) ** 2 / difference**2
    return ceil(n * _positive(design_effect=design_effect))


def gts_for_half_width(
    sensitivity: float, half_width: float, *, level: float = LEVEL, design_effect: float = 1.0
) -> int:
    """Lesions needed for a sensitivity whose interval is the estimate +- ``half_width``.

    The interval is Wilson's, as Overread reports it. The textbook's z^2 p (1 - p) / h^2 (Zhou, Obuchowski and
    McClish, Statistical Methods in Diagnostic Medicine, 2011, section 6.1) asks for nearly the same near p = 1/2
    and for less towards 0 and 1, where the interval that it belongs to is too short.

    Parameters
    ----------
    sensitivity : float
        Sensitivity that is expected.
    half_width : float
        Half the width of the interval, as a share: 0.05 is 5 points.
    level : float, default=LEVEL
        Level of the interval.
    design_effect : float, default=1.0
        Factor for lesions of one patient being alike and thresholds being estimated, as in :func:`gts_needed`.
        With s lesions a patient and a correlation r between them it is 1 + (s - 1) r, thresholds apart.
    """
    effect = _positive(design_effect=design_effect)
    return ceil(independent_lesions(sensitivity, half_width, level) * effect - ROUNDING)


def independent_lesions(sensitivity: float, half_width: float, level: float = LEVEL) -> float:
    """Independent lesions, not rounded, for which Wilson's interval has half this width."""
    if not 0 <= sensitivity <= 1:
        raise InvalidInputError(f"sensitivity={sensitivity}: need a number from 0 to 1")
    if not 0 < half_width < 0.5:
        raise InvalidInputError(f"half_width={half_width}: need a share between 0 and 0.5, such as 0.05")
    a, b = 0.25 - half_width**2, sensitivity * (1 - sensitivity) - 2 * half_width**2
    u = (sqrt(b * b + 4 * a * half_width**2) - b) / (2 * a)
    return _z(level) ** 2 / u


PLANNED_MEASURES = MEASURES[:2]


@short_repr()
@dataclass(frozen=True, slots=True)
class StudySize:
    """Patients, images and GTs to find (consensus objects) of a study; without patients each image is one."""

    patients: int
    images: int
    gts: int

    def times(self, factor: float) -> StudySize:
        """Return the size of a study with the same mix and ``factor`` times as many patients, rounded up."""
        return StudySize(*(ceil(n * factor - ROUNDING) for n in (self.patients, self.images, self.gts)))

    def growth(
        self, *, patients: float | None = None, images: float | None = None, gts: float | None = None
    ) -> float:
        """Factor to a study of which one number is planned; 1 where none is."""
        planned = {"patients": patients, "images": images, "gts": gts}
        given = {name: n for name, n in planned.items() if n is not None}
        if len(given) > 1:
            raise InvalidInputError(
                f"plan by one of {', '.join(given)}: the others follow from the pilot's mix"
            )
        return next((_positive(**{name: n}) / getattr(self, name) for name, n in given.items()), 1.0)


@short_repr()
@dataclass(frozen=True, slots=True)
class SensitivityPilot:
    """One model's sensitivity at an operating point of a finished study, and its effective sample size.

    `worth` is n*, the number of independent lesions (images with a lesion) that the data are worth; `design_effect`
    their number over n*; n* rests on `patients_with_gts`.
    """

    measure: str
    estimate: float
    lower: float
    upper: float
    level: float
    worth: float
    design_effect: float
    patients_with_gts: int
    size: StudySize

    def half_width(self, *, level: float = LEVEL, **planned: float | None) -> float:
        """Half the width of the interval in a study of this size, as in `StudySize.growth`; else of the pilot's own."""
        n = self.worth * self.size.growth(**planned)
        lower, upper = proportion_interval(self.estimate * n, n, level)
        return float(upper - lower) / 2

    def size_for(self, half_width: float, *, level: float = LEVEL) -> StudySize:
        """Return the size of the study whose interval has half this width."""
        return self.size.times(independent_lesions(self.estimate, half_width, level) / self.worth)

    def cautious_size_for(self, half_width: float, *, level: float = LEVEL) -> StudySize:
        """Return the size where the pilot was lucky: :attr:`worst_estimate`, and no design effect below 1."""
        factor = independent_lesions(self.worst_estimate, half_width, level) / self.worth
        return self.size.times(factor * max(1.0, 1.0 / self.design_effect))

    @property
    def worst_estimate(self) -> float:
        """Sensitivity inside the pilot's interval that takes the largest study: the one nearest to 1/2."""
        return min(max(0.5, self.lower), self.upper)


@short_repr()
@dataclass(frozen=True, slots=True)
class DifferencePilot:
    """Difference of two models' sensitivities at one FP target, in a finished study; `standard_error` is e."""

    measure: str
    first: float
    second: float
    difference: float
    standard_error: float
    patients_with_gts: int
    size: StudySize

    def half_width(self, *, level: float = LEVEL, **planned: float | None) -> float:
        """Half the width of the difference's interval in a study of this size, as in `StudySize.growth`."""
        return _z(level) * self._error_of(planned)

    def power(self, difference: float, *, level: float = LEVEL, **planned: float | None) -> float:
        """Probability that a study of this size distinguishes models that differ by ``difference``."""
        distance, z = abs(difference) / self._error_of(planned), _z(level)
        return float(ndtr(distance - z) + ndtr(-distance - z))

    def size_for(self, half_width: float, *, level: float = LEVEL) -> StudySize:
        """Return the size of the study whose difference has half this width."""
        if not 0 < half_width < 1:
            raise InvalidInputError(f"half_width={half_width}: need a share between 0 and 1, such as 0.05")
        return self.size.times((_z(level) * self.standard_error / half_width) ** 2)

    def size_for_power(self, difference: float, *, power: float = 0.8, level: float = LEVEL) -> StudySize:
        """Return the size of the study that finds a true difference with this probability.

        f = e^2 (z_(1 - alpha/2) + z_power)^2 / difference^2; the chance of a verdict in the wrong direction, which
        is below 1e-5 at any power worth planning for, is left out.
        """
        if not 0 < abs(difference) < 1:
            raise InvalidInputError(f"difference={difference}: need a share between 0 and 1, such as 0.05")
        if not max(0.0, 1 - level) < power < 1:
            raise InvalidInputError(f"power={power}: need a number between {1 - level:g} and 1, such as 0.8")
        distance = _z(level) + float(ndtri(power))
        return self.size.times((self.standard_error * distance / difference) ** 2)

    def _error_of(self, planned: Mapping[str, float | None]) -> float:
        return self.standard_error / sqrt(self.size.growth(**planned))


def pilot_sensitivity(
    matching: Matching,
    *,
    fp_target: float | None = None,
    threshold: float | None = None,
    measure: str = "gt_sensitivity",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> SensitivityPilot:
    """Measure what a sensitivity in a finished study is worth, at an ``fp_target`` or a ``threshold``.

    At a target the threshold is estimated from the same images, as in the study to come; a threshold is locked in both.
    """
    _check_pilot(matching, measure)
    if (fp_target is None) == (threshold is None):
        raise InvalidInputError("pilot_sensitivity: give an fp_target or a threshold")
    where = {"fp_targets": [fp_target]} if threshold is None else {"thresholds": [threshold]}
    result = bootstrap(matching, n_bootstrap=n_bootstrap, seed=seed, **where)
    estimate = float(result.points[measure].iloc[0])
    lower, upper = (float(end[0]) for end in result.interval_of(measure, level))
    # The interval is Wilson's for n* lesions, so n* is what gives its width.
    worth = independent_lesions(min(max(estimate, 0.0), 1.0), (upper - lower) / 2, level)
    n_items = matching.n_gts if measure == "gt_sensitivity" else len(matching.positive_images().images)
    return SensitivityPilot(
        measure=measure,
        estimate=estimate,
        lower=lower,
        upper=upper,
        level=level,
        worth=worth,
        design_effect=n_items / worth,
        patients_with_gts=result.n_units[measure],
        size=StudySize(matching.n_patients, matching.n_images, matching.n_gts),
    )


def pilot_difference(
    first: Matching,
    second: Matching,
    *,
    fp_target: float,
    measure: str = "gt_sensitivity",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> DifferencePilot:
    """Measure how much the difference of two models varies in a finished study, each at its own threshold."""
    _check_pilot(first, measure)
    found = compare_models(
        first, second, fp_targets=[fp_target], n_bootstrap=n_bootstrap, n_permutations=1, seed=seed
    )
    replicates = found.differences[measure][:, 0]
    error = float(np.nanstd(replicates, ddof=1))
    if not error > ROUNDING or found.n_units[measure] < 2:
        raise InvalidInputError(
            "the two models find the same in every replicate, or fewer than two patients have anything to find: "
            "the data do not say how much their difference varies"
        )
    return DifferencePilot(
        measure=measure,
        first=float(found.first[measure].iloc[0]),
        second=float(found.second[measure].iloc[0]),
        difference=float(found.difference(measure)[0]),
        standard_error=error,
        patients_with_gts=found.n_units[measure],
        size=StudySize(first.n_patients, first.n_images, first.n_gts),
    )


def _check_pilot(matching: Matching, measure: str) -> None:
    if measure not in PLANNED_MEASURES:
        raise InvalidInputError(f"measure={measure!r}: use one of {', '.join(map(repr, PLANNED_MEASURES))}")
    if not matching.n_gts:
        raise InvalidInputError("the pilot has no consensus object, so it says nothing about sensitivity")


def _positive(**number: float | None) -> float:
    """Return the one number that is given; refuses what is not finite and above 0."""
    ((name, value),) = number.items()
    if value is None or not (isfinite(value) and value > 0):
        raise InvalidInputError(f"{name}={value}: need a finite number above 0")
    return float(value)


def _z(level: float) -> float:
    return float(ndtri(0.5 + check_level(level) / 2))
