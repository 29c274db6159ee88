"""Each of the 150 specific features responds to what its name says.

A row names a scene in which the features must be larger than in another one that differs only in what is named.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from feature_scenes import ROWS, SIDE, X_MM, Y_MM, Scene, X, Y, disc, line, noise, polar, star

from overread.features import CATALOGUE, extract

SPECIFIC = [feature.name for feature in CATALOGUE.kind("specific")]
SCALES = {"s16": 1.6, "s25": 2.5, "s40": 4.0, "s63": 6.3, "s100": 10.0}
LEFT_COLUMN, RIGHT_COLUMN = X, SIDE * 0.7 - X


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

ROWS_OF_THE_TABLE = [
    (
        "large",
        "small",
        "shape.area shape.equivalent_diameter shape.perimeter shape.major_axis shape.minor_axis",
    ),
    ("large", "small", "shape.largest_width shape.smallest_width shape.candidate_radius"),
    ("oblong", "disc", "shape.eccentricity shape.elongation shape.hu1 shape.hu2_root shape.radius_variation"),
    ("disc", "lobed", "shape.compactness shape.solidity shape.convexity"),
    ("three_lobes", "disc", "shape.hu3_root"),
    ("pear", "disc", "shape.hu4_root"),
    ("lobed", "disc", "shape.roughness spiculation.rubber_band_depth spiculation.rubber_band_turns"),
    ("wide", "narrow", "shape.radius_ratio"),
    ("bright", "disc", "profile.inside_mean"),
    ("noisy", "disc", "profile.surround_noise"),
    (
        "disc",
        "faint",
        "profile.contrast profile.contrast_off_trend profile.contrast_to_noise profile.peak_to_noise",
    ),
    ("disc", "faint", "profile.sector_median"),
    (
        "disc",
        "line",
        "profile.sector_min profile.opposite_min profile.edge_agreement profile.radial_fraction",
    ),
    *[(f"drop_{i}", f"drop_{j}", f"profile.drop_{i}") for i in range(1, 6) for j in range(1, 6) if i != j],
    ("disc", "blurred", "profile.edge_sharpness"),
    ("wide", "narrow", "profile.edge_radius convergence.band_radius"),
    ("line", "disc", "profile.angular_spread convergence.iris_spread"),
    ("edge", "disc", "profile.point_asymmetry"),
    (
        "disc",
        "nothing",
        "convergence.coin.r70 convergence.coin.r100 convergence.coin.r150 convergence.weighted_coin",
    ),
    (
        "disc",
        "nothing",
        "convergence.iris_mean convergence.ring.w30 convergence.ring.w50 convergence.ring.w80",
    ),
    ("disc", "nothing", "convergence.band_mean.w30 convergence.band_mean.w50 convergence.band_mean.w80"),
    ("disc", "line", "convergence.coin.r100 convergence.weighted_coin convergence.iris_opposite_min"),
    ("disc", "line", " ".join(f"convergence.band_opposite_min.{w}" for w in ("w30", "w50", "w80"))),
    ("oblong", "disc", "convergence.band_radius_spread"),
    *[(f"blob_{s}", f"none_{s}", f"blob.log.{s} blob.dog.{s} blob.curvature.{s}") for s in SCALES],
    *[
        (f"blob_{s}", f"line_{s}", f"blob.curvature.{s} blob.roundness.{s} blob.conspicuity.{s}")
        for s in SCALES
    ],
    *[(f"blob_{s}", f"crowded_{s}", f"blob.conspicuity.{s}") for s in SCALES],
    ("disc", "line", "template.afum_mean template.afum_max template.afum_at_80"),
    ("disc", "line", "template.parabola template.disc template.best_size"),
    ("disc", "spikes", "spiculation.radial.margin"),
    (
        "spikes",
        "disc",
        "spiculation.tangential.margin spiculation.angle_spread.margin spiculation.angle_entropy.margin",
    ),
    ("spikes", "disc", "spiculation.rubber_band_ratio"),
    ("blurred", "star_core", "spiculation.radial.core"),
    (
        "star_core",
        "blurred",
        "spiculation.tangential.core spiculation.angle_spread.core spiculation.angle_entropy.core",
    ),
    ("rings", "spikes", "spiculation.radial.surround"),
    ("spikes", "rings", "spiculation.tangential.surround"),
    ("spikes", "glow", "spiculation.angle_spread.surround spiculation.angle_entropy.surround"),
    ("spicules", "disc", " ".join(f"spiculation.ridge_energy.a{i}" for i in (1, 2, 3))),
    ("one_spicule", "spicules", " ".join(f"spiculation.ridge_peak.a{i}" for i in (1, 2, 3))),
    *[
        (f"star_{order}", f"star_{other}", f"spiculation.grating_{name}")
        for order, name in ((4, "low"), (7, "middle"), (12, "high"))
        for other in (4, 7, 12)
        if other != order
    ],
    ("on_rib", "beside_rib", "ribs.at_centre ribs.label ribs.overlap ribs.difference"),
    ("far_from_rib", "beside_rib", "ribs.distance"),
    ("beside_rib", "on_rib", "ribs.distance"),
    ("along_rib", "across_rib", "ribs.alignment"),
    ("across_rib", "along_rib", "ribs.angle"),
    ("crossing_ribs", "parallel_ribs", "ribs.crossing"),
    ("on_clavicle", "off_clavicle", "ribs.clavicle_overlap"),
    ("off_clavicle", "on_clavicle", "ribs.clavicle_distance"),
    ("deep", "outside", "lung.inside lung.depth lung.relative_depth"),
    ("deep", "at_border", "lung.depth lung.relative_depth"),
    ("bottom", "top", "lung.height lung.apex_distance"),
    ("top", "bottom", "lung.base_distance"),
    (
        "at_border",
        "medial",
        "lung.laterality lung.mediastinum_distance lung.midline_distance lung.hilum_distance",
    ),
    ("right_side", "disc", "lung.side"),
    ("nipple", "top", "lung.nipple_zone"),
    ("disc", "mirrored", "symmetry.grey symmetry.contrast symmetry.best_grey symmetry.best_contrast"),
    ("disc", "mirrored", "symmetry.curvature"),
    ("disc", "mirrored_brighter", "symmetry.contrast_rank"),
    ("noisy", "mirrored_noise", "symmetry.spread"),
    ("mirrored", "disc", "symmetry.correlation"),
    ("shared_texture", "disc", "symmetry.best_correlation"),
    ("vessel", "disc", "vessel.inside"),
    ("four_vessels", "disc", "vessel.surround vessel.count vessel.reach"),
    ("four_vessels", "rings", "vessel.radial_share"),
    ("four_vessels", "one_spicule", "vessel.through vessel.count"),
]


@functools.cache
def features_of(scene):
    found = SCENES[scene]
    return extract(found.radiograph, found.candidates, found.anatomy, features=SPECIFIC, n_threads=1).iloc[0]


def test_the_table_covers_all_150():
    covered = {name for _, _, names in ROWS_OF_THE_TABLE for name in names.split()}
    assert covered == set(SPECIFIC)
    assert len(SPECIFIC) == 150


@pytest.mark.parametrize(("more", "less", "names"), ROWS_OF_THE_TABLE)
def test_feature_responds(more, less, names):
    high, low = features_of(more), features_of(less)
    wrong = {name: (high[name], low[name]) for name in names.split() if not high[name] > low[name]}
    assert not wrong
