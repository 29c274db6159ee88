"""A shard: the candidates and features of one image as one Parquet file, with the facts of the image.

The features are one column of float32 lists of equal length, and their names stand in the file's metadata: with a
column a feature, a thousand columns of some dozen rows, a shard of 60 candidates took 135 ms to write instead of 13.
"""

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
from numpy.typing import NDArray

from overread.errors import FormatError, InvalidInputError
from overread.study.pipeline import ImageWork

__all__ = ["CANDIDATE_COLUMNS", "Shard", "decode_shard", "encode_shard"]

CANDIDATE_COLUMNS = ("candidate_id", "x_mm", "y_mm", "radius_mm", "response")
FACTS, NAMES = b"overread.facts", b"overread.feature_names"


@dataclass(frozen=True, eq=False)
class Shard:
    """What a shard holds.

    Attributes
    ----------
    candidates
        candidate_id, x_mm, y_mm, radius_mm, response.
    features
        Rows x features, float32, in the order of the candidates.
    feature_names
        Of the columns.
    facts
        Plain values about the image.
    """

    candidates: pd.DataFrame
    features: NDArray[np.float32]
    feature_names: tuple[str, ...]
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
    table = work.features.drop(columns="candidate_id")
    if not len(table.columns):
        raise InvalidInputError("features: there are none")
    matrix = finite(table.to_numpy(np.float32), "features")
    columns["features"] = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    metadata = {
        FACTS: json.dumps(dict(work.facts), sort_keys=True, allow_nan=False).encode(),
        NAMES: json.dumps([str(name) for name in table.columns]).encode(),
    }
    buffer = io.BytesIO()
    pq.write_table(
        pa.table(columns).replace_schema_metadata(metadata),
        buffer,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    )
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
        metadata = table.schema.metadata or {}
        facts, names = json.loads(metadata[FACTS]), tuple(json.loads(metadata[NAMES]))
        values = table.column("features").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        features = values.astype(np.float32, copy=False).reshape(len(table), len(names))
        candidates = table.select(list(CANDIDATE_COLUMNS)).to_pandas()
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatError(f"not a shard: {type(error).__name__}") from None
    return Shard(candidates, features, names, facts)
