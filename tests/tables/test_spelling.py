"""Spellings of one name, against Unicode's own names of the letters."""

import unicodedata

import pytest

from overread.tables import likeness_of, visible_text
from overread.tables._spelling import LOOK_ALIKE, same_name


def test_look_alike_letters_are_of_another_script_and_of_the_same_case():
    for letter, latin in LOOK_ALIKE.items():
        name = unicodedata.name(chr(letter))
        assert name.startswith(("CYRILLIC", "GREEK"))
        assert ("CAPITAL" in name) == chr(latin).isupper()
        assert unicodedata.name(chr(latin)).startswith("LATIN")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "01"),
        ("10", "0010.00"),
        ("0", "00"),
        ("é", "e\u0301"),
        ("A\u200b", "A"),
        ("１", "1"),
    ],
)
def test_one_name_in_two_spellings(one, other):
    assert same_name(one) == same_name(other)
    assert likeness_of(one) == likeness_of(other)


@pytest.mark.parametrize(("one", "other"), [("Ann", "ANN"), ("Ann B", "Ann  b"), ("А", "A"), ("Вob", "Bob")])
def test_names_that_look_alike(one, other):
    assert same_name(one) != same_name(other)
    assert likeness_of(one) == likeness_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "10"), ("1", "1.5"), ("R1", "R01"), ("e", "é"), ("1", "-1")]
)
def test_different_names_stay_different(one, other):
    assert likeness_of(one) != likeness_of(other)


def test_what_does_not_show_is_taken_away():
    assert visible_text("Anne\u0301\u200b\ufeff") == "Ann\xe9"
    assert visible_text("Анна") == "Анна"
