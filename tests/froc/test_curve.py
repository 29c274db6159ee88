import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import InvalidInputError
from overread.froc import (
    FP_TARGETS,
    MEASURES,
    Matching,
    froc_curve,
    operating_points,
    performance_at,
    sensitivity_at,
)


def events(fps, gts, n_images=2):
    """FPs and GTs as (score, image) pairs."""
    return Matching.from_events(
        n_images=n_images,
        fp_scores=[s for s, _ in fps],
        fp_images=[i for _, i in fps],
        gt_scores=[s for s, _ in gts],
        gt_images=[i for _, i in gts],
    )


def test_by_hand_both_denominators():
    m = events(fps=[(0.8, 0), (0.3, 1)], gts=[(0.9, 0), (0.5, 0), (-np.inf, 1), (0.1, 2)], n_images=4)
    frame = froc_curve(m).to_frame()
    assert frame["threshold"].tolist() == [np.inf, 0.9, 0.8, 0.5, 0.3, 0.1]
    assert frame["fp_per_image"].tolist() == [0, 0, 0.25, 0.25, 0.5, 0.5]
    assert frame["gt_sensitivity"].tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75]
    assert frame["image_sensitivity"].tolist() == [0, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 2 / 3]
    assert frame["gt_sensitivity_reached"].tolist() == [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1]
    assert frame["image_sensitivity_reached"].tolist() == [0, 0.5, 0.5, 0.5, 0.5, 1]


def test_ties_are_one_step_and_linear_follows_the_line():
    # Score 5: one GT; score 3: two FPs and two GTs; score 1: one GT.
    m = events(fps=[(3, 0), (3, 1)], gts=[(5, 0), (3, 0), (3, 1), (1, 1)])
    curve = froc_curve(m)
    assert curve.fp_per_image.tolist() == [0, 0, 1, 1]
    assert curve.gt_sensitivity.tolist() == [0, 0.25, 0.75, 1]
    assert sensitivity_at(curve, [0.5])["gt_sensitivity"].tolist() == [0.25]
    linear = sensitivity_at(curve, [0, 0.5, 1, 2], interpolation="linear")
    assert linear["gt_sensitivity"].tolist() == [0.25, 0.5, 1, 1]
    assert linear["fp_per_image"].tolist() == [0, 0.5, 1, 1]


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=st.integers(0, 10**6), n_scores=st.sampled_from([3, 10, 10**6]))
def test_linear_is_numpys_interpolation_off_the_vertical_pieces(make_matching, seed, n_scores):
    curve = froc_curve(make_matching(seed, n_patients=6, n_scores=n_scores))
    targets = np.setdiff1d(np.linspace(0.01, curve.fp_per_image[-1], 23), curve.fp_per_image)
    if len(targets):
        got = sensitivity_at(curve, targets, interpolation="linear")["gt_sensitivity"]
        np.testing.assert_allclose(got, np.interp(targets, curve.fp_per_image, curve.gt_sensitivity))


@settings(deadline=None, max_examples=30, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_only_the_order_of_scores_matters(make_matching, seed):
    m = make_matching(seed, n_scores=20)
    logits = Matching.from_events(
        n_images=m.n_images,
        fp_scores=np.log((m.fp_scores + 1) / 100),
        fp_images=m.fp_images,
        gt_scores=np.log((m.gt_scores + 1) / 100, where=m.gt_reached, out=np.full(m.n_gts, -np.inf)),
        gt_images=m.gt_images,
    )
    columns = ["fp_target", "fp_per_image", *MEASURES]
    assert sensitivity_at(froc_curve(m))[columns].equals(sensitivity_at(froc_curve(logits))[columns])


def test_no_targets_has_undefined_sensitivity():
    points = sensitivity_at(froc_curve(events(fps=[(0.9, 0)], gts=[])))
    assert points[list(MEASURES)].isna().all(axis=None)
    assert points["fp_per_image"].tolist() == [0.5] * len(FP_TARGETS)


@pytest.mark.parametrize("targets", [[], [-1], [np.nan], [np.inf], [[1.0]]])
def test_targets_that_are_none(targets):
    with pytest.raises(InvalidInputError, match="fp_targets"):
        sensitivity_at(froc_curve(events([], [])), targets)


def test_other_refusals():
    with pytest.raises(InvalidInputError, match="interpolation"):
        sensitivity_at(froc_curve(events([], [])), interpolation="cubic")
    with pytest.raises(InvalidInputError, match="NaN"):
        performance_at(events([], []), [np.nan])


def test_by_hand():
    source = Matching.from_events(
        n_images=2, fp_scores=[9, 7, 5, 3], fp_images=[0, 0, 1, 1], gt_scores=[8, 4], gt_images=[0, 1]
    )
    test = Matching.from_events(
        n_images=4,
        fp_scores=[10, 8, 7.5, 1],
        fp_images=[0, 1, 2, 3],
        gt_scores=[7, 8, -np.inf],
        gt_images=[0, 1, 1],
    )
    points = operating_points(source, test, fp_targets=[0, 0.5, 1, 1.6, 2])
    carried = points[points["set"] == "carried"]
    # With no FP allowed nothing is shown; 8 is the lowest score with one FP (9) above, 4 with three.
    assert carried["threshold"].tolist() == [np.inf, 8, 7, 4, 3]
    assert carried["fp_per_image"].tolist() == [0, 0.5, 0.75, 0.75, 0.75]
    assert carried["gt_sensitivity"].tolist() == [0, 1 / 3, 2 / 3, 2 / 3, 2 / 3]
    assert carried["image_sensitivity"].tolist() == [0, 0.5, 1, 1, 1]
    assert points[points["set"] == "source"]["fp_per_image"].tolist() == [0, 0.5, 1, 1.5, 2]
