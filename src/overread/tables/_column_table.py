"""A wide table of numbers, read column by column: keys first, the numbers on request."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from overread.errors import StorageError, TableError
from overread.files import digest_of_file
from overread.tables._files import (
    check_header,
    check_stored,
    duplicated_rows,
    read_hashed_table,
    unreadable_parquet,
)
from overread.tables._problems import raise_for_errors
from overread.tables._schemas import schema_of

Floats = NDArray[np.floating]

# Sums over 10^8 rows of it stay within float32, whose largest number is 3.4e38.
LARGEST_NUMBER = 1e30


class ColumnTable:
    """A table of keys and numbers; make one with `open_columns`.

    Attributes
    ----------
    path
        File of the table.
    keys
        Columns that identify a row.
    names
        Names of the columns of numbers.
    dtype
        The wider of their types: float32 or float64.
    sha256
        SHA-256 of the file.
    """

    def __init__(
        self,
        path: Path,
        keys: pd.DataFrame,
        columns: dict[str, np.dtype[np.floating]],
        sha256: str,
        loaded: pd.DataFrame | None = None,
    ) -> None:
        self.path, self.keys, self.sha256 = path, keys, sha256
        self.names = tuple(columns)
        self.dtype = np.result_type(np.float32, *columns.values()) if columns else np.dtype(np.float32)
        # Single columns of a CSV file cannot be read, so it is read completely.
        self._loaded = loaded

    def columns(self) -> Iterator[Floats]:
        """Yield the columns of numbers in order."""
        for name, values in self._read():
            wrong = np.flatnonzero(~np.isfinite(values))
            if len(wrong):
                raise TableError(
                    f"{self.path}, row {wrong[0] + 2}, column {name}: is empty or not a finite number"
                    " (every candidate needs a number for every feature)"
                )
            # Compared without a copy: a column may have millions of rows.
            if len(values) and max(float(values.max()), -float(values.min())) > LARGEST_NUMBER:
                row = int(np.abs(values.astype(np.float64)).argmax())
                raise TableError(
                    f"{self.path}, row {row + 2}, column {name}: {values[row]:g} is too large"
                    f" (give numbers up to {LARGEST_NUMBER:g}: divide the column, or take its logarithm)"
                )
            yield values.astype(self.dtype, copy=False)
        if self._loaded is None and digest_of_file(self.path) != self.sha256:
            raise TableError(f"{self.path}: changed while it was read (run the command again)")

    def _read(self) -> Iterator[tuple[str, Floats]]:
        if self._loaded is not None:
            yield from ((name, self._loaded[name].to_numpy()) for name in self.names)
            return
        # A column at a time, unbuffered: the file may be as large as the memory.
        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as file:
                for name in self.names:
                    yield name, file.read([name]).column(0).to_numpy()
        except (OSError, pa.ArrowException) as error:
            raise unreadable_parquet(self.path, error) from error


def open_columns(path: Path, kind: str) -> ColumnTable:
    """Open a table, CSV or Parquet, and check its columns and keys; numbers are checked when they are read."""
    schema = schema_of(kind)
    if path.suffix.lower() != ".parquet":
        table = read_hashed_table(path, kind)
        loaded = table.frame.drop(columns=list(schema.key))
        return ColumnTable(path, table.frame[list(schema.key)], dict(loaded.dtypes), table.sha256, loaded)
    try:
        sha256 = digest_of_file(path)
        with pq.ParquetFile(path) as file:
            stored = {field.name: field.type for field in file.schema_arrow}
            check_header(list(stored), schema, path)
            for name, type_ in stored.items():
                check_stored(name, type_, schema.type_of(name), path)
            # Without pandas' metadata in the file, which may be damaged or forged.
            keys = file.read(list(schema.key)).replace_schema_metadata(None).to_pandas()
    except StorageError as error:
        raise TableError(str(error)) from error
    except (OSError, pa.ArrowException) as error:
        raise unreadable_parquet(path, error) from error
    raise_for_errors(duplicated_rows(keys, schema, str(path)))
    numbers = {name: type_ for name, type_ in stored.items() if name not in schema.key}
    return ColumnTable(path, keys, {name: _precision(type_) for name, type_ in numbers.items()}, sha256)


def _precision(stored: pa.DataType) -> np.dtype[np.floating]:
    return np.dtype(np.float32 if pa.types.is_float32(stored) or pa.types.is_float16(stored) else np.float64)
