import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError, TableError
from overread.froc import (
    Matching,
    bootstrap,
    chance_level,
    lesion_sizes,
    match_detections,
    operating_points,
    performance_by,
    sensitivity_by,
)


def events():
    """Large lesions found at 8 and 6, small ones at 4 and never; FPs at 5 and 3; two images."""
    strata = pd.DataFrame({"size": [20.0, 15.0, 5.0, 6.0], "n_readers": [3, 2, 2, None]})
    return Matching.from_events(
        n_images=4,
        fp_scores=[5, 3],
        fp_images=[0, 1],
        gt_scores=[8, 6, 4, -np.inf],
        gt_images=[0, 1, 2, 3],
        strata=strata,
    )


def test_by_hand():
    table = sensitivity_by(events(), "size", fp_target=0.25, bins=[0, 10, 30], n_bootstrap=50)
    assert table["stratum"].tolist() == ["[0, 10)", "[10, 30)"]
    assert table["n_gts"].tolist() == [2, 2]
    assert table["n_reached"].tolist() == [1, 2]
    assert table["gt_sensitivity"].tolist() == [0.5, 1]
    assert table["gt_sensitivity_reached"].tolist() == [1, 1]
    locked = sensitivity_by(events(), "size", threshold=6, bins=[0, 10, 30], n_bootstrap=50)
    assert locked["gt_sensitivity"].tolist() == [0, 1]
    assert (locked["gt_sensitivity_lower"] <= locked["gt_sensitivity"]).all()
    assert (locked["gt_sensitivity_upper"] >= locked["gt_sensitivity"]).all()


def test_columns_values_and_missing_ones():
    table = sensitivity_by(events(), "n_readers", fp_target=1, n_bootstrap=20)
    assert table["stratum"].tolist() == [2.0, 3.0, "missing"]
    assert table["gt_sensitivity"].tolist() == [1, 1, 0]
    words = sensitivity_by(events(), ["rib", "apex", "apex", "rib"], fp_target=0, n_bootstrap=20)
    assert words["stratum"].tolist() == ["apex", "rib"]
    assert words["gt_sensitivity"].tolist() == [0.5, 0.5]


def test_strata_add_up_to_the_whole(make_tables):
    m = match_detections(*make_tables(4, 6, 60, 20, 1000))
    table = sensitivity_by(m, "n_readers", fp_target=1.0, n_bootstrap=20)
    whole = sensitivity_by(m, np.zeros(m.n_gts), fp_target=1.0, n_bootstrap=20)
    found = (table["gt_sensitivity"] * table["n_gts"]).sum()
    assert found == pytest.approx(whole["gt_sensitivity"][0] * m.n_gts)
    np.testing.assert_allclose(
        lesion_sizes(m), 2 * np.sqrt(m.strata["semi_major_mm"] * m.strata["semi_minor_mm"])
    )


def test_refusals():
    with pytest.raises(InvalidInputError, match="either"):
        sensitivity_by(events(), "size")
    with pytest.raises(InvalidInputError, match="either"):
        sensitivity_by(events(), "size", fp_target=1, threshold=1)
    with pytest.raises(TableError, match="no column 'depth'"):
        sensitivity_by(events(), "depth", fp_target=1)
    with pytest.raises(InvalidInputError, match="2 values for 4"):
        sensitivity_by(events(), [1, 2], fp_target=1)
    with pytest.raises(InvalidInputError, match="outside"):
        sensitivity_by(events(), "size", fp_target=1, bins=[0, 10])
    with pytest.raises(TableError, match="semi_major_mm"):
        lesion_sizes(events())


def grouped():
    """Six images of four patients, the first patient in both groups; FPs and GTs at known scores."""
    return Matching.from_events(
        n_images=6,
        patients=["p", "p", "q", "r", "r", "s"],
        fp_scores=[5, 3, 4, 1, 6],
        fp_images=[0, 0, 1, 3, 5],
        gt_scores=[8, 6, 2, -np.inf, 7],
        gt_images=[0, 2, 3, 4, 5],
    )


def test_groups_by_hand():
    groups = ["m", "f", "m", "f", "f", "m"]
    table = performance_by(grouped(), groups, threshold=4.0, n_bootstrap=200, seed=1)
    assert table["stratum"].tolist() == ["f", "m"]
    assert table["n_images"].tolist() == [3, 3]
    assert table["n_patients"].tolist() == [2, 3]
    assert table["n_gts"].tolist() == [2, 3]
    assert table["gt_sensitivity"].tolist() == [0.0, 1.0]
    assert table["fp_per_image"].tolist() == pytest.approx([1 / 3, 2 / 3])
    for measure in ("gt_sensitivity", "fp_per_image"):
        assert (table[f"{measure}_lower"] <= table[measure]).all()
        assert (table[f"{measure}_upper"] >= table[measure]).all()


def test_one_group_is_the_whole():
    whole = grouped()
    table = performance_by(whole, ["x"] * 6, threshold=3.0, n_bootstrap=100, seed=2).iloc[0]
    found = bootstrap(whole, thresholds=[3.0], n_bootstrap=100, seed=2).intervals().set_index("measure")
    for measure in ("gt_sensitivity", "fp_per_image"):
        wanted = found.loc[measure, ["estimate", "lower", "upper"]].tolist()
        assert table[[measure, f"{measure}_lower", f"{measure}_upper"]].tolist() == wanted


def test_a_group_without_targets_has_no_sensitivity_and_groups_fit_the_images():
    table = performance_by(grouped(), ["a", "b", "a", "a", "a", "a"], threshold=4.0, n_bootstrap=20)
    alone = table[table["stratum"] == "b"].iloc[0]
    assert np.isnan(alone["gt_sensitivity"])
    assert alone["fp_per_image"] == 1.0
    with pytest.raises(InvalidInputError, match="2 values for 6 images"):
        performance_by(grouped(), ["a", "b"], threshold=4.0)


def test_exact_level_against_the_definition(definition, make_tables):
    """Mean over every other image j of "some candidate of j would hit the GT", and at the thresholds."""
    candidates, truth, images = make_tables(5, 6, 40, 10, 1000)
    result = chance_level(candidates, truth, images, n_shifts=None)
    points = operating_points(match_detections(candidates, truth, images))
    assert result.exact
    assert result.n_shifts == 5
    golden = [g for g in truth.itertuples() if g.golden]
    for threshold, expected in [
        (-np.inf, result.chance_reached),
        *zip(points["threshold"], result.points["chance_gt_sensitivity"], strict=True),
    ]:
        total = 0
        for gt in golden:
            for other in set(images["image_id"]) - {gt.image_id}:
                moved = candidates[candidates["image_id"] == other].assign(image_id=gt.image_id)
                total += any(c.score >= threshold and definition.is_hit(c, gt) for c in moved.itertuples())
        assert expected == pytest.approx(total / len(golden) / 5)


def test_fewer_shifts_estimate_the_exact_level(make_tables):
    tables = make_tables(6, 40, 300, 40, 1000)
    exact = chance_level(*tables, n_shifts=None).chance_reached
    estimates = [chance_level(*tables, n_shifts=4, seed=seed).chance_reached for seed in range(20)]
    assert np.mean(estimates) == pytest.approx(exact, abs=0.02)
    assert chance_level(*tables, n_shifts=4, seed=1).points.equals(
        chance_level(*tables, n_shifts=4, seed=1).points
    )


def test_knowing_candidates_beat_chance():
    ids = [f"i{k}" for k in range(30)]
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 300, 30)
    truth = pd.DataFrame({"image_id": ids, "x_mm": x, "y_mm": 0.0})
    truth = truth.assign(semi_major_mm=5.0, semi_minor_mm=5.0, angle_deg=0.0)
    candidates = pd.DataFrame({"image_id": ids, "x_mm": x, "y_mm": 0.0, "score": 1.0})
    result = chance_level(candidates, truth, pd.DataFrame({"image_id": ids}), n_shifts=None)
    assert result.reached == 1
    assert result.chance_reached < 0.1
    wide = chance_level(
        candidates.assign(x_mm=50.0), truth.assign(x_mm=50.0), pd.DataFrame({"image_id": ids}), n_shifts=3
    )
    assert (wide.reached, wide.chance_reached) == (1, 1)


def test_one_image_has_no_other(make_tables):
    with pytest.raises(InvalidInputError, match="two images"):
        chance_level(*make_tables(1, 1, 5, 2, 10))
    for wrong in (0, -1):
        with pytest.raises(InvalidInputError, match="n_shifts"):
            chance_level(*make_tables(1, 3, 5, 2, 10), n_shifts=wrong)


def test_no_targets(make_tables):
    candidates, truth, images = make_tables(1, 4, 5, 0, 10)
    assert np.isnan(chance_level(candidates, truth, images).chance_reached)
