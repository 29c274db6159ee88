from __future__ import annotations

import numpy as np
import pytest
from small_scenario import small_design
from test_results import make_point

from overread.apps.scenario._design import Condition
from overread.apps.scenario._results import compare_per_reader, group_points

DESIGN = small_design(
    source={"cohort": 280},
    readers={"images_per_reader": [0, 20, 10]},
    grid={"images": [100, 200], "readings": [2]},
)
CONDITIONS = DESIGN.conditions


def make_points(rule, missing=()):
    """Points of a planted law: rule(model, images of a reader) is the sensitivity."""
    return [
        make_point(
            model,
            at.images,
            2,
            seed,
            rule(model, at.images_per_reader),
            images_per_reader=at.images_per_reader,
        )
        for seed in range(4)
        for model in ("soft", "golden", "dawid_skene")
        for at in CONDITIONS
        if (model, at) not in missing
    ]


def fall(model, own):
    """Dawid and Skene's model loses where readers read 10 images, and nowhere else."""
    return 0.4 if (model, own) == ("dawid_skene", 10) else 0.5


def test_a_planted_loss_of_few_images_is_found_where_it_is():
    table = compare_per_reader(group_points(make_points(fall)), "known", CONDITIONS)
    own = table[table["model"] == "dawid_skene"].set_index("images_per_reader")
    assert own.index.tolist() == [0, 20, 10]
    assert own["estimate"].to_numpy() == pytest.approx([0, 0, -0.1], abs=0.02)
    assert own["change"].to_numpy()[1:] == pytest.approx([0, -0.1], abs=0.02)
    assert (own["p_holm"] < 0.05).tolist() == [False, False, True]
    assert (own["change_holm"] < 0.05).tolist() == [False, False, True]
    assert np.isnan(own.loc[0, "change"])


def test_a_rule_that_does_not_ask_who_marked_has_one_row():
    table = compare_per_reader(group_points(make_points(fall)), "known", CONDITIONS)
    assert table.loc[table["model"] == "golden", "images_per_reader"].tolist() == [0]
    assert "soft" not in set(table["model"])


def test_training_sets_that_a_model_cannot_be_fitted_to_are_counted():
    points = make_points(fall, missing={("dawid_skene", Condition(100, 2, 10))})
    table = compare_per_reader(group_points(points), "known", CONDITIONS)
    row = table[(table["model"] == "dawid_skene") & (table["images_per_reader"] == 10)].iloc[0]
    assert (row["n_sets"], row["n_wanted"]) == (1, 2)
    none = make_points(fall, missing={("dawid_skene", at) for at in CONDITIONS if at.images_per_reader == 10})
    table = compare_per_reader(group_points(none), "known", CONDITIONS)
    row = table[(table["model"] == "dawid_skene") & (table["images_per_reader"] == 10)].iloc[0]
    assert row["n_sets"] == 0
    assert np.isnan(row["estimate"])
    gone = make_points(fall, missing={("dawid_skene", at) for at in CONDITIONS})
    assert set(compare_per_reader(group_points(gone), "known", CONDITIONS)["model"]) == {"golden"}


def test_images_of_a_reader_are_those_that_he_read():
    table = compare_per_reader(group_points(make_points(fall)), "known", CONDITIONS)
    # 100 and 200 images read twice by the 4 readers of the stand-in.
    assert table["images_of_a_reader"].to_numpy() == pytest.approx((50 + 100) / 2)


def test_without_soft_labels_there_is_nothing_to_compare_with():
    points = [make_point("golden", 100, 2, seed, 0.5) for seed in range(2)]
    assert compare_per_reader(group_points(points), "known", [Condition(100, 2)]).empty
