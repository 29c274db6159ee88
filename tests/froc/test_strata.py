import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError, TableError
from overread.froc import Matching, lesion_sizes_mm, match, only_targets, sensitivity_by


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
    m = match(*make_tables(4, 6, 60, 20, 1000))
    table = sensitivity_by(m, "n_readers", fp_target=1.0, n_bootstrap=20)
    whole = sensitivity_by(m, np.zeros(m.n_gts), fp_target=1.0, n_bootstrap=20)
    found = (table["gt_sensitivity"] * table["n_gts"]).sum()
    assert found == pytest.approx(whole["gt_sensitivity"][0] * m.n_gts)
    np.testing.assert_allclose(
        lesion_sizes_mm(m), 2 * np.sqrt(m.strata["semi_major_mm"] * m.strata["semi_minor_mm"])
    )


def test_only_targets_keeps_the_false_positives():
    part = only_targets(events(), np.array([True, False, False, True]))
    assert part.gt_scores.tolist() == [8, -np.inf]
    assert part.strata["size"].tolist() == [20, 6]
    assert part.fp_scores.tolist() == [5, 3]


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
        lesion_sizes_mm(events())
