"""All texture features: symmetries, finite on hostile input, independent of the batch."""

import numpy as np
import pytest
from texture_scenes import CENTRE, NAMES, compute


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
    assert compute(context).shape == (0, len(NAMES))


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
