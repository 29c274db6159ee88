"""Read and write the tables of a study, CSV or Parquet by the file's ending, with ids kept exactly.

`read_table` refuses a table that does not follow its schema and says where; `scan_table` returns the readable part
together with all problems, for `overread check`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from overread.errors import TableError
from overread.files import digest_of_bytes, write_atomically
from overread.tables._cells import (
    CELL_TYPES,
    Cells,
    as_series,
    csv_text,
    decode_csv,
    guard_formula,
    parse_cells,
    parse_column,
    quote_cell,
    read_table_bytes,
    unguard_formula,
)
from overread.tables._problems import Problem, raise_for_errors
from overread.tables._schemas import Schema, Type, schema_of


@dataclass(frozen=True)
class TableScan:
    """The readable part of a table, and its problems."""

    frame: pd.DataFrame
    problems: list[Problem]


@dataclass(frozen=True)
class HashedTable:
    """A table, and the SHA-256 of the bytes that it was read from."""

    frame: pd.DataFrame
    sha256: str


def read_table(path: str | Path, kind: str) -> pd.DataFrame:
    """Read a table and check it against its schema.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.csv`` or ``.parquet``.
    kind : str
        ``"images"``, ``"readings"``, ``"marks"``, ``"truth"``, ``"candidates"``, ``"features"`` or
        ``"scores"``.

    Returns
    -------
    pandas.DataFrame
        The schema's columns first, then the others in the file's order. Ids are strings, kept exactly; lengths are in
        the unit in which their names end.

    Raises
    ------
    TableError
        Naming file, row, column and remedy of the first few problems.
    """
    return read_hashed_table(path, kind).frame


def read_hashed_table(path: str | Path, kind: str | Schema) -> HashedTable:
    """Read a table as `read_table` does, with the digest of the bytes that were read: the file may change."""
    file, schema = _check_ending(Path(path)), schema_of(kind) if isinstance(kind, str) else kind
    content = read_table_bytes(file)
    scan = _scan_bytes(content, file, schema)
    repeated = duplicated_rows(scan.frame, schema, str(path)) if schema.key else []
    raise_for_errors([*scan.problems, *repeated])
    return HashedTable(scan.frame, digest_of_bytes(content))


def scan_table(path: str | Path, kind: str) -> TableScan:
    """Read a table as far as possible and collect all cells that do not follow the schema."""
    return scan_file(Path(path), schema_of(kind))


def scan_file(path: Path, schema: Schema) -> TableScan:
    """Scan a file as `scan_table` does, by any schema."""
    return _scan_bytes(read_table_bytes(_check_ending(path)), path, schema)


def _check_ending(path: Path) -> Path:
    """Refuse a file that is not a table by its ending."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise TableError(f"{path}: give a table that ends in .csv or .parquet, not {path.suffix!r}")
    return path


def _scan_bytes(content: bytes, path: Path, schema: Schema) -> TableScan:
    """Scan the bytes of a table's file as its ending says."""
    if path.suffix.lower() == ".csv":
        return _scan_cells(parse_cells(decode_csv(content, path), path), path, schema)
    return _scan_parquet(content, path, schema)


def _scan_cells(cells: Cells, path: Path, schema: Schema) -> TableScan:
    """Read the cells of a CSV file, column by column, by the schema's types."""
    header = [unguard_formula(name) for name in cells.header]
    schema = schema.of_header(header, str(path))
    check_header(header, schema, path)
    columns: dict[str, pd.Series[Any]] = {}
    problems: list[Problem] = []
    texts = list(zip(*cells.rows, strict=True)) or [()] * len(header)
    for name, column in zip(header, texts, strict=True):
        type_ = schema.type_of(name)
        values, bad = parse_column(column, type_)
        columns[name] = as_series(values, type_)
        kind = CELL_TYPES[type_]
        for row in bad:
            message = f"{quote_cell(column[row])} is not {kind.description}"
            problems.append(Problem(str(path), row + 2, name, message, kind.remedy))
    return TableScan(pd.DataFrame(columns)[_in_order(header, schema)], problems)


def check_header(header: Sequence[str], schema: Schema, path: Path) -> None:
    """Refuse a header without the required columns, or with the same name twice."""
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise TableError(
            f"{path}, row 1: column {', '.join(map(quote_cell, repeated))} occurs twice (rename one)"
        )
    missing = [name for name in schema.required if name not in header]
    if not missing:
        return
    hint = f"it has {', '.join(map(quote_cell, header[:12]))}"
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        hint = "its columns are not separated by commas"
    needed = f"column{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    raise TableError(f"{path}, row 1: the {schema.kind} table needs the {needed}; {hint}")


def _in_order(header: Sequence[str], schema: Schema) -> list[str]:
    """Order the columns: those of the schema first, then the others as they stand in the file."""
    known = [column.name for column in schema.columns if column.name in header]
    return known + [name for name in header if name not in known]


def _scan_parquet(content: bytes, path: Path, schema: Schema) -> TableScan:
    """Read a Parquet file's bytes and check the types of its columns; ids stored as numbers are refused."""
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            table = file.read()
    except (OSError, pa.ArrowException) as error:
        raise unreadable_parquet(path, error) from error
    schema = schema.of_header(table.column_names, str(path))
    check_header(table.column_names, schema, path)
    columns: dict[str, pd.Series[Any]] = {}
    problems: list[Problem] = []
    for name in _in_order(table.column_names, schema):
        type_ = schema.type_of(name)
        column = table.column(name)
        check_stored(name, column.type, type_, path)
        columns[name] = _stored_series(column, type_)
        bad, message = [], "the cell is empty"
        if type_ in ("id", "count", "flag", "ids") and column.null_count:
            bad = np.flatnonzero(column.is_null().to_numpy()).tolist()
        elif type_ == "id":
            bad, message = np.flatnonzero(columns[name] == "").tolist(), "'' is not an id"
        problems += [Problem(str(path), row + 2, name, message, CELL_TYPES[type_].remedy) for row in bad]
    return TableScan(pd.DataFrame(columns), problems)


def _stored_series(column: pa.ChunkedArray, type_: Type) -> pd.Series[Any]:
    """Series of a Parquet column; float32 stays float32."""
    if type_ == "number" or (type_ == "any" and not _is_text(column.type)):
        series: pd.Series[Any] = column.to_pandas()
        return series if type_ == "any" or series.dtype.kind == "f" else series.astype("float64")
    missing = CELL_TYPES[type_].unreadable
    values = [missing if value is None else value for value in column.to_pylist()]
    return as_series([tuple(value) for value in values] if type_ == "ids" else values, type_)


def check_stored(name: str, stored: pa.DataType, wanted: Type, path: Path) -> None:
    """Refuse a Parquet column that is stored as another type; ids must not be stored as numbers."""
    if not STORED[wanted](stored):
        raise TableError(
            f"{path}, column {name}: stored as {stored}, not as {CELL_TYPES[wanted].description} (store ids as text, "
            "lengths as numbers)"
        )


def _is_text(stored: pa.DataType) -> bool:
    """Whether a Parquet type is text, dictionary-coded or not."""
    if pa.types.is_dictionary(stored):
        return _is_text(stored.value_type)
    return pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_null(stored)


STORED: dict[str, Callable[[pa.DataType], bool]] = {
    "id": _is_text,
    "text": _is_text,
    "number": lambda stored: (
        pa.types.is_floating(stored) or pa.types.is_integer(stored) or pa.types.is_null(stored)
    ),
    "any": lambda stored: True,
    "count": pa.types.is_integer,
    "flag": pa.types.is_boolean,
    "ids": lambda stored: (
        (pa.types.is_list(stored) or pa.types.is_large_list(stored)) and _is_text(stored.value_type)
    ),
}


def unreadable_parquet(path: Path, error: Exception) -> TableError:
    """Make the error of a Parquet file that cannot be read; pyarrow's may have many lines."""
    return TableError(
        f"{path}: cannot be read as Parquet: {(str(error) or type(error).__name__).splitlines()[0]}"
    )


def duplicated_rows(frame: pd.DataFrame, schema: Schema, file: str) -> Iterator[Problem]:
    """Rows with the key of an earlier row; the message names the columns that differ."""
    key = list(schema.key)
    rows = np.flatnonzero(frame.duplicated(key, keep="first").to_numpy())
    if not len(rows):
        return
    first: dict[tuple[str, ...], int] = {}
    for row, ids in enumerate(zip(*(frame[name] for name in key), strict=True)):
        first.setdefault(ids, row)
    for row in map(int, rows):
        ids = tuple(frame[name].iloc[row] for name in key)
        same = ", ".join(f"{name} {quote_cell(value)}" for name, value in zip(key, ids, strict=True))
        one, other = frame.iloc[first[ids]], frame.iloc[row]
        differing = [name for name in frame.columns if _csv_cell(one[name]) != _csv_cell(other[name])]
        message = f"{same} is already in row {first[ids] + 2}"
        if differing:
            message += f", there with another {', '.join(differing)}"
        remedy = (
            "number the marks of an image through, whoever made them"
            if key[-1] == "mark_id" and "reader_id" in differing
            else "keep one of the rows"
        )
        yield Problem(file, row + 2, key[-1], message, remedy)


def write_table(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table atomically; the ending of the path chooses CSV or Parquet.

    In CSV, numbers have enough digits to be read back exactly, and text that a spreadsheet would run as a formula is
    guarded (see `overread.tables._cells`). The frame's index is not written.
    """
    return write_atomically(path, table_bytes(frame, Path(path)))


def table_bytes(frame: pd.DataFrame, path: Path) -> bytes:
    """Bytes of the file that `write_table` would write."""
    _check_ids(frame, _check_ending(path))
    try:
        if path.suffix.lower() == ".csv":
            return csv_text(_csv_rows(frame)).encode("utf-8")
        return parquet_bytes(frame)
    except UnicodeEncodeError as error:
        raise TableError(f"{path}: {quote_cell(str(error.object))} cannot be stored as UTF-8 text") from error


def _check_ids(frame: pd.DataFrame, path: Path) -> None:
    """Refuse ids that are not text: 123 and "00123" would become one. Only a patient may be unknown."""
    for name in frame.columns:
        if not isinstance(name, str):
            raise TableError(f"{path}: the column name {name!r} is not text")
        if not name.endswith("_id"):
            continue
        for row, value in enumerate(frame[name].to_numpy(object)):
            if not isinstance(value, str) or not (value or name == "patient_id"):
                raise TableError(
                    f"{path}, row {row + 2}, column {name}: {value!r} is not an id (ids are text)"
                )


def _csv_rows(frame: pd.DataFrame) -> Iterator[Sequence[str]]:
    """Header and records of a frame as text."""
    yield [guard_formula(name) for name in frame.columns]
    columns = (frame[name].to_numpy(object) for name in frame.columns)
    yield from zip(*([_csv_cell(value) for value in column] for column in columns), strict=True)


def _csv_cell(value: Any) -> str:
    """One value as text that reads back exactly."""
    if isinstance(value, str):
        return guard_formula(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, list | tuple | np.ndarray):
        return json.dumps([str(item) for item in value], ensure_ascii=False)
    if value is None or value is pd.NA or value != value:
        return ""
    return str(value)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Frame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), buffer)
    return buffer.getvalue()
