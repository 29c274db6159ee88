"""Lesions of a field: alone or in clusters, bright (more light comes back) or dark (blood), and what only looks so.

Outlines and profiles are those of `overread.simulate._nodules`, with a pixel for a millimetre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.simulate._nodules import Nodule, NoduleDistribution, contrast_field, draw_shape, window_around
from overread.simulate.picture._phantom import BLOOD, PicturePhantom

Label = Literal["bright", "dark"]
Map = NDArray[np.float32]

# Colour towards which a bright lesion moves the ground, and how far at conspicuity 1; blood of a dark one at
# conspicuity 1, in thicknesses of a root vessel. Set by judgement.
BRIGHT = (0.98, 0.86, 0.42)
BRIGHT_PER_CONSPICUITY = 0.16
BLOOD_PER_CONSPICUITY = 0.28
# What lies nearer to the border or to the disc than this share of the field's radius is not drawn: there even the
# readers of real photographs mark little.
BORDER_SHARE = 0.08
TRIES = 60


@dataclass(frozen=True)
class ClusterLaw:
    """How the lesions of one label are drawn."""

    clusters: float  # Mean number of clusters in an image that has any
    sizes: tuple[float, ...]  # Probability of 1, 2, 3, ... lesions in a cluster
    spread_px: float  # Distance between neighbours of a cluster, beside their radii
    shape: NoduleDistribution  # Outline, diameter (in pixels) and conspicuity of a lesion
    lookalikes: float  # Mean number of faint, blurred spots of the same sign that are not lesions


@dataclass(frozen=True)
class Cluster:
    """Lesions that lie together; one alone is a cluster too."""

    label: Label
    lesions: tuple[Nodule, ...]

    @property
    def ring(self) -> tuple[float, float, float]:
        """Centre and diameter of the smallest circle around all lesions."""
        edges = np.array(
            [
                (n.x_mm + n.radius_mm * np.cos(angle), n.y_mm + n.radius_mm * np.sin(angle))
                for n in self.lesions
                for angle in np.arange(8) * np.pi / 4
            ],
            dtype=np.float32,
        )
        (x, y), radius = cv2.minEnclosingCircle(edges)
        return float(x), float(y), 2 * float(radius)


def _find_room(phantom: PicturePhantom) -> NDArray[np.int64]:
    """Pixels in which a cluster may begin."""
    size = 2 * round(BORDER_SHARE * phantom.radius) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    taken = (~phantom.field | phantom.disc).astype(np.uint8)
    return np.flatnonzero(cv2.dilate(taken, kernel) == 0)


def draw_clusters(
    phantom: PicturePhantom,
    label: Label,
    law: ClusterLaw,
    taken: Sequence[Nodule],
    random: np.random.Generator,
) -> list[Cluster]:
    """Draw the clusters of a label, none on existing ones."""
    room = _find_room(phantom)
    inside = np.zeros(phantom.field.size, dtype=bool)
    inside[room] = True
    there, clusters = list(taken), []
    for _ in range(int(random.poisson(law.clusters))):
        wanted = 1 + int(random.choice(len(law.sizes), p=law.sizes))
        lesions: list[Nodule] = []
        for _ in range(wanted):
            lesion = _draw_lesion(room, inside.reshape(phantom.shape), law, there, lesions, random)
            if lesion is not None:
                lesions.append(lesion)
                there.append(lesion)
        if lesions:
            clusters.append(Cluster(label, tuple(lesions)))
    return clusters


def _draw_lesion(
    room: NDArray[np.int64],
    inside: NDArray[np.bool_],
    law: ClusterLaw,
    there: Sequence[Nodule],
    own: Sequence[Nodule],
    random: np.random.Generator,
) -> Nodule | None:
    """Draw a lesion beside one of its cluster, the first anywhere; None where no place is free."""
    diameter = float(np.exp(random.uniform(*np.log(law.shape.diameter_mm))))
    rows, columns = inside.shape
    for _ in range(TRIES):
        if own:
            near = own[int(random.integers(len(own)))]
            reach = near.radius_mm + diameter / 2 + law.spread_px * random.uniform(0.3, 1.0)
            angle = random.uniform(0, 2 * np.pi)
            x, y = near.x_mm + reach * float(np.cos(angle)), near.y_mm + reach * float(np.sin(angle))
        else:
            row, column = divmod(int(room[random.integers(len(room))]), columns)
            x, y = column + 0.5, row + 0.5
        if not (0 <= x < columns and 0 <= y < rows and inside[int(y), int(x)]):
            continue
        if all(np.hypot(x - o.x_mm, y - o.y_mm) > diameter / 2 + o.radius_mm for o in there):
            return draw_shape((x, y), diameter, law.shape, 0.8, random)
    return None


def draw_lookalikes(
    phantom: PicturePhantom, law: ClusterLaw, taken: Sequence[Nodule], random: np.random.Generator
) -> list[Nodule]:
    """Draw spots that are fainter and softer than lesions, and lie alone."""
    faint = replace(law, clusters=law.lookalikes, sizes=(1.0,), shape=_soften(law.shape))
    clusters = draw_clusters(phantom, "bright", faint, taken, random)
    return [replace(spot, blur_mm=spot.radius_mm / 2) for cluster in clusters for spot in cluster.lesions]


def _soften(shape: NoduleDistribution) -> NoduleDistribution:
    """Law of spots with half of the conspicuity, half as large again, peaked."""
    low, high = shape.conspicuity
    small, large = shape.diameter_mm
    return replace(
        shape, conspicuity=(low / 2, high / 2), diameter_mm=(1.5 * small, 1.5 * large), exponent=(1.5, 2.5)
    )


def insert_lesions(phantom: PicturePhantom, light: Map, lesions: Sequence[Nodule], label: Label) -> Map:
    """Return the light with lesions of one label in it."""
    depth = np.zeros(phantom.shape, dtype=np.float64)
    for lesion in lesions:
        window = window_around(lesion.x_mm, lesion.y_mm, lesion.reach_mm, phantom.shape, 1.0)
        depth[window.rows, window.columns] += lesion.conspicuity * contrast_field(lesion, window, 1.0)
    if label == "dark":
        blood = BLOOD_PER_CONSPICUITY * np.maximum(depth, 0)[..., None]
        return np.asarray(light * np.exp(-blood * np.asarray(BLOOD)), dtype=np.float32)
    share = 1 - np.exp(-BRIGHT_PER_CONSPICUITY * np.maximum(depth, 0))[..., None]
    lit = phantom.illumination[..., None] * np.asarray(BRIGHT)
    return np.asarray(light + share * (lit - light), dtype=np.float32)
