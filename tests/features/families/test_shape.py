"""Shape features against scikit-image, on outlines that the segmentation could draw and on others; responses."""

from __future__ import annotations

import numpy as np
import pytest
from feature_scenes import MM, anatomy, radiograph
from response_scenes import left_out, without_response
from skimage import draw, measure

from overread.features import Context, ImageMaps
from overread.features.families.shape import SHAPE

SIDE = 61

RESPONSES = [
    (
        "large",
        "small",
        "shape.area shape.equivalent_diameter shape.perimeter shape.major_axis shape.minor_axis "
        "shape.largest_width shape.smallest_width shape.candidate_radius",
    ),
    ("oblong", "disc", "shape.eccentricity shape.elongation shape.hu1 shape.hu2_root shape.radius_variation"),
    ("disc", "lobed", "shape.compactness shape.solidity shape.convexity"),
    ("three_lobes", "disc", "shape.hu3_root"),
    ("pear", "disc", "shape.hu4_root"),
    ("lobed", "disc", "shape.roughness"),
    ("wide", "narrow", "shape.radius_ratio"),
]


def outline_of(seed):
    """A blob, smooth to ragged, that contains the middle."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    r = random.uniform(6, 14) * (
        1.0 + sum(random.uniform(-0.1, 0.1) * np.cos(m * t + random.uniform(0, 6)) for m in range(2, 9))
    )
    stretch = random.uniform(0.5, 1.0)
    rows, columns = 30 + r * np.sin(t) * stretch, 30 + r * np.cos(t)
    mask = draw.polygon2mask((SIDE, SIDE), np.stack([rows, columns], axis=1))
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
    pixel = np.zeros((SIDE, SIDE), dtype=bool)
    pixel[30, 30] = True
    found = shape_of([pixel])
    assert found["area"][0] == pytest.approx(MM**2)
    assert all(np.isfinite(value).all() for value in found.values())


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("shape", RESPONSES)
