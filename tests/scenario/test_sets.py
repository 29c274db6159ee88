from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from small_scenario import small_design

from overread.apps.scenario._contenders import CONTENDERS
from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import draw_seed, make_test_set, make_training_set, tabulate_skills
from overread.apps.scenario._material import prepare_material
from overread.truth import candidate_hits


@pytest.fixture(scope="module")
def drawn(material, design):
    return draw_seed(material, design, 0)


def test_training_sets_hold_training_images_with_as_many_readings(material, design, drawn):
    split = make_training_set(material, drawn, Condition(40, 2), design)
    assert len(split.images) == 40
    assert set(split.images["image_id"]) <= set(material.training_ids)
    assert (split.readings["image_id"].value_counts() == 2).all()
    assert set(split.truth["n_readings"]) == {2}
    assert split.candidates["image_id"].isin(split.images["image_id"]).all()


def test_with_one_reading_every_mark_is_taken_for_a_lesion(material, design, drawn):
    split = make_training_set(material, drawn, Condition(40, 1), design)
    assert split.truth["golden"].all()
    assert len(split.truth) == len(split.marks)
    assert (split.truth["probability"] == 1).all()


def test_the_test_set_has_complete_truth_beside_the_readers(material, design):
    test = make_test_set(material, design)
    ids = set(test.split.images["image_id"])
    assert ids == set(material.test_ids)
    lesions = material.objects[material.objects["is_lesion"] & material.objects["image_id"].isin(ids)]
    assert test.known.n_gts == len(lesions)
    assert test.golden.n_gts == int(test.split.truth["golden"].sum())
    assert (test.split.readings["image_id"].value_counts() == 4).all()


def test_shares_are_those_of_the_readers(material, design):
    test = make_test_set(material, design)
    on_object = test.bags.bag_table["truth_id"].notna().to_numpy()
    assert (test.shares[~on_object] == 0).all()
    assert set(np.round(test.shares[on_object] * 4, 9)) <= {1.0, 2.0, 3.0, 4.0}


def test_true_sensitivity_rises_with_skill(material, design):
    true = tabulate_skills(material, design)
    assert len(true) == design.readers.pool
    assert true["true_sensitivity"].between(0, 1).all()
    best = true.set_index("reader_id")["true_sensitivity"].idxmax()
    assert best in ("R3", "R4")


def mark_probabilities(material, design, split):
    """Known probability that a reader of the pool marks each lesion, and the share of readers who did."""
    readers = [one.skill - one.threshold for one in readers_of(design)]
    lesions = material.objects[
        material.objects["is_lesion"] & material.objects["image_id"].isin(split.images["image_id"])
    ]
    lesions = lesions.assign(semi_major_mm=5.0, semi_minor_mm=5.0).reset_index(drop=True)
    truth = split.truth.sort_values("n_readers", ascending=False).reset_index(drop=True)
    hits = candidate_hits(lesions, truth, split.rule).drop_duplicates("candidate_row")
    known = ndtr(lesions["level"].to_numpy()[:, None] + np.array(readers)).mean(axis=1)
    found = np.zeros(len(lesions))
    found[hits["candidate_row"]] = (truth["n_readers"] / truth["n_readings"]).to_numpy()[hits["truth_row"]]
    return known, found


def readers_of(design):
    from overread.apps.scenario._material import make_readers

    return make_readers(design, design.readers.pool).readers


def test_with_many_readings_soft_labels_approach_the_known_probability_of_a_mark(tmp_path):
    design = small_design(
        source={"cohort": 100, "test": 10},
        readers={"pool": 40, "false_marks": 0.02, "lookalikes": 0.0},
        grid={"images": [90], "readings": [2, 10, 40]},
    )
    material = prepare_material(design, tmp_path)
    drawn = draw_seed(material, design, 0)
    errors = []
    for readings in design.grid.readings:
        split = make_training_set(material, drawn, Condition(90, readings), design)
        known, found = mark_probabilities(material, design, split)
        errors.append(float(np.sqrt(np.mean((known - found) ** 2))))
    # The error of a share of n readings is sqrt(p (1 - p) / n), at most 0.08 of 40; merging adds a little.
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1
    # The paper's soft label is the share, but for objects of one reader.
    several = split.truth["n_readers"] >= 2
    share = CONTENDERS["share"].label(split)
    np.testing.assert_allclose(split.truth["probability"][several], share[several])


@pytest.mark.parametrize(("level", "meet"), [(3.0, True), (0.0, False)])
def test_majority_and_soft_labels_meet_where_readers_agree_and_nowhere_else(material, design, level, meet):
    # Phi(3) of the readers mark, nearly all, or Phi(0), half of them.
    same = replace(material, objects=material.objects.assign(level=level))
    own = small_design(
        readers={"pool": 20, "false_marks": 0.001, "skill_spread": 0.0, "threshold_spread": 0.0},
        grid={"images": [80], "readings": [20]},
    )
    split = make_training_set(same, draw_seed(same, own, 0), Condition(80, 20), own)
    # Merging leaves objects of a few of the 20 readers beside those that all marked, which the soft label gives
    # little and the majority nothing; an object of a single reader has a label of its own.
    several = (split.truth["n_readers"] >= 2).to_numpy()
    apart = np.abs(split.truth["probability"] - CONTENDERS["majority"].label(split))[several].mean()
    assert apart < 0.06 if meet else apart > 0.3
