"""The folder of a run: files that are whole or absent, records of what each stage was made from, shards of images.

``*.parquet`` is a table, ``models/*.json`` a fitted model, other ``*.json`` a plain value, ``*.npy`` a matrix that
stays on disk (`overread.files._column_file`); anything else is text.

A shard has the candidates and features of one image in one Parquet file, with the facts of the image. The features are
one column of float32 lists, and their names are in the file's metadata: with one column per feature, a shard of 60
candidates took 135 ms to write instead of 13.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from overread import __version__
from overread._text import shell_word
from overread.domains import ImageWork
from overread.errors import FormatError, InvalidInputError, StorageError
from overread.files import (
    ColumnFile,
    Journal,
    digest_of_bytes,
    digest_of_file,
    digest_of_value,
    from_json,
    read_json,
    to_json,
    write_atomically,
)
from overread.models import load_model, model_bytes
from overread.tables import LengthUnit, named, parquet_bytes, plain, unit_of

Content: TypeAlias = bytes | Iterable[bytes] | Callable[[BinaryIO], None]
"""What a file is to hold: its bytes, blocks of them, or a function that fills the open file in any order."""

FOLDERS = ("shards", "tables", "models", "tuning", "stages")
GROUPS_FILE = "groups.json"
"""In the folder of a run of several groups: folder of each group's run, beside it."""


def json_bytes(value: object) -> bytes:
    """Bytes of a JSON file: the same value gives the same bytes."""
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


class RunFolder:
    """Files of one run, in ``STUDY/runs/NAME``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the folders."""
        try:
            for name in FOLDERS:
                (self.root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.root}: cannot write here: {error.strerror or error}") from error

    def clean(self) -> None:
        """Take away what a killed run left half written; only for the holder of the run's lock."""
        try:
            for folder in (self.root, *(self.root / name for name in FOLDERS)):
                for part in folder.glob(".overread-*.part"):
                    if part.is_dir() and not part.is_symlink():
                        shutil.rmtree(part)
                    else:
                        part.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{self.root}: cannot write here: {error.strerror or error}") from error

    def path(self, relative: str) -> Path:
        """Path of a file of the run."""
        return self.root / relative

    def readable(self, relative: str) -> Path:
        """Path of a file of the run, to read it; in a run under way, its stage has just written or checked it."""
        return self.path(relative)

    def write(self, relative: str, content: Content) -> str:
        """Write a file, whole or not at all, unless it holds these bytes already; return its digest.

        A file that is not given as bytes is always written.
        """
        path = self.path(relative)
        if not isinstance(content, bytes):
            write_atomically(path, content, within=self.root)
            return digest_of_file(path)
        digest = digest_of_bytes(content)
        if not (path.is_file() and digest_of_file(path) == digest):
            write_atomically(path, content, within=self.root)
        return digest

    def digest(self, relative: str) -> str:
        """Digest of a file of the run."""
        return digest_of_file(self.path(relative))

    def stage(
        self,
        name: str,
        *,
        needs: Mapping[str, object],
        gives: Iterable[str],
        make: Callable[[], Mapping[str, Content]],
    ) -> bool:
        """Do a stage unless its record and its files say that it is done; return whether there was anything to do."""
        key = digest_of_value({"needs": needs, "overread": __version__})
        wanted = sorted(gives)
        if self._is_done(name, key, wanted):
            return False
        made = make()
        if sorted(made) != wanted:
            raise ValueError(f"stage {name} gave {sorted(made)}, not {wanted}")
        digests = {relative: self.write(relative, content) for relative, content in made.items()}
        self.write(
            f"stages/{name}.json", json_bytes(to_json(StageRecord(key, dict(sorted(digests.items())))))
        )
        return True

    def remove(self, name: str, gives: Iterable[str]) -> None:
        """Remove what an earlier run kept of a stage that this one does without: its record, then its files."""
        for relative in (f"stages/{name}.json", *gives):
            self.path(relative).unlink(missing_ok=True)

    def _is_done(self, name: str, key: str, wanted: list[str]) -> bool:
        record = _read_record(self.path(f"stages/{name}.json"))
        if record is None or record.key != key or sorted(record.files) != wanted:
            return False
        return all(
            self.path(relative).is_file() and self.digest(relative) == digest
            for relative, digest in record.files.items()
        )


class FinishedRunFolder(RunFolder):
    """Files of a run that is over: each is compared with what its stage wrote down of it before it is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._good: set[str] = set()

    @cached_property
    def _digests(self) -> dict[str, str]:
        records = (_read_record(path) for path in sorted(self.path("stages").glob("*.json")))
        return {relative: digest for record in records if record for relative, digest in record.files.items()}

    def readable(self, relative: str) -> Path:
        """Path of a file of the run, to read it."""
        path = self.path(relative)
        study, name = shell_word(self.root.parent.parent), shell_word(self.root.name)
        remedy = f"make it again: overread run {study} --name {name}"
        if relative not in self._good:
            if relative not in self._digests:
                raise FormatError(f"{path}: the run has no whole record of this file ({remedy})")
            if not path.is_file():
                raise FormatError(f"{path}: is missing ({remedy})")
            if self.digest(relative) != self._digests[relative]:
                raise FormatError(
                    f"{path}: is not what the run wrote: damaged, or changed by hand ({remedy})"
                )
            self._good.add(relative)
        return path


@dataclass(frozen=True)
class StageRecord:
    """What a stage was made from, and the digests of the files that it gave."""

    key: str
    files: dict[str, str]


def _read_record(path: Path) -> StageRecord | None:
    """Record of a stage; None if it is missing or damaged."""
    try:
        return from_json(StageRecord, read_json(path))
    except (OSError, FormatError):
        return None


def encode_file(relative: str, value: Any, unit: LengthUnit = "mm") -> Content:
    """Return the content of a file of the run; bytes, and whatever a matrix is given as, are taken as they are.

    In the file the lengths of a table end in their unit.
    """
    if isinstance(value, bytes):
        return value
    if relative.endswith(".parquet"):
        return parquet_bytes(named(value, unit))
    if relative.endswith(".npy"):
        content: Content = value
        return content
    if relative.startswith("models/"):
        return model_bytes(value)
    return json_bytes(value) if relative.endswith(".json") else str(value).encode()


def decode_file(path: Path) -> Any:
    """Return the value of a file that `encode_file` made; lengths have plain names."""
    if path.suffix == ".parquet":
        return plain(pd.read_parquet(path), place=str(path))[0]
    if path.suffix == ".npy":
        return ColumnFile(path)
    if path.parent.name == "models":
        return load_model(path)
    return read_json(path) if path.suffix == ".json" else path.read_text(encoding="utf-8")


MANIFEST = "manifest.json"
JOURNAL = "manifest.journal"


@dataclass(frozen=True)
class Entry:
    """What is known of one image: digests of all that candidates and features depend on, and of its shard.

    A skipped image has no shard, but the kind of its fault and the reason.
    """

    image_id: str
    candidates_key: str
    features_key: str
    sha256: str | None = None
    fault_kind: str | None = None
    reason: str | None = None


def shard_file(image_id: str) -> str:
    """File of an image's shard; the id may contain any character, so it is not part of the file name."""
    return f"shards/{digest_of_bytes(image_id.encode('utf-8', 'surrogatepass'))[:32]}.parquet"


class Manifest:
    """Entries by image id, journalled while images are worked on: use it as a context then."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._journal = Journal(folder.path(JOURNAL))
        self.entries: dict[str, Entry] = {}
        for record in (*self._finished(), *(value for _, value in self._journal.entries())):
            # Skip lines that are not entries.
            with suppress(FormatError):
                entry = from_json(Entry, record)
                self.entries[entry.image_id] = entry

    def __enter__(self) -> Self:
        # What is known goes into the manifest, so that the journal can begin again.
        self._write_manifest(list(self.entries))
        self._journal.resume(lambda _key, _value: False)
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()

    def is_whole(self, entry: Entry) -> bool:
        """Whether the shard of an entry exists unchanged."""
        path = self._folder.path(shard_file(entry.image_id))
        return entry.sha256 is not None and path.is_file() and digest_of_file(path) == entry.sha256

    def add(self, entry: Entry, shard: bytes | None) -> None:
        """Write a shard, then its line in the index."""
        if shard is not None:
            self._folder.write(shard_file(entry.image_id), shard)
        self._journal.add(entry.image_id, to_json(entry))
        self.entries[entry.image_id] = entry

    def finish(self, image_ids: list[str]) -> None:
        """Write the manifest of these images, in their order, and take the journal away."""
        self.entries = {
            image_id: self.entries[image_id] for image_id in image_ids if image_id in self.entries
        }
        self._write_manifest(image_ids)
        self._journal.remove()

    def remove_strangers(self) -> None:
        """Remove shards without an entry: images that left the study, or a kill before the line was written."""
        known = {shard_file(image_id) for image_id, entry in self.entries.items() if entry.sha256 is not None}
        for path in self._folder.path("shards").glob("*.parquet"):
            if f"shards/{path.name}" not in known:
                path.unlink(missing_ok=True)

    def _write_manifest(self, image_ids: list[str]) -> None:
        kept = [to_json(self.entries[image_id]) for image_id in image_ids if image_id in self.entries]
        self._folder.write(MANIFEST, json_bytes({"images": kept}))

    def _finished(self) -> list[object]:
        try:
            found = read_json(self._folder.path(MANIFEST))
        except (OSError, FormatError):
            return []
        return found["images"] if isinstance(found, dict) and isinstance(found.get("images"), list) else []


CANDIDATE_COLUMNS = ("candidate_id", "x", "y", "radius", "response")
FACTS, NAMES = b"overread.facts", b"overread.feature_names"


def encode_shard(work: ImageWork) -> bytes:
    """Bytes of the shard of one image; the same work gives the same bytes."""
    candidates = work.candidates[list(CANDIDATE_COLUMNS)]
    ids = candidates["candidate_id"].tolist()
    if not all(isinstance(name, str) and name for name in ids) or len(set(ids)) < len(ids):
        raise InvalidInputError("candidates: the ids of an image's candidates must be texts that differ")
    if work.features["candidate_id"].tolist() != ids:
        raise InvalidInputError("features: the rows are not those of the candidates")
    columns = {"candidate_id": pa.array(ids, pa.string())}
    for name in CANDIDATE_COLUMNS[1:]:
        columns[name] = pa.array(_finite(candidates[name].to_numpy(np.float64), name))
    table = work.features.drop(columns="candidate_id")
    if not len(table.columns):
        raise InvalidInputError("features: there are none")
    matrix = _finite(table.to_numpy(np.float32), "features")
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


def _finite(values: NDArray[np.floating], name: str) -> NDArray[np.floating]:
    """Refuse NaN and infinities."""
    if not np.isfinite(values).all():
        raise InvalidInputError(f"{name}: a value is not finite")
    return np.ascontiguousarray(values)


def decode_shard(content: bytes) -> ImageWork:
    """Read back what was made of an image."""
    try:
        with pq.ParquetFile(io.BytesIO(content)) as file:
            table = file.read()
        metadata = table.schema.metadata or {}
        facts, names = json.loads(metadata[FACTS]), tuple(json.loads(metadata[NAMES]))
        values = table.column("features").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        features = values.astype(np.float32, copy=False).reshape(len(table), len(names))
        # Earlier versions wrote x_mm, whatever the unit.
        found, _ = plain(table.drop_columns("features").to_pandas(), unit_of(table.column_names) or "mm")
        candidates = found[list(CANDIDATE_COLUMNS)]
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatError(f"not a shard: {type(error).__name__}") from None
    table = pd.DataFrame(features, columns=pd.Index(names, dtype="str"))
    table.insert(0, "candidate_id", candidates["candidate_id"])
    return ImageWork(candidates, table, facts)
