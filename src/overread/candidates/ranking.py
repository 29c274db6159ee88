"""One score from the responses of all detectors and the surroundings of a place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from overread.anatomy.network import Network
from overread.candidates.pyramid import SCALES_MM
from overread.candidates.ranking_features import Places

__all__ = ["PARAMETERS", "Ranking", "load_ranking", "make_ranking_inputs"]

PARAMETERS = "ranking.npz"
# Makes the logarithm of the scale about 0 in the middle; the network takes any offset in.
MIDDLE_SCALE_MM = 3.5


@dataclass(frozen=True, eq=False)
class Ranking:
    """A network on what is known of a place.

    Parameters
    ----------
    network
        It answers with log-odds.
    lowest, highest
        Bounds that the inputs are cut to: nothing beyond them was seen when it was trained.
    """

    network: Network
    lowest: NDArray[np.float32]
    highest: NDArray[np.float32]

    def score(self, places: Places) -> NDArray[np.float64]:
        """Log-odds, up to a constant, that a place is the middle of a nodule."""
        return self.answer(make_ranking_inputs(places))

    def answer(self, inputs: NDArray[np.float32]) -> NDArray[np.float64]:
        """Log-odds of each row of inputs."""
        within = np.clip(inputs, self.lowest, self.highest)
        return self.network.log_odds(np.ascontiguousarray(within.T)).astype(np.float64)


def make_ranking_inputs(places: Places) -> NDArray[np.float32]:
    """Responses, surroundings, logarithm of the scale and its square, one row a place."""
    size = np.log(np.asarray(SCALES_MM) / MIDDLE_SCALE_MM)[places.scale, None]
    return np.hstack([places.responses, places.surroundings, size, size**2]).astype(np.float32)


@cache
def load_ranking() -> Ranking:
    """Load the weights shipped with the package; `benchmarks.train_ranking` makes them anew."""
    with (files(__package__) / PARAMETERS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return Ranking(Network.from_arrays(stored, "network"), stored["lowest"], stored["highest"])
