import re

from overread import errors
from overread.errors import OverreadError, OverreadWarning


def classes():
    return [getattr(errors, name) for name in errors.__all__]


def test_the_tree_at_the_top_of_the_file_is_the_tree():
    drawn = dict(re.findall(r"(\w+(?:Error))\s+(\d)\s", errors.__doc__))
    real = {c.__name__: str(c.exit_code) for c in classes() if issubclass(c, OverreadError)}
    assert drawn == real


def test_every_name_is_an_error_or_a_warning_of_ours_and_invalid_input_a_value_error():
    assert all(issubclass(one, OverreadError | OverreadWarning) for one in classes())
    assert issubclass(errors.InvalidInputError, ValueError)
