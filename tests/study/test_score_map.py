"""From scores to probabilities: known maps are found again, and what cannot be known is not claimed."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from overread.bags import mean_soft_kl
from overread.errors import ModelFileError
from overread.files import from_json, to_json
from overread.study._calibration import (
    FEWEST_POSITIVES,
    ScoreCalibration,
    TrainingFingerprints,
    fit_score_map,
)

N_READERS = 5


def draw(truth, n=1500, seed=0):
    """Scores, soft labels of five readers each, weights and folds; truth is the probability of a score."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-1, 1.5, n)
    labels = rng.binomial(N_READERS, truth(scores)) / N_READERS
    return scores, labels, np.ones(n), rng.integers(0, 5, n)


@pytest.mark.parametrize(("slope", "intercept"), [(3.5, 1.0), (0.4, -2.0), (1.0, -1.5)])
def test_a_known_slope_and_intercept_are_found_again(slope, intercept):
    scores, labels, weights, folds = draw(lambda s: expit(slope * s + intercept))
    found = fit_score_map(scores, labels, weights, folds)
    assert found.method == "sigmoid"
    assert found.slope == pytest.approx(slope, rel=0.1)
    assert found.intercept == pytest.approx(intercept, abs=0.15)
    np.testing.assert_allclose(found.apply(scores), expit(found.slope * scores + found.intercept), rtol=1e-12)


def test_the_sigmoid_is_that_of_an_unpenalized_logistic_regression():
    scores, labels, weights, folds = draw(lambda s: expit(2 * s + 1))
    found = fit_score_map(scores, labels, weights, folds)
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.concatenate([scores, scores])[:, None],
        np.repeat([1, 0], len(scores)),
        sample_weight=np.concatenate([labels, 1 - labels]),
    )
    # Platt's targets shrink a little towards the middle, by 1 in 500 positives.
    assert found.slope == pytest.approx(peer.coef_[0, 0], rel=0.02)
    assert found.intercept == pytest.approx(peer.intercept_[0], abs=0.02)


def test_a_step_is_isotonic():
    scores, labels, weights, folds = draw(lambda s: np.where(s > -1, 0.6, 0.1))
    found = fit_score_map(scores, labels, weights, folds)
    assert found.method == "isotonic"
    assert found.held_out_kl["isotonic"] < found.held_out_kl["sigmoid"] < found.held_out_kl["none"]
    assert found.apply([-3.0, -2.0]) == pytest.approx(0.1, abs=0.05)
    assert found.apply([0.0, 1.0]) == pytest.approx(0.6, abs=0.05)
    peer = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    grid = np.linspace(-8, 8, 400)
    np.testing.assert_allclose(found.apply(grid), peer.predict(grid), atol=2e-6)
    assert (np.diff(found.apply(grid)) >= 0).all()


def test_what_is_calibrated_is_left_alone():
    """Two parameters that are not needed cost likelihood on held-out patients, in most studies."""
    found = [fit_score_map(*draw(expit, seed=seed)) for seed in range(12)]
    methods = [one.method for one in found]
    assert methods.count("none") > 6
    assert "isotonic" not in methods
    for one in found:
        assert one.slope == pytest.approx(1.0, abs=0.12)
        assert one.intercept == pytest.approx(0.0, abs=0.15)


def test_likelihoods_are_those_of_maps_that_did_not_see_the_fold():
    scores, labels, weights, folds = draw(lambda s: expit(2 * s), n=200)
    weights = np.random.default_rng(1).uniform(0.5, 1, len(scores))
    found = fit_score_map(scores, labels, weights, folds)
    predicted = np.empty(len(scores))
    for fold in range(5):
        rest = folds != fold
        peer = IsotonicRegression(out_of_bounds="clip").fit(scores[rest], labels[rest], weights[rest])
        predicted[~rest] = peer.predict(scores[~rest])
    # The package clips the points of the map, this the values: they differ by less than the clip itself.
    safe = np.clip(predicted, 1e-6, 1 - 1e-6)
    assert found.held_out_kl["isotonic"] == pytest.approx(
        mean_soft_kl(labels, safe, sample_weight=weights), rel=1e-6
    )
    assert found.held_out_kl["none"] == pytest.approx(
        mean_soft_kl(labels, expit(scores), sample_weight=weights), rel=1e-9
    )


def test_too_few_positives_give_an_order_and_no_probability():
    scores, labels, weights, folds = draw(lambda s: expit(2 * s), n=200)
    few = weights * (FEWEST_POSITIVES - 0.01) / (weights @ labels)
    enough = weights * (FEWEST_POSITIVES + 0.01) / (weights @ labels)
    found = fit_score_map(scores, labels, few, folds)
    assert (found.method, found.held_out_kl) == ("rank", {})
    values = found.apply(scores)
    assert np.array_equal(np.argsort(values), np.argsort(scores))
    assert fit_score_map(scores, labels, enough, folds).method != "rank"


def test_scores_that_mean_the_contrary_get_no_falling_map():
    scores, labels, weights, folds = draw(lambda s: expit(-2 * s - 2))
    found = fit_score_map(scores, labels, weights, folds)
    values = found.apply(np.linspace(-9, 9, 50))
    assert (np.diff(values) >= 0).all()
    assert values == pytest.approx(labels.mean(), abs=0.03)


@pytest.mark.parametrize("truth", [lambda s: expit(3 * s), lambda s: np.where(s > 0, 0.7, 0.2), expit])
def test_a_map_survives_its_file(truth):
    found = fit_score_map(*draw(truth, n=300))
    again = from_json(ScoreCalibration, json.loads(json.dumps(to_json(found))), "a map")
    assert to_json(again) == to_json(found)
    grid = np.linspace(-1000, 1000, 501)
    assert np.array_equal(again.apply(grid), found.apply(grid))
    assert ((again.apply(grid) >= 0) & (again.apply(grid) <= 1)).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"method": "guess"}, "not known"),
        ({"slope": np.nan}, "not finite"),
        ({"method": "isotonic", "scores": [0.0, np.inf], "probabilities": [0.1, 0.2]}, "not finite"),
        ({"method": "isotonic", "scores": [0.0, 1.0], "probabilities": [0.1]}, "are not points"),
        ({"method": "isotonic"}, "are not points"),
        ({"method": "isotonic", "scores": [1.0, 0.0], "probabilities": [0.1, 0.2]}, "falls"),
        ({"method": "isotonic", "scores": [0.0, 1.0], "probabilities": [0.2, 0.1]}, "falls"),
        ({"method": "sigmoid", "slope": -1.0}, "falls"),
        ({"method": "isotonic", "scores": [0.0, 1.0], "probabilities": [0.2, 1.5]}, "between 0 and 1"),
    ],
)
def test_a_map_that_makes_no_sense_is_refused(change, told):
    whole = {"method": "none", "slope": 1.0, "intercept": 0.0, "scores": [], "probabilities": []}
    with pytest.raises(ModelFileError, match=told):
        ScoreCalibration(**{**whole, "held_out_kl": {}, **change})


HASHES = st.lists(st.binary(min_size=4, max_size=4).map(lambda b: hashlib.sha256(b).hexdigest()), unique=True)


@given(HASHES, HASHES)
def test_just_the_images_that_were_given_are_known(mine, others):
    seen = TrainingFingerprints.of(mine)
    assert all(one in seen for one in mine)
    assert [one in seen for one in others] == [one in mine for one in others]
    assert None not in seen


@given(HASHES)
def test_the_order_does_not_matter_and_no_hash_is_kept(mine):
    seen = TrainingFingerprints.of(mine)
    assert seen == TrainingFingerprints.of(reversed(mine))
    kept = seen.salt + "".join(seen.fingerprints)
    assert not any(one[:16] in kept for one in mine)


def test_a_fingerprint_is_the_beginning_of_a_salted_hash():
    seen = TrainingFingerprints.of(["a" * 64])
    assert seen.salt == hashlib.sha256(b"a" * 64).hexdigest()
    assert seen.fingerprints == (hashlib.sha256(seen.salt.encode() + b"a" * 64).hexdigest()[:16],)


def test_two_detectors_have_no_fingerprint_in_common():
    both = hashlib.sha256(b"an image").hexdigest()
    first, second = (
        TrainingFingerprints.of([both, hashlib.sha256(other).hexdigest()]) for other in (b"1", b"2")
    )
    assert not set(first.fingerprints) & set(second.fingerprints)


@pytest.mark.parametrize(
    ("salt", "fingerprints"),
    [
        ("x" * 64, []),
        (None, []),
        ("0" * 64, ["0"]),
        ("0" * 64, [7]),
        ("0" * 64, ["1" * 16, "0" * 16]),
        ("0" * 64, ["1" * 16, "1" * 16]),
    ],
)
def test_what_nobody_wrote_is_refused(salt, fingerprints):
    with pytest.raises(ModelFileError, match="seen"):
        TrainingFingerprints(salt, tuple(fingerprints))
