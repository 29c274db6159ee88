"""Votes: forms that are taken, what is refused, and votes made of marks."""

import numpy as np
import pandas as pd
import pytest
from tests.golden.crowd_problems import make_crowd

from overread.bags import make_bags
from overread.errors import InvalidInputError, TableError
from overread.models import DawidSkene, votes_from_marks, votes_on_bags
from overread.models.crowd._votes import read_votes
from overread.simulate import candidate_cohort
from overread.truth import merge_marks


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(40, n_features=4, n_informative=2)


@pytest.fixture(scope="module")
def truth(cohort):
    return merge_marks(cohort.marks, cohort.readings)


def test_a_long_table_is_the_same_as_a_matrix():
    votes = make_crowd(n_bags=30).votes
    wide = pd.DataFrame(votes).rename_axis(index="bag_id", columns="reader_id")
    long = wide.stack().rename("label").reset_index()
    np.testing.assert_array_equal(read_votes(long).matrix, votes)


@pytest.mark.parametrize(
    ("votes", "match"),
    [
        ([[0, 2]], "says 2"),
        ([[0.5, 1]], r"says 0\.5"),
        ([["a", "b"]], "0, 1 or NaN"),
        ([[np.nan, np.nan], [0, 1]], "bag 0 has none"),
        ([[np.nan, 1], [np.nan, 0]], "reader 0 has none"),
        ([0, 1], "one row per bag"),
        (np.empty((0, 2)), "no vote"),
        ([[np.inf, 1]], "says inf"),
        (pd.DataFrame([[0, 1]], columns=["r", "r"]), "'r' is there twice"),
        (pd.DataFrame({"bag_id": ["a", "a"], "reader_id": ["r", "r"], "label": [0, 1]}), "votes twice"),
        (pd.DataFrame({"bag_id": ["a", None], "reader_id": ["r", "s"], "label": [0, 1]}), "missing"),
        (pd.DataFrame([[0, 1, 1], [1, 0, 0]], columns=[1, "1", "2"]), "as text"),
    ],
)
def test_votes_that_are_refused(votes, match):
    with pytest.raises(InvalidInputError, match=match):
        DawidSkene().fit(votes)


def test_votes_follow_the_marks(cohort, truth):
    votes = votes_from_marks(truth, cohort.marks, cohort.readings)
    np.testing.assert_array_equal(np.nansum(votes.matrix, axis=1), truth["n_readers"])
    np.testing.assert_array_equal((~np.isnan(votes.matrix)).sum(axis=1), truth["n_readings"])
    with pytest.raises(TableError, match="no mark"):
        votes_from_marks(truth, cohort.marks.iloc[1:], cohort.readings)
    with pytest.raises(TableError, match="no column mark_id"):
        votes_from_marks(truth, cohort.marks.drop(columns="mark_id"), cohort.readings)


def test_in_a_negative_bag_every_reader_of_the_image_says_no(cohort, truth):
    bags = make_bags(cohort.candidates, cohort.features, truth)
    votes = votes_on_bags(bags, truth, cohort.marks, cohort.readings)
    negative = bags.bag_table["truth_id"].isna().to_numpy()
    assert not np.nansum(votes.matrix[negative])
    readers = cohort.readings.groupby("image_id").size()
    np.testing.assert_array_equal(
        (~np.isnan(votes.matrix)).sum(axis=1), readers.loc[bags.bag_table["image_id"]]
    )
    with pytest.raises(TableError, match="truth: no object"):
        votes_on_bags(bags, truth.iloc[1:], cohort.marks, cohort.readings)
