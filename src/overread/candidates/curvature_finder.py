"""The finder "curvature": places that are curved in every direction, ranked by a network."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.anatomy import Anatomy
from overread.candidates._kernels import centre_places, suppress_softly
from overread.candidates.pyramid import SCALES_MM
from overread.candidates.radii import measure_radii
from overread.candidates.ranking import load_ranking
from overread.candidates.ranking_features import find_places
from overread.candidates.search_region import fill_padding, lies_on_image, search_region
from overread.candidates.table import candidate_table
from overread.images import Radiograph

__all__ = ["PLACES_PER_SCALE", "CurvatureFinder"]

FloatArray = NDArray[np.float64]

# Chosen by the recall on nih-240x3 in docs/reference/candidates.md, which is not blind to them: the number of places
# (120 at first), the width and size of the penalty, and the reach of the centring.
PLACES_PER_SCALE = 180
NEAR_MM = 12.0
PENALTY = 0.7
CENTRED_PER_SIGMA = 2.0
# The least semi-axis of a strict hit: two centres so close hit the same.
SAME_MM = 4.0
# The number of candidates whose recall was asked for first.
N_FINED = 60
# So many times the limit are taken first, because some coincide once they are centred: 1 in 10
# (docs/reference/candidates.md).
SPARE = 2


class CurvatureFinder:
    """Local maxima of the smaller curvature at seven scales, scored by a small network.

    The places lie in the lung fields and a little around them (`search_region`); the network sees what several
    detectors say of them and what lies around them (`ranking_features`, `surroundings`, `ranking`). The best is taken,
    then the best of the rest, and so on: places within `SAME_MM` of one taken are dropped, places within `NEAR_MM`
    lose `PENALTY` until `N_FINED` are taken. The centre is the mean of the places around, weighted by their odds; where
    that moves two centres within `SAME_MM` of each other, the stronger one stays. The radius is that of the disc that
    stands out most (`radii`).
    """

    name = "curvature"
    # Reading of images and anatomy count as well.
    version = "5"

    def __call__(self, radiograph: Radiograph, anatomy: Anatomy | None, *, limit: int) -> pd.DataFrame:
        """Find candidates; the response is log-odds up to a constant."""
        region = search_region(radiograph, anatomy)
        image = fill_padding(radiograph)
        places = find_places(image, region, radiograph.mm_per_px, per_scale=PLACES_PER_SCALE)
        places = places.select(lies_on_image(radiograph, places.x_mm, places.y_mm))
        score = load_ranking().score(places)
        chosen, response = suppress_softly(
            places.x_mm, places.y_mm, score, SAME_MM, NEAR_MM, PENALTY, N_FINED, SPARE * limit
        )
        reach = np.maximum(SAME_MM, CENTRED_PER_SIGMA * np.asarray(SCALES_MM)[places.scale[chosen]])
        x_mm, y_mm = centre_places(places.x_mm, places.y_mm, score, chosen, reach)
        inside = lies_on_image(radiograph, x_mm, y_mm)
        x_mm, y_mm = np.where(inside, (x_mm, y_mm), (places.x_mm[chosen], places.y_mm[chosen]))
        kept = keep_apart(x_mm, y_mm, SAME_MM)[:limit]
        radius_mm = measure_radii(image, x_mm[kept], y_mm[kept], radiograph.mm_per_px)
        return candidate_table(x_mm[kept], y_mm[kept], radius_mm, response[kept])


def keep_apart(x_mm: FloatArray, y_mm: FloatArray, distance_mm: float) -> NDArray[np.int64]:
    """Rows that lie at least a distance from every row that was kept before them."""
    kept: list[int] = []
    for row in range(len(x_mm)):
        if (np.hypot(x_mm[kept] - x_mm[row], y_mm[kept] - y_mm[row]) >= distance_mm).all():
            kept.append(row)
    return np.array(kept, dtype=np.int64)
