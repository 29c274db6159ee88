import numpy as np

from overread.froc import MEASURES, Matching, froc_curve, operating_points, performance_at


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


def test_carried_to_itself_is_the_source(make_matching):
    m = make_matching(1, n_scores=20)
    points = operating_points(m, m)
    columns = ["fp_target", "threshold", "fp_per_image", *MEASURES]
    source, carried = (points[points["set"] == name][columns] for name in ("source", "carried"))
    assert source.reset_index(drop=True).equals(carried.reset_index(drop=True))
    assert set(operating_points(m)["set"]) == {"source"}


def test_threshold_is_the_lowest_one(make_matching):
    m = make_matching(2)
    points = operating_points(m)
    thresholds = froc_curve(m).thresholds
    for row in points.itertuples():
        next_lower = thresholds[np.searchsorted(-thresholds, -row.threshold) + 1]
        assert row.fp_per_image <= row.fp_target < performance_at(m, [next_lower])["fp_per_image"].iloc[0]
