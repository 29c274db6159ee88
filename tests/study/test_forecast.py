"""The time a run will take: a sum over stages that what is measured mends."""

from __future__ import annotations

import pytest

from overread.study.forecast import OTHER_MODEL, PER_IMAGE, PER_THOUSAND_CANDIDATES, SMALL_STAGE, Forecast

STAGES = ["truth", "images", "fold_1_b2", "fold_2_b2", "fold_1_own_model", "b2", "results"]


def forecast(**changes: int) -> Forecast:
    sizes = {"n_images": 100, "n_candidates": 2000, "workers": 2} | changes
    return Forecast(STAGES, ["b2", "own_model"], **sizes)


def test_the_guess_is_the_sum_of_its_rates():
    b2, results = 2 * PER_THOUSAND_CANDIDATES["b2"], 2 * PER_THOUSAND_CANDIDATES["results"]
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
    known.learn("truth", 99.0)  # of no kind
    assert known.left("fold_2_b2") == pytest.approx(after + 50.0 + 50.0)
