"""Ellipses and their overlap, against 60-digit arithmetic and shapely polygons.

Outlines and ellipses.

Ellipses keep their points when the plane is scaled.
"""

import math

import mpmath as mp
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from shapely import contains_xy
from shapely.geometry import Polygon

from overread.errors import FormatError, InvalidInputError
from overread.marks import Ellipse, normalized_ellipses, overlap_area, overlap_areas, rescale_ellipses
from overread.marks._ellipse import _polygon_moments, ellipse_of_outline, ellipses_of_matrices

KINDS = (
    "generic",
    "thin",
    "nested",
    "identical",
    "nearly identical",
    "tangent",
    "concentric",
    "crossed",
    "sizes",
    "far",
    "lattice",
)


def random_pairs(rng, n):
    """Pairs of ellipses of every kind in turn, degenerate ones included; rows (x, y, a, b, angle)."""
    first, second = random_ellipses(rng, n, thinnest=0.05), random_ellipses(rng, n, thinnest=0.05)
    kinds = np.array(KINDS)[np.arange(n) % len(KINDS)]
    of = {kind: kinds == kind for kind in KINDS}
    for table in (first, second):
        table[of["thin"], 3] = table[of["thin"], 2] * 10 ** rng.uniform(-4, -1, of["thin"].sum())
    rows = of["thin"]
    second[rows, :2] = first[rows, :2] + rng.normal(0, 1, (rows.sum(), 2)) * 10 ** rng.uniform(
        -4, 0, (rows.sum(), 1)
    )
    second[rows, 4] = first[rows, 4] + rng.choice([0.0, 1e-4, 0.01, 10.0, 90.0], rows.sum())
    rows = of["nested"]
    second[rows, :2] = first[rows, :2] + rng.normal(0, 0.1, (rows.sum(), 2)) * first[rows, 3:4]
    second[rows, 2:4] = first[rows, 3:4] * rng.uniform(0.01, 0.7, (rows.sum(), 2))
    second[of["identical"]] = first[of["identical"]]
    rows = of["nearly identical"]
    second[rows] = first[rows] * (
        1 + rng.normal(0, 1, (rows.sum(), 5)) * 10 ** rng.uniform(-16, -2, (rows.sum(), 1))
    )
    make_tangent(rng, first, second, of["tangent"])
    second[of["concentric"], :2] = first[of["concentric"], :2]
    rows = of["crossed"]
    second[rows, :2] = first[rows, :2]
    second[rows, 4] = first[rows, 4] + 90
    second[rows, 2:4] = first[rows, 2:4] * rng.choice([1.0, 0.9, 2.0], rows.sum())[:, None]
    second[of["sizes"], 2:4] *= 10 ** rng.uniform(-4, 0, (of["sizes"].sum(), 1))
    first[of["far"], :2] += 40
    for table in (first, second):
        table[of["lattice"]] = rng.integers([0, 0, 1, 1, 0], [4, 4, 4, 4, 4], (of["lattice"].sum(), 5)) * [
            1,
            1,
            1,
            1,
            45,
        ]
    return first, second, kinds


def random_ellipses(rng, n, *, thinnest):
    major = np.exp(rng.uniform(0, 3, n))
    minor = major * rng.uniform(thinnest, 1, n)
    return np.column_stack([rng.uniform(-8, 8, (n, 2)), major, minor, rng.uniform(0, 180, n)])


def make_tangent(rng, first, second, rows):
    """Move the second ellipse along the first's major axis until their vertices touch."""
    count = rows.sum()
    second[rows, 4] = first[rows, 4]
    outside = rng.choice([1.0, -1.0], count)
    gap = rng.choice([0.0, 1e-15, -1e-12, 1e-9, -1e-6], count)
    distance = first[rows, 2] + outside * second[rows, 2] + gap
    angle = np.radians(first[rows, 4])
    second[rows, :2] = first[rows, :2] + distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def precise_overlap(first, second, digits=60):
    """Overlap by all complex roots of the quartic, midpoint tests and Green's theorem, with many digits.

    The second centre is moved by 1e-25 so that touching ellipses are in general position; this changes the
    area by at most 1e-25 times the perimeter.
    """
    with mp.workdps(digits):
        x0, y0, a0, b0, w0 = (mp.mpf(float(v)) for v in first)
        x1, y1, a1, b1, w1 = (mp.mpf(float(v)) for v in second)
        x1, y1 = x1 + mp.mpf("1e-25") * mp.mpf("0.7312"), y1 + mp.mpf("1e-25") * mp.mpf("0.3941")
        a1 *= 1 + mp.mpf("1.7e-26")

        def point(e, t):
            x, y, a, b, w = e
            c, s = mp.cos(mp.radians(w)), mp.sin(mp.radians(w))
            return x + c * a * mp.cos(t) - s * b * mp.sin(t), y + s * a * mp.cos(t) + c * b * mp.sin(t)

        def local(e, p):
            x, y, a, b, w = e
            c, s = mp.cos(mp.radians(w)), mp.sin(mp.radians(w))
            return (c * (p[0] - x) + s * (p[1] - y)) / a, (c * (p[1] - y) - s * (p[0] - x)) / b

        one, two = (x0, y0, a0, b0, w0), (x1, y1, a1, b1, w1)
        angles = intersections(one, two, local, point)
        if not angles:
            return float(without_crossings(one, two, local, point))
        area = mp.mpf(0)
        points = [point(one, t) for t in angles]
        for e, other in ((one, two), (two, one)):
            ts = sorted(mp.atan2(*reversed(local(e, p))) for p in points)
            for start, end in zip(ts, [*ts[1:], ts[0] + 2 * mp.pi], strict=True):
                u, v = local(other, point(e, (start + end) / 2))
                if u * u + v * v < 1:
                    (px, py), (qx, qy) = point(e, start), point(e, end)
                    area += (e[2] * e[3] * (end - start) + e[0] * (qy - py) - e[1] * (qx - px)) / 2
        return float(area)


def intersections(one, two, local, point):
    """Angles on `one` of its points on `two`: the roots on the unit circle of the quartic in z = exp(i t)."""
    centre, cosine, sine = (
        local(two, point(one, 0)),
        local(two, point(one, mp.pi / 2)),
        local(two, (one[0], one[1])),
    )
    (p, q), (r, s), (h, k) = centre, cosine, sine
    ax, ay, bx, by = p - h, q - k, r - h, s - k
    c2, s2 = (ax**2 + ay**2 - bx**2 - by**2) / 2, ax * bx + ay * by
    c1, s1 = 2 * (h * ax + k * ay), 2 * (h * bx + k * by)
    c0 = h * h + k * k - 1 + (ax**2 + ay**2 + bx**2 + by**2) / 2
    quartic = [mp.mpc(c2, -s2), mp.mpc(c1, -s1), 2 * c0, mp.mpc(c1, s1), mp.mpc(c2, s2)]
    while abs(quartic[0]) < mp.mpf("1e-40"):
        quartic = quartic[1:-1]
    roots = mp.polyroots(quartic[::-1], maxsteps=500, extraprec=400, asc=True) if len(quartic) > 1 else []
    return sorted(mp.arg(z) for z in roots if abs(abs(z) - 1) < mp.mpf("1e-20"))


def without_crossings(one, two, local, point):
    for inner, outer in ((one, two), (two, one)):
        u, v = local(outer, point(inner, 0))
        if u * u + v * v < 1:
            return mp.pi * inner[2] * inner[3]
    return mp.mpf(0)


def polygon_overlap(first, second, corners):
    """Overlap of polygons with the ellipses' areas, and a bound on how far it is from that of the ellipses.

    Such a polygon differs from its ellipse by slivers on both sides. The overlap changes by at most the sum
    of the two symmetric differences, each at most the grown polygon's area less the inscribed one's.
    """
    step = 2 * np.pi / corners
    bound = np.pi * (first[:, 2] * first[:, 3] + second[:, 2] * second[:, 3]) * (1 - np.sin(step) / step)
    shapes = [polygons(table, corners) for table in (first, second)]
    return shapely.area(shapely.intersection(*shapes)), bound


def polygons(ellipses, corners):
    step = 2 * np.pi / corners
    t = np.arange(corners) * step
    grow = np.sqrt(step / np.sin(step))
    c, s = np.cos(np.radians(ellipses[:, 4:])), np.sin(np.radians(ellipses[:, 4:]))
    along, across = grow * ellipses[:, 2:3] * np.cos(t), grow * ellipses[:, 3:4] * np.sin(t)
    x, y = ellipses[:, :1] + c * along - s * across, ellipses[:, 1:2] + s * along + c * across
    return shapely.polygons(np.stack([x, y], axis=-1))


def larger_area(first, second):
    return np.pi * np.maximum(first[:, 2] * first[:, 3], second[:, 2] * second[:, 3])


@pytest.mark.parametrize("n", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_overlap_agrees_with_60_digits(n):
    first, second, _ = random_pairs(np.random.default_rng(3), n)
    exact = [precise_overlap(a, b) for a, b in zip(first, second, strict=True)]
    error = np.abs(overlap_areas(first, second) - exact) / larger_area(first, second)
    assert error.max() < 1e-13


@pytest.mark.parametrize("n", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_overlap_agrees_with_shapely_within_its_polygons_error(n):
    """Pairs of all kinds against 256-gons of equal area."""
    first, second, kinds = random_pairs(np.random.default_rng(5), n)
    ours = overlap_areas(first, second)
    theirs, bound = polygon_overlap(first, second, 256)
    assert np.all(np.abs(ours - theirs) <= bound + 1e-10 * larger_area(first, second))
    assert np.mean(np.abs(ours - theirs) / larger_area(first, second)) < 1e-5
    touching = {kind: np.mean(ours[kinds == kind] > 0) for kind in KINDS}
    assert touching["far"] == 0
    assert touching["identical"] == 1
    assert 0.3 < touching["generic"] < 0.7


def test_overlap_is_the_same_bits_when_swapped():
    first, second, _ = random_pairs(np.random.default_rng(6), 20_000)
    assert np.array_equal(overlap_areas(first, second), overlap_areas(second, first))


def test_overlap_stays_between_nothing_and_the_smaller_area():
    first, second, _ = random_pairs(np.random.default_rng(7), 20_000)
    smaller = np.pi * np.minimum(first[:, 2] * first[:, 3], second[:, 2] * second[:, 3])
    ours = overlap_areas(first, second)
    assert np.all(ours >= 0)
    assert np.all(ours <= smaller * (1 + 1e-15))


def test_overlap_of_two_circles_is_the_lens():
    """Two unit circles whose centres are 1 apart share 2 pi / 3 - sqrt(3) / 2."""
    lens = overlap_area(Ellipse(0, 0, 1, 1), Ellipse(1, 0, 1, 1))
    assert lens == pytest.approx(2 * math.pi / 3 - math.sqrt(3) / 2, rel=1e-14)


def test_overlap_of_a_cross_is_known():
    """Concentric ellipses (a, b) at a right angle share 4 a b atan(b / a)."""
    cross = overlap_area(Ellipse(5, 5, 4, 1, 30), Ellipse(5, 5, 4, 1, 120))
    assert cross == pytest.approx(16 * math.atan(0.25), rel=1e-14)


@pytest.mark.parametrize(
    ("other", "area"),
    [
        (Ellipse(0, 0, 10, 5), 50 * math.pi),
        (Ellipse(0, 0, 20, 10), 50 * math.pi),
        (Ellipse(1, 1, 2, 1, 40), 2 * math.pi),
        (Ellipse(5, 0, 5, 2.5), 12.5 * math.pi),
        (Ellipse(20, 0, 10, 5), 0.0),
        (Ellipse(30, 0, 10, 5), 0.0),
    ],
    ids=["identical", "inside", "around", "touching inside", "touching outside", "apart"],
)
def test_overlap_of_special_positions(other, area):
    assert overlap_area(Ellipse(0, 0, 10, 5), other) == pytest.approx(area, rel=1e-14, abs=1e-13)


def test_needles_of_a_nanometre_are_finite():
    """1e-9 mm is warned about by the table's check; the overlap must still be a number between its bounds."""
    needle = Ellipse(0, 0, 10, 1e-9, 33)
    assert overlap_area(needle, needle) == pytest.approx(needle.area)
    assert 0 <= overlap_area(needle, Ellipse(0, 0, 10, 1e-9, 123)) <= 1e-15
    assert overlap_area(needle, Ellipse(0, 0, 20, 20)) == pytest.approx(needle.area)


def test_no_pairs_give_no_areas():
    assert overlap_areas([], []).shape == (0,)


def test_as_many_first_as_second():
    with pytest.raises(InvalidInputError, match="equal numbers of first and second ellipses: got 2 and 3"):
        overlap_areas(np.ones((2, 5)), np.ones((3, 5)))


lengths = st.floats(0.01, 1000)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(lengths, lengths, st.floats(-720, 720))
def test_swapped_axes_are_the_same_ellipse(a, b, angle):
    first, second = Ellipse(1, 2, a, b, angle), Ellipse(1, 2, b, a, angle + 90)
    assert first.semi_major == second.semi_major >= first.semi_minor == second.semi_minor
    apart = abs(first.angle_deg - second.angle_deg)
    assert min(apart, 180 - apart) < 1e-10
    assert 0 <= first.angle_deg < 180
    assert 0 <= second.angle_deg < 180


def test_a_circle_has_no_angle():
    assert Ellipse(0, 0, 3, 3, 70) == Ellipse(0, 0, 3, 3, 0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("column", [2, 3])
def test_bad_axes_are_refused(bad, column):
    row = [0.0, 0.0, 2.0, 1.0, 0.0]
    row[column] = bad
    with pytest.raises(InvalidInputError, match="semi_m"):
        normalized_ellipses([[0, 0, 1, 1, 0], row])


def test_bad_shape_is_refused():
    with pytest.raises(InvalidInputError, match="shape"):
        normalized_ellipses([[1, 2, 3]])


def test_box_and_outline_enclose_each_other():
    ellipse = Ellipse(10, 20, 5, 2, 35)
    outline = ellipse.outline(20_000)
    assert np.allclose([*outline.min(axis=0), *outline.max(axis=0)], ellipse.box(), atol=1e-6)
    assert shapely.area(shapely.Polygon(outline)) == pytest.approx(ellipse.area, rel=1e-6)


def test_ellipse_of_a_box_fills_it():
    assert Ellipse.from_box(10, 20, 30, 80) == Ellipse(20, 50, 30, 10, 90)
    assert Ellipse.from_box(10, 20, 30, 80).box() == pytest.approx((10, 20, 30, 80))


def test_size_is_the_equal_area_diameter():
    assert Ellipse(0, 0, 8, 2).diameter == 8.0


@given(
    st.floats(0, 3000),
    st.floats(0, 3000),
    st.floats(1, 200),
    st.floats(0.05, 0.95),
    st.floats(0, 179),
    st.integers(5, 64),
)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_an_ellipses_own_outline_gives_it_back(x, y, a, ratio, angle, points):
    back = ellipse_of_outline(Ellipse(x, y, a, a * ratio, angle).outline(points))
    assert back.centre == pytest.approx((x, y), abs=1e-9)
    assert back.semi_axes == pytest.approx((a, a * ratio), rel=1e-7)
    assert np.sin(np.deg2rad(back.angle_deg - angle)) == pytest.approx(0, abs=1e-6)


def test_moments_of_a_polygon_against_a_grid():
    points = np.array([[0, 0], [8, 1], [9, 5], [4, 9], [1, 6]], float)
    centre, covariance = _polygon_moments(points)
    polygon = Polygon(points)
    assert centre == pytest.approx(np.array(polygon.centroid.coords[0]))
    grid = np.stack(np.meshgrid(*[(np.arange(0, 9, 0.01) + 0.005)] * 2), -1).reshape(-1, 2)
    inside = grid[contains_xy(polygon, grid[:, 0], grid[:, 1])]
    assert covariance == pytest.approx(np.cov(inside.T, bias=True), abs=5e-3)


def test_a_drawn_outline_gets_the_ellipse_of_its_area():
    """A rectangle w x h has semi-axes w/sqrt(3) and h/sqrt(3), whichever way round it is drawn."""
    corners = np.array([[10, 20], [16, 20], [16, 22], [10, 22]], float)
    for points in (corners, corners[::-1]):
        ellipse = ellipse_of_outline(points)
        assert ellipse.centre == pytest.approx((13, 21))
        assert ellipse.semi_axes == pytest.approx((6 / 3**0.5, 2 / 3**0.5))
        assert ellipse.angle_deg == pytest.approx(0)


@pytest.mark.parametrize(
    "points", [[[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 2]], [[1, 1]] * 5, [[0, 0], [2, 2], [2, 0], [0, 2]]]
)
def test_outlines_without_area_are_refused(points):
    with pytest.raises(FormatError, match="outline"):
        ellipse_of_outline(np.array(points, float))


side_lengths = st.floats(0.1, 100)
angles = st.floats(-720, 720)
spacings = st.floats(0.05, 2)


def boundary(row: np.ndarray) -> np.ndarray:
    x, y, a, b, angle = row
    t = np.linspace(0, 2 * np.pi, 37)
    turn = np.deg2rad(angle)
    along, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    return np.array([x, y]) + a * np.outer(np.cos(t), along) + b * np.outer(np.sin(t), across)


def level(row: np.ndarray, points: np.ndarray) -> np.ndarray:
    """((u.d)/a)^2 + ((v.d)/b)^2, which is 1 on the ellipse."""
    x, y, a, b, angle = row
    turn = np.deg2rad(angle)
    dx, dy = points[:, 0] - x, points[:, 1] - y
    along, across = dx * np.cos(turn) + dy * np.sin(turn), -dx * np.sin(turn) + dy * np.cos(turn)
    return (along / a) ** 2 + (across / b) ** 2


@given(
    x=st.floats(-500, 500),
    y=st.floats(-500, 500),
    a=side_lengths,
    b=side_lengths,
    angle=angles,
    sx=spacings,
    sy=spacings,
)
@settings(deadline=None, max_examples=200, derandomize=True)
def test_scaled_points_lie_on_the_scaled_ellipse(x, y, a, b, angle, sx, sy):
    row = np.array([x, y, a, b, angle])
    scaled = rescale_ellipses([row], sx, sy)[0]
    assert_allclose(level(scaled, boundary(row) * [sx, sy]), 1, rtol=1e-7)
    assert scaled[2] >= scaled[3] > 0
    assert 0 <= scaled[4] < 180
    assert_allclose(scaled[2] * scaled[3], a * b * sx * sy, rtol=1e-12)


@given(a=side_lengths, b=side_lengths, angle=angles, sx=spacings, sy=spacings)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_there_and_back_gives_the_same_points(a, b, angle, sx, sy):
    row = np.array([10.0, 20.0, a, b, angle])
    back = rescale_ellipses(rescale_ellipses([row], sx, sy), 1 / sx, 1 / sy)[0]
    assert_allclose(level(back, boundary(row)), 1, rtol=1e-6)


def test_square_pixels_lose_no_digit():
    row = [1.1, 2.2, 3.3, 1.7, 33.3]
    assert rescale_ellipses([row], 2.0, 2.0)[0].tolist() == [2.2, 4.4, 6.6, 3.4, 33.3]


def test_unequal_spacings_turn_and_stretch():
    """A circle becomes an upright ellipse; an ellipse at 45 degrees turns towards the longer spacing."""
    assert_allclose(rescale_ellipses([[0, 0, 1, 1, 0]], 0.1, 0.2)[0], [0, 0, 0.2, 0.1, 90])
    turned = rescale_ellipses([[0, 0, 2, 1, 45]], 1.0, 2.0)[0]
    matrix = np.diag([1.0, 2.0]) @ np.array([[1, -1], [1, 1]]) / np.sqrt(2) @ np.diag([2.0, 1.0])
    left, singular, _ = np.linalg.svd(matrix)
    assert_allclose(turned[2:4], singular)
    assert_allclose(turned[4], np.rad2deg(np.arctan2(left[1, 0], left[0, 0])) % 180)


def test_matrices_against_singular_values():
    matrices = np.random.default_rng(0).normal(size=(50, 2, 2))
    rows = ellipses_of_matrices(np.zeros((50, 2)), matrices)
    assert_allclose(rows[:, 2:4], np.linalg.svd(matrices, compute_uv=False), rtol=1e-9)


def test_a_thin_ellipse_keeps_its_short_axis():
    row = rescale_ellipses([[0, 0, 1e6, 1e-6, 30]], 1.0, 3.0)[0]
    assert_allclose(row[2] * row[3], 3.0, rtol=1e-12)


def test_no_ellipses_at_all():
    assert rescale_ellipses(np.empty((0, 5)), 1.0, 2.0).shape == (0, 5)
