"""Generic features of what a candidate belongs to: its component, lines through it, what is farther off, its likes.

"Towards the candidate's sign" means: bright places count where the candidate is brighter than its ring, dark ones where
it is darker. On the 28 training images of DIARETDB1 a prototype of these raised the mean sensitivity to golden red
lesions at 1, 2 and 4 FP per image from .325 to .381 (best penalty of the path, two sets of folds), and left hard
exudates as they were.

What lies around candidates: planes sampled on 24 rays around each, up to 4 of its radii R.

"Inside" is up to R, the "ring" from 1.5 to 2.5 R, the "surround" from 2.5 to 4 R; means weigh a sample by its distance,
as areas do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from overread.domains.picture._image import PictureImage, smooth_inside
from overread.features import EPSILON

Floats = NDArray[np.float64]

N_RAYS = 24
STEPS_PER_RADIUS = 8
REACH = 4.0
RHO = (np.arange(int(REACH * STEPS_PER_RADIUS)) + 0.5) / STEPS_PER_RADIUS
ANGLES = 2 * np.pi * np.arange(N_RAYS) / N_RAYS


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Candidates of one picture with what is sampled around them."""

    field: PictureImage
    column: Floats
    row: Floats
    radius_px: Floats
    response: Floats

    @cached_property
    def places(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Columns and rows of the samples: candidate, ray, distance."""
        reach = self.radius_px[:, None, None] * RHO
        return (
            (self.column[:, None, None] + reach * np.cos(ANGLES)[:, None]).astype(np.float32),
            (self.row[:, None, None] + reach * np.sin(ANGLES)[:, None]).astype(np.float32),
        )

    @cached_property
    def pixels(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of the pixel of each candidate."""
        rows, columns = self.field.region.shape
        return (
            np.clip(self.row.round().astype(np.intp), 0, rows - 1),
            np.clip(self.column.round().astype(np.intp), 0, columns - 1),
        )

    def sample(self, plane: NDArray[np.float32]) -> Floats:
        """Values of a plane on the rays, bilinear, the border continued."""
        columns, rows = (place.reshape(-1, len(RHO)) for place in self.places)
        if not len(columns):
            return np.empty((0, N_RAYS, len(RHO)))
        # cv2.remap takes at most 32,767 rows.
        blocks = [
            cv2.remap(
                plane,
                columns[start : start + 32_000],
                rows[start : start + 32_000],
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_REPLICATE,
            )
            for start in range(0, len(columns), 32_000)
        ]
        return np.concatenate(blocks).reshape(-1, N_RAYS, len(RHO)).astype(np.float64)

    @cached_property
    def flat(self) -> Floats:
        """The flat plane on the rays."""
        return self.sample(self.field.flat)

    @cached_property
    def contrast(self) -> Floats:
        """Flat: inside minus ring."""
        return mean_between(self.flat, 0, 1) - mean_between(self.flat, 1.5, 2.5)

    @cached_property
    def sign(self) -> Floats:
        """1 where the candidate is brighter than its ring, else -1."""
        return np.where(self.contrast >= 0, 1.0, -1.0)


def mean_between(samples: Floats, low: float, high: float) -> Floats:
    """Mean over the area between two distances."""
    chosen = (low <= RHO) & (high > RHO)
    return np.asarray(samples[..., chosen].mean(axis=1) @ RHO[chosen] / RHO[chosen].sum())


def spread_between(samples: Floats, low: float, high: float) -> Floats:
    """Measure the standard deviation of the samples between two distances."""
    chosen = (low <= RHO) & (high > RHO)
    return np.asarray(samples[..., chosen].std(axis=(1, 2)))


Map = NDArray[np.float32]

# Everything below is set by judgement unless it says otherwise.
# Light that is added before logarithms, in shares of full scale: black has no logarithm.
DARKEST = 0.02
DENSITY_PLANES = ("main", "red", "green", "blue")
WIDE_SHARE = 0.03
# Thresholds of the components, in deviations of the flat plane.
THRESHOLDS = (0.8, 1.3, 2.0, 3.0)
# Width of lines (a Gaussian's deviation) as a share of the picture's width: 3 and 6 of the 1,500 pixels of DIARETDB1,
# whose vessels are 5 to 20 pixels wide. Lines are three times as long as wide.
LINE_SHARES = (0.002, 0.004)
LINE_LENGTH = 3.0
N_DIRECTIONS = 12
# Lines are sought on a grid on which they have this deviation.
COARSE_LINE = 1.5
FAR = 2.5
NEAR_SHARES = (0.02, 0.05, 0.1)
STRONG = 2.0


def measure_density(around: Surroundings) -> dict[str, Floats]:
    """Optical density: how much light the candidate takes from what is around it, channel by channel."""
    field = around.field
    names = [name for name in DENSITY_PLANES if name in field.planes]
    values: dict[str, Floats] = {}
    for name in names:
        plane = field.planes[name]
        samples = around.sample(plane)
        inside, ring = (np.log(mean_between(samples, *ends) + DARKEST) for ends in ((0, 1), (1.5, 2.5)))
        wide = smooth_inside(plane, field.region, WIDE_SHARE * plane.shape[1])[around.pixels]
        values[f"density.{name}"] = ring - inside
        values[f"density.wide.{name}"] = np.log(wide.astype(np.float64) + DARKEST) - inside
    if "green" in names:
        for name in ("red", "blue"):
            values[f"density.{name}_to_green"] = values[f"density.{name}"] / (
                np.abs(values["density.green"]) + 0.05
            )
    return values


def measure_components(around: Surroundings) -> dict[str, Floats]:
    """Measure connected areas of the flat plane above a threshold, towards the candidate's sign, with it inside."""
    at, radius = around.pixels, around.radius_px
    values: dict[str, Floats] = {}
    for threshold in THRESHOLDS:
        shapes = np.zeros((5, len(radius)))
        for sign in (1.0, -1.0):
            chosen = around.sign == sign
            if not chosen.any():
                continue
            above = (np.float32(sign) * around.field.flat > threshold).astype(np.uint8)
            _, labels, stats, _ = cv2.connectedComponentsWithStats(above, connectivity=8)
            shapes[:, chosen] = _describe_components(labels[at][chosen], stats, radius[chosen])
        name = f"component.t{round(10 * threshold):02d}"
        for word, column in zip(("area", "share", "reach", "extent", "length"), shapes, strict=True):
            values[f"{name}.{word}"] = column
    return values


def _describe_components(labels: NDArray[np.int32], stats: NDArray[np.int32], radius: Floats) -> Floats:
    """Return area, share, reach, extent and length of the component of each candidate; 0 (reach -1) where none is."""
    inside = labels > 0
    area, width, height = (
        np.where(inside, stats[labels, which].astype(np.float64), 1.0)
        for which in (cv2.CC_STAT_AREA, cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT)
    )
    return np.stack(
        [
            np.where(inside, np.log1p(area), 0),
            np.where(inside, np.log1p(area / (np.pi * radius**2)), 0),
            np.where(inside, np.log(np.hypot(width, height) / (2 * radius)), -1),
            np.where(inside, area / (width * height), 0),
            np.where(inside, np.maximum(width, height) / np.sqrt(area), 0),
        ]
    )


def _respond_to_lines(flat: Map, sigma_px: float) -> Iterator[Map]:
    """Give the response of bright lines in each direction, on the plane's own grid."""
    factor = max(round(sigma_px / COARSE_LINE), 1)
    rows, columns = flat.shape
    size = -(-columns // factor), -(-rows // factor)
    coarse = cv2.resize(flat, size, interpolation=cv2.INTER_AREA) if factor > 1 else flat
    sigma = max(sigma_px / factor, 1.0)
    half = int(np.ceil(3 * LINE_LENGTH * sigma))
    y, x = np.mgrid[-half : half + 1, -half : half + 1].astype(np.float64)
    for number in range(N_DIRECTIONS):
        angle = np.pi * number / N_DIRECTIONS
        along, across = (
            (x * np.cos(angle) + y * np.sin(angle)) / (LINE_LENGTH * sigma),
            (y * np.cos(angle) - x * np.sin(angle)) / sigma,
        )
        kernel = np.exp(-(along**2 + across**2) / 2) * (1 - across**2)
        kernel -= kernel.mean()
        kernel /= np.abs(kernel).sum()
        found = cv2.filter2D(coarse, cv2.CV_32F, kernel.astype(np.float32), borderType=cv2.BORDER_REFLECT)
        yield np.asarray(
            cv2.resize(found, (columns, rows), interpolation=cv2.INTER_LINEAR) if factor > 1 else found,
            dtype=np.float32,
        )


def measure_lines(around: Surroundings) -> dict[str, Floats]:
    """Lines, such as vessels: the best direction, and how much better it is than the mean of all, here and around."""
    field = around.field
    values: dict[str, Floats] = {}
    for word, share in zip(("fine", "coarse"), LINE_SHARES, strict=True):
        highest = np.full(field.flat.shape, -np.inf, dtype=np.float32)
        lowest = np.full(field.flat.shape, np.inf, dtype=np.float32)
        mean = np.zeros(field.flat.shape, dtype=np.float32)
        for response in _respond_to_lines(field.flat, share * field.flat.shape[1]):
            np.maximum(highest, response, out=highest)
            np.minimum(lowest, response, out=lowest)
            mean += response / np.float32(N_DIRECTIONS)
        for kind, best, one_sided in (("bright", highest, highest - mean), ("dark", -lowest, mean - lowest)):
            samples = around.sample(one_sided)
            values[f"lines.{word}.{kind}.best"] = best[around.pixels].astype(np.float64)
            values[f"lines.{word}.{kind}.one_sided"] = one_sided[around.pixels].astype(np.float64)
            values[f"lines.{word}.{kind}.around"] = mean_between(samples, 1.5, 4)
            values[f"lines.{word}.{kind}.most_around"] = samples[..., RHO > 1.5].max(axis=(1, 2), initial=0.0)
    return values


def measure_far(around: Surroundings) -> dict[str, Floats]:
    """Measure what lies up to 10 R away, and how far the candidate itself goes."""
    wider = Surroundings(around.field, around.column, around.row, FAR * around.radius_px, around.response)
    sign = around.sign[:, None, None]
    far, near = wider.flat * sign, around.flat * sign
    inside = near[..., RHO < 1]
    inner = around.field.flat[around.field.region]
    low, high = np.quantile(inner, [0.01, 0.99]) if inner.size else (0.0, 0.0)
    return {
        "far.spread": wider.flat[..., RHO > 1].std(axis=(1, 2)),
        "far.mean": mean_between(far, 1, 4),
        "far.most": far[..., RHO > 0.8].max(axis=(1, 2), initial=-np.inf),
        "far.high": _find_quantile(far[..., RHO > 0.8], 0.95),
        "inside.most": inside.max(axis=(1, 2), initial=-np.inf),
        "inside.low": _find_quantile(inside, 0.25),
        "inside.share_of_extreme": mean_between(near, 0, 1)
        / (np.where(around.sign > 0, high, -low) + EPSILON),
    }


def _find_quantile(samples: Floats, share: float) -> Floats:
    """Return a quantile of the samples of each candidate, also of none."""
    n, rays, steps = samples.shape
    return np.asarray(np.quantile(samples.reshape(n, rays * steps), share, axis=1))


def measure_others(around: Surroundings) -> dict[str, Floats]:
    """Contrast against that of the picture's other candidates, and of those near."""
    contrast = np.abs(around.contrast)
    usual = float(np.quantile(contrast, 0.95)) if len(contrast) else 0.0
    values: dict[str, Floats] = {
        "others.contrast_share": contrast / (usual + EPSILON),
        "others.log_contrast": np.log(contrast + 0.05),
        "others.usual_contrast": np.full(len(contrast), np.log(usual + 0.05)),
        "others.strong": np.full(len(contrast), np.log1p(np.count_nonzero(contrast > STRONG))),
    }
    points = np.column_stack([around.column, around.row])
    tree = cKDTree(points) if len(points) else None
    for share in NEAR_SHARES:
        near = tree.query_ball_point(points, share * around.field.region.shape[1]) if tree else []
        others = [contrast[[one for one in own if one != number]] for number, own in enumerate(near)]
        name = f"within{round(1000 * share):03d}"
        values[f"others.sum_{name}"] = np.array([one.sum() for one in others], dtype=np.float64)
        values[f"others.most_{name}"] = np.array([one.max(initial=0.0) for one in others], dtype=np.float64)
    return values


CONTEXT_MEANINGS: dict[str, str] = {
    **{
        f"density.{name}": f"logarithm of the mean of {name} in the ring over inside"
        for name in DENSITY_PLANES
    },
    **{
        f"density.wide.{name}": f"logarithm of the mean of {name} around (3 % of the picture's width) over inside"
        for name in DENSITY_PLANES
    },
    "density.red_to_green": "density of red over that of green",
    "density.blue_to_green": "density of blue over that of green",
    **{
        f"component.t{round(10 * threshold):02d}.{word}": f"flat above {threshold:g} towards the candidate's sign, "
        f"connected area that holds the candidate: {meaning}"
        for threshold in THRESHOLDS
        for word, meaning in (
            ("area", "logarithm of 1 + its pixels"),
            ("share", "logarithm of 1 + its area over pi R^2"),
            ("reach", "logarithm of its diagonal over 2 R; -1 where there is none"),
            ("extent", "its area over that of the box around it"),
            ("length", "longer side of that box over the root of its area"),
        )
    },
    **{
        f"lines.{word}.{kind}.{name}": f"{kind} lines of {100 * share:g} % of the picture's width: {meaning}"
        for word, share in zip(("fine", "coarse"), LINE_SHARES, strict=True)
        for kind in ("bright", "dark")
        for name, meaning in (
            ("best", "response in the best of 12 directions"),
            ("one_sided", "that minus the mean of all directions"),
            ("around", "mean of the latter from 1.5 to 4 R"),
            ("most_around", "highest of the same from 1.5 to 4 R"),
        )
    },
    "far.spread": "standard deviation of flat from 2.5 to 10 R",
    "far.mean": "mean of flat from 2.5 to 10 R, towards the candidate's sign",
    "far.most": "highest of flat from 2 to 10 R, towards the candidate's sign",
    "far.high": "95th percentile of the same",
    "inside.most": "highest of flat inside, towards the candidate's sign",
    "inside.low": "25th percentile of the same",
    "inside.share_of_extreme": "mean of flat inside over the region's 99th percentile, both towards the sign",
    "others.contrast_share": "contrast of flat over the 95th percentile of all candidates of the picture",
    "others.log_contrast": "logarithm of 0.05 + contrast of flat",
    "others.usual_contrast": "logarithm of 0.05 + that percentile",
    "others.strong": "logarithm of 1 + the candidates of the picture with a contrast above 2",
    **{
        f"others.{word}_within{round(1000 * share):03d}": f"{meaning} contrast of other candidates within "
        f"{100 * share:g} % of the picture's width"
        for share in NEAR_SHARES
        for word, meaning in (("sum", "sum of the"), ("most", "highest"))
    },
}
