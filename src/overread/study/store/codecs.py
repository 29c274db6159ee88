"""Values of a run and the bytes of its files: the place and ending of a file say which is which.

``*.parquet`` is a table, ``models/*.json`` a fitted model, other ``*.json`` a plain value, ``*.npy`` a matrix that
stays on disk (`overread.files.column_file`); anything else is text.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from overread.files.column_file import ColumnFile
from overread.files.strict_json import read_json
from overread.models.persistence import load, model_bytes
from overread.study.store.run_folder import json_bytes
from overread.tables.table_files import parquet_bytes

__all__ = ["decode_file", "encode_file"]


def encode_file(relative: str, value: Any) -> bytes | Iterable[bytes]:
    """Return the bytes of a file of the run, or blocks of them; bytes are taken as they are."""
    if isinstance(value, bytes):
        return value
    if relative.endswith(".parquet"):
        return parquet_bytes(value)
    if relative.endswith(".npy"):
        blocks: Iterable[bytes] = value
        return blocks
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
