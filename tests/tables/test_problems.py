"""Problems are told with place and remedy; the worst kind decides what is raised."""

import json
from dataclasses import replace

import pytest

from overread.errors import LeakageError, TableError
from overread.tables import Problem, one_per_kind, raise_for_errors, raise_or_warn
from overread.tables._problems import SHOWN

ERROR = Problem("f.csv", 2, "x_mm", "is bad", "mend it")
WARNING = replace(ERROR, severity="warning")
LEAK = replace(ERROR, severity="leakage")


def test_a_problem_reads_as_a_sentence():
    problem = Problem("marks.csv", 7, "x_mm", "0 is wrong", "give another")
    assert str(problem) == "marks.csv, row 7, column x_mm: 0 is wrong (give another)"
    assert str(Problem("marks.csv", None, None, "bad", "mend it")) == "marks.csv: bad (mend it)"
    assert raise_for_errors([]) == []


def test_an_error_outweighs_leakage_and_leakage_a_warning():
    with pytest.raises(TableError):
        raise_for_errors([WARNING, LEAK, ERROR])
    with pytest.raises(LeakageError):
        raise_for_errors([WARNING, LEAK])
    assert raise_for_errors([WARNING]) == [WARNING]
    assert raise_for_errors([]) == []


def test_problems_of_one_kind_are_one_line_with_their_number():
    many = [replace(ERROR, row=row, column=f"c{row % 2}") for row in range(2, 1203)]
    with pytest.raises(TableError) as raised:
        raise_for_errors(many)
    assert str(raised.value).splitlines() == [
        "f.csv, row 2, column c0: is bad, and 600 more like it (mend it)",
        "f.csv, row 3, column c1: is bad, and 599 more like it (mend it)",
    ]


def test_the_first_few_kinds_are_named_and_the_others_counted():
    many = [replace(ERROR, column=f"c{number}") for number in range(SHOWN + 3)]
    with pytest.raises(TableError) as raised:
        raise_for_errors(many)
    lines = str(raised.value).splitlines()
    assert lines[:SHOWN] == [str(problem) for problem in many[:SHOWN]]
    assert lines[SHOWN:] == ["... and 3 more kinds of problem (`overread check` lists all of a study)"]


def test_warnings_are_given_once_per_kind():
    with pytest.warns(UserWarning, match="f.csv, row 2, column x_mm: is bad, and 1 more like it") as caught:
        raise_or_warn([WARNING, WARNING])
    assert len(caught) == 1
    raise_or_warn([])


def test_a_problem_goes_into_json_as_it_is():
    assert Problem(**json.loads(json.dumps(ERROR.as_dict()))) == ERROR


def test_other_reasons_with_the_same_remedy_are_not_called_alike():
    found = [
        Problem("images", row, "path", message, "drop it", "warning")
        for row, message in enumerate(
            ["the file is empty", "no DICOM", "'a.png' has 3 bytes", "'b.png' has 17 bytes"]
        )
    ]
    assert [problem.message for problem in one_per_kind(found)] == [
        "the file is empty",
        "no DICOM",
        "'a.png' has 3 bytes, and 1 more like it",
    ]
