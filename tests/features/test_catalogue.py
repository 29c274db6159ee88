"""The catalogue: its size, its names, what each entry says."""

from __future__ import annotations

import collections
import keyword

import pytest

from overread.errors import InvalidInputError
from overread.features import CATALOGUE, FAMILIES, Catalogue

COUNTS = {
    "shape": 20,
    "profile": 20,
    "convergence": 18,
    "blob": 25,
    "template": 6,
    "spiculation": 24,
    "ribs": 10,
    "lung": 12,
    "symmetry": 9,
    "vessel": 6,
}


def test_1150_features():
    assert len(CATALOGUE) == 1150
    assert len(CATALOGUE.kind("specific")) == 150
    assert len(CATALOGUE.kind("texture")) == 1000


def test_specific_families_have_the_planned_sizes():
    assert collections.Counter(feature.family for feature in CATALOGUE.kind("specific")) == COUNTS


def test_order_is_that_of_the_families():
    assert list(CATALOGUE) == [feature.name for family in FAMILIES for feature in family.features]


@pytest.mark.parametrize("part", ["name", "unit", "formula", "reference"])
def test_every_entry_says_all(part):
    assert all(getattr(feature, part).strip() for feature in CATALOGUE.values())


def test_names_are_identifiers():
    names = [name.replace(".", "_") for name in CATALOGUE]
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert len(set(names)) == len(names)


def test_units_are_of_a_short_list():
    units = {feature.unit for feature in CATALOGUE.kind("specific")}
    assert units == {"mm", "mm2", "1", "grey", "deg"}


def test_lookup_search_and_family():
    assert CATALOGUE["shape.area"].unit == "mm2"
    assert "shape.area" in CATALOGUE
    assert [feature.name for feature in CATALOGUE.search("AFUM at_80")] == ["template.afum_at_80"]
    assert len(CATALOGUE.family("vessel")) == 6
    with pytest.raises(KeyError):
        CATALOGUE["nothing"]
    with pytest.raises(InvalidInputError, match="vessel"):
        CATALOGUE.family("vessels")


def test_a_name_twice_is_refused():
    with pytest.raises(InvalidInputError, match="two features"):
        Catalogue([FAMILIES[0], FAMILIES[0]])
    with pytest.raises(InvalidInputError, match="twice"):
        CATALOGUE.check_names(["shape.area", "shape.area"])
