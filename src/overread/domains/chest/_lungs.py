"""Lung fields: two masks with a quality each; a lung that is not found is replaced, never lost.

Two small networks say how likely each pixel is lung, from brightness, contrast and surroundings on a coarse grid. They
are for the lung on the left side of the image; the other is found in the mirrored image, so that a mirrored radiograph
has mirrored lungs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.features import Map, Mask, Quality
from overread.images import Radiograph, blur

# The inputs of the shipped networks: none of these may change without `benchmarks.train_lungs` run again. The grid is
# coarse for speed (27 ms an image when it was chosen); no measurement behind the others is on record.
COARSE_MM = 3.5
LIMITS = (-0.2, 1.2)
RANK_BINS = 1024
POSITION_MM = 150.0
PIXEL_SMOOTHING_MM = (3.0, 8.0, 20.0)
BACKGROUND_MM = (30.0, 60.0)
SURROUND_MM = 6.0
OFFSETS_MM = tuple(
    (dx * step, dy * step)
    for step, directions in {
        25.0: ((1, 0), (-1, 0), (0, 1), (0, -1)),
        50.0: ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)),
        100.0: ((1, 0), (-1, 0), (0, 1), (0, -1)),
    }.items()
    for dx, dy in directions
)


def coarsen(radiograph: Radiograph) -> Map:
    """Brightness on the grid of `COARSE_MM`, limited to a little beyond 0..1; padding counts as air."""
    rows, columns = radiograph.shape
    scale = radiograph.mm_per_px / COARSE_MM
    size = max(round(columns * scale), 2), max(round(rows * scale), 2)
    pixels = np.clip(np.where(radiograph.valid, radiograph.pixels, LIMITS[0]), *LIMITS)
    shrunk: Map = cv2.resize(pixels.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return shrunk


def describe_appearance(image: Map) -> Map:
    """Brightness, rank, contrast to the background, gradient, and rank at offsets: features x rows x columns."""
    rank = blur_mm(rank_pixels(image), SURROUND_MM)
    smooth = [blur_mm(image, mm) for mm in PIXEL_SMOOTHING_MM]
    wide = [blur_mm(image, mm) for mm in BACKGROUND_MM]
    channels = [rank, *smooth, *(smooth[0] - level for level in wide), *(smooth[1] - level for level in wide)]
    for level in smooth[:2]:
        channels += [cv2.Sobel(level, cv2.CV_32F, 1, 0) / 8, cv2.Sobel(level, cv2.CV_32F, 0, 1) / 8]
    channels += [shift(rank, dx, dy) for dx, dy in OFFSETS_MM]
    return np.stack([*channels, *_positions(image.shape, centre(image.shape))])


def describe_context(own: Map, other: Map) -> Map:
    """Show a first guess of the own and the other lung as seen from each pixel: features x rows x columns."""
    channels: list[Map] = []
    for lung in (own, other):
        surround = blur_mm(lung, SURROUND_MM)
        channels += [lung, surround, blur_mm(lung, PIXEL_SMOOTHING_MM[2]), blur_mm(lung, BACKGROUND_MM[1])]
        channels += [shift(surround, dx, dy) for dx, dy in OFFSETS_MM]
    both = own + other
    return np.stack([*channels, *_positions(own.shape, centre_of_mass(both))])


def blur_mm(image: Map, sigma_mm: float) -> Map:
    """Gaussian blur; the border is repeated outwards."""
    return blur(image, sigma_mm / COARSE_MM)


def rank_pixels(image: Map) -> Map:
    """Fraction of the image that is darker, by a histogram of `RANK_BINS`: nearly untouched by tone curves."""
    low, high = LIMITS
    bins = ((image - low) * ((RANK_BINS - 1) / (high - low))).astype(np.intp)
    counts = np.bincount(bins.ravel(), minlength=RANK_BINS)
    middle = (np.cumsum(counts) - 0.5 * counts) / image.size
    return middle.astype(np.float32)[bins]


def shift(image: Map, dx_mm: float, dy_mm: float) -> Map:
    """Value at an offset from each pixel; beyond the border the nearest pixel counts."""
    rows, columns = image.shape
    row = np.clip(np.arange(rows) + round(dy_mm / COARSE_MM), 0, rows - 1)
    column = np.clip(np.arange(columns) + round(dx_mm / COARSE_MM), 0, columns - 1)
    moved: Map = image.take(row, axis=0).take(column, axis=1)
    return moved


def _positions(shape: tuple[int, ...], origin: tuple[float, float]) -> list[Map]:
    """Offset of each pixel from the origin (row, column), in units of `POSITION_MM`, and its squares."""
    row, column = np.indices(shape, dtype=np.float32)
    unit = np.float32(COARSE_MM / POSITION_MM)
    y, x = (row - np.float32(origin[0])) * unit, (column - np.float32(origin[1])) * unit
    return [x, y, x * x, y * y, x * y]


def centre(shape: tuple[int, ...]) -> tuple[float, float]:
    """Row and column of the middle."""
    return (shape[0] - 1) / 2, (shape[1] - 1) / 2


def centre_of_mass(weight: Map) -> tuple[float, float]:
    """Row and column of the centre of mass; the middle if there is no mass."""
    total = float(weight.sum(dtype=np.float64))
    if total < 1.0:
        return centre(weight.shape)
    rows, columns = weight.shape
    return (
        float(weight.sum(axis=1, dtype=np.float64) @ np.arange(rows)) / total,
        float(weight.sum(axis=0, dtype=np.float64) @ np.arange(columns)) / total,
    )


PARTS = ("weights", "offsets", "output")


@dataclass(frozen=True, eq=False)
class Network:
    """Log-odds b2 + w2' max(0, b1 + W1' (x - mean) / scale)."""

    weights: NDArray[np.float32]  # W1 over the scale of the inputs, inputs x hidden units
    offsets: NDArray[np.float32]  # b1 with the mean of the inputs taken in
    output: NDArray[np.float32]  # w2, then b2

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.float16]], name: str) -> Network:
        """One network of a parameter file."""
        return cls(*(arrays[f"{name}_{part}"].astype(np.float32) for part in PARTS))

    def to_arrays(self, name: str) -> dict[str, NDArray[np.float16]]:
        """Arrays of a parameter file, rounded to float16."""
        return {f"{name}_{part}": getattr(self, part).astype(np.float16) for part in PARTS}

    def log_odds(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log-odds for each column of an inputs x cases array."""
        hidden = self.weights.T @ inputs + self.offsets[:, None]
        answer: NDArray[np.float32] = self.output[:-1] @ np.maximum(hidden, 0, out=hidden) + self.output[-1]
        return answer


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
    """Return the model that is shipped with the package; `benchmarks.train_lungs` makes it again."""
    with (files(__package__) / PARAMETERS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return LungModel(*(Network.from_arrays(stored, name) for name in ("first", "second")))


# Set by judgement on the NIH radiographs, as all of this module: no outlines drawn by people were at hand
# (docs/reference/candidates.md says what the bounds give there).
SMOOTHING_MM = 2.5
CLOSING_MM = 20.0
# A lung is FOUND within these bounds, and FALLBACK below the least area.
SURE_AREA_MM2 = (7_000.0, 45_000.0)
LEAST_AREA_MM2 = 2_500.0
SURE_PROBABILITY = 0.85
SURE_SOLIDITY = 0.75
# Share of the image that the lungs take where neither is seen.
FALLBACK_WIDTH = 0.84
FALLBACK_HEIGHT = 0.80
# Half the width of the mediastinum, and how far a mirrored lung is widened.
MIDDLE_MM = 15.0
WIDENING_MM = 10.0


@dataclass(frozen=True, eq=False)
class LungFields:
    """Lung masks on the grid of the radiograph, on the left and right side of the image; they do not overlap.

    FOUND: as large and compact as a lung, and the model is sure. DOUBTFUL: the best there is. FALLBACK: no lung was
    seen; the mask is that half of the thorax.
    """

    left: Mask
    right: Mask
    left_quality: Quality
    right_quality: Quality


def find_lungs(radiograph: Radiograph) -> LungFields:
    """Find both lungs."""
    image = coarsen(radiograph)
    chances = tuple(blur_mm(chance, SMOOTHING_MM) for chance in load_lung_model().probabilities(image))
    found = [choose_lung(own, other) for own, other in (chances, chances[::-1])]
    seen = [None if quality is Quality.FALLBACK else mask for mask, quality in found]
    half = _guess_lungs(image.shape, seen[0], seen[1])
    left, right = (half[side] if mask is None else mask for side, mask in enumerate(seen))
    rows, columns = radiograph.shape
    left, right = (enlarge_mask(mask, (columns, rows)) & radiograph.valid for mask in (left, right))
    return LungFields(left, right & ~left, found[0][1], found[1][1])


def choose_lung(own: Map, other: Map) -> tuple[Mask, Quality]:
    """Largest region that is rather this lung than the other or no lung, and how far to trust it."""
    inside = ((own > 0.5) & (own >= other)).astype(np.uint8)
    n, labels, boxes, _ = cv2.connectedComponentsWithStats(inside, connectivity=4)
    if n == 1:
        return np.zeros(own.shape, dtype=bool), Quality.FALLBACK
    largest = int(np.argmax(boxes[1:, cv2.CC_STAT_AREA])) + 1
    mask = _close_mask(labels == largest) & (own >= other)
    return mask, _judge_lung(mask, own)


def _judge_lung(mask: Mask, chance: Map) -> Quality:
    """Quality by area, solidity and mean probability."""
    area = float(mask.sum()) * COARSE_MM**2
    if area < LEAST_AREA_MM2:
        return Quality.FALLBACK
    sure = (
        SURE_AREA_MM2[0] <= area <= SURE_AREA_MM2[1]
        and solidity(mask) >= SURE_SOLIDITY
        and float(chance[mask].mean()) >= SURE_PROBABILITY
    )
    return Quality.FOUND if sure else Quality.DOUBTFUL


def solidity(mask: Mask) -> float:
    """Area over the area of the convex hull."""
    outlines = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    hull = cv2.contourArea(cv2.convexHull(np.vstack(outlines)))
    return float(mask.sum() / max(hull, 1.0))


def _close_mask(mask: Mask) -> Mask:
    """Fill holes, and dents narrower than `CLOSING_MM`."""
    size = 2 * round(CLOSING_MM / COARSE_MM / 2) + 1
    padded = cv2.morphologyEx(np.pad(mask.astype(np.uint8), size), cv2.MORPH_CLOSE, make_disc(size))
    outlines = cv2.findContours(padded, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    filled = cv2.drawContours(np.zeros_like(padded), outlines, -1, 1, cv2.FILLED)
    return np.asarray(filled[size:-size, size:-size] > 0)


def _guess_lungs(shape: tuple[int, ...], left: Mask | None, right: Mask | None) -> tuple[Mask, Mask]:
    """Where the lungs must be: the mirror image of the lung that was found, else most of the image.

    The middle of the thorax is `MIDDLE_MM` beyond the inner edge of the found lung; a mirrored lung is widened by
    `WIDENING_MM`.
    """
    if left is not None and right is None:
        return left, reflect_lung(left)
    if right is not None and left is None:
        return reflect_lung(right[:, ::-1])[:, ::-1], right
    rows, columns = shape
    y, x = np.mgrid[:rows, :columns]
    u = (2 * x + 1 - columns) / (columns * FALLBACK_WIDTH)
    v = (2 * y + 1 - rows) / (rows * FALLBACK_HEIGHT)
    whole = u**4 + v**4 <= 1
    return whole & (2 * x + 1 <= columns), whole & (2 * x + 1 > columns)


def reflect_lung(left: Mask) -> Mask:
    """Mirror a left lung about the middle of the thorax, widened; never empty."""
    columns = np.flatnonzero(left.any(axis=0))
    wall = int(columns[-1]) + round(MIDDLE_MM / COARSE_MM)
    mirrored = np.zeros_like(left)
    width = left.shape[1]
    target = 2 * wall - np.arange(width)
    kept = (target >= 0) & (target < width)
    mirrored[:, target[kept]] = left[:, kept]
    size = 2 * round(WIDENING_MM / COARSE_MM) + 1
    wide = (cv2.dilate(mirrored.astype(np.uint8), make_disc(size)) > 0) & ~left
    if wide.sum() * COARSE_MM**2 < LEAST_AREA_MM2:
        wide = ~left
        wide[:, : width // 2] = False
    return np.asarray(wide)


def make_disc(size: int) -> NDArray[np.uint8]:
    """Disc as a structuring element."""
    disc: NDArray[np.uint8] = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return disc


def enlarge_mask(mask: Mask, size: tuple[int, int]) -> Mask:
    """Put a mask on a finer grid (columns, rows), with a smooth outline."""
    fine = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(cv2.GaussianBlur(fine, (0, 0), 0.6 * size[0] / mask.shape[1]) > 0.5)
