from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import (
    assign_readers,
    draw_marks,
    order_images,
    order_real_readings,
    select_readings,
)
from overread.errors import InvalidInputError
from overread.simulate import ReaderModel, reader_panel

IDS = [f"i{number:03d}" for number in range(30)]


def draw(n_images, n_slots, pool=6, seed=3, **model):
    places = pd.DataFrame({"image_id": IDS, "x_mm": 100.0, "y_mm": 150.0})
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


def test_another_seed_is_another_set():
    assert not draw(30, 2, seed=1).marks.equals(draw(30, 2, seed=2).marks)
    assert order_images(IDS, 1) != order_images(IDS, 2)


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
    with pytest.raises(InvalidInputError, match="marked nothing at all"):
        draw_marks(
            IDS[:2], np.zeros((2, 1), int), objects, objects, ReaderModel(reader_panel(1), false_marks=0.0), 0
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
