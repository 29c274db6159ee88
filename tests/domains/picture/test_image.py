"""Planes, region and smoothing of a picture."""

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from overread.domains import read_picture
from overread.domains.picture._image import find_region, smooth, smooth_inside
from overread.errors import ImageError, InvalidInputError


@pytest.fixture
def eye(tmp_path):
    rng = np.random.default_rng(0)
    rgb = rng.integers(60, 200, (80, 120, 3), dtype=np.uint8)
    path = tmp_path / "eye.png"
    Image.fromarray(rgb).save(path)
    return path, rgb / np.float32(255)


def test_planes_of_colour(eye):
    path, rgb = eye
    field = read_picture(path, mm_per_px=0.1, region="all", weights=(0, 1, 0))
    assert np.allclose(field.planes["main"], rgb[..., 1], atol=1e-6)
    assert np.allclose(field.planes["red_green"], rgb[..., 0] - rgb[..., 1], atol=1e-6)
    assert np.allclose(field.planes["yellow_blue"], rgb[..., :2].mean(axis=2) - rgb[..., 2], atol=1e-6)


def test_luminance_without_weights(eye):
    path, rgb = eye
    field = read_picture(path, mm_per_px=0.1, region="all")
    assert np.allclose(field.planes["main"], rgb @ np.array([0.299, 0.587, 0.114]), atol=1e-6)


def test_a_grey_picture_has_one_plane(tmp_path):
    path = tmp_path / "grey.png"
    Image.fromarray(np.tile(np.arange(100, dtype=np.uint8), (50, 1))).save(path)
    field = read_picture(path, mm_per_px=(0.2, 0.1), region="all")
    assert list(field.planes) == ["main"]
    # Oblong pixels are made square by the finer side.
    assert field.planes["main"].shape == (50, 200)
    assert field.mm_per_px == 0.1


def test_flat_is_in_deviations_of_the_region(eye):
    field = read_picture(eye[0], mm_per_px=0.1, region="all", weights=(0, 1, 0))
    inside = field.flat[field.region]
    assert abs(np.median(inside)) < 0.1
    assert abs(np.median(np.abs(inside - np.median(inside))) - 1 / 1.4826) < 0.02


@pytest.mark.parametrize("weights", [(1, 1), (0, 0, 0), (float("nan"), 1, 1)])
def test_weights_that_make_no_plane(eye, weights):
    with pytest.raises(InvalidInputError, match="three finite numbers"):
        read_picture(eye[0], mm_per_px=0.1, region="all", weights=weights)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "eye.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    with pytest.raises(ImageError, match=r"eye\.png"):
        read_picture(path, mm_per_px=0.1)


def test_the_amount_of_a_stain_is_found_by_beer_and_lambert(tmp_path):
    stain = np.array([0.65, 0.70, 0.29])
    amounts = np.linspace(0.05, 0.9, 60).reshape(6, 10)
    rgb = 10 ** -(amounts[..., None] * stain)
    path = tmp_path / "stain.png"
    Image.fromarray(np.round(255 * rgb).astype(np.uint8)).save(path)
    field = read_picture(path, mm_per_px=1.0, region="all", stain=stain)
    # Within the step of 8 bits.
    np.testing.assert_allclose(field.planes["main"], amounts, atol=0.01)
    with pytest.raises(InvalidInputError, match="stain of red, green and blue"):
        read_picture(path, mm_per_px=1.0, region="all", stain=(0, 0, 0))


def test_pixels_to_look_at_are_colours_or_grey(tmp_path):
    rgb = np.random.default_rng(0).integers(0, 256, (9, 12, 3)).astype(np.uint8)
    path = tmp_path / "colour.png"
    Image.fromarray(rgb).save(path)
    colour = read_picture(path, mm_per_px=2.0, region="all")
    np.testing.assert_allclose(colour.pixels, rgb / 255, atol=1e-6)
    assert (colour.size_mm, colour.source_shape, colour.source_mm_per_px) == (
        (24.0, 18.0),
        (9, 12),
        (2.0, 2.0),
    )
    grey = read_picture(path, mm_per_px=2.0, region="all", colour=False)
    assert list(grey.planes) == ["main"]
    assert grey.pixels.shape == (9, 12)
    assert grey.pixel_hash == colour.pixel_hash


def make_disc(rows=200, columns=300, radius=80, level=0.5):
    y, x = np.mgrid[:rows, :columns]
    inside = (x - columns / 2) ** 2 + (y - rows / 2) ** 2 < radius**2
    noise = np.random.default_rng(1).normal(0, 0.02, (rows, columns))
    return (np.where(inside, level, 0.01) + np.where(inside, noise, 0)).astype(np.float32), inside


def test_field_of_view_is_the_disc_without_its_edge():
    grey, inside = make_disc()
    region = find_region(grey, "field_of_view")
    assert not (region & ~inside).any()
    assert region.sum() > 0.9 * inside.sum()


def test_dark_spots_and_names_in_the_frame_do_not_matter():
    grey, _ = make_disc()
    grey[95:105, 145:155] = 0.0
    grey[5:15, 5:60] = 0.9
    region = find_region(grey, "field_of_view")
    assert region[100, 150]
    assert not region[:20, :80].any()


def test_a_dark_picture_is_refused_with_a_remedy():
    grey = np.zeros((100, 100), dtype=np.float32)
    with pytest.raises(ImageError, match=r'eye\.png: no field of view is found; use .region. kind = "all"'):
        find_region(grey, "field_of_view", name="eye.png")
    grey[50, 50:53] = 1.0
    with pytest.raises(ImageError, match=r"fills 0\.\d % of the picture"):
        find_region(grey, "field_of_view", name="eye.png")


def test_a_mask_has_to_be_there_and_fit(tmp_path):
    grey, inside = make_disc()
    with pytest.raises(InvalidInputError, match=r"eye\.png: .* the image has no mask .*--masks FOLDER"):
        find_region(grey, "masks", name="eye.png")
    path = tmp_path / "mask.png"
    Image.fromarray((inside * 255).astype(np.uint8)).save(path)
    assert (find_region(grey, "masks", mask=path) == inside).all()
    Image.fromarray((inside[:, ::2] * 255).astype(np.uint8)).save(path)
    with pytest.raises(
        ImageError, match=r"mask.png: the mask has 150 x 200 pixels and its picture 300 x 200"
    ):
        find_region(grey, "masks", mask=path)
    Image.fromarray(np.zeros(grey.shape, dtype=np.uint8)).save(path)
    with pytest.raises(ImageError, match="the mask is empty"):
        find_region(grey, "masks", mask=path)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidInputError, match="field_of_view, masks or all"):
        find_region(np.zeros((5, 5), dtype=np.float32), "lungs")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plane():
    return np.random.default_rng(0).random((180, 220)).astype(np.float32)


@pytest.mark.parametrize("sigma", [0.7, 2.0, 6.0, 15.0])
def test_as_scipy(plane, sigma):
    """Of white noise, the worst case, an eighth of a deviation of what is left is off where the grid is coarse."""
    wanted = gaussian_filter(plane.astype(np.float64), sigma, mode="reflect", truncate=6)
    found = smooth(plane, sigma)
    assert np.abs(found - wanted).max() < (0.125 if sigma > 4 else 0.02) * wanted.std() + 1e-5


def test_inside_a_region_its_values_alone_count(plane):
    region = np.zeros(plane.shape, dtype=bool)
    region[40:120, 50:150] = True
    spoiled = np.where(region, plane, 1e6).astype(np.float32)
    weight = gaussian_filter(region.astype(float), 3, mode="reflect", truncate=6)
    total = gaussian_filter(np.where(region, plane, 0).astype(float), 3, mode="reflect", truncate=6)
    assert np.abs(smooth_inside(spoiled, region, 3.0)[region] - (total[region] / weight[region])).max() < 1e-3
