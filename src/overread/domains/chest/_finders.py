"""The finder "curvature": positions with curvature in every direction, ranked by a network.

The finder "log": maxima of the Laplacian of Gaussian, the plain blob detector to compare others with.

At scale sigma the response is -sigma^2 times the Laplacian of the image smoothed by a Gaussian of sigma (Lindeberg
1998, doi:10.1023/A:1008045108935). A Gaussian blob of width s answers with 2 sigma^2 s^2 / (s^2 + sigma^2)^2 of its
height, most at sigma = s; a disc of radius r answers most at sigma = r / sqrt(2). Ribs and vessels answer too: nothing
here separates them from nodules.
"""

from __future__ import annotations

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.domains._kernels import centre_places, suppress_softly
from overread.domains._scale_space import (
    SCALES_MM,
    blur_reflecting,
    build_pyramid,
    candidate_table,
    choose_level,
    find_blobs,
    keep_apart,
    measure_radii,
)
from overread.domains.chest._ranking import find_places, load_ranking
from overread.domains.chest._search import fill_padding, lies_on_image, search_region
from overread.features import Anatomy, Map
from overread.images import Radiograph

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
# This many times the limit are taken first, because some coincide once they are centred: 1 in 10
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
        kept = keep_apart(x_mm, y_mm, np.full(len(chosen), SAME_MM), np.arange(len(chosen)), limit)
        radius_mm = measure_radii(image, x_mm[kept], y_mm[kept], radiograph.mm_per_px)
        return candidate_table(x_mm[kept], y_mm[kept], radius_mm, response[kept])


# Radii of sqrt(2) sigma from 3 to 12 mm; nodules of nih-240x3 have 3 to 15 mm.
BLOB_SCALES_MM = SCALES_MM[2:]
# Enough for a limit of 100 after blobs on one place are taken once (180 to 247 were left on 15 NIH radiographs).
PEAKS_PER_SCALE = 200
# A response that counts as nothing, in units of the normalized image.
FLOOR = 1e-3


class LogFinder:
    """Local maxima of the Laplacian of Gaussian in the lung fields; of blobs on one place the strongest."""

    name = "log"
    version = "1"

    def __call__(self, radiograph: Radiograph, anatomy: Anatomy | None, *, limit: int) -> pd.DataFrame:
        """Find candidates; the response is the Laplacian in units of the normalized image."""
        region = search_region(radiograph, anatomy)
        levels = build_pyramid(fill_padding(radiograph), region, radiograph.mm_per_px)
        parts = []
        for sigma in BLOB_SCALES_MM:
            level = choose_level(levels, sigma)
            strength = measure_log(level.image, sigma / level.mm_per_px)
            where = (level.region > 0.5) & (strength > FLOOR)
            parts.append(find_blobs(strength, where, level.mm_per_px, sigma, limit=PEAKS_PER_SCALE))
        x_mm, y_mm, radius_mm, response = np.concatenate(parts, axis=1)
        inside = np.flatnonzero(lies_on_image(radiograph, x_mm, y_mm))
        order = inside[np.argsort(-response[inside], kind="stable")]
        kept = keep_apart(x_mm, y_mm, radius_mm, order, limit)
        return candidate_table(x_mm[kept], y_mm[kept], radius_mm[kept], response[kept])


def measure_log(image: Map, sigma_px: float) -> Map:
    """Minus sigma^2 times the Laplacian of the smoothed image."""
    smooth = blur_reflecting(image, sigma_px)
    answer: Map = cv2.Laplacian(
        smooth, cv2.CV_32F, scale=-sigma_px * sigma_px, borderType=cv2.BORDER_REPLICATE
    )
    return answer
