"""Two small networks that say how likely each pixel is lung, and the file that holds their weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from overread.candidates.lung_pixels import Map, appearance, context

__all__ = ["LungModel", "Network", "lung_model", "mirrored"]

PARAMETERS = "lung_model.npz"


@dataclass(frozen=True, eq=False)
class Network:
    """One hidden layer: P = sigmoid(b2 + w2' max(0, b1 + W1' (x - mean) / scale)).

    Parameters
    ----------
    weights
        W1 already divided by the scale of the features, features x hidden units.
    offsets
        b1 with the mean of the features taken in.
    output
        w2, then b2 as its last element.
    """

    weights: NDArray[np.float32]
    offsets: NDArray[np.float32]
    output: NDArray[np.float32]

    def probability(self, features: Map) -> Map:
        """Probability of each pixel of a features x rows x columns array."""
        hidden = self.weights.T @ features.reshape(len(features), -1) + self.offsets[:, None]
        logit = self.output[:-1] @ np.maximum(hidden, 0, out=hidden) + self.output[-1]
        chance: Map = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
        return chance.reshape(features.shape[1:])


@dataclass(frozen=True, eq=False)
class LungModel:
    """A guess from appearance alone, then a second look that also sees the guess around each pixel."""

    first: Network
    second: Network

    def probabilities(self, image: Map) -> tuple[Map, Map]:
        """Probability of the lungs on the left and right side of a coarse image."""
        views = image, mirrored(image)
        looks = [appearance(view) for view in views]
        guess = [self.first.probability(look) for look in looks]
        left, right = (
            self.second.probability(np.concatenate([look, context(own, mirrored(other))]))
            for look, own, other in zip(looks, guess, guess[::-1], strict=True)
        )
        return left, mirrored(right)


def mirrored(image: Map) -> Map:
    """Left and right exchanged."""
    return np.ascontiguousarray(image[:, ::-1])


@cache
def lung_model() -> LungModel:
    """Return the model that is shipped with the package; `benchmarks.train_lungs` makes it anew."""
    with (files(__package__) / PARAMETERS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return LungModel(*(network(stored, name) for name in ("first", "second")))


def network(stored: Mapping[str, NDArray[np.float16]], name: str) -> Network:
    """One network of the parameter file."""
    return Network(
        *(stored[f"{name}_{part}"].astype(np.float32) for part in ("weights", "offsets", "output"))
    )
