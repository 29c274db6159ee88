"""A shard: the candidates and features of one image as one Parquet file, with the facts of the image."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from overread.errors import FormatError, InvalidInputError
from overread.study.pipeline import ImageWork

__all__ = ["CANDIDATE_COLUMNS", "Shard", "decode_shard", "encode_shard"]

CANDIDATE_COLUMNS = ("candidate_id", "x_mm", "y_mm", "radius_mm", "response")
FACTS = b"overread.facts"


@dataclass(frozen=True, eq=False)
class Shard:
    """What a shard holds: the candidates of an image, a float32 row of features each, and facts."""

    candidates: pd.DataFrame
    features: pd.DataFrame
    facts: Mapping[str, Any]


def encode_shard(work: ImageWork) -> bytes:
    """Bytes of the shard of one image; the same work gives the same bytes.

    Raises
    ------
    InvalidInputError
        If the rows of candidates and features do not belong together, or a value is not finite.
    """
    candidates = work.candidates[list(CANDIDATE_COLUMNS)]
    ids = candidates["candidate_id"].tolist()
    if not all(isinstance(name, str) and name for name in ids) or len(set(ids)) < len(ids):
        raise InvalidInputError("candidates: the ids of an image's candidates must be texts that differ")
    if work.features["candidate_id"].tolist() != ids:
        raise InvalidInputError("features: the rows are not those of the candidates")
    columns = {"candidate_id": pa.array(ids, pa.string())}
    for name in CANDIDATE_COLUMNS[1:]:
        columns[name] = pa.array(finite(candidates[name].to_numpy(np.float64), name))
    for name in work.features.columns.drop("candidate_id"):
        columns[str(name)] = pa.array(finite(work.features[name].to_numpy(np.float32), str(name)))
    facts = json.dumps(dict(work.facts), sort_keys=True, allow_nan=False).encode()
    table = pa.table(columns).replace_schema_metadata({FACTS: facts})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", use_dictionary=False, write_statistics=False)
    return buffer.getvalue()


def finite(values: Any, name: str) -> Any:
    """Refuse NaN and infinities."""
    if not np.isfinite(values).all():
        raise InvalidInputError(f"{name}: a value is not finite")
    return np.ascontiguousarray(values)


def decode_shard(content: bytes) -> Shard:
    """Read a shard back.

    Raises
    ------
    FormatError
        If the bytes are not those of a shard.
    """
    try:
        with pq.ParquetFile(io.BytesIO(content)) as file:
            table = file.read()
        facts = json.loads((table.schema.metadata or {})[FACTS])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatError(f"not a shard: {type(error).__name__}") from None
    names = [name for name in table.column_names if name not in CANDIDATE_COLUMNS]
    frame = table.select(list(CANDIDATE_COLUMNS)).to_pandas()
    features = table.select(names).to_pandas()
    return Shard(frame, features, facts)
