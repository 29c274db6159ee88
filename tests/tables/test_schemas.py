"""The tables' columns are those of the design."""

import pytest

from overread.tables import SCHEMAS, schema_of


def test_every_key_is_required_and_every_name_is_there_once():
    for kind, schema in SCHEMAS.items():
        names = [column.name for column in schema.columns]
        assert schema.kind == kind
        assert len(set(names)) == len(names)
        assert set(schema.key) <= set(schema.required)
        assert all(schema.type_of(name) == "id" for name in schema.key)


def test_a_length_says_its_unit():
    for schema in SCHEMAS.values():
        for unit in ("mm", "px", "percent"):
            for plain, column in zip(
                schema.columns, schema.of_header([f"x_{unit}"], "x").columns, strict=True
            ):
                is_length = plain.name in ("x", "y", "semi_major", "semi_minor", "radius")
                assert column.name == (f"{plain.name}_{unit}" if is_length else plain.name)


def test_other_columns_have_the_type_of_the_kind():
    assert schema_of("marks").type_of("site") == "text"
    assert schema_of("features").type_of("glcm_contrast") == "number"


def test_an_unknown_kind_is_refused_with_those_that_are_there():
    with pytest.raises(ValueError, match="no table of kind 'excel'; there are images, readings"):
        schema_of("excel")
