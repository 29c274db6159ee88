"""The time a run will take: a sum over stages that what is measured mends."""

from __future__ import annotations

import pytest

from overread.features import CATALOGUE
from overread.study._forecast import (
    OTHER_MODEL,
    PER_IMAGE,
    PER_THOUSAND_CANDIDATES,
    RESULTS_PER_THOUSAND,
    RESULTS_SECONDS,
    SMALL_STAGE,
    Forecast,
)

STAGES = ["truth", "images", "fold_1_b2", "fold_2_b2", "fold_1_own_model", "b2", "results"]


def forecast(**changes: int) -> Forecast:
    sizes = {"n_images": 100, "n_candidates": 2000, "workers": 2, "n_folds": 5} | changes
    return Forecast(STAGES, ["b2", "own_model"], **sizes)


def test_the_guess_is_the_sum_of_its_rates():
    b2, results = 2 * PER_THOUSAND_CANDIDATES["b2"], RESULTS_SECONDS + 2 * RESULTS_PER_THOUSAND
    assert forecast().left("results") == pytest.approx(results)
    assert forecast().left("fold_1_own_model") == pytest.approx(2 * OTHER_MODEL + b2 + results)
    images = PER_IMAGE * 100 / 2
    assert forecast().left("truth") == pytest.approx(
        SMALL_STAGE + images + 3 * b2 + 2 * OTHER_MODEL + results
    )


def test_more_workers_and_fewer_images_take_less():
    assert forecast(workers=8).left("truth") < forecast().left("truth")
    assert forecast(n_images=0).left("images") == pytest.approx(forecast().left("fold_1_b2"))


def test_a_fold_tells_of_the_others_of_its_model():
    known = forecast()
    after = known.left("fold_1_own_model") - 2 * PER_THOUSAND_CANDIDATES["b2"]
    known.learn("fold_1_b2", 50.0)
    known.learn("truth", 99.0)  # the only one of its kind
    assert known.left("fold_2_b2") == pytest.approx(after + 50.0 + 50.0)


def test_outer_folds_are_counted_and_follow_what_a_fold_of_the_model_took():
    """Each does the 5 inner folds and a fit; the stage that joins them is small."""
    stages = ["fold_1_b2", "outer_1_b2", "outer_2_b2", "nested_b2"]
    sizes = {"n_images": 0, "n_candidates": 2000, "workers": 1, "n_folds": 5}
    known = Forecast(stages, ["b2"], **sizes)
    fold = 2 * PER_THOUSAND_CANDIDATES["b2"]
    assert known.left("outer_1_b2") == pytest.approx(2 * 6 * fold + SMALL_STAGE)
    known.learn("fold_1_b2", 10.0)
    assert known.left("outer_1_b2") == pytest.approx(2 * 6 * 10.0 + SMALL_STAGE)
    known.learn("outer_1_b2", 33.0)
    assert known.left("outer_2_b2") == pytest.approx(33.0 + SMALL_STAGE)


def test_a_sample_of_the_images_mends_images_and_what_follows_from_candidates():
    known = forecast()
    known.learn_images(1000.0, 4000)
    fits, more_fits = (one.left("fold_1_b2") - one.left("results") for one in (forecast(), known))
    assert more_fits == pytest.approx(2 * fits)
    assert known.left("results") == pytest.approx(RESULTS_SECONDS + 4 * RESULTS_PER_THOUSAND)
    assert known.left("images") == pytest.approx(1000.0 + known.left("fold_1_b2"))


def test_fits_take_as_long_as_there_are_features():
    few = forecast(n_features=50)
    fits, few_fits = (one.left("fold_1_b2") - one.left("results") for one in (forecast(), few))
    assert few_fits == pytest.approx(fits * 50 / len(CATALOGUE))
