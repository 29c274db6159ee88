import re

import pytest

from overread import errors
from overread.errors import OverreadError, OverreadWarning


def classes():
    return [getattr(errors, name) for name in errors.__all__]


def test_the_tree_at_the_top_of_the_file_is_the_tree():
    drawn = dict(re.findall(r"(\w+(?:Error))\s+(\d)\s", errors.__doc__))
    real = {c.__name__: str(c.exit_code) for c in classes() if issubclass(c, OverreadError)}
    assert drawn == real


def test_exit_codes_are_those_of_the_design():
    codes = {c.__name__: c.exit_code for c in classes() if issubclass(c, OverreadError)}
    assert codes["UsageError"] == 2
    assert codes["InvalidInputError"] == codes["TableError"] == codes["ModelFileError"] == 4
    assert codes["StorageError"] == 5
    assert codes["NotConvergedError"] == 6
    assert codes["LeakageError"] == 7
    assert codes["LockedError"] == 8


@pytest.mark.parametrize("error", classes(), ids=lambda c: c.__name__)
def test_every_name_is_an_error_or_a_warning_of_ours(error):
    assert issubclass(error, OverreadError | OverreadWarning)


def test_invalid_input_is_also_a_value_error():
    assert issubclass(errors.InvalidInputError, ValueError)
