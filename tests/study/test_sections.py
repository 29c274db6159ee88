"""Sections of the settings: made of classes, explained by their docstrings."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import ValidationError

from overread._sections import Section, describe_keys, make_section
from overread.errors import InvalidInputError


@dataclass(frozen=True)
class Options:
    """Something to set.

    Parameters
    ----------
    rate : float
        How fast,
        and how far.
    low, high
        Ends of the range.
    seed
        Not of the section.
    """

    rate: float = 0.5
    low: int = 0
    high: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise InvalidInputError("low must not be above high")


class Base(Section):
    """Base.

    Attributes
    ----------
    a
        First.
    b
        Second.
    """

    a: int = 1
    b: int = 2


class Derived(Base):
    """Derived.

    Attributes
    ----------
    b
        Second, told anew.
    c
        Third.
    """

    c: int = 3


def test_a_dataclass_becomes_a_section_without_the_seed() -> None:
    section = make_section(Options)
    assert dict(section()) == {"rate": 0.5, "low": 0, "high": 3}
    assert Options(**dict(section(rate=0.25)), seed=3) == Options(0.25, seed=3)


@pytest.mark.parametrize(
    "raw", [{"seed": 1}, {"rat": 1.0}, {"low": 1.5}, {"low": True}, {"rate": float("nan")}]
)
def test_unknown_keys_and_other_types_are_refused(raw: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        make_section(Options)(**raw)


def test_the_rules_of_the_dataclass_hold() -> None:
    with pytest.raises((ValidationError, InvalidInputError), match="low must not be above high"):
        make_section(Options)(low=5)


def test_a_section_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        make_section(Options)().rate = 1.0


def test_keys_are_told_by_the_docstring() -> None:
    told = {"rate": "How fast, and how far.", "low": "Ends of the range.", "high": "Ends of the range."}
    assert describe_keys(make_section(Options)) == told | {"seed": "Not of the section."}


def test_a_derived_section_has_the_words_of_its_base() -> None:
    told = describe_keys(Derived)
    assert {key: told[key] for key in "abc"} == {"a": "First.", "b": "Second, told anew.", "c": "Third."}


def test_without_a_docstring_there_is_nothing_to_tell() -> None:
    assert describe_keys(type("Bare", (), {})) == {}
