"""The 1000 features of a candidate's patch: counts, symmetries, finite on hostile input, against other code."""

from collections import Counter

import numpy as np
import pytest
from scipy import ndimage
from skimage.feature import local_binary_pattern

from overread.features import FAMILIES
from overread.features.ibsi import first_order_features, glcm_features, quantize

TEXTURE_FAMILIES = [family for family in FAMILIES if family.features[0].kind == "texture"]
FEATURES = [feature for family in TEXTURE_FAMILIES for feature in family.features]
NAMES = [feature.name for feature in FEATURES]
CENTRE = (99.0, 109.0)


def compute(context):
    return np.hstack([family.compute(context) for family in TEXTURE_FAMILIES])


@pytest.fixture(scope="module")
def original(make_context, texture):
    return dict(zip(NAMES, compute(make_context(texture, *CENTRE))[0], strict=True))


def patch_of(texture, side=63):
    half = side // 2
    return texture[99 - half : 100 + half, 109 - half : 110 + half]


def test_there_are_exactly_1000_by_family():
    assert len(NAMES) == len(set(NAMES)) == 1000
    assert Counter(feature.family for feature in FEATURES) == {
        "glcm": 156 + 117 + 117,
        "first_order": 270,
        "glrlm": 64,
        "glszm": 64,
        "ngldm": 68,
        "ngtdm": 20,
        "lbp": 54,
        "gabor": 32,
        "laws": 14,
        "power_law": 3,
        "fractal": 3,
        "inside_minus_ring": 18,
    }
    for feature in FEATURES:
        assert feature.kind == "texture"
        assert feature.name.replace(".", "_").isidentifier()
        assert feature.unit
        assert feature.formula
        assert feature.reference


def test_original_channel_equals_the_public_functions(original, texture):
    patch = patch_of(texture)
    public = first_order_features(patch)
    for name in ("mean", "variance", "skewness", "kurtosis", "p10", "maximum", "energy"):
        assert original[f"first_order_{name}.original"] == pytest.approx(public[name], rel=1e-5), name
    low, high = np.percentile(patch, [10, 90])
    reach = (high - low) / 2
    levels = 1 + np.clip(np.floor(16 * (patch - low + reach) / (high - low + 2 * reach)), 0, 15).astype(int)
    expected = glcm_features(levels, distance=8, n_levels=16)
    for name in ("contrast", "correlation", "sum_entropy"):
        assert original[f"glcm_{name}.original.d8.mean"] == pytest.approx(expected[name], rel=1e-6)
    assert quantize(patch, n_bins=16).max() == 16


def test_wavelet_channels_sum_to_the_original(original):
    names = [
        "approximation3",
        *(f"wavelet{level}_{band}" for level in (1, 2, 3) for band in ("hl", "lh", "hh")),
    ]
    total = sum(original[f"first_order_mean.{name}"] for name in names)
    assert total == pytest.approx(original["first_order_mean.original"], rel=1e-5)


def test_approximation_equals_scipy(original, texture):
    smooth = texture
    for hole in (1, 2, 4):
        taps = np.zeros(4 * hole + 1)
        taps[::hole] = np.array([1, 4, 6, 4, 1]) / 16
        smooth = ndimage.convolve1d(ndimage.convolve1d(smooth, taps, axis=0), taps, axis=1)
    expected = patch_of(smooth)
    assert original["first_order_variance.approximation3"] == pytest.approx(expected.var(), rel=1e-4)
    assert original["first_order_minimum.approximation3"] == pytest.approx(expected.min(), rel=1e-4)


@pytest.mark.parametrize("radius", [1, 2, 3])
def test_patterns_equal_scikit_image(original, texture, radius):
    points = 8 * radius
    whole = (texture * 4096).astype(np.int64)
    theirs = patch_of(local_binary_pattern(whole, points, radius, "uniform")).astype(int)
    expected = np.bincount(theirs.ravel(), minlength=points + 2) / theirs.size
    found = [original[f"lbp.r{radius}_p{points}.pattern{k}"] for k in range(points + 2)]
    # A neighbour interpolated to the very value of its centre may fall on either side: 4 of 3969 points allowed.
    np.testing.assert_allclose(found, expected, atol=4 / theirs.size)


def test_laws_equals_scipy(original, texture):
    spot, wave = np.array([-1, 0, 2, 0, -1]) / 4, np.array([-1, 2, 0, -2, 1]) / 6
    responses = [
        patch_of(np.abs(ndimage.correlate(texture, np.outer(a, b)))).mean()
        for a, b in ((spot, wave), (wave, spot))
    ]
    assert original["laws_energy.s5w5"] == pytest.approx(np.mean(responses), rel=1e-4)


def test_gabor_equals_a_direct_convolution(original, texture):
    y, x = np.mgrid[-5:6, -5:6]
    bell = np.exp(-(x**2 + y**2) / 8)
    bell /= bell.sum()
    for angle in (0, 45, 90, 135):
        direction = np.deg2rad(angle)
        kernel = bell * np.exp(0.5j * np.pi * (x * np.cos(direction) - y * np.sin(direction)))
        kernel -= bell * kernel.sum()
        response = patch_of(
            np.abs(ndimage.correlate(texture, kernel.real) + 1j * ndimage.correlate(texture, kernel.imag))
        )
        assert original[f"gabor_mean.w4.a{angle}"] == pytest.approx(response.mean(), rel=1e-4)
        assert original[f"gabor_sd.w4.a{angle}"] == pytest.approx(response.std(), rel=1e-3)


@pytest.mark.parametrize("wave", [4, 8, 16])
@pytest.mark.parametrize("angle", [0, 45, 90, 135])
def test_gabor_answers_its_own_wave(make_context, wave, angle):
    y, x = np.mgrid[:200, :220]
    direction = np.deg2rad(angle)
    grating = np.cos(2 * np.pi * (x * np.cos(direction) - y * np.sin(direction)) / wave)
    found = dict(zip(NAMES, compute(make_context(grating, *CENTRE))[0], strict=True))
    means = {name: found[name] for name in NAMES if name.startswith("gabor_mean")}
    assert max(means, key=means.get) == f"gabor_mean.w{wave}.a{angle}"


def test_power_law_finds_the_exponent(make_context):
    rng = np.random.default_rng(1)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
    f[0, 0] = 1
    for exponent in (1.0, 2.0, 3.0):
        noise = np.fft.ifft2(np.fft.fft2(rng.normal(size=(256, 256))) / f ** (exponent / 2)).real
        centres = np.arange(40, 220, 30.0)
        found = compute(make_context(noise, centres, centres[::-1]))[:, NAMES.index("power_law_exponent")]
        assert found.mean() == pytest.approx(exponent, abs=0.25)


def test_inside_minus_ring_equals_numpy(make_context, texture):
    outline = np.zeros((1, 21, 21), bool)
    outline[0, 5:15, 8:14] = True
    found = compute(make_context(texture, *CENTRE, radius=6.0, outline=outline))[0]
    y, x = np.mgrid[-14:15, -14:15]
    around = patch_of(texture, 29)
    inside = np.pad(outline[0], 4)
    ring = (x**2 + y**2 <= 14**2) & ~inside
    name = "inside_minus_ring_{}.original"
    assert found[NAMES.index(name.format("mean"))] == pytest.approx(
        around[inside].mean() - around[ring].mean(), abs=1e-6
    )
    expected = np.median(around[inside]) - np.median(around[ring])
    assert found[NAMES.index(name.format("median"))] == pytest.approx(expected, abs=1e-6)


def swapped(name, turn):
    """Name of the feature that takes a feature's place when the image is turned or mirrored."""
    if turn == "quarter":
        name = (
            name.translate(str.maketrans({}))
            .replace("_hl", "_##")
            .replace("_lh", "_hl")
            .replace("_##", "_lh")
        )
        turned = {"a0": "a90", "a90": "a0", "a45": "a135", "a135": "a45"}
    else:
        turned = {"a45": "a135", "a135": "a45"}
    head, _, tail = name.rpartition(".")
    return f"{head}.{turned.get(tail, tail)}" if name.startswith("gabor") else name


@pytest.mark.parametrize("turn", ["quarter", "mirror"])
def test_turning_the_image_turns_the_features(make_context, texture, original, turn):
    if turn == "quarter":
        moved, centre = np.rot90(texture), (219 - CENTRE[1], CENTRE[0])
    else:
        moved, centre = texture[:, ::-1], (CENTRE[0], 219 - CENTRE[1])
    found = dict(zip(NAMES, compute(make_context(moved, *centre))[0], strict=True))
    # A point interpolated to the value of its centre may change its bit.
    exact = [name for name in NAMES if not name.startswith("lbp")]
    for name in exact:
        assert found[swapped(name, turn)] == pytest.approx(original[name], rel=2e-4, abs=2e-5), name
    for name in set(NAMES) - set(exact):
        assert found[name] == pytest.approx(original[name], abs=4 / 3969), name


def test_shifting_by_whole_pixels_changes_nothing(make_context, texture):
    inner = compute(make_context(texture[5:, 9:], CENTRE[0] - 5, CENTRE[1] - 9))
    np.testing.assert_array_equal(inner, compute(make_context(texture, *CENTRE)))


def test_what_an_affine_change_of_intensity_leaves(make_context, texture, original):
    found = dict(zip(NAMES, compute(make_context(4 * texture + 2, *CENTRE))[0], strict=True))
    for name in NAMES:
        ratios = ("skewness", "kurtosis")
        if name.startswith(
            ("glcm", "glrlm", "glszm", "ngldm", "ngtdm", "lbp", "fractal", "lacunarity", "power_law_e")
        ):
            assert found[name] == pytest.approx(original[name], rel=2e-2, abs=2e-3), name
        elif name.startswith(("gabor", "laws")):
            assert found[name] == pytest.approx(4 * original[name], rel=1e-3, abs=1e-5), name
        elif name.startswith("first_order") and name.split(".")[0].endswith(ratios):
            assert found[name] == pytest.approx(original[name], rel=1e-2, abs=1e-2), name


HOSTILE = {
    "constant": np.zeros((100, 100)),
    "bright constant": np.full((100, 100), 1e30),
    "one pixel": np.ones((1, 1)),
    "narrow": np.random.default_rng(0).normal(size=(2, 300)),
    "saturated half": np.repeat([[0.0, 1.0]], 100, axis=0).repeat(50, axis=1),
    "black and white": np.random.default_rng(1).integers(0, 2, (100, 100)),
    "one hot pixel": np.pad([[3e38]], 50),
    "tiny": np.random.default_rng(2).normal(size=(100, 100)) * 1e-38,
    "huge": np.random.default_rng(3).normal(size=(100, 100)) * 1e37,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_finite_on_hostile_images(make_context, kind):
    pixels = HOSTILE[kind]
    rows, columns = pixels.shape
    row = np.array([0, rows - 1, rows / 2, 0.0, rows - 1.0])
    column = np.array([0, columns - 1, columns / 2, columns - 1.0, 0.0])
    for radius in (0.0, 8.0, 60.0):
        assert np.isfinite(compute(make_context(pixels, row, column, radius=radius))).all()
    empty = np.zeros((5, 41, 41), bool)
    for outline in (empty, ~empty, np.zeros((5, 1, 1), bool)):
        found = compute(make_context(pixels, row, column, outline=outline))
        assert found.dtype == np.float32
        assert np.isfinite(found).all()


def test_no_candidates(make_context, texture):
    context = make_context(texture, [], [], outline=np.zeros((0, 41, 41), bool))
    assert compute(context).shape == (0, 1000)


def test_answers_do_not_depend_on_the_batch(make_context, texture):
    rng = np.random.default_rng(0)
    row, column = rng.uniform(0, 199, 12), rng.uniform(0, 219, 12)
    together = compute(make_context(texture, row, column))
    np.testing.assert_array_equal(compute(make_context(texture, row, column)), together)
    for part in (slice(0, 1), slice(1, 6), slice(6, 12)):
        np.testing.assert_array_equal(compute(make_context(texture, row[part], column[part])), together[part])


def test_patch_has_the_same_physical_size_on_another_grid(make_context):
    y, x = np.mgrid[:300, :300]
    fine = np.sin(x / 30) + np.cos(y / 25)
    coarse = np.sin(x * 2 / 30) + np.cos(y * 2 / 25)
    on_fine = compute(make_context(fine, 150.0, 150.0))[0]
    on_coarse = compute(make_context(coarse, 75.0, 75.0, mm_per_px=1.4))[0]
    for name in ("first_order_mean.original", "first_order_variance.approximation2", "gabor_mean.w32.a0"):
        index = NAMES.index(name)
        assert on_coarse[index] == pytest.approx(on_fine[index], rel=2e-2)
