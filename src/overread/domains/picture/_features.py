"""Generic features of candidates on any picture: what a place looks like, how it stands out, and what is around it.

Planes are sampled on 24 rays around each candidate, up to 4 of its radii R. "Inside" is up to R, the "ring" from 1.5
to 2.5 R, the "surround" from 2.5 to 4 R; means weigh a sample by its distance, as areas do. "Flat" is the main plane
without its background, in deviations of the region (`PictureImage.flat`); other planes are taken as deviations from
their median in the region, because pictures differ in exposure and colour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from overread.domains.picture._context_features import (
    ANGLES,
    CONTEXT_MEANINGS,
    REACH,
    RHO,
    Surroundings,
    mean_between,
    measure_components,
    measure_density,
    measure_far,
    measure_lines,
    measure_others,
    spread_between,
)
from overread.domains.picture._finder import measure_curvatures
from overread.domains.picture._image import PictureImage, smooth, smooth_inside
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

GREY_PLANES = ("main",)
COLOUR_PLANES = ("main", "red", "green", "blue", "red_green", "yellow_blue")


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
    flat = around.flat * around.sign[:, None, None]
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
    flat = around.flat * around.sign[:, None, None]
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
    flat = around.flat * around.sign[:, None, None]
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
    """Other candidates: how many, how near, how strong."""
    n, width = len(around.column), around.field.region.shape[1]
    points = np.column_stack([around.column, around.row])
    tree = cKDTree(points) if n else None
    values: dict[str, Floats] = {}
    for share in NEAR_SHARES:
        near = tree.query_ball_point(points, share * width, return_length=True) if tree else np.empty(0)
        values[f"neighbours.within{round(1000 * share):03d}"] = np.asarray(near, dtype=np.float64) - 1
    count = min(N_NEIGHBOURS + 1, n)
    distance, who = (
        tree.query(points, k=[*range(1, count + 1)]) if tree else (np.empty((0, 1)), np.empty((0, 1), int))
    )
    others, response = distance[:, 1:], around.response
    values["neighbours.nearest"] = (others[:, 0] if count > 1 else np.full(n, width)) / width
    values["neighbours.response"] = response[who[:, 1:]].mean(axis=1) if count > 1 else np.zeros(n)
    values["neighbours.contrast"] = around.contrast[who[:, 1:]].mean(axis=1) if count > 1 else np.zeros(n)
    order = np.argsort(-response, kind="stable")
    rank = np.empty(n)
    rank[order] = np.arange(n)
    values["candidate.rank"] = rank / max(n, 1)
    values["candidate.response"] = response
    values["candidate.share_of_best"] = response / (response.max(initial=0.0) + EPSILON)
    values["candidate.radius"] = np.log(around.radius_px / width)
    values["candidate.sign"] = around.sign
    return values


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


PLANE_MEANINGS = {
    "inside": "mean of {plane} inside",
    "contrast": "mean of {plane} inside minus mean in the ring",
    "contrast_to_noise": "contrast of {plane} over its standard deviation in the ring",
    "spread": "standard deviation of {plane} inside",
    "core": "mean of {plane} up to R/2 minus mean inside",
}
MEANINGS: dict[str, str] = {
    **{
        f"profile.level{number}": f"flat, towards the candidate's sign: mean from {number / 2:g} to "
        f"{number / 2 + 0.5:g} R minus mean of the surround"
        for number in range(6)
    },
    "profile.steepest": "largest fall of the mean flat level over a quarter of R",
    "profile.steepest_at": "distance of that fall, in R",
    "shape.radius": "mean length of the rays up to half of the contrast, in R",
    "shape.irregularity": "standard deviation of these lengths over their mean",
    "shape.elongation": "second harmonic of these lengths over their mean",
    "shape.area": "mean of the squared lengths, in R^2",
    "shape.shortest": "shortest length, in R",
    "shape.open": "share of rays that never fall to half of the contrast within 4 R",
    "edge.mean": "flat: mean from R/2 to R minus mean from 1.5 to 2 R",
    "edge.weakest": "the same on the four rays where it is least",
    "edge.evenness": "mean over standard deviation of the same over the rays",
    "edge.convergence": "mean fall along the rays over mean absolute change along and across them, from R/2 to 1.5 R",
    "line.through": "second harmonic of the rays' means from 1.5 to 3 R over their standard deviation",
    "line.strength": "second harmonic of the rays' means from 1.5 to 3 R",
    "line.brightest_ray": "highest of these means minus their mean",
    "line.darkest_ray": "mean of these means minus the lowest",
    "texture.inside": "standard deviation of flat inside",
    "texture.surround": "standard deviation of flat in the surround",
    "texture.fine_inside": "mean absolute change of flat over R/8 along rays, inside",
    "texture.fine_surround": "mean absolute change of flat over R/8 along rays, in the surround",
    "texture.contrast_to_surround": "contrast of flat over its standard deviation in the surround",
    **{
        f"curvature.{name}.s{round(100 * share):03d}": f"{words} of flat smoothed by {share:g} R, "
        "times the scale squared"
        for share in CURVATURE_SCALES
        for name, words in (
            ("small", "smaller curvature towards the candidate's sign"),
            ("large", "larger curvature towards the candidate's sign"),
            ("roundness", "smaller over larger curvature, cut to -1..1,"),
        )
    },
    **{
        f"neighbours.within{round(1000 * share):03d}": f"other candidates within {100 * share:g} % of the "
        "picture's width"
        for share in NEAR_SHARES
    },
    "neighbours.nearest": "distance to the nearest other candidate over the picture's width",
    "neighbours.response": "mean response of the five nearest",
    "neighbours.contrast": "mean contrast of flat of the five nearest",
    "candidate.rank": "rank of the response over the number of candidates",
    "candidate.response": "response of the finder",
    "candidate.share_of_best": "response over the highest of the picture",
    "candidate.radius": "logarithm of R over the picture's width",
    "candidate.sign": "1 where brighter than the ring, else -1",
    "place.border": "distance to the border of the region over the picture's width",
    "place.x": "distance from the region's centre to the right over the picture's width",
    "place.y": "distance from the region's centre downwards over the picture's width",
    "place.from_centre": "distance from the region's centre over the picture's width",
    "place.in_region": "share of the samples up to 4 R that lie in the region",
    "place.background": "main plane smoothed by 3 % of the picture's width",
    "place.from_brightest": "distance to the place that is brightest against its surroundings (main plane smoothed by "
    "2 % of the picture's width minus by 6 %) over the picture's width",
    "place.from_darkest": "distance to the darkest place of the same over the picture's width",
}
GENERIC_FEATURES: dict[str, str] = {
    f"{plane}.{name}": words.format(plane=plane.replace("_", " minus "))
    for plane in COLOUR_PLANES
    for name, words in PLANE_MEANINGS.items()
} | MEANINGS
"""Meaning of every generic feature by its name, in the order of the columns."""
GENERIC_FEATURES |= CONTEXT_MEANINGS

MEASURES: tuple[Callable[[Surroundings], Mapping[str, Floats]], ...] = (
    _measure_planes,
    _measure_profile,
    _measure_shape,
    _measure_edge,
    _measure_texture,
    _measure_curvature,
    _measure_neighbours,
    _measure_place,
    measure_density,
    measure_components,
    measure_lines,
    measure_far,
    measure_others,
)


def generic_names(*, colour: bool) -> list[str]:
    """Names of the features of a grey or a colour picture, in the order of the columns."""
    planes = COLOUR_PLANES if colour else GREY_PLANES
    channels = {"red", "green", "blue"}
    return [
        name
        for name in GENERIC_FEATURES
        if (name.partition(".")[0] in planes or name.partition(".")[0] not in COLOUR_PLANES)
        and (colour or not channels & set(name.replace("_", ".").split(".")))
    ]


def extract_generic(field: PictureImage, candidates: pd.DataFrame) -> pd.DataFrame:
    """Compute the generic features of candidates.

    Parameters
    ----------
    field
        The picture.
    candidates
        candidate_id, x, y, radius and response, in the unit of the picture; names may end in it.

    Returns
    -------
    DataFrame
        candidate_id and one float32 column a feature; all numbers are finite.
    """
    lengths, _ = plain(candidates, unit_of(candidates.columns) or "px")
    around = _find_surroundings(field, lengths)
    values = {name: column for measure in MEASURES for name, column in measure(around).items()}
    names = generic_names(colour=len(field.planes) > 1)
    table = pd.DataFrame({name: values[name].astype(np.float32) for name in names})
    return pd.concat([candidates[["candidate_id"]].reset_index(drop=True), table], axis=1)


def measure_contrasts(field: PictureImage, places: pd.DataFrame) -> pd.DataFrame:
    """Compute the features of the planes alone, which take little time: how places stand out in each colour."""
    return pd.DataFrame(_measure_planes(_find_surroundings(field, places)))


def _find_surroundings(field: PictureImage, places: pd.DataFrame) -> Surroundings:
    """Put places on the grid of the picture."""
    x, y, radius, response = (places[name].to_numpy(np.float64) for name in ("x", "y", "radius", "response"))
    side = field.mm_per_px
    return Surroundings(field, x / side - 0.5, y / side - 0.5, radius / side, response)
