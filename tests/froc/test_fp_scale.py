"""Cut at -f, scores on the FP scale are scores cut at the threshold locked for f."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import InvalidInputError
from overread.froc import Matching, operating_points, to_fp_scale

TARGETS = [0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 3.0, 100.0]


def draw_source(seed: int, n_images: int, digits: int) -> Matching:
    """Events with ties: scores are rounded."""
    random = np.random.default_rng(seed)
    n_fp, n_gt = random.integers(1, 4 * n_images), random.integers(1, 2 * n_images)
    return Matching.from_events(
        fp_scores=np.round(random.normal(size=n_fp), digits),
        fp_images=random.integers(0, n_images, n_fp),
        gt_scores=np.round(random.normal(1, 1, n_gt), digits),
        gt_images=random.integers(0, n_images, n_gt),
        n_images=n_images,
    )


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(0, 3))
def test_a_locked_threshold_is_the_same_cut_for_every_model(seed: int, n_images: int, digits: int) -> None:
    source = draw_source(seed, n_images, digits)
    scores = np.round(np.random.default_rng(seed + 1).normal(0.5, 2, 200), digits)
    places = to_fp_scale(source, scores)
    thresholds = operating_points(source, fp_targets=TARGETS)["threshold"]
    for target, threshold in zip(TARGETS, thresholds, strict=True):
        assert np.array_equal(places >= -target, scores >= threshold)


@given(st.integers(0, 10_000))
def test_the_order_of_scores_is_kept_and_equal_ones_stay_equal(seed: int) -> None:
    source = draw_source(seed, 20, 1)
    scores = np.round(np.random.default_rng(seed).normal(0, 3, 300), 1)
    places = to_fp_scale(source, scores)
    order = np.argsort(scores, kind="stable")
    assert np.array_equal(np.sign(np.diff(places[order])), np.sign(np.diff(scores[order])))


def test_by_hand() -> None:
    source = Matching.from_events(
        fp_scores=[3.0, 1.0], fp_images=[0, 1], gt_scores=[4.0, 2.0], gt_images=[0, 1], n_images=2
    )
    # At 4 nothing false is shown, from 3 on half a false positive per image, from 1 on one; below 1 nothing is locked.
    places = to_fp_scale(source, [9.0, 4.0, 3.5, 3.0, 2.0, 1.0, 0.0])
    assert places == pytest.approx([0, 0, -0.5, -0.5, -0.5, -1.0, -1001.0], abs=1e-7)


@pytest.mark.parametrize("scores", [[np.nan], [np.inf], [[1.0]]])
def test_scores_that_are_none(scores: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="finite"):
        to_fp_scale(draw_source(0, 5, 1), scores)


def test_no_scores() -> None:
    assert len(to_fp_scale(draw_source(0, 5, 1), [])) == 0
