import pandas as pd
import pytest

from overread.errors import TableError
from overread.truth import apply_adjudication, read_adjudication

TRUTH = pd.DataFrame(
    {
        "image_id": ["a", "a", "b", "b"],
        "truth_id": ["T1", "T2", "T3", "T4"],
        "golden": [True, False, False, True],
        "probability": [0.75, 0.05, 0.05, 0.5],
        "weight": 1.0,
    }
)


def decisions(**said):
    return pd.DataFrame({"image_id": "a", "truth_id": list(said), "decision": list(said.values())})


def test_a_lesion_is_golden_and_what_is_none_is_gone():
    decided = apply_adjudication(TRUTH, decisions(T2="lesion", T4="not", T3="unsure", T1="open"))
    assert decided["truth_id"].tolist() == ["T1", "T2", "T3"]
    assert decided["golden"].tolist() == [True, True, False]
    assert decided["probability"].tolist() == [0.75, 1.0, 0.05]
    assert TRUTH["probability"].tolist() == [0.75, 0.05, 0.05, 0.5]


def test_no_decisions_change_nothing():
    pd.testing.assert_frame_equal(apply_adjudication(TRUTH, decisions()), TRUTH)


def test_a_decision_on_other_marks_is_refused():
    with pytest.raises(TableError, match="'T9' is not among the merged objects"):
        apply_adjudication(TRUTH, decisions(T9="lesion"))
    apply_adjudication(TRUTH, decisions(T9="unsure"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("image_id,truth_id,decision\na,T1,maybe\n", "row 2, column decision"),
        ("image_id,truth_id\na,T1\n", "decision"),
        ("image_id,truth_id,decision\n,T1,not\n", "image_id"),
    ],
)
def test_a_table_with_mistakes_is_refused_by_row(tmp_path, text, told):
    (tmp_path / "adjudication.csv").write_text(text)
    with pytest.raises(TableError, match=told):
        read_adjudication(tmp_path / "adjudication.csv")


def test_a_decision_stands_once(tmp_path):
    place = tmp_path / "adjudication.csv"
    place.write_text("image_id,truth_id,decision\na,T1,not\n")
    assert read_adjudication(place).frame["decision"].tolist() == ["not"]
    place.write_text("image_id,truth_id,decision\na,T1,not\na,T1,lesion\n")
    with pytest.raises(TableError, match="row 3"):
        read_adjudication(place)
