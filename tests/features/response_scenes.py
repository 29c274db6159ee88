"""Pairs of radiographs that differ only in what is named: a feature must be larger on one of them."""

from __future__ import annotations

import functools

import numpy as np
from feature_scenes import ROWS, SIDE, X_MM, Y_MM, Scene, X, Y, disc, line, noise, polar, star

from overread.features import CATALOGUE, extract_features

SPECIFIC = [feature.name for feature in CATALOGUE.kind("specific")]
SCALES = {"s16": 1.6, "s25": 2.5, "s40": 4.0, "s63": 6.3, "s100": 10.0}
RIGHT_COLUMN = SIDE * 0.7 - X


def rib(width=6.0, angle=0.0, offset=0.0):
    """Rib likeness and direction of one rib through the candidate's place."""
    turn = np.radians(angle)
    across = -(X_MM - X) * np.sin(turn) + (Y_MM - Y - offset) * np.cos(turn)
    likeness = (np.abs(across) < width).astype(np.float32)
    return {"ribs": likeness, "rib_direction_deg": np.full((SIDE, SIDE), angle, dtype=np.float32)}


def crossing_ribs():
    direction = np.where((ROWS // 3) % 2 == 0, 20.0, 110.0).astype(np.float32)
    return {"ribs": np.ones((SIDE, SIDE), dtype=np.float32), "rib_direction_deg": direction}


def clavicle(offset):
    return {"clavicles": np.abs(Y_MM - Y - offset) < 8.0}


def ring_of(radius, width=3.0, contrast=0.1):
    r, _ = polar(X, Y)
    return contrast * np.exp(-0.5 * ((r - radius) / (width / 2.0)) ** 2)


def rays_out(*angles, contrast=0.2, start=9.0, end=30.0, width=2.5):
    return sum(line(angle, width=width, contrast=contrast, start=start, end=end) for angle in angles)


SCENES = {
    "nothing": Scene(),
    "disc": Scene((disc(9.0),)),
    "faint": Scene((disc(9.0, 0.05),)),
    "bright": Scene((disc(9.0, 0.4),)),
    "noisy": Scene((disc(9.0), noise(0.05, seed=3))),
    "blurred": Scene((disc(9.0, blur=4.0),)),
    "large": Scene((disc(14.0),), radius=14.0),
    "small": Scene((disc(5.0),), radius=5.0),
    "oblong": Scene((disc(11.0, ratio=0.55),)),
    "lobed": Scene((disc(9.0, lobes=5, depth=0.22),)),
    "pear": Scene((disc(8.0), disc(5.0, x=X + 8.0))),
    "three_lobes": Scene((disc(9.0, lobes=3, depth=0.2),)),
    "wide": Scene((disc(14.5),)),
    "narrow": Scene((disc(5.0),)),
    "line": Scene((line(30.0, width=9.0),)),
    "glow": Scene((disc(15.0, blur=9.0),)),
    "vessel": Scene((line(30.0, width=4.0),)),
    "edge": Scene((0.2 * (X_MM > X),)),
    "spikes": Scene((disc(7.5), star(14, contrast=0.08, inner=5.0, outer=22.0))),
    "star_core": Scene((disc(9.0, blur=4.0), star(8, contrast=0.1, inner=0.0, outer=9.0))),
    "spicules": Scene((disc(8.0), rays_out(*range(0, 360, 30)))),
    "one_spicule": Scene((disc(8.0), rays_out(75.0))),
    "four_vessels": Scene((disc(9.0), rays_out(10.0, 100.0, 190.0, 280.0))),
    "rings": Scene((disc(9.0), ring_of(13.0), ring_of(19.0))),
    "mirrored": Scene((disc(9.0), disc(9.0, x=RIGHT_COLUMN))),
    "mirrored_brighter": Scene((disc(9.0), disc(9.0, 0.4, x=RIGHT_COLUMN))),
    "mirrored_noise": Scene((disc(9.0), noise(0.05, seed=5) * (X_MM > 112.0))),
    "shared_texture": Scene(((n := noise(0.05, seed=6)) + n[:, ::-1],)),
    "on_rib": Scene((disc(9.0),), parts=rib()),
    "beside_rib": Scene((disc(9.0),), parts=rib(offset=22.0)),
    "far_from_rib": Scene((disc(9.0),), parts=rib(offset=45.0)),
    "along_rib": Scene((disc(11.0, ratio=0.5, angle=20.0),), parts=rib(40.0, angle=20.0)),
    "across_rib": Scene((disc(11.0, ratio=0.5, angle=110.0),), parts=rib(40.0, angle=20.0)),
    "parallel_ribs": Scene((disc(9.0),), parts=rib(60.0, angle=20.0)),
    "crossing_ribs": Scene((disc(9.0),), parts=crossing_ribs()),
    "on_clavicle": Scene((disc(9.0),), parts=clavicle(0.0)),
    "off_clavicle": Scene((disc(9.0),), parts=clavicle(35.0)),
    "deep": Scene((disc(5.0, x=69.5),), x=69.5, radius=5.0),
    "at_border": Scene((disc(5.0, x=36.0),), x=36.0, radius=5.0),
    "outside": Scene((disc(5.0, x=20.0),), x=20.0, radius=5.0),
    "medial": Scene((disc(5.0, x=100.0),), x=100.0, radius=5.0),
    "top": Scene((disc(5.0, y=45.0),), y=45.0, radius=5.0),
    "bottom": Scene((disc(5.0, y=165.0),), y=165.0, radius=5.0),
    "right_side": Scene((disc(9.0, x=RIGHT_COLUMN),), x=RIGHT_COLUMN),
    "nipple": Scene((disc(5.0, x=66.0, y=146.0),), x=66.0, y=146.0, radius=5.0),
    **{f"blob_{name}": Scene((disc(1.41 * s),), radius=max(1.41 * s, 3.0)) for name, s in SCALES.items()},
    **{
        f"line_{name}": Scene((line(30.0, width=2.0 * s),), radius=max(1.41 * s, 3.0))
        for name, s in SCALES.items()
    },
    **{f"none_{name}": Scene(radius=max(1.41 * s, 3.0)) for name, s in SCALES.items()},
    **{
        f"crowded_{name}": Scene(
            (disc(1.41 * s), noise(0.06, seed=8, sigma_mm=0.8 * s)), radius=max(1.41 * s, 3.0)
        )
        for name, s in SCALES.items()
    },
    **{f"star_{order}": Scene((disc(7.0), star(order, inner=9.0))) for order in (4, 7, 12)},
    **{f"drop_{i + 1}": Scene((disc(9.0 * q),)) for i, q in enumerate((0.4, 0.7, 1.0, 1.3, 1.7))},
}


@functools.cache
def features_of(scene):
    found = SCENES[scene]
    return extract_features(
        found.radiograph, found.candidates, found.anatomy, features=SPECIFIC, n_threads=1
    ).iloc[0]


def without_response(more, less, names):
    """Names whose feature is not larger on the first scene, with both values."""
    high, low = features_of(more), features_of(less)
    return {name: (high[name], low[name]) for name in names.split() if not high[name] > low[name]}


def left_out(family, responses):
    """Features of a family that no row names, and names that are not its features."""
    named = {name for _, _, names in responses for name in names.split()}
    return named ^ {feature.name for feature in CATALOGUE.family(family)}
