"""Bags of each reader: the images read, the marks hit, and readers who marked nothing or everything."""

import numpy as np
import pytest

from overread.bags import reader_bags
from overread.errors import TableError
from overread.simulate import candidate_cohort
from overread.truth import HIT, candidate_hits


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(60, n_readers=4, n_features=5, n_informative=2, seed=1)


def bags_of(cohort, *, marks=None, candidates=None):
    marks = cohort.marks if marks is None else marks
    candidates = cohort.candidates if candidates is None else candidates
    return reader_bags(candidates, cohort.features, marks, cohort.readings, images=cohort.images)


@pytest.mark.parametrize("reader", ["R1", "R2", "R3", "R4"])
def test_they_hold_the_images_read_and_the_marks_hit(cohort, reader):
    bags = bags_of(cohort)[reader]
    read = cohort.readings.loc[cohort.readings["reader_id"] == reader, "image_id"]
    assert set(bags.bag_table["image_id"]) <= set(read)
    own = cohort.marks[cohort.marks["reader_id"] == reader]
    near = cohort.candidates.iloc[candidate_hits(cohort.candidates, own, HIT)["candidate_row"].unique()]
    positive = bags.labels[bags.bag_of_instance] == 1
    assert {key[1] for key in bags.instance_ids[positive]} == set(near["candidate_id"])
    assert set(bags.groups) <= set(cohort.images["patient_id"])


def test_it_is_a_mapping_of_readers_in_order(cohort):
    readers = bags_of(cohort)
    assert list(readers) == ["R1", "R2", "R3", "R4"]
    assert len(readers) == 4
    assert readers.without_candidates == ()
    with pytest.raises(KeyError):
        readers["R9"]


def test_a_reader_who_marked_nothing_has_negative_bags_only(cohort):
    silent = cohort.marks[cohort.marks["reader_id"] != "R2"]
    bags = bags_of(cohort, marks=silent)["R2"]
    assert len(bags)
    np.testing.assert_array_equal(bags.labels, 0)


def test_a_reader_whose_images_have_no_candidate_is_named():
    cohort = candidate_cohort(60, n_features=2, n_informative=1, seed=1)
    read = set(cohort.readings.loc[cohort.readings["reader_id"] == "R1", "image_id"])
    left = cohort.candidates[~cohort.candidates["image_id"].isin(read)]
    readers = bags_of(cohort, candidates=left)
    assert readers.without_candidates == ("R1",)
    assert "R1" not in list(readers)
    with pytest.raises(KeyError):
        readers["R1"]


def test_a_mark_without_a_reading_is_refused(cohort):
    marks = cohort.marks.copy()
    marks.loc[0, "reader_id"] = "R9"
    with pytest.raises(TableError, match="R9"):
        bags_of(cohort, marks=marks)


def test_bags_of_some_images_are_those_of_their_tables(cohort):
    chosen = set(cohort.images["image_id"][::2])

    def inside(table):
        return table[table["image_id"].isin(chosen)]

    parts = (cohort.candidates, cohort.features, cohort.marks, cohort.readings)
    expected = reader_bags(*map(inside, parts), images=cohort.images)
    found = bags_of(cohort).of_images(chosen)
    assert list(found) == list(expected)
    for reader, bags in found.items():
        assert bags == expected[reader]
        np.testing.assert_array_equal(bags.source_rows, expected[reader].source_rows)


def test_features_of_strangers_are_refused(cohort):
    with pytest.raises(TableError, match="drop the others"):
        reader_bags(cohort.candidates[1:], cohort.features, cohort.marks[:0], cohort.readings)


def test_rows_that_are_known_are_not_looked_up(cohort):
    class Matrix:
        """Features without keys."""

        def find_rows(self, image_ids, candidate_ids):
            raise AssertionError

        def take(self, rows):
            return np.asarray(rows, dtype=float)[:, None]

    rows = np.arange(len(cohort.candidates))
    made = reader_bags(
        cohort.candidates, Matrix(), cohort.marks, cohort.readings, feature_rows=rows, with_ids=False
    )
    expected = bags_of(cohort)["R2"]
    found = made.of_images(cohort.images["image_id"])["R2"]
    keys = cohort.candidates[["image_id", "candidate_id"]].apply(tuple, axis=1)
    assert keys.iloc[found.instances[:, 0].astype(int)].tolist() == expected.instance_ids.tolist()
    assert found.instance_ids is None
