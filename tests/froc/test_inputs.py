"""Tables and arrays that a user hands over: what is made of them, and what is refused with its row."""

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError, TableError
from overread.froc._matching import (
    candidate_scores,
    check_codes,
    check_image_ids,
    check_scores,
    dense_codes,
    golden_targets,
    image_codes,
    patient_codes,
)

KEYS = pd.DataFrame({"image_id": ["a", "a", "b"], "candidate_id": ["1", "2", "1"]})


def test_images_are_there_and_different():
    assert check_image_ids(pd.DataFrame({"image_id": ["a", "b"]})).tolist() == ["a", "b"]
    for ids, words in (([], "no rows"), (["a", "a"], "row 1.*not unique"), (["a", None], "row 1.*missing")):
        with pytest.raises(TableError, match=words):
            check_image_ids(pd.DataFrame({"image_id": pd.Series(ids, dtype=object)}))


def test_patients_are_numbered_by_first_appearance_or_stand_for_their_image():
    assert patient_codes(pd.DataFrame({"patient_id": ["q", "p", "q"]})).tolist() == [0, 1, 0]
    assert patient_codes(pd.DataFrame({"image_id": ["a", "b"]})).tolist() == [0, 1]
    with pytest.raises(TableError, match="row 1, column patient_id: missing"):
        patient_codes(pd.DataFrame({"patient_id": ["q", None]}))


def test_rows_of_unknown_images_are_refused():
    index = pd.Index(["b", "a"])
    assert image_codes("truth", KEYS, index).tolist() == [1, 1, 0]
    with pytest.raises(TableError, match="truth, row 2, column image_id: 'b' is not in the images"):
        image_codes("truth", KEYS, pd.Index(["a"]))


@pytest.mark.parametrize(
    ("columns", "golden"),
    [
        ({"golden": [True, False]}, [True, False]),
        ({"golden": [1, 0], "n_readers": [1, 1]}, [True, False]),
        ({"n_readers": [2, 1]}, [True, False]),
        ({"x_mm": [0.0, 1.0]}, [True, True]),
    ],
)
def test_golden_comes_from_its_column_or_the_readers_or_is_everything(columns, golden):
    assert golden_targets(pd.DataFrame(columns)).tolist() == golden


def test_readers_that_are_no_number_are_refused():
    with pytest.raises(TableError, match="row 1, column n_readers"):
        golden_targets(pd.DataFrame({"n_readers": ["2", "many"]}))
    with pytest.raises(TableError, match="column golden"):
        golden_targets(pd.DataFrame({"golden": [1, 2]}))


def test_scores_come_as_a_column_an_array_or_a_table_in_any_order():
    table = KEYS.assign(soft=[1.0, 2.0, 3.0]).iloc[::-1]
    for scores in ("soft", [1, 2, 3], table):
        assert candidate_scores(scores, KEYS.assign(soft=[1, 2, 3])).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TableError, match="no row for candidates row 2"):
        candidate_scores(table.iloc[1:], KEYS)


@pytest.mark.parametrize(
    ("values", "words"), [([1, np.nan], "row 1: score is nan"), ([1], "shape"), (["x", "y"], "not numbers")]
)
def test_scores_that_cannot_be_used_are_refused(values, words):
    with pytest.raises(TableError, match=words):
        check_scores(values, 2)


def test_codes_are_in_range_and_patients_one_an_image():
    assert check_codes("fp_images", [0, 2], 2, 3).tolist() == [0, 2]
    assert dense_codes(["q", "p", "q"], 3).tolist() == [1, 0, 1]
    with pytest.raises(InvalidInputError, match=r"need 2 codes in 0\.\.2"):
        check_codes("fp_images", [0, 3], 2, 3)
    with pytest.raises(InvalidInputError, match="one per image"):
        dense_codes(["q"], 3)
