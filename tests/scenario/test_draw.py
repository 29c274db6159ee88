from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from small_scenario import small_design

from overread.apps.scenario._contenders import CONTENDERS
from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import (
    assign_readers,
    draw_marks,
    draw_seed,
    make_test_set,
    make_training_set,
    order_images,
    order_real_readings,
    select_readings,
    tabulate_skills,
)
from overread.apps.scenario._material import prepare_material
from overread.errors import InvalidInputError
from overread.simulate import ReaderModel, reader_panel
from overread.truth import candidate_hits

IDS = [f"i{number:03d}" for number in range(30)]


def draw(n_images, n_slots, pool=6, seed=3, **model):
    places = pd.DataFrame({"image_id": IDS, "x": 100.0, "y": 150.0})
    objects = pd.DataFrame(
        {"image_id": IDS, "object_id": "N1", "x_mm": 50.0, "y_mm": 60.0, "diameter_mm": 10.0, "level": 0.3}
    )
    readers = ReaderModel(reader_panel(pool), **{"false_marks": 0.5, "image_variance": 0.2, **model})
    chosen = order_images(IDS, seed)[:n_images]
    return draw_marks(chosen, assign_readers(n_images, n_slots, pool, seed), objects, places, readers, seed)


@settings(max_examples=40)
@given(st.integers(1, 60), st.integers(1, 9), st.data())
def test_readings_are_balanced_whatever_the_number_of_images_and_slots(n_images, pool, data):
    n_slots = data.draw(st.integers(1, pool))
    readers = assign_readers(n_images, n_slots, pool, 5)
    assert readers.shape == (n_images, n_slots)
    assert all(len(set(row)) == n_slots for row in readers)
    for slot in range(n_slots):
        counts = np.bincount(readers[:, slot], minlength=pool)
        assert np.ptp(counts) <= 1
    # Fewer images and slots of the same seed are a part.
    np.testing.assert_array_equal(assign_readers(1, 1, pool, 5), readers[:1, :1])


def test_more_slots_than_readers_are_refused():
    with pytest.raises(InvalidInputError, match="the pool has 2"):
        assign_readers(5, 3, 2, 0)


@pytest.mark.parametrize(("images", "readings"), [(10, 2), (30, 1), (7, 4)])
def test_a_smaller_set_is_a_part_of_a_larger_one(images, readings):
    whole = draw(30, 4)
    smaller = select_readings(draw(images, readings), Condition(images, readings), pool=6, most_readings=4)
    chosen = select_readings(whole, Condition(images, readings), pool=6, most_readings=4)
    pd.testing.assert_frame_equal(chosen.readings, smaller.readings)
    pd.testing.assert_frame_equal(chosen.marks, smaller.marks)
    assert len(chosen.readings) == images * readings
    keys = ["image_id", "reader_id", "mark_id"]
    assert set(map(tuple, chosen.marks[keys].to_numpy())) <= set(map(tuple, whole.marks[keys].to_numpy()))


def test_a_limit_of_images_changes_names_of_readers_and_nothing_else():
    whole = draw(30, 3)
    all_read = select_readings(whole, Condition(30, 3), pool=6, most_readings=3)
    limited = select_readings(whole, Condition(30, 3, 4), pool=6, most_readings=3)
    # 4 images a reader, 6 readers, 3 readings an image: a pool has had its share after 8 images.
    assert limited.readings["reader_id"].nunique() == 4 * 6
    assert limited.readings["reader_id"].value_counts().max() <= 5
    names = limited.readings["reader_id"].str.split(".").str[0]
    assert names.tolist() == all_read.readings["reader_id"].tolist()
    columns = [name for name in all_read.marks if name != "reader_id"]
    pd.testing.assert_frame_equal(limited.marks[columns], all_read.marks[columns])


def test_readers_mark_as_often_as_their_level_says():
    marks = [draw(30, 6, seed=seed, false_marks=0.0).marks for seed in range(12)]
    found = sum(one.groupby(["image_id", "reader_id"]).ngroups for one in marks) / (12 * 30 * 6)
    expected = np.mean([ndtr(0.3 + one.skill - one.threshold) for one in reader_panel(6)])
    assert abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / (12 * 30 * 6))


def test_readers_who_mark_nothing_are_told_of():
    objects = pd.DataFrame(columns=["image_id", "object_id", "x_mm", "y_mm", "diameter_mm", "level"])
    places = pd.DataFrame(columns=["image_id", "x", "y"])
    with pytest.raises(InvalidInputError, match="the readers marked nothing"):
        draw_marks(
            IDS[:2], np.zeros((2, 1), int), objects, places, ReaderModel(reader_panel(1), false_marks=0.0), 0
        )


def test_whole_readers_are_left_out_one_after_the_other():
    # Reader c has not read the last images.
    pairs = [(i, r) for n, i in enumerate(IDS[:8]) for r in "abc" if r != "c" or n < 4]
    readings = pd.DataFrame(pairs, columns=["image_id", "reader_id"])
    marks = readings.assign(mark_id=[f"m{n}" for n in range(len(readings))], x_mm=1.0)
    for seed in range(6):
        drawn = order_real_readings(IDS[:8], readings, marks, seed, leave_out="readers")
        kept = [select_readings(drawn, Condition(8, k), pool=3, most_readings=3).readings for k in (1, 2, 3)]
        names = [set(one["reader_id"]) for one in kept]
        assert [len(one) for one in names] == [1, 2, 3]
        assert names[0] < names[1]
        for own, one in zip(names, kept, strict=True):
            # All that a kept reader read stays, and nothing of the others.
            assert len(one) == readings["reader_id"].isin(own).sum()
        fewer = order_real_readings(IDS[:2], readings, marks, seed, leave_out="readers")
        first = select_readings(fewer, Condition(2, 1), pool=3, most_readings=3)
        assert set(first.readings["reader_id"]) == names[0]


def test_real_readings_are_left_out_in_a_drawn_order():
    readings = pd.DataFrame([(i, r) for i in IDS[:8] for r in "abc"], columns=["image_id", "reader_id"])
    marks = readings.assign(mark_id=[f"m{n}" for n in range(len(readings))], x_mm=1.0)
    drawn = order_real_readings(IDS[:5], readings, marks, 0)
    assert drawn.readings["image_id"].unique().tolist() == IDS[:5]
    assert drawn.readings.groupby("image_id")["slot"].apply(list).tolist() == [[0, 1, 2]] * 5
    one = select_readings(drawn, Condition(5, 1), pool=3, most_readings=3)
    two = select_readings(drawn, Condition(5, 2), pool=3, most_readings=3)
    assert set(one.marks["mark_id"]) < set(two.marks["mark_id"]) < set(drawn.marks["mark_id"])
    assert one.readings["reader_id"].nunique() > 1


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
    lesions = lesions.reset_index(drop=True)
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
