"""Curvature, what the detectors say of places whose answers are known, and their ranking."""

import numpy as np
import pytest

from overread.domains._scale_space import SCALES_MM, build_pyramid
from overread.domains.chest._ranking import (
    N_SURROUNDINGS,
    RESPONSES,
    correlate_template,
    describe_surroundings,
    find_places,
    load_ranking,
    make_ranking_inputs,
    measure_harmonics,
)
from overread.domains.chest._search import measure_scales
from radiograph_pictures import MM, disc, ramp

SIDE = 256
# The middle of a pixel of the coarsest level.
CENTRE_MM = (SIDE / 2 + 2) * MM


def gaussian(width_mm, across_mm=None):
    """Blob of height 1, or an endless ridge along x."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) * MM - CENTRE_MM
    radius = y**2 if across_mm else x**2 + y**2
    return np.exp(-radius / (2 * width_mm**2)).astype(np.float32)


@pytest.mark.parametrize("width_mm", [3.0, 5.0, 8.0])
def test_a_gaussian_blob_has_the_curvature_of_the_closed_form(width_mm):
    """Smoothed by sigma, a blob of width s has the curvature s^2 / (s^2 + sigma^2)^2 in every direction."""
    whole = np.ones((SIDE, SIDE), dtype=bool)
    for scale in measure_scales(build_pyramid(gaussian(width_mm), whole, MM)):
        sigma = scale.sigma_mm
        expected = sigma**2 * width_mm**2 / (width_mm**2 + sigma**2) ** 2
        assert scale.smaller.max() == pytest.approx(expected, rel=0.15)
        assert scale.larger.max() == pytest.approx(expected, rel=0.15)


def test_a_ridge_has_no_smaller_curvature():
    whole = np.ones((SIDE, SIDE), dtype=bool)
    for scale in measure_scales(build_pyramid(gaussian(5.0, across_mm=5.0), whole, MM)):
        assert scale.smaller.max() < 0.01 * scale.larger.max()


# The middle of a pixel of the level of this width.
BLOB_MM = 65.5 * 2 * MM
WIDTH_MM = 4.2


def scene(squeeze=1.0):
    """A Gaussian blob, or a ridge along x where it is squeezed."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) * MM - BLOB_MM
    return (0.3 + 0.3 * np.exp(-((x / squeeze) ** 2 + y**2) / (2 * WIDTH_MM**2))).astype(np.float32)


def responses_at_centre(image, region=None):
    """Named responses of the place at the centre at the scale of the blob."""
    region = np.ones(image.shape, dtype=bool) if region is None else region
    places = find_places(image, region, MM, per_scale=50)
    apart = np.hypot(places.x_mm - BLOB_MM, places.y_mm - BLOB_MM)
    here = np.flatnonzero((apart < 2) & (places.scale == SCALES_MM.index(WIDTH_MM)))
    return dict(zip(RESPONSES, places.responses[here[0]], strict=True))


def test_every_detector_knows_a_round_blob():
    found = responses_at_centre(scene())
    assert found["roundness"] == pytest.approx(1, abs=0.05)
    assert found["falling_share"] == 1
    assert found["convergence"] > 0.99
    assert found["least_axis_convergence"] > 0.97
    assert found["template"] > 0.9
    assert abs(found["edge"]) < 0.05
    assert abs(found["ridge"]) < 0.05
    # The same contrast in all directions.
    assert found["least_axis_contrast"] == pytest.approx(found["median_contrast"], rel=0.02)
    assert 0 < found["profile_0.6"] < found["profile_0.9"] < found["profile_1.2"] < found["profile_1.6"]


def test_a_long_blob_is_a_ridge():
    blob, long = responses_at_centre(scene()), responses_at_centre(scene(squeeze=4.0))
    assert long["roundness"] < 0.3
    assert long["ridge"] > 10 * blob["ridge"]
    assert long["least_axis_contrast"] < 0.5 * long["median_contrast"]
    assert long["curvature_over_image"] < blob["curvature_over_image"]


@pytest.mark.parametrize("margin", [3.5, 7.0, 40.0])
def test_depth_is_the_distance_to_the_border_of_the_region(margin):
    region = np.zeros((SIDE, SIDE), dtype=bool)
    region[:, round((BLOB_MM - margin) / MM) :] = True
    found = responses_at_centre(scene(), region)
    assert found["depth"] == pytest.approx(min(margin / 15, 1), abs=0.1)


def test_places_are_few_a_scale_and_finite():
    noise = np.random.default_rng(0).random((SIDE, SIDE)).astype(np.float32)
    places = find_places(noise, np.ones(noise.shape, dtype=bool), MM, per_scale=12)
    assert np.bincount(places.scale).tolist() == [12] * len(SCALES_MM)
    assert places.responses.shape == (len(places.x_mm), len(RESPONSES))
    assert places.surroundings.shape == (len(places.x_mm), N_SURROUNDINGS)
    assert np.isfinite(places.responses).all()
    assert np.isfinite(places.surroundings).all()


def test_the_template_correlates_with_itself_and_not_with_a_flat_patch():
    profile = np.maximum(1 - np.array([0.3, 0.6, 0.9, 1.2, 1.6]) ** 2, 0)
    samples = np.broadcast_to(profile, (1, 16, 5)).copy()
    assert correlate_template(5 * samples + 2)[0] == pytest.approx(1, abs=1e-3)
    assert correlate_template(-samples)[0] == pytest.approx(-1, abs=1e-3)
    assert correlate_template(np.ones_like(samples))[0] == pytest.approx(0, abs=1e-6)


def test_harmonics_are_the_root_mean_squares_of_pure_waves():
    angle = 2 * np.pi * np.arange(16) / 16
    for order, name in ((1, "edge"), (2, "ridge")):
        samples = np.zeros((1, 16, 5))
        samples[0, :, 2:] = np.cos(order * angle)[:, None]
        found = measure_harmonics(samples, np.ones(1))
        assert found[name][0] == pytest.approx(np.sqrt(0.5))
        assert found[{"edge": "ridge", "ridge": "edge"}[name]][0] == pytest.approx(0, abs=1e-9)


TURNED = 96
EVERYWHERE = np.ones((TURNED, TURNED), dtype=bool)
ROW, COLUMN = (part.ravel() for part in np.mgrid[1:TURNED:13, 2:TURNED:11])
TURNS = {
    "a quarter": (lambda image: np.rot90(image), TURNED - 1 - COLUMN, ROW),
    "a half": (lambda image: np.rot90(image, 2), TURNED - 1 - ROW, TURNED - 1 - COLUMN),
    "mirrored": (lambda image: image[:, ::-1], ROW, TURNED - 1 - COLUMN),
}


def described(pixels, row, column):
    """Surroundings at the two finest scales, whose grid is that of the image."""
    scales = measure_scales(build_pyramid(np.ascontiguousarray(pixels), EVERYWHERE, MM))[:2]
    assert all(scale.level.mm_per_px == MM for scale in scales)
    return np.hstack([describe_surroundings(scale, column, row) for scale in scales])


@pytest.mark.parametrize("turn", TURNS)
def test_a_turned_image_has_the_same_surroundings(turn):
    pixels = np.random.default_rng(0).normal(0.5, 0.1, (TURNED, TURNED)).astype(np.float32)
    turned, row, column = TURNS[turn]
    found = described(pixels, ROW, COLUMN)
    assert found.shape == (len(ROW), 2 * N_SURROUNDINGS)
    assert found.std(axis=0).min() > 0
    np.testing.assert_allclose(described(turned(pixels), row, column), found, atol=2e-3)


def test_brightness_added_everywhere_changes_nothing():
    pixels = np.random.default_rng(0).normal(0.5, 0.1, (TURNED, TURNED)).astype(np.float32)
    np.testing.assert_allclose(
        described(pixels + 0.25, ROW, COLUMN), described(pixels, ROW, COLUMN), atol=2e-3
    )


def test_a_flat_image_has_nothing_around():
    found = described(np.full((TURNED, TURNED), 0.5, dtype=np.float32), ROW, COLUMN)
    np.testing.assert_allclose(found[:, : N_SURROUNDINGS - 1], 0, atol=1e-3)


WIDE = 192


def places_of(pixels):
    pixels = np.ascontiguousarray(pixels, dtype=np.float32)
    return find_places(pixels, np.ones(pixels.shape, dtype=bool), MM, per_scale=30)


def test_weights_fit_the_inputs_and_are_finite():
    model = load_ranking()
    inputs = make_ranking_inputs(places_of(ramp((WIDE, WIDE))))
    assert inputs.shape[1] == len(RESPONSES) + N_SURROUNDINGS + 2 == len(model.network.weights)
    assert model.lowest.shape == model.highest.shape == (inputs.shape[1],)
    assert (model.lowest < model.highest).all()
    for part in (model.network.weights, model.network.offsets, model.network.output):
        assert np.isfinite(part).all()


def test_what_was_never_seen_counts_as_the_farthest_that_was():
    model = load_ranking()
    random = np.random.default_rng(0)
    inside = random.uniform(model.lowest, model.highest, (20, len(model.lowest))).astype(np.float32)
    for far, bound in ((1e30, model.highest), (np.inf, model.highest), (-np.inf, model.lowest)):
        hostile, cut = inside.copy(), inside.copy()
        hostile[:, ::7], cut[:, ::7] = far, bound[::7]
        answer = model.answer(hostile)
        assert np.isfinite(answer).all()
        np.testing.assert_array_equal(answer, model.answer(cut))


def test_scores_stay_when_the_image_is_turned():
    pixels = ramp((WIDE, WIDE)) + disc(60, 80, 5, shape=(WIDE, WIDE))
    straight, turned = places_of(pixels), places_of(np.rot90(pixels))
    # A turned place lies at (y, side - x); a few places at the very border are maxima in one image alone.
    at = {
        (scale, round(x, 3), round(y, 3)): score
        for scale, x, y, score in zip(
            turned.scale, turned.x_mm, turned.y_mm, load_ranking().score(turned), strict=True
        )
    }
    score = load_ranking().score(straight)
    keys = [
        (scale, round(y, 3), round(WIDE * MM - x, 3))
        for scale, x, y in zip(straight.scale, straight.x_mm, straight.y_mm, strict=True)
    ]
    shared = [i for i, key in enumerate(keys) if key in at]
    assert len(shared) > 0.9 * len(keys)
    difference = np.array([at[keys[i]] for i in shared]) - score[shared]
    assert np.median(np.abs(difference)) < 0.02
    assert np.abs(difference).max() < 0.5
    best = int(score.argmax())
    assert abs(at[keys[best]] - score[best]) < 0.05
