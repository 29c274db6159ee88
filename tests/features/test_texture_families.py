"""Texture features: symmetries, hostile input, batches; each family against others' results or the public functions."""

import mahotas
import numpy as np
import pytest
from feature_scenes import CENTRE, NAMES, compute, patch_of
from scipy import ndimage
from skimage.feature import local_binary_pattern

from overread.features import first_order_features, glcm_features, ibsi
from overread.features.context._channels import N_BINS, QUANTIZED
from overread.features.families.first_order import COLUMN, bound_ratios
from overread.features.families.fractal import BOXES
from overread.features.families.fractal import FAMILY as FRACTAL
from overread.features.families.glcm import FAMILY as COOCCURRENCE
from overread.features.families.glcm import HARALICK
from overread.features.families.glcm import PAIRS as GLCM_PAIRS
from overread.features.families.laws import LETTERS, PAIRS, VECTORS
from overread.features.families.matrices import CHANNELS
from overread.features.families.matrices import FAMILY as MATRICES
from overread.features.families.power_law import FAMILY as POWER_LAW
from overread.features.families.power_law import FFT_SIDE, _transform_columns, fit_line
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES
from overread.features.ibsi._regions import MATRICES as FORMULAS


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


def test_original_channel_equals_the_public_function(original, texture):
    public = first_order_features(patch_of(texture))
    for name in FIRST_ORDER:
        if "coefficient" not in name:
            assert original[f"first_order_{name}.original"] == pytest.approx(
                public[name], rel=1e-5, abs=1e-7
            ), name


def test_ratios_are_between_0_and_1():
    x = np.random.default_rng(0).normal(size=(50, 40)) * np.linspace(0, 1, 50)[:, None]
    statistics = np.array([list(first_order_features(row[None]).values()) for row in x])
    percentiles = np.percentile(x, 100 * RANKED_SHARES, axis=1).T
    found = bound_ratios(statistics, percentiles)
    variation = found[:, COLUMN["coefficient_of_variation"]]
    expected = 1 / (1 + np.abs(x[1:].mean(axis=1)) / x[1:].std(axis=1))
    np.testing.assert_allclose(variation[1:], expected, rtol=1e-9)
    assert variation[0] == found[0, COLUMN["quartile_coefficient_of_dispersion"]] == 0.0
    dispersion = found[:, COLUMN["quartile_coefficient_of_dispersion"]]
    assert ((dispersion >= 0) & (dispersion <= 1)).all()
    others = [COLUMN[name] for name in FIRST_ORDER if "coefficient" not in name]
    np.testing.assert_array_equal(found[:, others], statistics[:, others])


def fractals(make_context, pixels):
    found = FRACTAL.compute(make_context(pixels, *CENTRE))[0]
    return dict(zip((feature.name for feature in FRACTAL.features), found, strict=True))


def test_plane_has_dimension_2(make_context):
    """Changes grow with the lag itself: H = 1."""
    y, x = np.mgrid[:200, :220]
    assert fractals(make_context, 0.01 * x + 0.02 * y)["fractal_dimension_variogram"] == pytest.approx(
        2, abs=1e-4
    )


def test_white_noise_has_dimension_3(make_context):
    """Changes do not grow with the lag: H = 0."""
    noise = np.random.default_rng(0).normal(size=(200, 220))
    assert fractals(make_context, noise)["fractal_dimension_variogram"] == pytest.approx(3, abs=0.03)


def test_boxes_and_lacunarity_equal_numpy(make_context, texture):
    patch = patch_of(texture)
    low, span = patch.min(), np.ptp(patch)
    counts = []
    for size in BOXES:
        n = 63 // size
        boxes = patch.reshape(n, size, n, size).transpose(0, 2, 1, 3).reshape(n * n, -1)
        counts.append((1 + np.ptp(boxes, axis=1) / span * 63 / size).sum())
        if size == 9:
            mass = (boxes - low).sum(axis=1)
            lacunarity = (mass**2).mean() / mass.mean() ** 2
    found = fractals(make_context, texture)
    assert found["fractal_dimension_boxes"] == pytest.approx(
        -np.polyfit(np.log(BOXES), np.log(counts), 1)[0], rel=1e-4
    )
    assert found["lacunarity"] == pytest.approx(lacunarity, rel=1e-4)


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


def test_empty_outline_is_the_disc_and_energy_is_per_pixel(make_context, texture):
    empty = np.zeros((1, 21, 21), bool)
    found = compute(make_context(texture, *CENTRE, radius=6.0, outline=empty))[0]
    y, x = np.mgrid[-14:15, -14:15]
    around, square = patch_of(texture, 29), x**2 + y**2
    inside, ring = around[square <= 36], around[(square > 36) & (square <= 14**2)]
    expected = (inside**2).mean() - (ring**2).mean()
    assert found[NAMES.index("inside_minus_ring_energy.original")] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_laws_equal_scipy(original, texture, a, b):
    first, second = (VECTORS[LETTERS.index(letter)].astype(float) for letter in (a, b))
    responses = [
        patch_of(np.abs(ndimage.correlate(texture, np.outer(down, along)))).mean()
        for down, along in ((first, second), (second, first))
    ]
    name = f"laws_energy.{a.lower()}5{b.lower()}5"
    assert original[name] == pytest.approx(np.mean(responses), rel=1e-4)


def test_vectors_of_laws():
    """Of one scale, and all but level without an answer to a constant."""
    np.testing.assert_allclose(np.abs(VECTORS).sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(VECTORS.sum(axis=1), [1, 0, 0, 0, 0], atol=1e-7)


@pytest.mark.parametrize("radius", [1, 2, 3])
def test_patterns_equal_scikit_image(original, texture, radius):
    points = 8 * radius
    whole = (texture * 4096).astype(np.int64)
    theirs = patch_of(local_binary_pattern(whole, points, radius, "uniform")).astype(int)
    expected = np.bincount(theirs.ravel(), minlength=points + 2) / theirs.size
    found = [original[f"lbp.r{radius}_p{points}.pattern{k}"] for k in range(points + 2)]
    # A neighbour interpolated to the very value of its centre may fall on either side: 4 of 3969 points allowed.
    np.testing.assert_allclose(found, expected, atol=4 / theirs.size)


def test_power_law_finds_the_exponent(make_context):
    rng = np.random.default_rng(1)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
    f[0, 0] = 1
    for exponent in (1.0, 2.0, 3.0):
        noise = np.fft.ifft2(np.fft.fft2(rng.normal(size=(256, 256))) / f ** (exponent / 2)).real
        centres = np.arange(40, 220, 30.0)
        found = POWER_LAW.compute(make_context(noise, centres, centres[::-1]))[:, 0]
        assert found.mean() == pytest.approx(exponent, abs=0.25)


def test_transform_equals_numpy():
    real, imaginary = np.random.default_rng(0).normal(size=(2, FFT_SIDE, FFT_SIDE))
    expected = np.fft.fft(real + 1j * imaginary, axis=0)
    angle = 2 * np.pi * np.arange(FFT_SIDE // 2) / FFT_SIDE
    _transform_columns(real, imaginary, np.cos(angle), np.sin(angle))
    np.testing.assert_allclose(real + 1j * imaginary, expected, atol=1e-11)


def test_line_equals_polyfit():
    x, y = np.random.default_rng(1).normal(size=(2, 30))
    found = np.zeros(3)
    fit_line(x, y, found)
    slope, intercept = np.polyfit(x, y, 1)
    residual = np.sqrt(((y - slope * x - intercept) ** 2).mean())
    np.testing.assert_allclose(found, [slope, intercept, residual], rtol=1e-10)


@pytest.fixture(scope="module")
def two_candidates(make_context, texture):
    return make_context(texture, [99.0, 60.0], [109.0, 120.0])


@pytest.fixture(scope="module")
def found(two_candidates):
    names = [feature.name for feature in COOCCURRENCE.features]
    return [dict(zip(names, row, strict=True)) for row in COOCCURRENCE.compute(two_candidates)]


@pytest.mark.parametrize(("channel", "distance"), GLCM_PAIRS)
def test_haralick_equals_the_public_function(two_candidates, found, channel, distance):
    for k, row in enumerate(found):
        levels = two_candidates.channels.levels[k, QUANTIZED.index(channel), 1:-1, 1:-1]
        expected = glcm_features(levels, distance=distance, n_levels=N_BINS)
        for name in HARALICK:
            value = row[f"glcm_{name}.{channel}.d{distance}.mean"]
            assert value == pytest.approx(expected[name], rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("distance", [1, 8])
def test_range_over_directions_equals_mahotas(two_candidates, found, distance):
    levels = two_candidates.channels.levels[0, 0, 1:-1, 1:-1].astype(np.uint8)
    theirs = np.ptp(mahotas.features.haralick(levels, distance=distance), axis=0)
    # Left out: sum and difference variance, which mahotas takes for something else.
    for position in (0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 12):
        name = f"glcm_{list(HARALICK)[position]}.original.d{distance}.range"
        assert found[0][name] == pytest.approx(theirs[position], rel=1e-4, abs=1e-5), name


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("family", FORMULAS)
def test_matrices_equal_the_public_function(two_candidates, channel, family):
    names = [feature.name for feature in MATRICES.features]
    values = MATRICES.compute(two_candidates)
    for k in range(2):
        levels = two_candidates.channels.levels[k, QUANTIZED.index(channel), 1:-1, 1:-1]
        whole = ibsi.level_features(levels, n_levels=N_BINS)
        expected = {
            name.removeprefix(f"{family}."): value
            for name, value in whole.items()
            if name.startswith(f"{family}.")
        }
        assert len(expected) > 4
        found = [values[k, names.index(f"{family}_{name}.{channel}")] for name in expected]
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-6)
