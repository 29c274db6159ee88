"""Marks per image of a detector on new images, compared with those where its threshold was locked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

# Below this chance a difference is named: of a hundred sets of images of the same kind about one, at most.
LARGEST_CHANCE = 0.01
# Over the number of images or marks of the lock: how much variance / mean is raised. Of 4.5, 9, 12 and 16 the first by
# which at most 1.5 % of sets were named wherever it was simulated (tests/detection/test_mark_rate.py has a sample).
RAISE = 16


@dataclass(frozen=True)
class MarkRate:
    """Marks of a detector at an operating point (`OperatingPoint.record`; empty: unknown) on some images.

    The number that a threshold is locked for counts false positives only. Nobody knows them here, so all marks here are
    compared with all marks, hits and false positives alike, that the same threshold gave where it was locked.
    ``n_without_row`` counts images that a table of marks does not name.
    """

    point: Mapping[str, float]
    n_images: int
    n_marks: int
    n_without_row: int = 0

    @property
    def p_value(self) -> float | None:
        """Two-sided chance of a number of marks this far off on images of the kind it was locked on; None: not known.

        Where the marks per image follow one negative binomial law of size s, here and on the N images of the lock, the
        marks on n images here follow, given all T marks of both, the beta-binomial law of T draws with n s and N s:
        no mean has to be known. s comes from the mean of both and from variance / mean of the lock, not taken below 1,
        that of a Poisson law, and raised as it is known from few images or marks. Images count as independent.
        """
        if "marks_per_image" not in self.point or not self.n_images:
            return None
        n, k, n_lock, mean = (
            self.n_images,
            self.n_marks,
            self.point["n_images"],
            self.point["marks_per_image"],
        )
        k_lock = round(n_lock * mean)
        total = k + k_lock
        if total == 0:
            return 1.0
        spread = max(self.point["marks_variance"] / mean, 1.0) if mean else 1.0
        spread *= 1 + RAISE / max(1, min(n_lock - 1, k_lock))
        size = total / (n + n_lock) / (spread - 1)
        # From the end that is nearer: where the marks here are many, there may be few of the lock.
        (few, own), (_, other) = sorted([(k, n * size), (k_lock, n_lock * size)])
        at = np.arange(few + 1)
        ways = -np.log1p(total) - betaln(at + 1, total - at + 1)
        law = np.exp(ways + betaln(at + own, total - at + other) - betaln(own, other))
        up_to = law.sum()
        return float(np.clip(2 * min(up_to, 1 - up_to + law[-1]), 0.0, 1.0))

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
            return (
                f"{words}. How many it made where its threshold was locked is not known: nothing is compared."
            )
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
            f"trained on, or have {more} lesions. Its study's figures may not hold here."
        )
