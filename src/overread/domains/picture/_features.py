"""Generic features of candidates on any image: appearance, contrast and surroundings.

Planes are sampled on 24 rays around each candidate, up to 4 of its radii R. "Inside" is up to R, the "ring" from 1.5
to 2.5 R, the "surround" from 2.5 to 4 R; means weigh a sample by its distance, as areas do. "Flat" is the main plane
without its background, in deviations of the region (`PictureImage.flat`); other planes are taken as deviations from
their median in the region, because pictures differ in exposure and colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from overread.domains.picture._finder import measure_curvatures
from overread.domains.picture._image import Map, PictureImage, smooth, smooth_inside
from overread.features import EPSILON
from overread.tables import plain, unit_of

Floats = NDArray[np.float64]

GENERIC_VERSION = "1"
"""To be raised whenever the same candidates would give other numbers: a detector refuses another version."""

# Scales of curvature in radii of the candidate.
CURVATURE_SCALES = (0.35, 0.7, 1.4, 2.8)
# Scales of the maps that stand for them: steps of a fourth of an octave are within 9 % of any scale.
MAP_STEP = 2.0**0.25
# Neighbourhoods and landmarks, as shares of the picture's width. Set by judgement.
NEAR_SHARES = (0.02, 0.05, 0.1)
LANDMARK_SHARE = 0.03
# On the 28 training images of DIARETDB1 the brightest place by this difference is the disc in 26, by the smoothed plane
# alone in 22.
LANDMARK_SHARES = (0.02, 0.06)
N_NEIGHBOURS = 5

COLOUR_PLANES = ("main", "red", "green", "blue", "red_green", "yellow_blue")
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
STRONG = 2.0


N_RAYS = 24
STEPS_PER_RADIUS = 8
REACH = 4.0
RHO = (np.arange(int(REACH * STEPS_PER_RADIUS)) + 0.5) / STEPS_PER_RADIUS
ANGLES = 2 * np.pi * np.arange(N_RAYS) / N_RAYS


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Candidates of one picture with samples around them."""

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
    def towards(self) -> Floats:
        """Flat on the rays, towards the candidate's sign."""
        return self.flat * self.sign[:, None, None]

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


def _measure_planes(around: Surroundings) -> dict[str, Floats]:
    """Level, contrast and spread in each plane."""
    values = {}
    for name in around.field.planes:
        samples = around.sample(around.field.standardize(name))
        inside, ring = mean_between(samples, 0, 1), mean_between(samples, 1.5, 2.5)
        spread = spread_between(samples, 1.5, 2.5)
        values[f"{name}.inside"] = inside
        values[f"{name}.contrast"] = inside - ring
        values[f"{name}.contrast_to_noise"] = (inside - ring) / (spread + EPSILON)
        values[f"{name}.spread"] = spread_between(samples, 0, 1)
        values[f"{name}.core"] = mean_between(samples, 0, 0.5) - inside
    return values


def _measure_profile(around: Surroundings) -> dict[str, Floats]:
    """Mean flat level by distance, and its steepest fall."""
    flat = around.towards
    ring = mean_between(flat, 2.5, 4)
    levels = (
        np.stack([mean_between(flat, low / 2, low / 2 + 0.5) for low in range(6)], axis=1) - ring[:, None]
    )
    profile = flat.mean(axis=1)
    falls = profile[:, :-2] - profile[:, 2:]
    steepest = falls.argmax(axis=1) if len(falls) else np.empty(0, np.intp)
    values = {f"profile.level{number}": levels[:, number] for number in range(6)}
    values["profile.steepest"] = np.take_along_axis(falls, steepest[:, None], 1)[:, 0]
    values["profile.steepest_at"] = RHO[steepest + 1]
    return values


def _measure_shape(around: Surroundings) -> dict[str, Floats]:
    """Outline at half of the contrast along each ray."""
    flat = around.towards
    core, ring = mean_between(flat, 0, 0.5), mean_between(flat, 1.5, 2.5)
    below = flat < ((core + ring) / 2)[:, None, None]
    # The first sample below half; rays that never fall end at the reach.
    length = np.where(below.any(axis=2), RHO[below.argmax(axis=2)], REACH)
    mean = length.mean(axis=1)
    second = np.abs((length * np.exp(2j * ANGLES)).mean(axis=1))
    return {
        "shape.radius": mean,
        "shape.irregularity": length.std(axis=1) / (mean + EPSILON),
        "shape.elongation": second / (mean + EPSILON),
        "shape.area": (length**2).mean(axis=1),
        "shape.shortest": length.min(axis=1),
        "shape.open": (length >= REACH).mean(axis=1),
    }


def _measure_edge(around: Surroundings) -> dict[str, Floats]:
    """How even the edge is all around, and lines that pass through the ring."""
    flat = around.towards
    inner, outer = (
        flat[..., (low <= RHO) & (high > RHO)].mean(axis=2) for low, high in ((0.5, 1.0), (1.5, 2.0))
    )
    falls = inner - outer
    far = flat[..., (RHO >= 1.5) & (RHO < 3.0)].mean(axis=2)
    spread = far.std(axis=1)
    along = np.abs((far * np.exp(2j * ANGLES)).mean(axis=1))
    radial = np.diff(flat, axis=2)
    across = np.diff(flat, axis=1, append=flat[:, :1])
    near = (RHO[:-1] >= 0.5) & (RHO[:-1] < 1.5)
    return {
        "edge.mean": falls.mean(axis=1),
        "edge.weakest": np.sort(falls, axis=1)[:, :4].mean(axis=1),
        "edge.evenness": falls.mean(axis=1) / (falls.std(axis=1) + EPSILON),
        "edge.convergence": -radial[..., near].mean(axis=(1, 2))
        / (
            np.abs(radial[..., near]).mean(axis=(1, 2))
            + np.abs(across[..., :-1][..., near]).mean(axis=(1, 2))
            + EPSILON
        ),
        "line.through": along / (spread + EPSILON),
        "line.strength": along,
        "line.brightest_ray": far.max(axis=1) - far.mean(axis=1),
        "line.darkest_ray": far.mean(axis=1) - far.min(axis=1),
    }


def _measure_texture(around: Surroundings) -> dict[str, Floats]:
    """Roughness inside and around."""
    flat = around.flat
    inside, surround = RHO < 1, RHO >= 2.5
    return {
        "texture.inside": flat[..., inside].std(axis=(1, 2)),
        "texture.surround": flat[..., surround].std(axis=(1, 2)),
        "texture.fine_inside": np.abs(np.diff(flat, axis=2)[..., inside[:-1]]).mean(axis=(1, 2)),
        "texture.fine_surround": np.abs(np.diff(flat, axis=2)[..., surround[:-1]]).mean(axis=(1, 2)),
        "texture.contrast_to_surround": around.contrast / (flat[..., surround].std(axis=(1, 2)) + EPSILON),
    }


def _measure_curvature(around: Surroundings) -> dict[str, Floats]:
    """Curvatures of the flat plane at the centre, at scales of the radius."""
    values: dict[str, Floats] = {}
    smallest = 0.5
    for share in CURVATURE_SCALES:
        wanted = np.maximum(share * around.radius_px, smallest)
        level = np.round(np.log(wanted / smallest) / np.log(MAP_STEP)).astype(np.intp)
        small, large = np.empty(len(wanted)), np.empty(len(wanted))
        for step in np.unique(level):
            chosen = level == step
            maps = measure_curvatures(around.field.flat, smallest * MAP_STEP**step, 1.0)
            columns, rows = (one[chosen].astype(np.float32)[None] for one in (around.column, around.row))
            low, high = (
                cv2.remap(one, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[0]
                for one in maps
            )
            # Of a bright place the curvatures are negative: the one nearer to 0 is the smaller.
            bright = around.sign[chosen] > 0
            small[chosen], large[chosen] = np.where(bright, -high, low), np.where(bright, -low, high)
        name = f"s{round(100 * share):03d}"
        values[f"curvature.small.{name}"] = small
        values[f"curvature.large.{name}"] = large
        values[f"curvature.roundness.{name}"] = np.clip(small / (np.abs(large) + EPSILON), -1, 1)
    return values


def _measure_neighbours(around: Surroundings) -> dict[str, Floats]:
    """Other candidates: how many, how near, how strong, and how a candidate compares with them."""
    n, width = len(around.column), around.field.region.shape[1]
    response, contrast = around.response, np.abs(around.contrast)
    points = np.column_stack([around.column, around.row])
    tree = cKDTree(points) if n else None
    values: dict[str, Floats] = {}
    for share in NEAR_SHARES:
        near = tree.query_ball_point(points, share * width) if tree else []
        others = [contrast[[one for one in own if one != number]] for number, own in enumerate(near)]
        name = f"within{round(1000 * share):03d}"
        values[f"neighbours.{name}"] = np.array([len(own) - 1 for own in near], dtype=np.float64)
        values[f"others.sum_{name}"] = np.array([one.sum() for one in others], dtype=np.float64)
        values[f"others.most_{name}"] = np.array([one.max(initial=0.0) for one in others], dtype=np.float64)
    count = min(N_NEIGHBOURS + 1, n)
    distance, who = (
        tree.query(points, k=[*range(1, count + 1)]) if tree else (np.empty((0, 1)), np.empty((0, 1), int))
    )
    alone, nearest = count < 2, who[:, 1:]
    values["neighbours.nearest"] = (np.full(n, width) if alone else distance[:, 1]) / width
    values["neighbours.response"] = np.zeros(n) if alone else response[nearest].mean(axis=1)
    values["neighbours.contrast"] = np.zeros(n) if alone else around.contrast[nearest].mean(axis=1)
    rank = np.empty(n)
    rank[np.argsort(-response, kind="stable")] = np.arange(n)
    usual = float(np.quantile(contrast, 0.95)) if n else 0.0
    return values | {
        "candidate.rank": rank / max(n, 1),
        "candidate.response": response,
        "candidate.share_of_best": response / (response.max(initial=0.0) + EPSILON),
        "candidate.radius": np.log(around.radius_px / width),
        "candidate.sign": around.sign,
        "others.contrast_share": contrast / (usual + EPSILON),
        "others.log_contrast": np.log(contrast + 0.05),
        "others.usual_contrast": np.full(n, np.log(usual + 0.05)),
        "others.strong": np.full(n, np.log1p(np.count_nonzero(contrast > STRONG))),
    }


def _measure_place(around: Surroundings) -> dict[str, Floats]:
    """Where in the region, and how far from its brightest and darkest large area."""
    field = around.field
    columns = field.region.shape[1]
    border = cv2.distanceTransform(np.pad(field.region, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    at = around.pixels
    centre_row, centre_column = (float(index.mean()) for index in np.nonzero(field.region))
    wide = smooth(field.standardize("main"), LANDMARK_SHARE * columns)
    values = {
        "place.border": border[at] / columns,
        "place.x": (around.column - centre_column) / columns,
        "place.y": (around.row - centre_row) / columns,
        "place.from_centre": np.hypot(around.column - centre_column, around.row - centre_row) / columns,
        "place.in_region": around.sample(field.region.astype(np.float32)).mean(axis=(1, 2)),
        "place.background": wide[at].astype(np.float64),
    }
    # What stands out at this scale: the brightest light alone may be the uneven one of the lamp.
    inner, outer = (
        smooth_inside(field.planes["main"], field.region, share * columns) for share in LANDMARK_SHARES
    )
    standing = inner - outer
    for name, plane in (("brightest", standing), ("darkest", -standing)):
        row, column = np.unravel_index(np.where(field.region, plane, -np.inf).argmax(), plane.shape)
        values[f"place.from_{name}"] = np.hypot(around.column - column, around.row - row) / columns
    return values


def _measure_density(around: Surroundings) -> dict[str, Floats]:
    """Measure optical density: light absorbed by the candidate relative to its surroundings, per channel."""
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


def _measure_components(around: Surroundings) -> dict[str, Floats]:
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


def _measure_lines(around: Surroundings) -> dict[str, Floats]:
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


def _measure_far(around: Surroundings) -> dict[str, Floats]:
    """Measure what lies up to 10 R away, and how far the candidate itself goes."""
    wider = Surroundings(around.field, around.column, around.row, FAR * around.radius_px, around.response)
    far, near = wider.flat * around.sign[:, None, None], around.towards
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


PLANE_MEANINGS = {
    "inside": "mean of {plane} inside the candidate",
    "contrast": "mean of {plane} inside the candidate minus mean in the ring around it",
    "contrast_to_noise": "contrast of {plane} to the ring over the standard deviation in the ring",
    "spread": "standard deviation of {plane} inside the candidate",
    "core": "mean of {plane} in the inner half of the radius minus mean inside the candidate",
}
MEANINGS: dict[str, str] = {
    **{
        f"profile.level{number}": f"contrast from {number / 2:g} to {number / 2 + 0.5:g} R, "
        "against the mean of the surroundings"
        for number in range(6)
    },
    "profile.steepest": "largest fall of contrast over a quarter of R",
    "profile.steepest_at": "distance from the centre at which contrast falls most, in R",
    "shape.radius": "mean radius at half of the contrast, in R",
    "shape.irregularity": "standard deviation of the radius at half contrast over directions, over its mean",
    "shape.elongation": "elongation of the outline at half contrast (second harmonic of the radius over its mean)",
    "shape.area": "mean square of the radius at half contrast, in R^2",
    "shape.shortest": "shortest radius at half contrast, in R",
    "shape.open": "share of directions in which contrast does not fall to half within 4 R",
    "edge.mean": "contrast across the border: mean from R/2 to R minus mean from 1.5 to 2 R",
    "edge.weakest": "contrast across the border in the four weakest directions",
    "edge.evenness": "contrast across the border: mean over standard deviation of all directions",
    "edge.convergence": "share of edges from R/2 to 1.5 R that point towards the centre",
    "line.through": "line through the candidate: second harmonic of the ring from 1.5 to 3 R over its deviation",
    "line.strength": "line through the candidate: second harmonic of the ring from 1.5 to 3 R",
    "line.brightest_ray": "ring from 1.5 to 3 R: brightest direction minus mean",
    "line.darkest_ray": "ring from 1.5 to 3 R: mean minus darkest direction",
    "texture.inside": "standard deviation of brightness inside the candidate",
    "texture.surround": "standard deviation of brightness in the surroundings",
    "texture.fine_inside": "fine texture inside the candidate: mean change of brightness over R/8",
    "texture.fine_surround": "fine texture in the surroundings: mean change of brightness over R/8",
    "texture.contrast_to_surround": "contrast over the standard deviation in the surroundings",
    **{
        f"curvature.{name}.s{round(100 * share):03d}": f"{words} of brightness, smoothed by {share:g} R"
        for share in CURVATURE_SCALES
        for name, words in (
            ("small", "smaller principal curvature"),
            ("large", "larger principal curvature"),
            ("roundness", "roundness (smaller over larger principal curvature)"),
        )
    },
    **{
        f"neighbours.within{round(1000 * share):03d}": f"number of other candidates within {100 * share:g} % of "
        "the image width"
        for share in NEAR_SHARES
    },
    "neighbours.nearest": "distance to the nearest other candidate over the image width",
    "neighbours.response": "mean response of the finder at the five nearest candidates",
    "neighbours.contrast": "mean contrast of the five nearest candidates",
    "candidate.rank": "rank among the candidates of the image by response of the finder, 0 to 1",
    "candidate.response": "response of the finder",
    "candidate.share_of_best": "response of the finder over its highest response in the image",
    "candidate.radius": "logarithm of the candidate's radius over the image width",
    "candidate.sign": "1 if the candidate is brighter than the ring around it, else -1",
    "place.border": "distance to the border of the region over the image width",
    "place.x": "distance from the region's centre to the right over the image width",
    "place.y": "distance from the region's centre downwards over the image width",
    "place.from_centre": "distance from the region's centre over the image width",
    "place.in_region": "share of the area within 4 R that lies in the region",
    "place.background": "brightness of the background, smoothed by 3 % of the image width",
    "place.from_brightest": "distance to the brightest area of 2 % of the image width, over the image width",
    "place.from_darkest": "distance to the darkest area of 2 % of the image width, over the image width",
    **{
        f"density.{name}": f"absorption of {name}: logarithm of its mean in the ring over inside the candidate"
        for name in DENSITY_PLANES
    },
    **{
        f"density.wide.{name}": f"absorption of {name}: logarithm of its mean within 3 % of the image width "
        "over inside the candidate"
        for name in DENSITY_PLANES
    },
    "density.red_to_green": "absorption of red over absorption of green",
    "density.blue_to_green": "absorption of blue over absorption of green",
    **{
        f"component.t{round(10 * threshold):02d}.{word}": f"connected area with the candidate at contrast above "
        f"{threshold:g}: {meaning}"
        for threshold in THRESHOLDS
        for word, meaning in (
            ("area", "logarithm of 1 + number of pixels"),
            ("share", "logarithm of 1 + area over pi R^2"),
            ("reach", "logarithm of diagonal over 2 R (-1: no area)"),
            ("extent", "area over area of the bounding box"),
            ("length", "longer side of the bounding box over the root of the area"),
        )
    },
    **{
        f"lines.{word}.{kind}.{name}": f"{kind} lines {100 * share:g} % of the image width wide: {meaning}"
        for word, share in zip(("fine", "coarse"), LINE_SHARES, strict=True)
        for kind in ("bright", "dark")
        for name, meaning in (
            ("best", "strength in the best of 12 directions"),
            ("one_sided", "strength in the best direction minus mean of all directions"),
            ("around", "mean strength from 1.5 to 4 R around the candidate"),
            ("most_around", "highest strength from 1.5 to 4 R around the candidate"),
        )
    },
    "far.spread": "standard deviation of brightness from 2.5 to 10 R",
    "far.mean": "mean contrast from 2.5 to 10 R",
    "far.most": "highest contrast from 2 to 10 R",
    "far.high": "95th percentile of contrast from 2 to 10 R",
    "inside.most": "highest contrast inside the candidate",
    "inside.low": "25th percentile of contrast inside the candidate",
    "inside.share_of_extreme": "mean contrast inside the candidate over the region's 99th percentile",
    "others.contrast_share": "contrast over the 95th percentile of the contrasts of all candidates in the image",
    "others.log_contrast": "logarithm of 0.05 + contrast to the ring",
    "others.usual_contrast": "logarithm of 0.05 + 95th percentile of the contrasts of all candidates in the image",
    "others.strong": "logarithm of 1 + number of candidates in the image with a contrast above 2",
    **{
        f"others.{word}_within{round(1000 * share):03d}": f"{meaning} contrast of other candidates within "
        f"{100 * share:g} % of the image width"
        for share in NEAR_SHARES
        for word, meaning in (("sum", "sum of the"), ("most", "highest"))
    },
}
GENERIC_FEATURES: dict[str, str] = {
    f"{plane}.{name}": words.format(plane=plane.replace("_", " minus "))
    for plane in COLOUR_PLANES
    for name, words in PLANE_MEANINGS.items()
} | MEANINGS
"""Meaning of every generic feature by its name, in the order of the columns."""


def generic_names(*, colour: bool) -> list[str]:
    """Names of the features of a grey or a colour picture, in the order of the columns."""
    channels = {"red", "green", "blue"}
    return [
        name for name in GENERIC_FEATURES if colour or not channels & set(name.replace("_", ".").split("."))
    ]


def extract_generic(field: PictureImage, candidates: pd.DataFrame) -> pd.DataFrame:
    """Compute the generic features of candidates.

    Parameters
    ----------
    field : PictureImage
        The picture.
    candidates : DataFrame
        candidate_id, x, y, radius and response, in the unit of the picture; names may end in it.

    Returns
    -------
    DataFrame
        candidate_id and one float32 column per feature; all numbers are finite.
    """
    lengths, _ = plain(candidates, unit_of(candidates.columns) or "px")
    around = _find_surroundings(field, lengths)
    values = (
        _measure_planes(around)
        | _measure_profile(around)
        | _measure_shape(around)
        | _measure_edge(around)
        | _measure_texture(around)
        | _measure_curvature(around)
        | _measure_neighbours(around)
        | _measure_place(around)
        | _measure_density(around)
        | _measure_components(around)
        | _measure_lines(around)
        | _measure_far(around)
    )
    names = generic_names(colour=len(field.planes) > 1)
    table = pd.DataFrame({name: values[name].astype(np.float32) for name in names})
    return pd.concat([candidates[["candidate_id"]].reset_index(drop=True), table], axis=1)


def measure_contrasts(field: PictureImage, places: pd.DataFrame) -> pd.DataFrame:
    """Compute the features of the planes alone, which take little time: contrast in each colour."""
    return pd.DataFrame(_measure_planes(_find_surroundings(field, places)))


def _find_surroundings(field: PictureImage, places: pd.DataFrame) -> Surroundings:
    """Put positions on the grid of the image."""
    x, y, radius, response = (places[name].to_numpy(np.float64) for name in ("x", "y", "radius", "response"))
    side = field.mm_per_px
    return Surroundings(field, x / side - 0.5, y / side - 0.5, radius / side, response)
