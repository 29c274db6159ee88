"""Soft labels, against the paper's formulas in exact fractions.

Choices of merging and labelling are words and numbers in their ranges.
"""

from dataclasses import fields
from fractions import Fraction

import pandas as pd
import pytest

from overread.errors import InvalidInputError, TableError
from overread.truth import LabelOptions, MergeOptions, apply_adjudication, read_adjudication, soft_labels


def truth_table(*rows):
    """Rows (n_marks, n_readers, n_readings)."""
    counts = pd.DataFrame(rows, columns=["n_marks", "n_readers", "n_readings"])
    return counts.assign(image_id=[f"image-{row}" for row in range(len(rows))])


def readings_of(**counts):
    rows = [(image, f"R{reader}") for image, n in counts.items() for reader in range(n)]
    return pd.DataFrame(rows, columns=["image_id", "reader_id"])


STUDY = readings_of(a=4, b=5, c=8)


def test_probability_follows_the_paper():
    """n_min = 4, n_max = 8: P0 = 2/8, P* = P0/8; a single mark has P* / (n / n_min)."""
    labelled = soft_labels(truth_table((1, 1, 4), (1, 1, 8), (2, 2, 4), (3, 3, 5), (8, 8, 8)), STUDY)
    single = Fraction(1, 8) * Fraction(2, 8)
    expected = [single, single * Fraction(4, 8), Fraction(2, 4), Fraction(3, 5), Fraction(1)]
    assert labelled["probability"].tolist() == pytest.approx([float(p) for p in expected], rel=1e-15)
    assert labelled["weight"].tolist() == [4 / 8, 1.0, 4 / 8, 5 / 8, 1.0]
    assert labelled["golden"].tolist() == [False, False, True, True, True]


def test_the_papers_constants():
    """Its footnote: two readers of at most 25; a single mark read by the fewest readers gets 1/8 of 2/25."""
    labelled = soft_labels(truth_table((1, 1, 4)), STUDY, options=LabelOptions(n_max=25))
    assert labelled["probability"].item() == pytest.approx(0.01, rel=1e-15)


def test_a_reader_who_marks_twice_counts_once():
    labelled = soft_labels(truth_table((5, 4, 4), (2, 1, 4)), STUDY)
    assert labelled["probability"].tolist() == [1.0, 1 / 32]
    assert labelled["golden"].tolist() == [True, False]
    by_marks = soft_labels(truth_table((5, 4, 4), (2, 1, 4)), STUDY, options=LabelOptions(score="marks"))
    assert by_marks["probability"].tolist() == [1.0, 0.5]
    assert by_marks["golden"].tolist() == [True, True]


def test_constants_can_be_set():
    options = LabelOptions(smallest_probability=0.4, depression=0.5, n_min=2, n_max=10)
    labelled = soft_labels(truth_table((1, 1, 5)), options=options)
    assert labelled["probability"].item() == pytest.approx(0.5 * 0.4 * 2 / 5)
    assert labelled["weight"].item() == 0.5


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((1, 1, 0), "n_readings"),
        ((1, 1, 9), "n_readings"),
        ((6, 6, 5), "more readers"),
        ((1, 2, 5), "n_marks"),
        ((1, 0, 5), "n_readers"),
    ],
)
def test_counts_that_contradict_each_other_are_refused(row, message):
    with pytest.raises(TableError, match=message) as caught:
        soft_labels(truth_table((1, 1, 4), row), STUDY)
    assert "row 3" in str(caught.value)
    assert "image-1" in str(caught.value)


def test_fewer_readings_than_the_n_min_set_are_refused():
    with pytest.raises(TableError, match="image 'a' has 4 readings"):
        soft_labels(truth_table((1, 1, 5)), STUDY, options=LabelOptions(n_min=5))
    with pytest.raises(TableError, match="image 'c' has 8 readings"):
        soft_labels(truth_table((1, 1, 5)), STUDY, options=LabelOptions(n_max=7))


def test_one_reading_an_image_is_refused():
    with pytest.raises(InvalidInputError, match="n_max is 1"):
        soft_labels(truth_table((1, 1, 1)), readings_of(a=1, b=1))


def test_no_readings_are_refused():
    with pytest.raises(InvalidInputError, match="readings table"):
        soft_labels(truth_table((1, 1, 1)))
    with pytest.raises(TableError, match="empty"):
        soft_labels(truth_table((1, 1, 1)), STUDY[:0])


def test_n_min_above_n_max_is_refused():
    with pytest.raises(InvalidInputError, match="above n_max"):
        soft_labels(truth_table((1, 1, 4)), options=LabelOptions(n_min=6, n_max=5))


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


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        (MergeOptions, {"method": "stars"}, "method 'stars' does not exist; use star or components"),
        (MergeOptions, {"outline": "union"}, "outline 'union' does not exist; use representative or mean"),
        (MergeOptions, {"linkage_iou": -0.1}, "linkage_iou"),
        (MergeOptions, {"t0": 1.1}, r"t0 must be in \[0, 1\], not 1.1"),
        (MergeOptions, {"t0": float("nan")}, "t0 must be in"),
        (MergeOptions, {"dbscan_min_marks": 0}, "dbscan_min_marks"),
        (MergeOptions, {"full_size": 0.0}, "full_size must be above 0"),
        (MergeOptions, {"full_size": float("inf")}, "full_size must be above 0"),
        (LabelOptions, {"score": "votes"}, "score 'votes' does not exist; use readers or marks"),
        (LabelOptions, {"n_min": 0}, "n_min must be at least 1"),
        (LabelOptions, {"smallest_probability": float("nan")}, "smallest_probability"),
        (LabelOptions, {"n_max": -1}, "n_max must be at least 1"),
        (LabelOptions, {"depression": 2.0}, "depression"),
    ],
)
def test_what_means_nothing_is_refused(options, given, words):
    with pytest.raises(InvalidInputError, match=words):
        options(**given)


def test_the_papers_numbers_are_the_defaults():
    """Section 2.1 and its footnotes; section 3."""
    options = MergeOptions().in_unit("mm")
    assert (options.t0, options.full_size, options.similar_size, options.similar_distance) == (
        0.63,
        20.0,
        0.7,
        0.1,
    )
    assert LabelOptions().depression == 1 / 8


@pytest.mark.parametrize("options", [MergeOptions, LabelOptions])
def test_every_option_is_described(options):
    for field in fields(options):
        assert f"\n    {field.name}\n" in options.__doc__
