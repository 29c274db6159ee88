from __future__ import annotations

import numpy as np
import pytest

from overread.apps.planning._reader_sizes import read_reader_study
from overread.errors import TableError

CASES = "case_id,lesion_id\nc1,\nc2,a\nc2,b\nc3,a\n"
RATINGS = """modality,reader,case_id,lesion_id,rating
without,r1,c1,,2
without,r1,c1,,1
without,r1,c2,a,3
without,r1,c2,a,4.5
with,r1,c3,a,-1
with,r1,c2,,0
"""


@pytest.fixture
def write(tmp_path):
    def write(ratings=RATINGS, cases=CASES):
        (tmp_path / "ratings.csv").write_text(ratings)
        (tmp_path / "cases.csv").write_text(cases)
        return tmp_path / "ratings.csv", tmp_path / "cases.csv"

    return write


def test_the_highest_rating_counts_and_what_is_unmarked_has_none(write):
    found = read_reader_study(*write())
    assert {name: list(readers) for name, readers in found.items()} == {"without": ["r1"], "with": ["r1"]}
    without, with_cad = found["without"]["r1"], found["with"]["r1"]
    np.testing.assert_array_equal(without.highest_fp, [2, -np.inf, -np.inf])
    np.testing.assert_array_equal(without.lesion_case, [1, 1, 2])
    np.testing.assert_array_equal(without.lesion_rating, [4.5, -np.inf, -np.inf])
    np.testing.assert_array_equal(with_cad.highest_fp, [-np.inf, 0, -np.inf])
    np.testing.assert_array_equal(with_cad.lesion_rating, [-np.inf, -np.inf, -1])


@pytest.mark.parametrize(
    ("ratings", "cases", "said"),
    [
        (RATINGS.replace("rating\n", "score\n"), CASES, "row 1: no column rating"),
        (RATINGS.replace("c1,,2", "c9,,2"), CASES, "row 2: .* has no case 'c9'"),
        (RATINGS.replace("c3,a", "c3,z"), CASES, "row 6: .* has no lesion 'z' of case 'c3'"),
        (RATINGS.replace("4.5", "nan"), CASES, "row 5, column rating: 'nan'"),
        (RATINGS.replace("4.5", "high"), CASES, "row 5, column rating: 'high'"),
        (RATINGS.replace("without,r1,c1,,1", ",r1,c1,,1"), CASES, "row 3: modality or reader is empty"),
        (RATINGS, CASES + "c3,a\n", "row 6: lesion 'a' of case 'c3' is there twice"),
        (RATINGS, CASES + ",a\n", "row 6: case_id is empty"),
        (RATINGS, "case_id\nc1\n", "row 1: no column lesion_id"),
    ],
)
def test_faults_name_their_row(write, ratings, cases, said):
    with pytest.raises(TableError, match=said):
        read_reader_study(*write(ratings, cases))
