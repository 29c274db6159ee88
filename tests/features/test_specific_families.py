"""Specific features respond to what their names say; shape, spiculation and templates against others' results.

A response is a pair of radiographs that differ only in what is named: the feature must be larger on the first.
"""

import functools
import itertools

import numpy as np
import pytest
from feature_scenes import (
    MM,
    ROWS,
    SIDE,
    X_MM,
    Y_MM,
    Scene,
    X,
    Y,
    anatomy,
    disc,
    line,
    noise,
    polar,
    radiograph,
    star,
)
from skimage import draw, measure

from overread.features import CATALOGUE, N_ANGLES, Context, ImageMaps, extract_features
from overread.features.context._rays import RHO
from overread.features.families.shape import FAMILY as SHAPE
from overread.features.families.spiculation import (
    BINS,
    NORMAL,
    TANGENTIAL,
    ZONE_BORDERS,
    ZONES,
    _angle_sums,
    _gradient_angles,
    entropy,
)
from overread.features.families.template import _correlations, _fraction_under_minimum, parabola

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


RESPONSES = [
    (
        "large",
        "small",
        "shape",
        "area equivalent_diameter perimeter major_axis minor_axis largest_width smallest_width candidate_radius",
    ),
    ("oblong", "disc", "shape", "eccentricity elongation hu1 hu2_root radius_variation"),
    ("disc", "lobed", "shape", "compactness solidity convexity"),
    ("three_lobes", "disc", "shape", "hu3_root"),
    ("pear", "disc", "shape", "hu4_root"),
    ("lobed", "disc", "shape", "roughness"),
    ("wide", "narrow", "shape", "radius_ratio"),
    ("bright", "disc", "profile", "inside_mean"),
    ("noisy", "disc", "profile", "surround_noise"),
    ("disc", "faint", "profile", "contrast contrast_off_trend contrast_to_noise peak_to_noise sector_median"),
    ("disc", "line", "profile", "sector_min opposite_min edge_agreement radial_fraction"),
    ("disc", "blurred", "profile", "edge_sharpness"),
    ("wide", "narrow", "profile", "edge_radius"),
    ("line", "disc", "profile", "angular_spread"),
    ("edge", "disc", "profile", "point_asymmetry"),
    ("wide", "narrow", "convergence", "band_radius"),
    ("line", "disc", "convergence", "iris_spread"),
    (
        "disc",
        "nothing",
        "convergence",
        "coin.r70 coin.r100 coin.r150 weighted_coin iris_mean ring.w30 ring.w50 ring.w80 "
        "band_mean.w30 band_mean.w50 band_mean.w80",
    ),
    (
        "disc",
        "line",
        "convergence",
        "coin.r100 weighted_coin iris_opposite_min band_opposite_min.w30 band_opposite_min.w50 band_opposite_min.w80",
    ),
    ("oblong", "disc", "convergence", "band_radius_spread"),
    ("disc", "line", "template", "afum_mean afum_max afum_at_80 parabola disc best_size"),
    ("lobed", "disc", "spiculation", "rubber_band_depth rubber_band_turns"),
    ("disc", "spikes", "spiculation", "radial.margin"),
    (
        "spikes",
        "disc",
        "spiculation",
        "tangential.margin angle_spread.margin angle_entropy.margin rubber_band_ratio",
    ),
    ("blurred", "star_core", "spiculation", "radial.core"),
    ("star_core", "blurred", "spiculation", "tangential.core angle_spread.core angle_entropy.core"),
    ("rings", "spikes", "spiculation", "radial.surround"),
    ("spikes", "rings", "spiculation", "tangential.surround"),
    ("spikes", "glow", "spiculation", "angle_spread.surround angle_entropy.surround"),
    ("spicules", "disc", "spiculation", "ridge_energy.a1 ridge_energy.a2 ridge_energy.a3"),
    ("one_spicule", "spicules", "spiculation", "ridge_peak.a1 ridge_peak.a2 ridge_peak.a3"),
    ("star_4", "star_7", "spiculation", "grating_low"),
    ("star_4", "star_12", "spiculation", "grating_low"),
    ("star_7", "star_4", "spiculation", "grating_middle"),
    ("star_7", "star_12", "spiculation", "grating_middle"),
    ("star_12", "star_4", "spiculation", "grating_high"),
    ("star_12", "star_7", "spiculation", "grating_high"),
    ("on_rib", "beside_rib", "ribs", "at_centre label overlap difference"),
    ("far_from_rib", "beside_rib", "ribs", "distance"),
    ("beside_rib", "on_rib", "ribs", "distance"),
    ("along_rib", "across_rib", "ribs", "alignment"),
    ("across_rib", "along_rib", "ribs", "angle"),
    ("crossing_ribs", "parallel_ribs", "ribs", "crossing"),
    ("on_clavicle", "off_clavicle", "ribs", "clavicle_overlap"),
    ("off_clavicle", "on_clavicle", "ribs", "clavicle_distance"),
    ("deep", "outside", "lung", "inside depth relative_depth"),
    ("deep", "at_border", "lung", "depth relative_depth"),
    ("bottom", "top", "lung", "height apex_distance"),
    ("top", "bottom", "lung", "base_distance"),
    ("at_border", "medial", "lung", "laterality mediastinum_distance midline_distance hilum_distance"),
    ("right_side", "disc", "lung", "side"),
    ("nipple", "top", "lung", "nipple_zone"),
    ("disc", "mirrored", "symmetry", "grey contrast best_grey best_contrast curvature"),
    ("disc", "mirrored_brighter", "symmetry", "contrast_rank"),
    ("noisy", "mirrored_noise", "symmetry", "spread"),
    ("mirrored", "disc", "symmetry", "correlation"),
    ("shared_texture", "disc", "symmetry", "best_correlation"),
    ("vessel", "disc", "vessel", "inside"),
    ("four_vessels", "disc", "vessel", "surround count reach"),
    ("four_vessels", "rings", "vessel", "radial_share"),
    ("four_vessels", "one_spicule", "vessel", "through count"),
    *(
        (f"blob_{s}", f"{less}_{s}", "blob", " ".join(f"{name}.{s}" for name in names.split()))
        for less, names in (
            ("none", "log dog curvature"),
            ("line", "curvature roundness conspicuity"),
            ("crowded", "conspicuity"),
        )
        for s in SCALES
    ),
    *((f"drop_{i}", f"drop_{j}", "profile", f"drop_{i}") for i, j in itertools.permutations(range(1, 6), 2)),
]


@pytest.mark.parametrize(("more", "less", "family", "names"), RESPONSES)
def test_feature_responds(more, less, family, names):
    high, low = features_of(more), features_of(less)
    for name in (f"{family}.{part}" for part in names.split()):
        assert high[name] > low[name], name


def test_every_specific_feature_has_a_response():
    assert {f"{family}.{part}" for _, _, family, names in RESPONSES for part in names.split()} == set(
        SPECIFIC
    )


OUTLINE_SIDE = 61


def outline_of(seed):
    """A blob, smooth to ragged, that contains the middle."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    r = random.uniform(6, 14) * (
        1.0 + sum(random.uniform(-0.1, 0.1) * np.cos(m * t + random.uniform(0, 6)) for m in range(2, 9))
    )
    stretch = random.uniform(0.5, 1.0)
    rows, columns = 30 + r * np.sin(t) * stretch, 30 + r * np.cos(t)
    mask = draw.polygon2mask((OUTLINE_SIDE, OUTLINE_SIDE), np.stack([rows, columns], axis=1))
    mask[30, 30] = True
    return mask


def shape_of(masks):
    n = len(masks)
    image = radiograph(np.zeros((100, 100)))
    maps = ImageMaps(image, anatomy((100, 100)))
    context = Context(maps, np.full(n, 50.0), np.full(n, 50.0), np.full(n, 10.0), np.stack(masks))
    values = SHAPE.compute(context)
    return {feature.name.split(".")[1]: values[:, i] for i, feature in enumerate(SHAPE.features)}


MASKS = [outline_of(seed) for seed in range(12)]
OURS = shape_of(MASKS)
THEIRS = [measure.regionprops(mask.astype(np.uint8))[0] for mask in MASKS]


@pytest.mark.parametrize(
    ("name", "theirs", "tolerance"),
    [
        ("area", lambda p: p.area * MM**2, 1e-6),
        ("equivalent_diameter", lambda p: p.equivalent_diameter_area * MM, 1e-6),
        # scikit-image takes pixels for points, we for squares: each variance is 1/12 larger.
        ("major_axis", lambda p: np.sqrt(p.axis_major_length**2 + 16 / 12) * MM, 1e-5),
        ("minor_axis", lambda p: np.sqrt(p.axis_minor_length**2 + 16 / 12) * MM, 1e-5),
        ("eccentricity", lambda p: p.eccentricity, 5e-3),
        ("perimeter", lambda p: measure.perimeter_crofton(p.image_filled, directions=4) * MM, 1e-5),
        # scikit-image measures the hull after drawing it on the pixels.
        ("largest_width", lambda p: p.feret_diameter_max * MM, 0.02),
        ("hu1", lambda p: p.moments_hu[0], 1e-5),
        ("hu2_root", lambda p: np.sqrt(p.moments_hu[1]), 1e-4),
        ("hu3_root", lambda p: np.sqrt(p.moments_hu[2]), 1e-3),
        ("hu4_root", lambda p: np.sqrt(p.moments_hu[3]), 1e-3),
        # scikit-image counts the pixels of the hull, we take the polygon's area.
        ("solidity", lambda p: p.solidity, 0.03),
    ],
)
def test_agrees_with_scikit_image(name, theirs, tolerance):
    expected = np.array([theirs(properties) for properties in THEIRS])
    np.testing.assert_allclose(OURS[name], expected, rtol=tolerance, atol=1e-6)


def test_widths_are_those_of_all_projections():
    turns = np.radians(np.arange(0, 180, 0.25))
    for i, mask in enumerate(MASKS):
        rows, columns = np.nonzero(mask)
        sides = [(0.5, 0), (-0.5, 0), (0, 0.5), (0, -0.5)]
        x = np.concatenate([columns + dx for dx, _ in sides])
        y = np.concatenate([rows + dy for _, dy in sides])
        widths = np.ptp(x * np.cos(turns)[:, None] + y * np.sin(turns)[:, None], axis=1) * MM
        assert OURS["smallest_width"][i] == pytest.approx(widths.min(), rel=5e-3)
        assert OURS["largest_width"][i] == pytest.approx(widths.max(), rel=1e-5)


def test_smallest_outline_is_a_pixel():
    pixel = np.zeros((OUTLINE_SIDE, OUTLINE_SIDE), dtype=bool)
    pixel[30, 30] = True
    found = shape_of([pixel])
    assert found["area"][0] == pytest.approx(MM**2)
    assert all(np.isfinite(value).all() for value in found.values())


def test_angle_sums_equal_numpy():
    random = np.random.default_rng(0)
    along, across = random.normal(size=(2, 2, N_ANGLES, RHO.size)).astype(np.float32)
    radius = random.uniform(0.6, 1.2, (2, N_ANGLES))
    found = _angle_sums(along, across, radius, RHO, ZONE_BORDERS)
    phi = np.degrees(np.arctan2(across, -along)) % 360
    rho = RHO / radius[:, :, None]
    for z in range(len(ZONES)):
        zone = (rho >= ZONE_BORDERS[z]) & (rho < ZONE_BORDERS[z + 1])
        for c in range(2):
            weight = np.hypot(along, across)[c] * RHO
            expected = np.histogram(phi[c][zone[c]], BINS, (0, 360), weights=weight[zone[c]])[0]
            np.testing.assert_allclose(found[c, z, :BINS], expected, rtol=1e-5)
            assert found[c, z, NORMAL] == pytest.approx((np.abs(along[c]) * RHO)[zone[c]].sum(), rel=1e-5)
            assert found[c, z, TANGENTIAL] == pytest.approx(
                (np.abs(across[c]) * RHO)[zone[c]].sum(), rel=1e-5
            )


def test_entropy_of_equal_one_and_no_bins():
    histogram = np.array([np.ones(BINS), np.eye(BINS)[0], np.zeros(BINS)])
    np.testing.assert_allclose(entropy(histogram, histogram.sum(axis=1)), [1.0, 0.0, 1.0], atol=1e-12)


def test_inward_gradient_is_radial():
    sums = np.zeros((1, len(ZONES), TANGENTIAL + 1))
    sums[:, :, 0] = sums[:, :, BINS - 1] = 1.0
    found = _gradient_angles(sums)
    assert found["radial.core"][0] == 1.0
    assert found["tangential.core"][0] == 0.0
    assert found["angle_spread.core"][0] == pytest.approx(1 - np.cos(np.pi / 12))


def test_fraction_under_minimum_equals_brute_force():
    grey = np.random.default_rng(0).random((3, 8, 25)).astype(np.float32)
    grey[:, :, :5] += 0.6
    inner = np.array([3, 8, 13])
    found = _fraction_under_minimum(grey, RHO, inner, 5)
    for c in range(3):
        for a, r in enumerate(inner):
            under = (grey[c, :, r : r + 5] < grey[c, :, :r].min()) * RHO[r : r + 5]
            assert found[c, a] == pytest.approx(under.sum() / (8 * RHO[r : r + 5].sum()))


def test_correlation_with_itself_is_1():
    same = np.broadcast_to(parabola(1.0), (2, 64, 25)).astype(np.float32)
    found = _correlations(np.stack([same[0], -same[0]]), [parabola(1.0)])
    np.testing.assert_allclose(found[:, 0], [1.0, -1.0], atol=1e-4)
    assert _correlations(np.zeros((1, 64, 25), np.float32), [parabola(1.0)])[0, 0] == 0.0
