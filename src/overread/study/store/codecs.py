"""Values of a run and the bytes of its files: the place and ending of a file say which is which.

``*.parquet`` is a table, ``models/*.json`` a fitted model, other ``*.json`` a plain value, ``*.npy`` a matrix that
stays on disk (`overread.files.column_file`); anything else is text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from overread.files.column_file import ColumnFile
from overread.files.strict_json import read_json
from overread.models.persistence import load, model_bytes
from overread.study.store.run_folder import Content, json_bytes
from overread.tables.table_files import parquet_bytes

__all__ = ["decode_file", "encode_file"]


def encode_file(relative: str, value: Any) -> Content:
    """Return the content of a file of the run; bytes, and whatever a matrix is given as, are taken as they are."""
    if isinstance(value, bytes):
        return value
    if relative.endswith(".parquet"):
        return parquet_bytes(value)
    if relative.endswith(".npy"):
        content: Content = value
        return content
    if relative.startswith("models/"):
        return model_bytes(value)
    return json_bytes(value) if relative.endswith(".json") else str(value).encode()


def decode_file(path: Path) -> Any:
    """Return the value of a file that `encode_file` made."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".npy":
        return ColumnFile(path)
    if path.parent.name == "models":
        return load(path)
    return read_json(path) if path.suffix == ".json" else path.read_text(encoding="utf-8")
