"""How large a study has to be, from the variance that a finished one shows.

The variance of a sensitivity, and of a paired difference of two, falls as one over the number of patients: patients
are what is drawn (:mod:`overread.froc.bootstraps`), and lesions of one patient are alike. A study with f times the
patients of the pilot, and the same mix of images and lesions, therefore has

- a sensitivity p that is worth f n* independent lesions, where n* is what the pilot is worth: half the width of its
  interval is that of Wilson's interval for p and f n* (:func:`~overread.froc.score_interval`);
- a difference d with the standard error e / sqrt(f), where e is the pilot's: half the width of its interval is
  z e / sqrt(f), and the two-sided test finds a true difference D with probability
  Phi(|D| sqrt(f) / e - z) + Phi(-|D| sqrt(f) / e - z).

The number of lesions over n* is the design effect (Rao and Scott, Biometrics 48:577, 1992, who correct clustered
proportions by it): above 1 where lesions of a patient are alike or the threshold is estimated as well, below 1 where
the threshold's own variation cancels that of the lesions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from overread.errors import InvalidInputError
from overread.froc.bootstraps import bootstrap
from overread.froc.comparison import compare
from overread.froc.curve import MEASURES
from overread.froc.defaults import LEVEL, N_BOOTSTRAP
from overread.froc.intervals import ROUNDING, proportion_interval
from overread.froc.matching import Matching
from overread.froc.merit.planning import independent_lesions
from overread.one_line import print_as_one_line

__all__ = ["DifferencePilot", "SensitivityPilot", "StudySize", "pilot_difference", "pilot_sensitivity"]

PLANNED_MEASURES = MEASURES[:2]


@print_as_one_line()
@dataclass(frozen=True, slots=True)
class StudySize:
    """Patients, images and GTs to find (golden objects) of a study; without patients each image is one."""

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
        for name, n in given.items():
            if not (isfinite(n) and n > 0):
                raise InvalidInputError(f"{name}={n}: need a number above 0")
            return float(n / getattr(self, name))
        return 1.0


@print_as_one_line()
@dataclass(frozen=True, slots=True)
class SensitivityPilot:
    """One model's sensitivity at an operating point of a finished study.

    Attributes
    ----------
    measure
        ``"gt_sensitivity"`` or ``"image_sensitivity"``.
    estimate, lower, upper, level
        Sensitivity and its interval, and the level of that.
    worth
        n*: the number of independent lesions (images with a lesion) that the data are worth.
    design_effect
        Number of lesions (images with a lesion) over n*.
    patients_with_gts
        Patients that have something to find: what the estimate of n* rests on.
    size
        Size of the pilot.
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

    def half_width(
        self,
        *,
        patients: float | None = None,
        images: float | None = None,
        gts: float | None = None,
        level: float = LEVEL,
    ) -> float:
        """Half the width of the interval in a study of this size; of the pilot's own without one."""
        n = self.worth * self.size.growth(patients=patients, images=images, gts=gts)
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


@print_as_one_line()
@dataclass(frozen=True, slots=True)
class DifferencePilot:
    """Difference of two models' sensitivities at one FP target, in a finished study.

    Attributes
    ----------
    measure
        ``"gt_sensitivity"`` or ``"image_sensitivity"``.
    first, second, difference
        The two sensitivities, and second minus first.
    standard_error
        e: standard deviation of the paired bootstrap replicates of the difference.
    patients_with_gts
        Patients that have something to find.
    size
        Size of the pilot.
    """

    measure: str
    first: float
    second: float
    difference: float
    standard_error: float
    patients_with_gts: int
    size: StudySize

    def half_width(
        self,
        *,
        patients: float | None = None,
        images: float | None = None,
        gts: float | None = None,
        level: float = LEVEL,
    ) -> float:
        """Half the width of the difference's interval in a study of this size."""
        return _z(level) * self._error_of(patients, images, gts)

    def power(
        self,
        difference: float,
        *,
        patients: float | None = None,
        images: float | None = None,
        gts: float | None = None,
        level: float = LEVEL,
    ) -> float:
        """Probability that a study of this size tells models apart that differ by ``difference``."""
        distance, z = abs(difference) / self._error_of(patients, images, gts), _z(level)
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

    def _error_of(self, patients: float | None, images: float | None, gts: float | None) -> float:
        return self.standard_error / sqrt(self.size.growth(patients=patients, images=images, gts=gts))


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
    """Measure what a sensitivity in a finished study is worth.

    Parameters
    ----------
    matching
        One model on the pilot's images.
    fp_target, threshold
        One of them: FP per image, with the threshold estimated from the same images as in the study to come, or a
        threshold that is locked in both.
    measure
        ``"gt_sensitivity"`` or ``"image_sensitivity"``.
    n_bootstrap, seed
        Resamplings of patients.
    level
        Level of the pilot's interval.
    """
    _check_measure(measure)
    if (fp_target is None) == (threshold is None):
        raise InvalidInputError("pilot_sensitivity: give an fp_target or a threshold")
    _check_something_to_find(matching)
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
        size=_size_of(matching),
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
    """Measure how much the difference of two models varies in a finished study.

    Parameters
    ----------
    first, second
        Two models on the same images.
    fp_target
        FP per image, at which each model has its own threshold.
    measure
        ``"gt_sensitivity"`` or ``"image_sensitivity"``.
    n_bootstrap, seed
        Resamplings of patients.
    """
    _check_measure(measure)
    _check_something_to_find(first)
    found = compare(
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
        size=_size_of(first),
    )


def _size_of(matching: Matching) -> StudySize:
    return StudySize(matching.n_patients, matching.n_images, matching.n_gts)


def _check_measure(measure: str) -> None:
    if measure not in PLANNED_MEASURES:
        raise InvalidInputError(f"measure={measure!r}: use one of {', '.join(map(repr, PLANNED_MEASURES))}")


def _check_something_to_find(matching: Matching) -> None:
    if not matching.n_gts:
        raise InvalidInputError("the pilot has no golden object, so it says nothing about sensitivity")


def _z(level: float) -> float:
    if not 0 < level < 1:
        raise InvalidInputError(f"level={level}: need a number between 0 and 1, such as 0.95")
    return float(ndtri(0.5 + level / 2))
