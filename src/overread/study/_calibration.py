"""Map a model's scores to calibrated probabilities, and record the images that a detector was trained on.

A model is fitted to separate candidates, under a penalty and on patients it has seen; its own probabilities are
therefore often too timid or too sure. The map is fitted to out-of-fold scores and soft labels of places, on whose
scale the probabilities are.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from overread.bags import SoftCalibrator, mean_soft_kl
from overread.errors import ModelFileError

Floats = NDArray[np.float64]
Method = Literal["none", "sigmoid", "isotonic", "rank"]
FittedMethod = Literal["none", "sigmoid", "isotonic"]
FITTED: tuple[FittedMethod, ...] = ("none", "sigmoid", "isotonic")

# Ten events for each of the two parameters of a sigmoid, the usual rule of thumb (Peduzzi et al. 1996).
FEWEST_POSITIVES = 20.0
# A monotone map has flat steps of 0 and 1 that no finite sample can vouch for.
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """A map from scores (log-odds) to probabilities, and the held-out divergence of each method tried.

    Methods: "none": the model's own probability. "sigmoid": sigma(slope score + intercept). "isotonic": a rising line
    through the points. "rank": there was too little to calibrate with; the values put places in order and are no
    probabilities.
    """

    method: Method
    slope: float
    intercept: float
    scores: list[float]
    probabilities: list[float]
    held_out_kl: dict[str, float]

    def __post_init__(self) -> None:
        if self.method not in ("none", "sigmoid", "isotonic", "rank"):
            raise ModelFileError(f"score map {self.method!r} is not known")
        numbers = [self.slope, self.intercept, *self.scores, *self.probabilities]
        if not np.isfinite(np.asarray(numbers, dtype=np.float64)).all():
            raise ModelFileError("score map: a number is not finite")
        if len(self.scores) != len(self.probabilities) or (self.method == "isotonic" and not self.scores):
            raise ModelFileError("score map: scores and probabilities are not points")
        if any(not 0 <= one <= 1 for one in self.probabilities):
            raise ModelFileError("score map: a probability is not between 0 and 1")
        # A falling map would order candidates differently from their scores.
        if self.slope < 0 or any(np.any(np.diff(one) < 0) for one in (self.scores, self.probabilities)):
            raise ModelFileError("score map: it falls")

    @property
    def is_probability(self) -> bool:
        """Whether its values are probabilities; otherwise they only rank."""
        return self.method != "rank"

    def apply(self, scores: ArrayLike) -> Floats:
        """Return the probability of each score; for a "rank" map the model's value, which only ranks."""
        values = np.clip(np.asarray(scores, dtype=np.float64), -700, 700)
        if self.method == "sigmoid":
            return np.asarray(expit(np.clip(self.slope * values + self.intercept, -700, 700)))
        if self.method == "isotonic":
            return np.interp(values, self.scores, self.probabilities)
        return np.asarray(expit(values))


def fit_score_map(
    scores: Floats, labels: Floats, weights: Floats, folds: NDArray[np.intp]
) -> ScoreCalibration:
    """Fit the map that held-out patients support best; of equally good ones the simplest."""
    if float(weights @ labels) < FEWEST_POSITIVES:
        return ScoreCalibration("rank", 1.0, 0.0, [], [], {})
    losses: dict[str, float] = {method: _judge(method, scores, labels, weights, folds) for method in FITTED}
    best = min(FITTED, key=lambda method: losses[method])
    return _fit(best, scores, labels, weights, losses)


def _judge(
    method: FittedMethod, scores: Floats, labels: Floats, weights: Floats, folds: NDArray[np.intp]
) -> float:
    """Mean divergence of folds from maps that were fitted to the others."""
    predicted = np.empty_like(scores)
    for fold in np.unique(folds):
        inside = folds == fold
        fitted = _fit(method, scores[~inside], labels[~inside], weights[~inside], {})
        predicted[inside] = fitted.apply(scores[inside])
    safe = np.clip(predicted, SMALLEST, 1 - SMALLEST)
    return float(mean_soft_kl(labels, np.column_stack([1 - safe, safe]), sample_weight=weights))


def _fit(
    method: FittedMethod, scores: Floats, labels: Floats, weights: Floats, losses: dict[str, float]
) -> ScoreCalibration:
    if method == "none":
        return ScoreCalibration("none", 1.0, 0.0, [], [], losses)
    fitted = SoftCalibrator(method).fit(scores, labels, sample_weight=weights)
    if method == "sigmoid":
        if fitted.slope_ < 0:
            # The loss is convex: of the sigmoids that do not fall, the flat one at the mean label is the best.
            return ScoreCalibration(
                "sigmoid", 0.0, float(logit(np.average(labels, weights=weights))), [], [], losses
            )
        return ScoreCalibration("sigmoid", fitted.slope_, fitted.intercept_, [], [], losses)
    points = fitted.isotonic_
    rising = np.clip(points.y_thresholds_, SMALLEST, 1 - SMALLEST)
    return ScoreCalibration("isotonic", 1.0, 0.0, points.X_thresholds_.tolist(), rising.tolist(), losses)


# 64 bits: among a million images trained on and a million new ones, a chance likeness has probability 5e-8.
DIGITS = 16
SALT = re.compile(r"[0-9a-f]{64}")
FINGERPRINT = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
# A forged file must not fill the memory; no study has as many images.
MOST_IMAGES = 2_000_000


@dataclass(frozen=True)
class TrainingFingerprints:
    """Fingerprints of the training images: they identify content and contain no names.

    A fingerprint is the beginning of SHA-256(salt, hash of the pixels). The salt, SHA-256 of all sorted hashes, differs
    from one set of images to another, so that the lists of two detectors cannot be laid beside each other. Only who has
    the very image can ask for it, and learns whether it was among them.
    """

    salt: str
    fingerprints: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.salt, str) or not SALT.fullmatch(self.salt):
            raise ModelFileError("seen: the salt is not 64 hexadecimal digits")
        if len(self.fingerprints) > MOST_IMAGES or not all(
            isinstance(one, str) and FINGERPRINT.fullmatch(one) for one in self.fingerprints
        ):
            raise ModelFileError(f"seen: not at most {MOST_IMAGES:,} texts of {DIGITS} hexadecimal digits")
        if any(after <= before for before, after in pairwise(self.fingerprints)):
            raise ModelFileError("seen: the fingerprints do not rise")

    @classmethod
    def of(cls, pixel_hashes: Iterable[str]) -> Self:
        """Fingerprints of images, given the hashes of their pixels (`Radiograph.pixel_hash`)."""
        hashes = sorted(set(pixel_hashes))
        salt = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
        return cls(salt, tuple(sorted({fingerprint(salt, one) for one in hashes})))

    def __contains__(self, pixel_hash: object) -> bool:
        if not isinstance(pixel_hash, str):
            return False
        wanted = fingerprint(self.salt, pixel_hash)
        place = bisect_left(self.fingerprints, wanted)
        return self.fingerprints[place : place + 1] == (wanted,)


def fingerprint(salt: str, pixel_hash: str) -> str:
    """Fingerprint of one image."""
    return hashlib.sha256(f"{salt}{pixel_hash}".encode()).hexdigest()[:DIGITS]
