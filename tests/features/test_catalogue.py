"""The catalogue: its size, its names, what each entry says."""

from __future__ import annotations

import keyword

import pytest

from overread.errors import InvalidInputError
from overread.features import CATALOGUE, Catalogue
from overread.features.families import FAMILIES


def test_holds_at_least_what_the_paper_has():
    """Section 5: 150 specific features, 1000 of texture and intensity."""
    assert len(CATALOGUE.kind("specific")) >= 150
    assert len(CATALOGUE.kind("texture")) >= 1000
    assert sum(len(CATALOGUE.kind(kind)) for kind in ("specific", "texture", "learned")) == len(CATALOGUE)


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


def test_families_with_names_keep_the_order_of_the_columns():
    found = CATALOGUE.families_with(["vessel.count", "shape.area", "vessel.inside"])
    assert [family.features[0].family for family in found] == ["shape", "vessel"]
    assert CATALOGUE.families_with([]) == []


def test_a_name_twice_is_refused():
    with pytest.raises(InvalidInputError, match="two features"):
        Catalogue([FAMILIES[0], FAMILIES[0]])
    with pytest.raises(InvalidInputError, match="twice"):
        CATALOGUE.check_names(["shape.area", "shape.area"])
