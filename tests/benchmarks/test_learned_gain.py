"""Columns of other weights have the names that the family has."""

from benchmarks.learned_gain import name_columns

from overread.features import CATALOGUE


def test_columns_are_named_as_in_the_catalogue():
    names = [feature.name for feature in CATALOGUE.kind("learned")]
    assert name_columns(len(names)) == names
    assert name_columns(0) == []
