"""Marks per image that a detector makes here, beside those it made where its threshold was locked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy.special import betainc

__all__ = ["MarkRate"]

# Below this chance a difference is named: of a hundred sets of images of the same kind one is named by chance.
LARGEST_CHANCE = 0.01


@dataclass(frozen=True)
class MarkRate:
    """Marks of a detector at an operating point on some images.

    The number that a threshold is locked for counts false positives only. Nobody knows them here, so all marks here are
    compared with all marks, hits and false positives alike, that the same threshold gave where it was locked.

    Attributes
    ----------
    point
        `overread.study.detector.OperatingPoint.record`; empty where a table of marks is all that is known.
    n_images, n_marks
        Of the images here.
    n_without_row
        Images that a table of marks does not name, so that it has no marks of them.
    """

    point: Mapping[str, Any]
    n_images: int
    n_marks: int
    n_without_row: int = 0

    @property
    def p_value(self) -> float | None:
        """Two-sided chance of a number of marks this far off on images of the kind it was locked on; None: not known.

        The number of marks on n images has mean n m and variance n v (1 + n / N), with m and v the mean and variance
        of the marks per image of the N images of the lock; the second term is there as m is known from N images only.
        Its law is taken as negative binomial. Images count as independent, and v is not taken below m, the variance of
        a Poisson law.
        """
        if "marks_per_image" not in self.point or not self.n_images:
            return None
        n, k, known = self.n_images, self.n_marks, self.point["marks_per_image"]
        mean = n * known
        variance = n * max(self.point["marks_variance"], known) * (1 + n / self.point["n_images"])
        if mean == 0:
            return float(k == 0)
        share, size = mean / variance, mean**2 / (variance - mean)
        fewer = betainc(size, k + 1, share)
        more = betainc(k, size, 1 - share) if k else 1.0
        return float(min(1.0, 2 * min(fewer, more)))

    @property
    def differs(self) -> bool:
        """Whether the marks here are more or fewer than chance explains."""
        return self.p_value is not None and self.p_value < LARGEST_CHANCE

    def tell(self) -> str:
        """Say both numbers, what each of them counts, and whether they differ."""
        here = self.n_marks / max(self.n_images, 1)
        words = (
            f"The detector makes {here:.2f} marks per image here ({self.n_marks} in {self.n_images} images)"
        )
        if self.n_without_row:
            words += (
                f"; its table has no row for {self.n_without_row} of them, where it counts as showing nothing"
            )
        if not self.point:
            return f"{words}. How many it made where its threshold was locked is not known: nothing is compared."
        words += f"; its threshold is locked for {self.point['fp_target']:g} false positives per image"
        if self.p_value is None:
            return f"{words}. How many marks that was, true and false, its file does not say: nothing is compared."
        before = self.point["marks_per_image"]
        words += f", where it made {before:.2f} marks per image, true and false, in {self.point['n_images']} images."
        if not self.differs:
            return words
        more = "more" if here > before else "fewer"
        chance = f"p = {self.p_value:.2g}" if self.p_value >= 1e-4 else "p < 0.0001"
        return (
            f"{words} That is {more} than chance explains ({chance}): these may be other images than those it was "
            f"trained on, or have {more} lesions. What its study says of it may not hold here."
        )
