import numpy as np

from overread.domains.chest._ranking import (
    N_SURROUNDINGS,
    RESPONSES,
    find_places,
    load_ranking,
    make_ranking_inputs,
)
from radiograph_pictures import MM, disc, ramp

SIDE = 192


def places_of(pixels):
    pixels = np.ascontiguousarray(pixels, dtype=np.float32)
    return find_places(pixels, np.ones(pixels.shape, dtype=bool), MM, per_scale=30)


def test_weights_fit_the_inputs_and_are_finite():
    model = load_ranking()
    inputs = make_ranking_inputs(places_of(ramp((SIDE, SIDE))))
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
    pixels = ramp((SIDE, SIDE)) + disc(60, 80, 5, shape=(SIDE, SIDE))
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
        (scale, round(y, 3), round(SIDE * MM - x, 3))
        for scale, x, y in zip(straight.scale, straight.x_mm, straight.y_mm, strict=True)
    ]
    shared = [i for i, key in enumerate(keys) if key in at]
    assert len(shared) > 0.9 * len(keys)
    difference = np.array([at[keys[i]] for i in shared]) - score[shared]
    assert np.median(np.abs(difference)) < 0.02
    assert np.abs(difference).max() < 0.5
    best = int(score.argmax())
    assert abs(at[keys[best]] - score[best]) < 0.05
