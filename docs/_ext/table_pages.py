"""Tables and ``results.json``: every column and every field, from the schemas and records in the code."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_type_hints

import pandas as pd
from markdown_text import code, first_paragraph, plain, table
from type_hints import types_in

from overread._sections import describe_keys
from overread.froc._detections import POSITIONS
from overread.marks._mark_set import FOUND
from overread.report import StudyResults
from overread.study._detect import ROW_TYPES
from overread.tables import LENGTHS, SCHEMAS, LengthUnit, Schema
from overread.truth._labels import ADJUDICATION

__all__ = ["results_page", "schemas_on_page", "tables_page"]

OTHERS = {
    "text": "Other columns are kept, as text.",
    "number": "Other columns are kept, as numbers.",
    "any": "Other columns are kept.",
}


def schemas_on_page() -> list[Schema]:
    """Every kind of table that a person writes or reads."""
    return [*SCHEMAS.values(), ADJUDICATION, FOUND]


def tables_page() -> str:
    """Columns of every table."""
    parts = [describe_schema(schema) for schema in schemas_on_page()]
    rows = [(name_column(name), plain(kind)) for name, kind in ROW_TYPES.items()]
    parts += [
        "## detections\n\nWhat `overread detect` writes, after `image_id` and before `in_training` and `image` "
        f"([what each means](report.md)).\n\n{table(('column', 'type'), rows)}"
    ]
    rows = [(plain(kind), ", ".join(code(name) for name in names)) for kind, names in POSITIONS.items()]
    parts += [
        "## Places, in detections and truth of any detector\n\nThe first row whose columns are all there says how "
        f"`overread froc` and `overread compare` understand a table.\n\n{table(('place', 'columns'), rows)}"
    ]
    return "\n\n".join(parts)


def name_column(name: str) -> str:
    """Show a column; a length with every unit that it may have."""
    units = get_args(LengthUnit) if name in LENGTHS else ()
    return ", ".join(code(f"{name}_{unit}") for unit in units) or code(name)


def describe_schema(schema: Schema) -> str:
    """Columns of one table."""
    unsaid = [column.name for column in schema.columns if not column.meaning]
    if unsaid:
        raise LookupError(f"columns of {schema.kind} without a meaning: {', '.join(unsaid)}")
    rows = [
        (name_column(one.name), one.type, "yes" if one.required else "", first_paragraph(one.meaning))
        for one in schema.columns
    ]
    keys = " and ".join(code(name) for name in schema.key)
    return (
        f"## {schema.kind}\n\nNo two rows have the same {keys}. {OTHERS[schema.others]}\n\n"
        f"{table(('column', 'type', 'needed', 'meaning'), rows)}"
    )


def results_page() -> str:
    """Fields of ``results.json``, record after record."""
    return "\n\n".join(describe_record(record) for record in records_in(StudyResults))


def records_in(record: type[Any]) -> list[type[Any]]:
    """Return a record and all records inside of it, in the order in which they are met."""
    met = [record]
    for one in met:
        inside = [part for hint in get_type_hints(one).values() for part in types_in(hint)]
        met += [part for part in dict.fromkeys(inside) if dataclasses.is_dataclass(part) and part not in met]
    return met


def describe_record(record: type[Any]) -> str:
    """Fields of one record."""
    told, hints = describe_keys(record), get_type_hints(record)
    rows = [
        (code(field.name), type_words(hints[field.name]), first_paragraph(told.get(field.name, "")))
        for field in dataclasses.fields(record)
    ]
    return f"## {record.__name__}\n\n{first_paragraph(record.__doc__)}\n\n{table(('field', 'type', 'meaning'), rows)}"


def type_words(hint: Any) -> str:
    """Type of a field; a record is a link to its table."""
    inside = get_args(hint)
    records = [part for part in types_in(hint) if dataclasses.is_dataclass(part)]
    if dataclasses.is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if hint is pd.DataFrame:
        return "table"
    if records:
        kind = "list of " if hint.__class__.__name__ == "GenericAlias" else ""
        return kind + " or ".join(type_words(one) for one in inside if one is not type(None))
    return plain(getattr(hint, "__name__", str(hint)) if not inside else str(hint).replace("typing.", ""))
