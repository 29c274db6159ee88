"""Two small networks that say how likely each pixel is lung, and the file that holds their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from overread.anatomy.lung_pixels import describe_appearance, describe_context
from overread.anatomy.network import Network
from overread.anatomy.structures import Map

__all__ = ["PARAMETERS", "LungModel", "load_lung_model", "mirror", "predict_probability"]

PARAMETERS = "lung_model.npz"


@dataclass(frozen=True, eq=False)
class LungModel:
    """A guess from appearance alone, then a second look that also sees the guess around each pixel."""

    first: Network
    second: Network

    def probabilities(self, image: Map) -> tuple[Map, Map]:
        """Probability of the lungs on the left and right side of a coarse image."""
        views = image, mirror(image)
        looks = [describe_appearance(view) for view in views]
        guess = [predict_probability(self.first, look) for look in looks]
        left, right = (
            predict_probability(self.second, np.concatenate([look, describe_context(own, mirror(other))]))
            for look, own, other in zip(looks, guess, guess[::-1], strict=True)
        )
        return left, mirror(right)


def predict_probability(network: Network, features: Map) -> Map:
    """Probability of each pixel of a features x rows x columns array."""
    log_odds = network.log_odds(features.reshape(len(features), -1))
    odds: Map = np.exp(np.clip(log_odds, -30, 30))
    return np.asarray(odds / (1 + odds)).reshape(features.shape[1:])


def mirror(image: Map) -> Map:
    """Exchange left and right."""
    return np.ascontiguousarray(image[:, ::-1])


@cache
def load_lung_model() -> LungModel:
    """Return the model that is shipped with the package; `benchmarks.train_lungs` makes it anew."""
    with (files(__package__) / PARAMETERS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return LungModel(*(Network.from_arrays(stored, name) for name in ("first", "second")))
