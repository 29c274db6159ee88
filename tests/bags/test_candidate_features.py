"""The table of features: found by candidate, whatever its order, and never copied without need."""

import numpy as np
import pandas as pd
import pytest

from overread.bags import read_features
from overread.errors import TableError


@pytest.fixture
def table():
    values = np.arange(10, dtype=np.float32).reshape(5, 2)
    keys = pd.DataFrame({"image_id": list("aabbb"), "candidate_id": list("01012")})
    return pd.concat([keys, pd.DataFrame(values, columns=["f", "g"], copy=False)], axis=1)


def test_rows_are_found_by_candidate(table):
    shuffled = table.sample(frac=1, random_state=3)
    features = read_features(shuffled)
    images, candidates = np.array(["b", "a"], dtype=object), np.array(["2", "0"], dtype=object)
    found = features.take(features.find_rows(images, candidates))
    assert found.values.tolist() == [[8.0, 9.0], [0.0, 1.0]]
    assert found.feature_names == ("f", "g")
    assert len(features) == 5


def test_neighbours_share_memory_with_the_table(table):
    features = read_features(table)
    assert np.shares_memory(features.take(np.arange(1, 4)).values, table["f"].to_numpy())
    assert not np.shares_memory(features.take(np.array([1, 3])).values, table["f"].to_numpy())


def test_what_is_missing_or_twice_is_refused(table):
    features = read_features(table)
    with pytest.raises(TableError, match="no row for candidate '7' of image 'a'"):
        features.find_rows(np.array(["a"], dtype=object), np.array(["7"], dtype=object))
    with pytest.raises(TableError, match="there twice"):
        read_features(pd.concat([table, table[:1]]))
    with pytest.raises(TableError, match="no column candidate_id"):
        read_features(table.drop(columns="candidate_id"))
    with pytest.raises(TableError, match=r"features: .*NaN at row 2, column 'g'"):
        read_features(table.assign(g=[0, 1, np.nan, 3, 4]))
