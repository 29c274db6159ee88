"""The user's own columns of the images table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.report import Spread
from overread.study.intake._columns import MOST_VALUES, choose_subgroups, describe_columns

PLACE = Path("study.toml")


def images(n: int = 12, **columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"image_id": [f"i{k}" for k in range(n)], "path": "x.png", **columns})


def test_known_columns_that_divide_the_images_are_taken() -> None:
    table = images(
        sex=["F", "M", ""] * 4, site=["one"] * 12, scanner=[f"s{k}" for k in range(12)], mine=["a", "b"] * 6
    )
    chosen = choose_subgroups(table, None, PLACE)
    assert list(chosen) == ["sex"]
    assert set(chosen["sex"].values()) == {"F", "M", "not stated"}
    assert chosen["sex"]["i1"] == "M"


def test_columns_can_be_named_or_all_left_out() -> None:
    table = images(sex=["F", "M"] * 6, mine=["a", "b", "c"] * 4)
    assert list(choose_subgroups(table, ["mine"], PLACE)) == ["mine"]
    assert choose_subgroups(table, [], PLACE) == {}


@pytest.mark.parametrize("name", ["sexx", "path", "image_id"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(name: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"no column '{name}' of yours \(it has: sex\)"):
        choose_subgroups(images(sex=["F", "M"] * 6), [name], PLACE)


@pytest.mark.parametrize("values", [["x"] * 12, [str(k) for k in range(12)]])
def test_a_column_that_makes_no_groups_is_refused(values: list[str]) -> None:
    with pytest.raises(InvalidInputError, match=f"different values; it takes 2 to {MOST_VALUES}"):
        choose_subgroups(images(age=values), ["age"], PLACE)


def test_images_are_described_by_what_is_known() -> None:
    told = describe_columns(images(n=4, kvp=["120", "", "125", "140"], manufacturer=["A", "A", "B", ""]))
    assert told.numbers == {"tube voltage, kV": Spread(120.0, 125.0, 140.0)}
    assert told.counts == {"manufacturer": {"A": 2, "B": 1, "not stated": 1}}
    nothing = describe_columns(images(kvp=["unknown"] * 12))
    assert (nothing.numbers, nothing.counts) == ({}, {})
