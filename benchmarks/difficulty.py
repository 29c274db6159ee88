"""How hard a cohort is, by a plain filter that never changes.

The filter: the smaller of the two curvatures of a bright spot, -s^2 times the larger eigenvalue of the Hessian of
the image smoothed by s, its maximum over s = 2, 3, 4.5, 6.5 and 9 mm; maxima in the lung, none within 2.5 mm of a
stronger one. It is no part of the detector: it says whether a cohort is as hard as it was meant to be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.froc import Counting, match_detections, operating_points
from overread.truth import HIT, candidate_hits

# The definition of the measure: changing one number makes difficulties incomparable.
SCALES_MM = (2.0, 3.0, 4.5, 6.5, 9.0)
APART_MM = 2.5
SPOTS = 100
AT = 60
FP_PER_IMAGE = 0.5
COUNTING = Counting(single_reader="fp")


@dataclass(frozen=True)
class Difficulty:
    """How hard the golden objects of a cohort are; all are shares of all golden objects.

    Attributes
    ----------
    n_golden
        Golden objects.
    response
        Found by the filter's response alone at 0.5 false positives an image; single-reader objects count as
        false positives.
    recall
        With one of the 60 strongest spots of their image in them.
    chance
        The same with the spots of the image without nodules.
    """

    n_golden: int
    response: float
    recall: float
    chance: float


def curvature_spots(pixels: NDArray[np.generic], lungs: NDArray[np.bool_], mm_per_px: float) -> pd.DataFrame:
    """At most 100 spots of the filter, strongest first: x_mm, y_mm, response."""
    values = pixels.astype(np.float32)
    best = np.zeros_like(values)
    for scale in SCALES_MM:
        np.maximum(best, _smaller_curvature(values, scale / mm_per_px), out=best)
    best[~lungs] = 0.0
    reach = int(APART_MM / mm_per_px)
    neighbours = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    rows, columns = np.nonzero((best == cv2.dilate(best, neighbours)) & (best > 0))
    order = np.argsort(-best[rows, columns], kind="stable")[:SPOTS]
    rows, columns = rows[order], columns[order]
    return pd.DataFrame(
        {
            "x_mm": (columns + 0.5) * mm_per_px,
            "y_mm": (rows + 0.5) * mm_per_px,
            "response": best[rows, columns].astype(np.float64),
        }
    )


def _smaller_curvature(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """-sigma^2 times the larger eigenvalue of the Hessian at one scale, in pixels."""
    smooth = cv2.GaussianBlur(values, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)
    yy = cv2.Sobel(smooth, cv2.CV_32F, 0, 2, ksize=1)
    xx = cv2.Sobel(smooth, cv2.CV_32F, 2, 0, ksize=1)
    xy = cv2.Sobel(smooth, cv2.CV_32F, 1, 1, ksize=3, scale=0.25)
    return np.asarray(-(sigma**2) * ((xx + yy) / 2 + np.sqrt(((xx - yy) / 2) ** 2 + xy**2)))


def measure_difficulty(
    spots: Iterable[tuple[str, pd.DataFrame, pd.DataFrame]], truth: pd.DataFrame
) -> Difficulty:
    """Difficulty of a cohort.

    Parameters
    ----------
    spots
        For each image its id, its spots, and the spots of the image without nodules.
    truth
        Merged marks of the cohort.
    """
    ids, found, clean = [], [], []
    for image_id, with_nodules, without in spots:
        ids.append(image_id)
        found.append(_add_image_id(with_nodules, image_id))
        clean.append(_add_image_id(without, image_id))
    shown = pd.concat(found, ignore_index=True)
    golden = truth[truth["golden"]].reset_index(drop=True)
    matching = match_detections(
        shown, truth, pd.DataFrame({"image_id": ids}), scores="response", counting=COUNTING
    )
    points = operating_points(matching, fp_targets=[FP_PER_IMAGE])
    return Difficulty(
        len(golden),
        float(points["gt_sensitivity"].iloc[0]),
        _share_reached(shown, golden),
        _share_reached(pd.concat(clean, ignore_index=True), golden),
    )


def _add_image_id(spots: pd.DataFrame, image_id: str) -> pd.DataFrame:
    """Spots with ids."""
    ids = [f"{image_id}-{i}" for i in range(len(spots))]
    return spots.assign(image_id=image_id, candidate_id=ids, rank=range(len(spots)))


def _share_reached(spots: pd.DataFrame, golden: pd.DataFrame) -> float:
    """Share of the golden objects hit by one of the 60 strongest spots of their image."""
    strongest = spots[spots["rank"] < AT].reset_index(drop=True)
    return float(candidate_hits(strongest, golden, HIT)["truth_row"].nunique() / max(len(golden), 1))
