"""One score from the responses of all detectors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from overread.candidates.curvature import SCALES_MM
from overread.candidates.responses import RESPONSES, Places

__all__ = ["Ranking", "ranking"]

PARAMETERS = "ranking.json"
MIDDLE_SCALE_MM = 3.5


@dataclass(frozen=True, eq=False)
class Ranking:
    """Weights of the responses r_j at scale sigma_k.

    score = offset_k + sum_j (slope_j + tilt_j log(sigma_k / 3.5 mm)) r_j + bend_j r_j^2

    Parameters
    ----------
    offset
        One for each of `SCALES_MM`.
    slope, tilt, bend
        One for each of `RESPONSES`.
    """

    offset: NDArray[np.float64]
    slope: NDArray[np.float64]
    tilt: NDArray[np.float64]
    bend: NDArray[np.float64]

    def score(self, places: Places) -> NDArray[np.float64]:
        """Log-odds, up to a constant, that a place is a nodule."""
        size = np.log(np.asarray(SCALES_MM) / MIDDLE_SCALE_MM)[places.scale]
        score = self.offset[places.scale] + places.responses @ self.slope + places.responses**2 @ self.bend
        return np.asarray(score + size * (places.responses @ self.tilt))


@cache
def ranking() -> Ranking:
    """Return the weights shipped with the package; `benchmarks.train_ranking` makes them anew."""
    stored = json.loads((files(__package__) / PARAMETERS).read_text(encoding="utf-8"))
    responses = stored["responses"]
    return Ranking(
        offset=np.array([stored["offset_by_scale_mm"][str(scale)] for scale in SCALES_MM]),
        **{
            part: np.array([responses[name][part] for name in RESPONSES])
            for part in ("slope", "tilt", "bend")
        },
    )
