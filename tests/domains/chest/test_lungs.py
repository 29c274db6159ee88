"""Lung fields: what the networks see, what they answer, and what becomes of it."""

import numpy as np
import pytest
from scipy.ndimage import center_of_mass
from scipy.special import logit
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from overread.domains import find_lungs
from overread.domains.chest._lungs import (
    COARSE_MM,
    LIMITS,
    POSITION_MM,
    LungModel,
    Network,
    centre_of_mass,
    choose_lung,
    coarsen,
    describe_appearance,
    describe_context,
    enlarge_mask,
    load_lung_model,
    mirror,
    predict_probability,
    rank_pixels,
    reflect_lung,
    shift,
)
from overread.features import Quality
from radiograph_pictures import MM, radiograph

BOTH_FOUND = 0.95


def overlap(a, b):
    """Dice coefficient."""
    return 2 * (a & b).sum() / max(a.sum() + b.sum(), 1)


def both_found(image):
    fields = find_lungs(image)
    return fields.left_quality is fields.right_quality is Quality.FOUND


@pytest.mark.parametrize("places", [range(4, 281, 28), pytest.param(range(281), marks=pytest.mark.slow)])
def test_both_lungs_are_found_on_real_radiographs(nih, places):
    assert np.mean([both_found(nih(place)) for place in places]) >= BOTH_FOUND


def test_lungs_lie_on_their_sides_and_look_dark(nih):
    for place in (10, 90, 200):
        image = nih(place)
        fields = find_lungs(image)
        columns = [np.nonzero(mask)[1].mean() for mask in (fields.left, fields.right)]
        assert columns[0] < image.shape[1] / 2 < columns[1]
        assert not (fields.left & fields.right).any()
        lungs = fields.left | fields.right
        assert np.median(image.pixels[lungs]) < np.median(image.pixels[~lungs & (image.pixels > 0.05)])


def test_a_mirrored_radiograph_has_mirrored_lungs(nih):
    image = nih(25)
    fields, mirrored = find_lungs(image), find_lungs(radiograph(image.pixels[:, ::-1]))
    assert overlap(mirrored.right[:, ::-1], fields.left) > 0.99
    assert overlap(mirrored.left[:, ::-1], fields.right) > 0.99


def test_brightness_and_tone_hardly_move_the_lungs(nih):
    image = nih(55)
    toned = radiograph(np.sign(image.pixels) * np.abs(image.pixels) ** 1.2)
    fields, other = find_lungs(image), find_lungs(toned)
    assert overlap(fields.left | fields.right, other.left | other.right) > 0.93


HOSTILE = {
    "constant": np.zeros((300, 300)),
    "tiny": np.random.default_rng(0).random((16, 16)),
    "smaller": np.ones((2, 2)),
    "a row": np.random.default_rng(0).random((3, 400)),
    "noise": np.random.default_rng(0).random((500, 400)),
    "huge values": np.full((200, 200), 1e30),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_lungs_no_failure(name):
    image = radiograph(HOSTILE[name])
    fields = find_lungs(image)
    assert fields.left.shape == fields.right.shape == image.shape
    assert (fields.left | fields.right).any()


def test_a_lung_that_is_not_there_is_replaced(nih):
    image = nih(40)
    pixels = image.pixels.copy()
    pixels[:, : image.shape[1] // 2] = 0.9
    fields = find_lungs(radiograph(pixels))
    assert fields.right_quality is not Quality.FALLBACK
    assert fields.left.sum() * MM**2 >= 2_500


def test_padding_is_never_lung(nih):
    image = nih(40)
    valid = np.ones(image.shape, dtype=bool)
    valid[:, : image.shape[1] // 3] = False
    fields = find_lungs(radiograph(image.pixels, valid))
    assert not ((fields.left | fields.right) & ~valid).any()


def ellipse(shape, row, column, height, width):
    y, x = np.mgrid[: shape[0], : shape[1]]
    return ((y - row) / height) ** 2 + ((x - column) / width) ** 2 <= 1


def chance_of(mask, value=0.95):
    return np.where(mask, value, 0.02).astype(np.float32)


# An ellipse of 35 by 14 pixels of 3.5 mm is 188 cm^2.
LUNG = ellipse((100, 100), 50, 30, 35, 14)


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (chance_of(LUNG), Quality.FOUND),
        (chance_of(LUNG, 0.7), Quality.DOUBTFUL),
        (chance_of(ellipse((100, 100), 50, 30, 20, 7)), Quality.DOUBTFUL),
        (chance_of(LUNG & (np.arange(100) < 24)), Quality.DOUBTFUL),
        (chance_of(ellipse((100, 100), 50, 30, 8, 7)), Quality.FALLBACK),
        (np.zeros((100, 100), dtype=np.float32), Quality.FALLBACK),
    ],
    ids=["a lung", "unsure", "small", "half a lung", "too small", "nothing"],
)
def test_a_lung_is_judged_by_area_and_certainty(chance, expected):
    assert choose_lung(chance, np.zeros_like(chance))[1] is expected


def test_the_largest_region_is_the_lung_and_its_holes_are_filled():
    speck, hole = ellipse((100, 100), 10, 80, 4, 4), ellipse((100, 100), 50, 30, 6, 3)
    mask, quality = choose_lung(chance_of((LUNG & ~hole) | speck), np.zeros((100, 100), dtype=np.float32))
    assert quality is Quality.FOUND
    assert overlap(mask, LUNG) > 0.98
    assert mask[hole].all()
    assert not mask[speck].any()


def test_a_lung_is_reflected_about_the_middle_of_the_thorax():
    """The inner edge is at column 44; the middle lies 15 mm, 4 pixels, further on."""
    found = reflect_lung(LUNG)
    columns = np.flatnonzero(found.any(axis=0))
    assert (columns[0] + columns[-1]) / 2 == 2 * 48 - 30
    assert columns[-1] - columns[0] + 1 == 29 + 2 * round(10 / COARSE_MM)
    assert not (found & LUNG).any()
    at_the_border = reflect_lung(ellipse((100, 100), 50, 85, 35, 14))
    assert at_the_border.sum() * COARSE_MM**2 > 2_500


def test_a_mask_on_a_finer_grid_has_the_same_share_of_it():
    fine = enlarge_mask(LUNG, (500, 500))
    assert fine.shape == (500, 500)
    assert fine.mean() == pytest.approx(LUNG.mean(), rel=0.01)


IMAGE = np.random.default_rng(0).random((80, 70)).astype(np.float32)


def test_the_coarse_image_is_the_mean_of_blocks_and_padding_is_air():
    """On a grid of 0.7 mm five pixels by five are one."""
    pixels = np.random.default_rng(0).random((50, 40)).astype(np.float32)
    valid = np.ones(pixels.shape, dtype=bool)
    valid[:10] = False
    found = coarsen(radiograph(pixels, valid))
    assert round(COARSE_MM / MM) == 5
    filled = np.where(valid, pixels, LIMITS[0])
    np.testing.assert_allclose(found, filled.reshape(10, 5, 8, 5).mean(axis=(1, 3)), atol=1e-5)


def test_extremes_are_cut():
    found = coarsen(radiograph(np.array([[1e30, -1e30] * 20] * 40)))
    assert LIMITS[0] <= found.min() <= found.max() <= np.float32(LIMITS[1])


def test_ranks_are_shares_of_darker_pixels_whatever_the_tone():
    expected = (rankdata(IMAGE).reshape(IMAGE.shape) - 0.5) / IMAGE.size
    np.testing.assert_allclose(rank_pixels(IMAGE), expected, atol=0.003)
    np.testing.assert_allclose(rank_pixels(IMAGE**1.5), expected, atol=0.01)


@pytest.mark.parametrize(("dx", "dy"), [(2, 0), (0, -3), (-4, 5)])
def test_a_shift_looks_at_an_offset_and_the_border_goes_on(dx, dy):
    found = shift(IMAGE, dx * COARSE_MM, dy * COARSE_MM)
    padded = np.pad(IMAGE, 5, mode="edge")
    rows, columns = IMAGE.shape
    np.testing.assert_array_equal(found, padded[5 + dy : 5 + dy + rows, 5 + dx : 5 + dx + columns])


def test_the_centre_of_mass_is_that_of_scipy_and_the_middle_without_mass():
    assert centre_of_mass(IMAGE) == pytest.approx(center_of_mass(IMAGE), rel=1e-5)
    assert centre_of_mass(np.zeros((11, 21), dtype=np.float32)) == (5.0, 10.0)


def test_appearance_says_where_a_pixel_is_and_does_not_see_far_more():
    found = describe_appearance(IMAGE)
    assert found.shape[1:] == IMAGE.shape
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    x, y = found[-5:-3]
    np.testing.assert_allclose(x[0], (np.arange(70) - 34.5) * COARSE_MM / POSITION_MM, rtol=1e-5)
    np.testing.assert_allclose(y[:, 0], (np.arange(80) - 39.5) * COARSE_MM / POSITION_MM, rtol=1e-5)
    # A constant has no contrast and no gradient.
    flat = describe_appearance(np.full((30, 30), 0.5, dtype=np.float32))
    np.testing.assert_allclose(flat[4:12], 0, atol=1e-6)


def test_context_exchanges_with_its_lungs():
    own, other = np.random.default_rng(1).random((2, 40, 50)).astype(np.float32)
    one, two = describe_context(own, other), describe_context(other, own)
    half = (len(one) - 5) // 2
    np.testing.assert_array_equal(one[:half], two[half : 2 * half])
    np.testing.assert_array_equal(one[-5:], two[-5:])
    np.testing.assert_array_equal(one[0], own)


SMALL = np.random.default_rng(0).random((40, 36)).astype(np.float32)


def test_the_shipped_weights_fit_what_the_networks_see():
    model = load_lung_model()
    look = describe_appearance(SMALL)
    assert len(model.first.weights) == len(look)
    assert len(model.second.weights) == len(look) + len(describe_context(SMALL, SMALL))
    for network in (model.first, model.second):
        assert all(np.isfinite(part).all() for part in (network.weights, network.offsets, network.output))
    assert load_lung_model() is model


def test_a_mirrored_image_has_its_lungs_exchanged():
    left, right = load_lung_model().probabilities(SMALL)
    other_left, other_right = load_lung_model().probabilities(mirror(SMALL))
    np.testing.assert_allclose(mirror(other_right), left, atol=1e-6)
    np.testing.assert_allclose(mirror(other_left), right, atol=1e-6)


def test_the_second_look_sees_the_first_guess_of_both_lungs():
    """A second network that only repeats the guess of its own lung gives the first network's answer again."""
    look, context = describe_appearance(SMALL), describe_context(SMALL, SMALL)
    random = np.random.default_rng(1)
    first = Network(
        random.normal(0, 0.3, (len(look), 3)).astype(np.float32),
        np.zeros(3, dtype=np.float32),
        np.ones(4, dtype=np.float32),
    )
    weights = np.zeros((len(look) + len(context), 1), dtype=np.float32)
    weights[len(look)] = 1
    second = Network(weights, np.zeros(1, dtype=np.float32), np.array([1, 0], dtype=np.float32))
    left, right = LungModel(first, second).probabilities(SMALL)
    guess = predict_probability(first, look)
    np.testing.assert_allclose(left, 1 / (1 + np.exp(-guess)), atol=1e-6)
    there = predict_probability(first, describe_appearance(mirror(SMALL)))
    np.testing.assert_allclose(right, mirror(1 / (1 + np.exp(-there))), atol=1e-6)


def test_probabilities_are_those_of_the_log_odds():
    random = np.random.default_rng(0)
    network = drawn(5, 3)
    features = random.normal(0, 100, (5, 7, 4)).astype(np.float32)
    found = predict_probability(network, features)
    log_odds = network.log_odds(features.reshape(5, -1)).reshape(7, 4).astype(np.float64)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-log_odds)), atol=1e-6)


def drawn(n_inputs, n_hidden, seed=0):
    random = np.random.default_rng(seed)
    shapes = (n_inputs, n_hidden), (n_hidden,), (n_hidden + 1,)
    return Network(*(random.normal(0, 1, shape).astype(np.float32) for shape in shapes))


def test_log_odds_are_those_of_scikit_learn_on_standardized_inputs():
    random = np.random.default_rng(2)
    inputs = random.normal(3, 2, (200, 4))
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0)
    peer = MLPClassifier((6,), max_iter=30, random_state=0)
    with pytest.warns(ConvergenceWarning):
        peer.fit((inputs - mean) / scale, inputs[:, 0] * inputs[:, 1] > 9)
    weights = peer.coefs_[0] / scale[:, None]
    offsets = peer.intercepts_[0] - mean @ weights
    output = np.append(peer.coefs_[1][:, 0], peer.intercepts_[1])
    network = Network(*(part.astype(np.float32) for part in (weights, offsets, output)))
    expected = logit(peer.predict_proba((inputs - mean) / scale)[:, 1])
    np.testing.assert_allclose(network.log_odds(inputs.T.astype(np.float32)), expected, atol=1e-4)


def test_a_stored_network_is_read_as_it_was_rounded():
    network = drawn(5, 3)
    stored = network.to_arrays("one") | drawn(5, 3, seed=1).to_arrays("other")
    read = Network.from_arrays(stored, "one")
    for name in ("weights", "offsets", "output"):
        part = getattr(read, name)
        assert part.dtype == np.float32
        np.testing.assert_array_equal(part, getattr(network, name).astype(np.float16))
